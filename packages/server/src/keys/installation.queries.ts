// SQL of the installation as a whole: the check value of the master key, tenants. Both are written
// once and never changed.

import type { Db } from '../db/db.ts';

/** Inserts the row. The first start writes it; every later start leaves it as it is. */
export async function insertInstallation(db: Db, check: Uint8Array, nowMs: number): Promise<void> {
  await db
    .insertInto('installation')
    .values({ id: 1, master_key_check: check, created_at: nowMs })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

export async function readMasterKeyCheck(db: Db): Promise<Uint8Array | undefined> {
  const row = await db
    .selectFrom('installation')
    .select('master_key_check')
    .where('id', '=', 1)
    .executeTakeFirst();
  return row?.master_key_check;
}

/** Inserts a tenant. Returns zero when there is a tenant of that name. */
export async function insertTenant(
  db: Db,
  tenant: { id: string; name: string; created_at: number },
): Promise<number> {
  const result = await db
    .insertInto('tenant')
    .values(tenant)
    .onConflict((conflict) => conflict.column('name').doNothing())
    .executeTakeFirst();
  return Number(result.numInsertedOrUpdatedRows ?? 0);
}

export async function findTenantByName(db: Db, name: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('tenant')
    .select('id')
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.id;
}

export async function tenantName(db: Db, id: string): Promise<string | undefined> {
  const row = await db.selectFrom('tenant').select('name').where('id', '=', id).executeTakeFirst();
  return row?.name;
}
