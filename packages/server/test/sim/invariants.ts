// The invariants of the simulated world. Each check is one sentence of the contract and a function
// that looks for a violation: null when all is well, otherwise the violation. The checks read the
// database's rows before and after a step and the answers that runners got (ledger.ts), never a
// server's memory.

import { limits } from '@muster/contract';
import {
  endedUnasked,
  enrolledAsTold,
  enrolledOnce,
  first,
  isEnrolled,
  refusalOf,
  turnedAway,
} from './key-invariants.ts';
import {
  type AttemptFacts,
  type CommandFacts,
  type KeyFacts,
  type Moment,
  wordsOf,
} from './ledger.ts';

export interface Invariant {
  readonly name: string;
  readonly says: string;
  readonly broken: (moment: Moment) => string | null;
}

const isHeld = ({ status }: CommandFacts): boolean =>
  status === 'acknowledged' || status === 'running';
export const isEnded = ({ status }: CommandFacts): boolean =>
  status !== 'pending' && status !== 'acknowledged' && status !== 'running';

/** In the rows: one open claim where a command is held, none elsewhere. */
function leasesInRows({ before, rows }: Moment): string | null {
  // These very rows were checked before.
  if (rows.commands === before.commands) return null;
  const open = new Map<string, AttemptFacts[]>();
  for (const attempt of rows.attempts.values()) {
    if (attempt.ended_at !== null) continue;
    open.set(attempt.command_id, [...(open.get(attempt.command_id) ?? []), attempt]);
  }
  return first(rows.commands.values(), (command) => {
    const claims = open.get(command.id) ?? [];
    if (claims.length > (isHeld(command) ? 1 : 0)) {
      return `command ${command.id} is ${command.status} and has ${claims.length} open claims`;
    }
    if (!isHeld(command))
      return command.lease_until === null ? null : `${command.id}: a lease without a holder`;
    const [claim] = claims;
    const fits = claim?.runner_id === command.holder_id && claim.attempt === command.attempt;
    return fits ? null : `command ${command.id} is held by somebody who has no claim of it`;
  });
}

/** In the answers: no runner was told that it has an attempt which another was told to have. */
function leasesAsTold({ events, ledger }: Moment): string | null {
  return first(events.claims, ({ commandId, attempt, runnerId }) => {
    const claim = `${commandId} ${attempt}`;
    const other = ledger.claimedBy.get(claim) ?? runnerId;
    ledger.claimedBy.set(claim, runnerId);
    return other === runnerId
      ? null
      : `two runners were told to have attempt ${attempt} of ${commandId}`;
  });
}

/** Whose words ended an attempt in this step, and whether that runner held it when it spoke. */
function staleResult({ before, rows, events, ledger }: Moment): string | null {
  const stale = first(rows.attempts, ([claim, attempt]) => {
    const was = before.attempts.get(claim);
    const { outcome } = attempt;
    if (was !== undefined && was.ended_at !== null) {
      return was.outcome === outcome
        ? null
        : `${claim} had ended as ${was.outcome} and is now ${outcome}`;
    }
    if (outcome === 'released') {
      const said = ledger.releases.some(
        ({ commandId, runnerId, fence }) =>
          commandId === attempt.command_id &&
          runnerId === attempt.runner_id &&
          (fence === undefined || fence === attempt.attempt),
      );
      return said ? null : `${claim} was released, and nobody released this attempt`;
    }
    if (outcome !== 'completed' && outcome !== 'failed') return null;
    const command = rows.commands.get(attempt.command_id) as CommandFacts;
    const words = wordsOf(command.result ?? command.error_message);
    if (words === null) return `${claim} ended as ${outcome} and nobody said so`;
    if (words.runnerId !== attempt.runner_id)
      return `${claim} ended by the words of another runner`;
    const earlier = before.commands.get(attempt.command_id) as CommandFacts;
    if (words.attempt === null || !isHeld(earlier)) {
      const isItsOwn = earlier.status === 'pending' && earlier.runner_id === words.runnerId;
      // Sent before the runner claimed the command, heard afterwards: without `attempt` fencing is
      // between runners only.
      const isLate = isHeld(earlier) && earlier.holder_id === words.runnerId && !words.isFenced;
      return isItsOwn || isLate ? null : `${claim}: words of a runner that has no claim were taken`;
    }
    if (earlier.holder_id !== words.runnerId || earlier.attempt !== attempt.attempt) {
      return `${claim}: a result was taken from a former holder`;
    }
    const isFenced = words.isFenced && words.attempt !== attempt.attempt;
    return isFenced ? `${claim} took the result of attempt ${words.attempt}` : null;
  });
  if (stale !== null) return stale;
  const isKept = first(before.commands.values(), (command) => {
    const now = rows.commands.get(command.id);
    const same = now?.status === command.status && now.result === command.result;
    return !isEnded(command) || same
      ? null
      : `${command.id} was ${command.status}, is ${now?.status}`;
  });
  if (isKept !== null) return isKept;
  return first(events.completions, ({ commandId, serial }) => {
    const stored = wordsOf(rows.commands.get(commandId)?.result ?? null);
    return stored?.serial === serial
      ? null
      : `a 200 for a result of ${commandId} that is not stored`;
  });
}

