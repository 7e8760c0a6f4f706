// The profile of a runner, by which work is offered to it: its labels, what it reported, how many
// commands it holds. What this process heard and presence has not written yet beats the row
// (contract §3).

import { reportedOf } from '../keys/runner-health.rules.ts';
import { findRunner, type RunnerRow } from '../keys/runners.ts';
import type { Database, Db } from '../db/db.ts';
import { heldBy } from './command.queries.ts';
import { announcesSlots, type Profile, profileOf } from './eligibility.rules.ts';

/**
 * The members of this runner's heartbeats that only this process knows yet; null: the row has all
 * of them.
 */
export type Unwritten = (runnerId: string) => Readonly<Record<string, unknown>> | null;

export interface ProfileDeps {
  readonly database: Database;
  readonly unwritten: Unwritten;
}

/** The runner and its profile; undefined when there is no such runner. */
export async function runnerWithProfile(
  deps: Pick<ProfileDeps, 'unwritten'>,
  db: Db,
  tenantId: string,
  runnerId: string,
): Promise<{ runner: RunnerRow; profile: Profile } | undefined> {
  const runner = await findRunner(db, tenantId, runnerId);
  if (runner === undefined) return undefined;
  const reported = heardOf(deps, runner);
  const holds = announcesSlots(reported) ? await heldBy(db, tenantId, [runnerId]) : new Map();
  return { runner, profile: profileFrom(runner, reported, holds.get(runnerId) ?? 0) };
}

/** The profiles of several runners, with one query for all. */
export async function profilesOf(
  deps: Pick<ProfileDeps, 'unwritten'>,
  db: Db,
  tenantId: string,
  runners: readonly RunnerRow[],
): Promise<Map<string, Profile>> {
  const ids = runners.map(({ id }) => id);
  const held = ids.length === 0 ? new Map<string, number>() : await heldBy(db, tenantId, ids);
  return new Map(
    runners.map((runner) => [
      runner.id,
      profileFrom(runner, heardOf(deps, runner), held.get(runner.id) ?? 0),
    ]),
  );
}

const heardOf = (
  deps: Pick<ProfileDeps, 'unwritten'>,
  runner: RunnerRow,
): Readonly<Record<string, unknown>> => deps.unwritten(runner.id) ?? reportedOf(runner) ?? {};

const profileFrom = (
  { labels }: RunnerRow,
  reported: Readonly<Record<string, unknown>>,
  held: number,
): Profile => profileOf(JSON.parse(labels) as Record<string, string>, reported, held);
