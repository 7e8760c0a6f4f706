// SQL of a dry run: counts how many relationships and endpoints of a report are stored already.
// Reads only.

import type { Db } from '../../db/db.ts';
import type { EndpointRow, RelationshipRow } from './inventory.queries.ts';

/** How many of these relationships are stored. */
export async function countRelationships(
  db: Db,
  rows: readonly Pick<RelationshipRow, 'tenant_id' | 'from_asset_id' | 'type' | 'to_asset_id'>[],
): Promise<number> {
  const [first] = rows;
  if (first === undefined) return 0;
  const row = await db
    .selectFrom('relationship')
    .select((eb) => eb.fn.countAll<number>().as('stored'))
    .where('tenant_id', '=', first.tenant_id)
    .where((eb) =>
      eb(
        eb.refTuple('from_asset_id', 'type', 'to_asset_id'),
        'in',
        rows.map((one) => eb.tuple(one.from_asset_id, one.type, one.to_asset_id)),
      ),
    )
    .executeTakeFirst();
  return Number(row?.stored ?? 0);
}

/** How many of these endpoints are stored. */
export async function countEndpoints(
  db: Db,
  rows: readonly Pick<EndpointRow, 'tenant_id' | 'asset_id' | 'identity'>[],
): Promise<number> {
  const [first] = rows;
  if (first === undefined) return 0;
  const row = await db
    .selectFrom('endpoint')
    .select((eb) => eb.fn.countAll<number>().as('stored'))
    .where('tenant_id', '=', first.tenant_id)
    .where((eb) =>
      eb(
        eb.refTuple('asset_id', 'identity'),
        'in',
        rows.map((one) => eb.tuple(one.asset_id, one.identity)),
      ),
    )
    .executeTakeFirst();
  return Number(row?.stored ?? 0);
}
