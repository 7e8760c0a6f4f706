// SQL of the components of an asset: reads what is stored before a slice of a report is written,
// because a report may name one component in several slices.

import type { Selectable } from 'kysely';
import type { Db } from '../../db/db.ts';
import type { ComponentTable } from '../../db/tables.ts';

/** The stored components of an asset with these identities. */
export async function storedComponents(
  db: Db,
  { tenant_id: tenantId, id: assetId }: { readonly tenant_id: string; readonly id: string },
  identities: readonly string[],
): Promise<
  Pick<Selectable<ComponentTable>, 'identity' | 'name' | 'version' | 'depends_on' | 'document'>[]
> {
  if (identities.length === 0) return [];
  return await db
    .selectFrom('component')
    .select(['identity', 'name', 'version', 'depends_on', 'document'])
    .where('tenant_id', '=', tenantId)
    .where('asset_id', '=', assetId)
    .where('identity', 'in', identities)
    .execute();
}

/** How many components with these identities an asset has. */
export async function countComponents(
  db: Db,
  { tenant_id: tenantId, id: assetId }: { readonly tenant_id: string; readonly id: string },
  identities: readonly string[],
): Promise<number> {
  if (identities.length === 0) return 0;
  const row = await db
    .selectFrom('component')
    .select((eb) => eb.fn.countAll<number>().as('stored'))
    .where('tenant_id', '=', tenantId)
    .where('asset_id', '=', assetId)
    .where('identity', 'in', identities)
    .executeTakeFirst();
  return Number(row?.stored ?? 0);
}
