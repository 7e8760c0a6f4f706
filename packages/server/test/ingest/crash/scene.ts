// The path of an upload in this process, on a real database: received, claimed, processed to its
// end. Crashes are thrown at counted points, as if the process had died there; the next worker
// takes the upload over.

import { setImmediate } from 'node:timers/promises';
import { insertTenant } from '../../../src/keys/installation.queries.ts';
import { createRunner } from '../../../src/keys/runners.ts';
import { scansUnderWay } from '../../../src/commands/scans-under-way.ts';
import type { RunnerCaller } from '../../../src/keys/authenticate.ts';
import { type Database, openDatabase } from '../../../src/db/db.ts';
import { migrate } from '../../../src/db/migrate.ts';
import { claimNext } from '../../../src/ingest/queue/claim.ts';
import { Turns } from '../../../src/ingest/queue/fairness.rules.ts';
import type { UploadContext } from '../../../src/ingest/report/report.rules.ts';
import { type IngestDeps, type Outcome, processUpload } from '../../../src/ingest/ingest.ts';
import { type ReceiveDeps, receiveUpload } from '../../../src/uploads/receive.ts';
import { retryAfterMs } from '../../../src/ingest/finish/retry.rules.ts';
import { retryOrFail } from '../../../src/ingest/finish/retry.ts';
import { type UploadRow } from '../../../src/ingest/store/upload.queries.ts';
import { releaseAllHeld } from '../../../src/ingest/store/upload-work.queries.ts';
import { newId, type RunnerId, type TenantId } from '../../../src/lib/ids.ts';
import { limits, type Receipt } from '@muster/contract';
import { present } from '../../../src/lib/assert.ts';
import { migratedDatabaseUrl, temporaryDirectory } from '../../db/fixture.ts';
import { type Backend, eventually, TestClock } from '../../harness.ts';
import { openNearSqlite } from '../../sim/near-sqlite.ts';

export const SEAL_KEY = Buffer.alloc(32, 1);
export const SECRET_KEY = Buffer.alloc(32, 2);

export interface Stage {
  /** The URL of the database; null on SQLite. */
  readonly url: string | null;
  readonly database: Database;
  readonly clock: TestClock;
  close(): Promise<void>;
}

/** For a comparison alone: no threads, no disk, the same statements. */
export async function openStageInMemory(): Promise<Stage> {
  const database = openNearSqlite();
  const clock = new TestClock();
  await migrate(database, clock.nowMs());
  return { url: null, database, clock, close: () => database.close() };
}

/** One database for many tenants: each run of a seed gets one of its own. */
export async function openStage(backend: Backend = 'sqlite'): Promise<Stage> {
  const { path: directory, remove } = await temporaryDirectory();
  const url = backend === 'postgres' ? await migratedDatabaseUrl() : null;
  const database = await openDatabase({ url, directory });
  const clock = new TestClock();
  await migrate(database, clock.nowMs());
  return {
    url,
    database,
    clock,
    close: async () => {
      await database.close();
      await remove();
    },
  };
}

/** A tenant with one runner, which is the caller of its uploads. */
export async function newCaller({ database, clock }: Stage): Promise<RunnerCaller> {
  const nowMs = clock.nowMs();
  const tenantId = newId<TenantId>(nowMs);
  await insertTenant(database.system(), { id: tenantId, name: tenantId, created_at: nowMs });
  return await newRunnerOf({ database, clock }, tenantId);
}

/** One more runner of a tenant. */
export async function newRunnerOf(
  { database, clock }: Pick<Stage, 'database' | 'clock'>,
  tenantId: TenantId,
): Promise<RunnerCaller> {
  const { runner, key } = await createRunner(database, clock, tenantId, { name: 'r' }, 'test');
  return {
    kind: 'runner',
    tenantId,
    runnerId: runner.id as RunnerId,
    keyId: key.row.key_id,
    scopes: ['ingest'],
    paused: false,
    draining: false,
    rotateAdvised: false,
  };
}

const isStream = (document: unknown): document is AsyncIterable<Uint8Array> =>
  typeof document === 'object' && document !== null && Symbol.asyncIterator in document;

/** The receiver releases the memory of chunks, so this yields a copy of the caller's bytes. */
async function* streamOf(document: unknown): AsyncGenerator<Uint8Array> {
  yield Buffer.from(Buffer.isBuffer(document) ? document : JSON.stringify(document));
}

/**
 * Has the real edge receive a document, its bytes, or a stream of them; returns the id of the
 * upload.
 */
export async function receive(
  { database, clock }: Stage,
  caller: RunnerCaller,
  format: 'auto' | 'sarif' | 'ctis' | 'gitleaks',
  document: unknown,
  context: UploadContext = {},
  more: Partial<ReceiveDeps> = {},
): Promise<string> {
  const body = isStream(document) ? document : streamOf(document);
  const deps: ReceiveDeps = {
    database,
    clock,
    sealKey: SEAL_KEY,
    waitingBytesMax: 2 ** 30,
    paceMs: () => 1000,
    isStorageLow: () => false,
    scansUnderWay: (...of) => scansUnderWay(database, ...of),
    ...more,
  };
  const received = await receiveUpload(deps, caller, {
    body,
    encoding: 'identity',
    // A format without a route of its own is known by its content.
    format: format === 'gitleaks' ? 'auto' : format,
    context,
    commandId: null,
    idempotencyKey: null,
    digests: new Map(),
  });
  return received.uploadId;
}

