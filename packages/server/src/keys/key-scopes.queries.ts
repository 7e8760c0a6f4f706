// SQL of the keys of several runners at once, as far as they may still be good.

import type { Selectable } from 'kysely';
import type { Db } from '../db/db.ts';
import type { ApiKeyTable } from '../db/tables.ts';

export async function goodKeysOf(
  db: Db,
  tenantId: string,
  runnerIds: readonly string[],
): Promise<
  Pick<Selectable<ApiKeyTable>, 'runner_id' | 'scopes' | 'state' | 'expires_at' | 'retires_at'>[]
> {
  return await db
    .selectFrom('api_key')
    .select(['runner_id', 'scopes', 'state', 'expires_at', 'retires_at'])
    .where('tenant_id', '=', tenantId)
    .where('runner_id', 'in', runnerIds)
    .where('state', 'not in', ['retired', 'revoked'])
    .execute();
}