function lockedOut({ rows, latestMs, ledger }: Moment): string | null {
  return first(ledger.keyrings, (ring) => {
    if (rows.runners.get(ring.runnerId)?.admin === 'revoked') return null;
    const keys = ring.keyIds().flatMap((id) => rows.keys.get(id) ?? []);
    if (keys.length === 0 || keys.some((key) => refusalOf(key, latestMs) === null)) return null;
    const why = keys.map((key) => `${key.key_id} ${refusalOf(key, latestMs)}`).join(', ');
    return `none of ${keys.length} keys of runner ${ring.runnerId} is good: ${why}`;
  });
}

/**
 * A good key was refused: it was good before this step and after it, by the clock of the server
 * that refused it.
 */
function refusedWrongly({ before, rows, events }: Moment): string | null {
  return first(events.refused, ({ keyId, nodeMs }) => {
    const facts = [before.keys.get(keyId), rows.keys.get(keyId)];
    const isGood = facts.every((key) => key !== undefined && refusalOf(key, nodeMs) === null);
    const runnerId = facts[0]?.runner_id ?? '';
    const isRevoked = rows.runners.get(runnerId)?.admin === 'revoked';
    return isGood && !isRevoked ? `key ${keyId} is good and was refused` : null;
  });
}

function revokedAccepted({ events, ledger }: Moment): string | null {
  return first(events.accepted, ({ keyId, presentedAt }) => {
    const since = presentedAt - (ledger.revokedSince.get(keyId) ?? Infinity);
    return since > 1000 ? `key ${keyId} was revoked ${since} ms before and was accepted` : null;
  });
}

const isByItself = (key: KeyFacts): boolean => key.parent_key_id !== null;

/**
 * The key with which a chain of renewals began; a key that an operator adds begins another chain.
 */
function rootOf(keys: ReadonlyMap<string, KeyFacts>, key: KeyFacts): KeyFacts {
  const parent = key.parent_key_id === null ? undefined : keys.get(key.parent_key_id);
  return parent === undefined ? key : rootOf(keys, parent);
}

/** The enrolled keys of a runner are one line, because repeats of one enrolment make several. */
function isOneLine(keys: ReadonlyMap<string, KeyFacts>, one: KeyFacts, other: KeyFacts): boolean {
  const [root, otherRoot] = [rootOf(keys, one), rootOf(keys, other)];
  return root === otherRoot || (isEnrolled(root) && isEnrolled(otherRoot));
}

