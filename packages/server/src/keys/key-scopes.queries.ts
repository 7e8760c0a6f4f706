// SQL that reads the keys of several runners at once. It leaves out only keys that can never be
// good again; the rules judge the rest.

import type { Selectable } from 'kysely';
import type { Db } from '../db/db.ts';
import type { ApiKeyTable } from '../db/tables.ts';

type KeyOfRunner = Pick<
  Selectable<ApiKeyTable>,
  'runner_id' | 'scopes' | 'state' | 'expires_at' | 'retires_at'
>;

export async function goodKeysOf(
  db: Db,
  tenantId: string,
  runnerIds: readonly string[],
): Promise<KeyOfRunner[]> {
  return await db
    .selectFrom('api_key')
    .select(['runner_id', 'scopes', 'state', 'expires_at', 'retires_at'])
    .where('tenant_id', '=', tenantId)
    .where('runner_id', 'in', runnerIds)
    .where('state', 'not in', ['retired', 'revoked'])
    .execute();
}
