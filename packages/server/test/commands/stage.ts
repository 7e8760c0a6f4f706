// The stories of commands over an empty database with one tenant, without HTTP: for tests of
// effects that no call shows, and of several nodes that share a database.

import type { CommandRow } from '../../src/commands/command.queries.ts';
import { OfferCounts } from '../../src/commands/commands.rules.ts';
import type { CommandsDeps } from '../../src/commands/commands.ts';
import { Wake } from '../../src/commands/poll/wake.ts';
import { PendingSummary } from '../../src/commands/pending-summary.ts';
import { type Database, openDatabase } from '../../src/db/db.ts';
import { insertRows } from '../../src/db/dialect.ts';
import { migrate } from '../../src/db/migrate.ts';
import { insertTenant } from '../../src/keys/installation.queries.ts';
import { createRunner } from '../../src/keys/runners.ts';
import { type CommandId, newId, type RunnerId, type TenantId } from '../../src/lib/ids.ts';
import { createLogger } from '../../src/lib/log.ts';
import { migratedDatabaseUrl, temporaryDirectory } from '../db/fixture.ts';
import { TestClock } from '../harness.ts';

export const DATABASES = [
  ['sqlite', async () => null],
  ['postgres', migratedDatabaseUrl],
] as const;

export interface Stage {
  readonly database: Database;
  readonly tenantId: TenantId;
  readonly close: () => Promise<void>;
}

export async function stageOn(url: string | null): Promise<Stage> {
  const { path: directory, remove } = await temporaryDirectory();
  const database = await openDatabase({ url, directory });
  const nowMs = new TestClock().nowMs();
  await migrate(database, nowMs);
  const tenantId = newId<TenantId>(nowMs);
  await insertTenant(database.system(), { id: tenantId, name: 'test', created_at: 1 });
  return {
    database,
    tenantId,
    close: async () => {
      await database.close();
      await remove();
    },
  };
}

/** A node on the database of the stage; it stops with its `wake`. */
export function nodeOn({ database }: Stage, clock: TestClock): CommandsDeps {
  const unwritten = () => null;
  const offers = new OfferCounts();
  const pendingSummary = new PendingSummary(database, clock, unwritten, offers);
  const wake = new Wake({ database, clock, log: createLogger('silent'), pendingSummary });
  wake.start();
  const uploads = { sealKey: Buffer.alloc(32), hasUpload: () => {} };
  return { database, clock, pendingSummary, wake, offers, unwritten, ...uploads };
}

export async function newRunnerId({ database, tenantId }: Stage): Promise<RunnerId> {
  const request = { name: 'waits' };
  const { runner } = await createRunner(database, new TestClock(), tenantId, request, 'test');
  return runner.id as RunnerId;
}

/** `count` commands like `row`, written at once: a backlog. Returns their ids. */
export async function copiesOf(
  { database, tenantId }: Stage,
  row: CommandRow,
  count: number,
  change: Partial<CommandRow> | ((n: number) => Partial<CommandRow>) = {},
): Promise<string[]> {
  const rows = Array.from({ length: count }, (_, n) => ({
    ...row,
    id: newId<CommandId>(row.created_at),
    ...(typeof change === 'function' ? change(n) : change),
  }));
  await insertRows(database.tenant(tenantId), 'command', rows);
  return rows.map(({ id }) => id);
}