/** When a key is proven, its parent stays for the grace, and the rest of the line is over. */
function lineOfProven({ before, rows, nowMs }: Moment): string | null {
  return first(rows.keys, ([id, key]) => {
    const was = before.keys.get(id);
    if (was === undefined || was.state === 'proven' || key.state !== 'proven') return null;
    const parent = key.parent_key_id === null ? undefined : rows.keys.get(key.parent_key_id);
    const was0 = parent === undefined ? undefined : before.keys.get(parent.key_id);
    if (parent !== undefined && was0?.state === 'proven' && parent.state !== 'revoked') {
      const provenAt = key.first_used_at ?? 0;
      const earliest = Math.min(
        provenAt + limits.keyGraceMs,
        was0.expires_at ?? Infinity,
        was0.retires_at ?? Infinity,
      );
      if (
        parent.state === 'retired' ||
        parent.retires_at === null ||
        parent.retires_at < earliest
      ) {
        return `key ${parent.key_id} was presented for a renewal and ends before its grace`;
      }
    }
    const live = [...rows.keys.values()].filter(
      (other) =>
        other.runner_id === key.runner_id &&
        isOneLine(rows.keys, other, key) &&
        (isByItself(other) || isEnrolled(other) || other.retires_at !== null) &&
        // The call that proved it may have been its own renewal.
        other.parent_key_id !== id &&
        refusalOf(other, nowMs) === null,
    );
    return live.length > 2 ? `${live.length} keys of a line live after one was proven` : null;
  });
}

/**
 * A sign is written within one flush; a busy server may add another flush, and pauses in
 * transactions.
 */
const WRITTEN_MS = 3 * limits.presenceFlushMs;

/**
 * A sign of life that no crash took with it, old enough to be written and young enough to prove
 * that the runner lives.
 */
function shownOffline({ rows, nowMs, ledger }: Moment): string | null {
  if (nowMs < ledger.disagreeUntil) return null;
  return first(rows.runners.values(), (runner) => {
    if (runner.presence !== 'offline') return null;
    const silentMax = Math.max(limits.offlineAfterMsMin, 3 * runner.interval_ms);
    const sign = ledger.signs.get(runner.id)?.find(({ at, life }) => {
      const isKept = at <= life.flushedAt || !life.isOver;
      return isKept && at < nowMs - WRITTEN_MS && at > nowMs - silentMax;
    });
    if (sign === undefined) return null;
    return `runner ${runner.id} is shown offline ${nowMs - sign.at} ms after a sign of life`;
  });
}

const oneOf =
  (...checks: readonly ((moment: Moment) => string | null)[]) =>
  (moment: Moment): string | null =>
    first(checks, (check) => check(moment));

/** Contract §3, §4 and §7, as they are checked after every step. */
export const INVARIANTS: readonly Invariant[] = [
  {
    name: 'one lease',
    says: 'No command has two live leases: at most a duplicate execution (contract §4).',
    broken: oneOf(leasesInRows, leasesAsTold),
  },
  {
    name: 'no stale result',
    says: 'Never a duplicate commit: no result of a stale holder is accepted (contract §4).',
    broken: staleResult,
  },
  {
    name: 'never locked out',
    says: 'A runner that keeps its last good key is never locked out (contract §7).',
    broken: oneOf(lockedOut, refusedWrongly),
  },
  {
    name: 'revoked within a second',
    says: 'Revocation is effective on every node within a second (contract §7).',
    broken: revokedAccepted,
  },
  {
    name: 'line of keys',
    says: 'The presented key stays good for its grace, and at most two keys live after a proof (contract §7).',
    broken: lineOfProven,
  },
  {
    name: 'no key ends unasked',
    says: 'A key ends by the proof of another, by its time or by an operator, and by nothing else (contract §7).',
    broken: endedUnasked,
  },
  {
    name: 'one runner each',
    says: 'A repeated enrolment is no second runner and takes no second use of its token (contract §7).',
    broken: oneOf(enrolledOnce, enrolledAsTold),
  },
  {
    name: 'nobody turned away',
    says: 'A machine that repeats its enrolment with a good token is let in (contract §7).',
    broken: turnedAway,
  },
  {
    name: 'alive is not offline',
    says: 'Nobody alive is shown offline beyond the rule (contract §3).',
    broken: shownOffline,
  },
];
