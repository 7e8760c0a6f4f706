// Finds the runners that have a good key with a scope: for other slices that explain why a runner
// can't do something. Called by why-waiting.ts.

import type { KeyScope } from '@muster/contract';
import type { Database } from '../db/db.ts';
import { goodKeysOf } from './key-scopes.queries.ts';
import { factsOf, refusal } from './keys.rules.ts';

export async function runnersWithScope(
  database: Database,
  tenantId: string,
  runnerIds: readonly string[],
  scope: KeyScope,
  nowMs: number,
): Promise<Set<string>> {
  if (runnerIds.length === 0) return new Set();
  const keys = await goodKeysOf(database.lists(tenantId), tenantId, runnerIds);
  const fit = keys.filter(
    (key) =>
      refusal(factsOf(key), nowMs) === null &&
      (JSON.parse(key.scopes ?? '[]') as KeyScope[]).includes(scope),
  );
  return new Set(fit.flatMap((key) => key.runner_id ?? []));
}
