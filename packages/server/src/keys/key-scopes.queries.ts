// SQL of the keys of several runners at once, as far as they may still be good.

import type { Selectable } from 'kysely';
import type { Db } from '../db/db.ts';
import type { ApiKeyTable } from '../db/tables.ts';

type KeyOfRunner = Pick<
  Selectable<ApiKeyTable>,
  'runner_id' | 'scopes' | 'state' | 'expires_at' | 'retires_at' | 'overlap_until'
> & { readonly cloned_until: number | null };

export async function goodKeysOf(
  db: Db,
  tenantId: string,
  runnerIds: readonly string[],
): Promise<KeyOfRunner[]> {
  return await db
    .selectFrom('api_key')
    .innerJoin('runner', (join) =>
      join
        .onRef('runner.tenant_id', '=', 'api_key.tenant_id')
        .onRef('runner.id', '=', 'api_key.runner_id'),
    )
    .select(['runner_id', 'scopes', 'state', 'expires_at', 'retires_at', 'overlap_until'])
    .select('cloned_until')
    .where('api_key.tenant_id', '=', tenantId)
    .where('runner_id', 'in', runnerIds)
    .where('state', 'not in', ['retired', 'revoked'])
    .execute();
}
