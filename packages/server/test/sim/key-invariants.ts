// The invariants of enrolment and of the ends of keys, in every moment of the simulated world;
// written as in invariants.ts, which lists them. A machine enrols under its own name, so that a
// second runner of it shows in the rows.

import { refusal } from '../../src/keys/keys.rules.ts';
import type { KeyFacts, Moment, RunnerFacts } from './ledger.ts';

/** Null when all is well with every item, otherwise the violation of the first bad item. */
export function first<T>(
  items: Iterable<T>,
  broken: (item: T) => string | null | undefined,
): string | null {
  for (const item of items) {
    const seen = broken(item);
    if (seen !== null && seen !== undefined) return seen;
  }
  return null;
}

export const refusalOf = (key: KeyFacts, nowMs: number): string | null =>
  refusal({ state: key.state, expiresAt: key.expires_at, retiresAt: key.retires_at }, nowMs);

const BY_TOKEN = 'enrolment:';

export const isEnrolled = (made: Pick<KeyFacts, 'created_by'>): boolean =>
  made.created_by.startsWith(BY_TOKEN);

/** In the rows: one runner for each machine, and each use that a token lost became a runner. */
export function enrolledOnce({ before, rows, ledger }: Moment): string | null {
  if (rows.runners === before.runners && rows.keys === before.keys) return null;
  const enrolled = [...rows.runners.values()].filter(isEnrolled);
  const names = new Set<string>();
  const twice = first(enrolled, ({ name }) => {
    if (names.has(name)) return `${name} has two runners`;
    names.add(name);
    return null;
  });
  if (twice !== null) return twice;
  return first(ledger.tokens, ([tokenId, uses]) => {
    const left = rows.keys.get(tokenId)?.uses_left ?? uses;
    const made = enrolled.filter((runner) => runner.created_by === BY_TOKEN + tokenId).length;
    return left + made === uses
      ? null
      : `a token for ${uses} has made ${made} runners and has ${left} uses left`;
  });
}

/**
 * In the answers: a machine is always the same runner, and the key that it gets is that runner's.
 */
export function enrolledAsTold({ rows, events, ledger }: Moment): string | null {
  return first(events.enrolled, ({ machine, runnerId, keyId }) => {
    const known = ledger.enrolledAs.get(machine) ?? runnerId;
    ledger.enrolledAs.set(machine, runnerId);
    if (known !== runnerId) return `${machine} was told to be runner ${known} and ${runnerId}`;
    const owner = rows.keys.get(keyId)?.runner_id;
    return owner === runnerId ? null : `${machine} was given a key of ${owner}`;
  });
}

/**
 * A good token was refused to a machine that it had made a runner of, or for which it had a use.
 */
export function turnedAway({ before, rows, events }: Moment): string | null {
  return first(events.turnedAway, ({ machine, tokenId, nodeMs }) => {
    const tokens = [before.keys.get(tokenId), rows.keys.get(tokenId)];
    if (tokens.some((token) => token === undefined || refusalOf(token, nodeMs) !== null)) {
      return null;
    }
    const runners = [runnerNamed(before.runners, machine), runnerNamed(rows.runners, machine)];
    const isItsOwn = runners.every(
      (runner) => runner?.created_by === BY_TOKEN + tokenId && runner.admin !== 'revoked',
    );
    const isNew = runners.every((runner) => runner === undefined);
    const hasUse = tokens.every((token) => (token?.uses_left ?? 0) > 0);
    return isItsOwn || (isNew && hasUse) ? `${machine} was refused with a good token` : null;
  });
}

const runnerNamed = (
  runners: ReadonlyMap<string, RunnerFacts>,
  name: string,
): RunnerFacts | undefined => runners.values().find((runner) => runner.name === name);

/** Which keys changed in this step, and whether an operator asked for it. */
export function endedUnasked({ before, rows, ledger }: Moment): string | null {
  if (rows.keys === before.keys) return null;
  const proven = new Set<string | null>();
  const made = new Set<string | null>();
  for (const [id, key] of rows.keys) {
    const was = before.keys.get(id)?.state;
    if (was === undefined) made.add(key.runner_id);
    if (key.state === 'proven' && was !== 'proven') proven.add(key.runner_id);
  }
  return first(before.keys, ([id, was]) => {
    const key = rows.keys.get(id);
    if (key === undefined) return `key ${id} is gone`;
    const isNewState = key.state !== was.state;
    const isAsked = ledger.asked.has(id) || ledger.asked.has(key.runner_id ?? '');
    if (isNewState && key.state === 'revoked') {
      // Keys that were made by presenting this one go with it, as long as nobody has used them.
      const goesWith =
        was.state !== 'proven' &&
        key.created_by === `key:${key.parent_key_id}` &&
        ledger.asked.has(key.parent_key_id ?? '');
      return isAsked || goesWith ? null : `key ${id} is revoked, and nobody asked for it`;
    }
    if (key.expires_at !== was.expires_at && !isAsked) {
      return `key ${id} was to expire at ${was.expires_at}, and now at ${key.expires_at}`;
    }
    const isRetiring = key.retires_at !== was.retires_at || (isNewState && key.state === 'retired');
    if (isRetiring && !proven.has(key.runner_id)) {
      return `key ${id} is to retire, and none of its runner's was proven`;
    }
    if (isNewState && key.state === 'superseded' && !made.has(key.runner_id)) {
      return `key ${id} is superseded by nothing`;
    }
    return null;
  });
}