/** As after a fault: the upload is tried again after so many milliseconds. */
export async function postpone(
  stage: Stage,
  { tenantId }: RunnerCaller,
  id: string,
  ms: number,
): Promise<void> {
  await stage.database
    .tenant(tenantId)
    .updateTable('upload')
    .set({ fault: 'error', not_before: stage.clock.nowMs() + ms })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

/** The receipt of an upload that has one. */
export async function receiptOf(
  { database }: Pick<Stage, 'database'>,
  { tenantId }: Pick<RunnerCaller, 'tenantId'>,
  id: string,
): Promise<Receipt> {
  const { receipt } = await database
    .tenant(tenantId)
    .selectFrom('upload')
    .select('receipt')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return JSON.parse(present(receipt, 'a receipt')) as Receipt;
}

/** Where a worker can die: after a committed step, just before a commit, or just after one. */
export type Point = 'checkpoint' | 'before commit' | 'after commit';
export const POINTS: readonly Point[] = ['checkpoint', 'before commit', 'after commit'];

/** Thrown at the chosen point. */
export class Crash extends Error {}

/**
 * Called at every point, with how often points of its kind were passed before; throws Crash to die
 * there.
 */
export type Watch = (point: Point, index: number, step: string | null) => void | Promise<void>;

/** A database whose members can be replaced one by one. */
const membersOf = (database: Database): Database => ({
  kind: database.kind,
  tenant: (id) => database.tenant(id),
  lists: (id) => database.lists(id),
  system: () => database.system(),
  systemLists: () => database.systemLists(),
  transaction: (scope, body) => database.transaction(scope, body),
  together: (scope, body) => database.together(scope, body),
  notify: (text) => database.notify(text),
  listen: (hear) => database.listen(hear),
  workerData: () => database.workerData(),
  close: () => database.close(),
});

/** What ingest needs, with every point where it can die shown to `watch`. */
export function watchedDeps({ database, clock }: Stage, watch: Watch): IngestDeps {
  const passed = new Map<Point, number>();
  const pass = (point: Point, step: string | null = null): void | Promise<void> => {
    const index = passed.get(point) ?? 0;
    passed.set(point, index + 1);
    return watch(point, index, step);
  };
  const watched: Database = {
    ...membersOf(database),
    together: async (scope, body) => {
      // Statements and commit leave as one: nothing can come between them.
      await pass('before commit');
      await database.together(scope, body);
      await pass('after commit');
    },
    transaction: async (scope, body) => {
      const result = await database.transaction(scope, async (tx) => {
        const made = await body(tx);
        await pass('before commit');
        return made;
      });
      await pass('after commit');
      return result;
    },
  };
  const checkpoint = (step: string): void => void pass('checkpoint', step);
  return { database: watched, clock, sealKey: SEAL_KEY, secretKey: SECRET_KEY, checkpoint };
}

export const claim = async ({ database, clock }: Stage): Promise<UploadRow | undefined> => {
  const holder = newId<string>(clock.nowMs());
  return await claimNext({ database, clock, holder, turns: new Turns() });
};

/** How an upload comes back to the queue when its worker is gone. */
export type Return = 'lease ended' | 'restart' | 'thread died' | 'fault';
export const RETURNS: readonly Return[] = ['lease ended', 'restart', 'thread died', 'fault'];

export async function giveBack(stage: Stage, upload: UploadRow, how: Return): Promise<void> {
  const { database, clock } = stage;
  if (how === 'lease ended') clock.advance(limits.uploadLeaseMs + 1);
  else if (how === 'restart') await releaseAllHeld(database.system());
  else {
    await retryOrFail(stage, upload, how === 'thread died' ? 'crashed' : 'error');
    clock.advance(retryAfterMs(upload.attempt));
  }
}

/**
 * Claims one upload and processes it: 'crashed' when `watch` let the worker die; null when none
 * waits.
 */
export async function workOnce(
  stage: Stage,
  watch: Watch,
): Promise<{ upload: UploadRow; outcome: Outcome | 'crashed' } | null> {
  const upload = await claim(stage);
  if (upload === undefined) return null;
  try {
    return { upload, outcome: await processUpload(watchedDeps(stage, watch), upload) };
  } catch (error) {
    if (!(error instanceof Crash)) throw error;
    return { upload, outcome: 'crashed' };
  }
}

/**
 * The same by a worker that dies right after `step`, and whose batches wait for each other:
 * whatever the machine does, none behind that step is committed.
 */
export async function workUntil(
  stage: Stage,
  step: string,
): Promise<NonNullable<Awaited<ReturnType<typeof workOnce>>>> {
  let isDead = false;
  let last: Promise<unknown> = Promise.resolve();
  const database: Database = {
    ...membersOf(stage.database),
    together: (scope, body) => {
      const turn = last.then(async () => {
        if (isDead) throw new Crash();
        await stage.database.together(scope, body);
      });
      // The step behind a commit is told before the next batch has its turn.
      last = turn.then(
        () => setImmediate(),
        () => {},
      );
      return turn;
    },
  };
  return await workSoon({ ...stage, database }, (_point, _index, here) => {
    isDead ||= here === step;
    if (isDead) throw new Crash();
  });
}

/**
 * The same once an upload can be claimed: batches of a worker that died may still be on their way,
 * and until they are refused PostgreSQL passes their upload over.
 */
export const workSoon = async (
  stage: Stage,
  watch: Watch,
): Promise<NonNullable<Awaited<ReturnType<typeof workOnce>>>> =>
  await eventually(async () => await workOnce(stage, watch));
