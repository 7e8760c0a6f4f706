// The parts of uploads that are removed, on both databases: dry runs, many old uploads at once,
// repeats, and bodies that stop arriving. It goes in small steps, and nobody finds an upload that
// is being removed.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { insertRejections } from '../../../src/ingest/store/rejection.queries.ts';
import { giveUp } from '../../../src/ingest/store/retention.queries.ts';
import { discard, giveUpArriving, pruneUploads } from '../../../src/ingest/store/retention.ts';
import {
  findUpload,
  inFlight,
  insertChunk,
  type UploadRow,
} from '../../../src/ingest/store/upload.queries.ts';
import { listRejections, listUploads } from '../../../src/uploads/uploads.ts';
import type { RunnerCaller } from '../../../src/keys/authenticate.ts';
import { present } from '../../../src/lib/assert.ts';
import { newId } from '../../../src/lib/ids.ts';
import { BACKENDS } from '../../harness.ts';
import {
  Crash,
  newCaller,
  openStage,
  type Point,
  receive,
  type Stage,
  watchedDeps,
  workOnce,
} from '../crash/scene.ts';

const MINUTE_MS = 60_000;
const KEEP_MS = 30 * 1440 * MINUTE_MS;
const MIB = 1024 * 1024;

for (const backend of BACKENDS) {
  describe(`what is taken away on ${backend}`, { concurrency: false }, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.close());

    const rowOf = async ({ tenantId }: RunnerCaller, id: string): Promise<UploadRow | undefined> =>
      await findUpload(stage.database.tenant(tenantId), tenantId, id);
    const count = async (
      { tenantId }: RunnerCaller,
      table: 'upload' | 'upload_chunk' | 'event',
    ): Promise<number> => {
      const db = stage.database.tenant(tenantId);
      const rows = await db
        .selectFrom(table)
        .select('tenant_id')
        .where('tenant_id', '=', tenantId)
        .execute();
      return rows.length;
    };
    const prune = async (): Promise<number> =>
      await pruneUploads(stage.database, stage.clock, KEEP_MS);
    const pass = (ms: number): void => {
      stage.clock.advance(ms);
      stage.clock.age(ms);
    };
    /** Copies of the row of an upload of this caller. */
    const copies = async (
      caller: RunnerCaller,
      number: number,
      change: Partial<UploadRow>,
    ): Promise<string[]> => {
      const { tenantId } = caller;
      const id = await receive(stage, caller, 'ctis', randomBytes(9));
      const row = present(await rowOf(caller, id), 'an upload');
      const made = Array.from({ length: number }, () => ({
        ...row,
        id: newId<string>(stage.clock.nowMs()),
        ...change,
      }));
      const db = stage.database.tenant(tenantId);
      await db.insertInto('upload').values(made).execute();
      await db
        .insertInto('upload_chunk')
        .values(
          made.map((upload) => ({
            tenant_id: tenantId,
            upload_id: upload.id,
            seq: 0,
            sealed: new Uint8Array(1),
          })),
        )
        .execute();
      await workOnce(stage, () => {});
      return made.map((upload) => upload.id);
    };

    test('a dry run that is refused leaves neither event nor bytes, and its row for a day', async () => {
      const caller = await newCaller(stage);
      const asked = { dryRun: true } as const;
      const id = await receive(stage, caller, 'ctis', randomBytes(5 * MIB), asked);
      assert.equal((await workOnce(stage, () => {}))?.outcome, 'refused');
      assert.equal(await count(caller, 'event'), 0);
      assert.equal(await count(caller, 'upload_chunk'), 0);
      stage.clock.advance(limits.idempotencyMs - MINUTE_MS);
      await prune();
      assert.equal((await rowOf(caller, id))?.state, 'refused');
      stage.clock.advance(2 * MINUTE_MS);
      await prune();
      assert.equal(await rowOf(caller, id), undefined);
    });

    test('a worker that dies after the end of a dry run leaves its bytes to the next round', async () => {
      const caller = await newCaller(stage);
      await receive(stage, caller, 'ctis', randomBytes(9), { dryRun: true });
      const died = await workOnce(stage, (point) => {
        if (point === 'after commit') throw new Crash();
      });
      assert.equal(died?.outcome, 'crashed');
      assert.equal(await count(caller, 'upload_chunk'), 1);
      await prune();
      assert.equal(await count(caller, 'upload_chunk'), 0);
      assert.equal(await workOnce(stage, () => {}), null, 'it had ended');
    });

    test('hundreds of old uploads go in one round, and two nodes never do the same work', async () => {
      const caller = await newCaller(stage);
      const finished = stage.clock.nowMs() - KEEP_MS - MINUTE_MS;
      await copies(caller, 300, { state: 'refused', finished_at: finished });
      const [one, other] = await Promise.all([prune(), prune()]);
      // One node may end early when the other holds the last upload; nothing is done twice.
      assert.equal(one + other, 300);
      assert.equal(await count(caller, 'upload_chunk'), 1, 'the newest keeps its bytes');
      assert.equal(await prune(), 0);
    });

    test('rejections go with the raw bytes, however many they are', async () => {
      const caller = await newCaller(stage);
      const { tenantId } = caller;
      const id = await receive(stage, caller, 'ctis', randomBytes(9));
      const rows = Array.from({ length: 4500 }, (_, seq) => ({
        tenant_id: tenantId,
        upload_id: id,
        seq,
        pointer: `/findings/${seq}`,
        code: 'item_not_object',
        detail: 'told by a test',
        item: null,
      }));
      await stage.database.transaction(tenantId, async (tx) => insertRejections(tx, rows));
      await workOnce(stage, () => {});
      const left = async (): Promise<number> =>
        (await listRejections(stage.database, tenantId, id, -1, 9000)).length;
      stage.clock.advance(KEEP_MS - MINUTE_MS);
      await prune();
      assert.equal(await left(), 4500);
      stage.clock.advance(2 * MINUTE_MS);
      await prune();
      assert.equal(await left(), 0);
      assert.ok(present(await rowOf(caller, id), 'the upload').raw_deleted_at !== null);
    });

    test('a large body that repeats another goes in steps, each a transaction of its own', async () => {
      const caller = await newCaller(stage);
      const bytes = randomBytes(9 * MIB);
      const first = await receive(stage, caller, 'ctis', bytes);
      const pieces = await count(caller, 'upload_chunk');
      let commits = 0;
      const watch = (point: Point): void => {
        if (point === 'after commit') commits += 1;
      };
      const { database } = watchedDeps(stage, watch);
      assert.equal(await receive({ ...stage, database }, caller, 'ctis', bytes), first);
      assert.ok(commits > pieces / 16, `${commits} transactions for ${pieces} pieces`);
      assert.equal(await count(caller, 'upload_chunk'), pieces);
      assert.equal(await count(caller, 'upload'), 1);
      await workOnce(stage, () => {});
    });

    test('what was given up counts for nothing, is found by nobody, and takes no more pieces', async () => {
      const caller = await newCaller(stage);
      const { tenantId } = caller;
      const db = stage.database.tenant(tenantId);
      const [id = ''] = await copies(caller, 1, { state: 'receiving' });
      assert.equal((await inFlight(db, tenantId)).uploads, 1);
      assert.equal(await giveUp(db, tenantId, id, stage.clock.nowMs()), 1);
      assert.equal((await inFlight(db, tenantId)).uploads, 0);
      assert.equal(await rowOf(caller, id), undefined);
      const listed = await listUploads(stage.database, tenantId, {}, null, 10);
      assert.ok(listed.length === 1 && listed[0]?.id !== id);
      assert.equal(await insertChunk(db, tenantId, id, 1, new Uint8Array(1)), 0);
      assert.equal(await giveUp(db, tenantId, id, stage.clock.nowMs()), 0, 'once');
      await prune();
      assert.equal(await count(caller, 'upload'), 1);
    });

    test('an upload that was received is not discarded, whatever its sender was told', async () => {
      const caller = await newCaller(stage);
      const id = await receive(stage, caller, 'ctis', randomBytes(9));
      await discard(stage.database, stage.clock, caller.tenantId, id);
      assert.equal((await rowOf(caller, id))?.state, 'received');
      assert.equal((await workOnce(stage, () => {}))?.outcome, 'refused');
    });

    test('at the start of the only process every body on its way in is given up', async () => {
      const caller = await newCaller(stage);
      await copies(caller, 3, { state: 'receiving' });
      await giveUpArriving(stage.database, stage.clock);
      const db = stage.database.tenant(caller.tenantId);
      assert.equal((await inFlight(db, caller.tenantId)).uploads, 0);
      await prune();
      assert.equal(await count(caller, 'upload'), 1);
    });

    test('a slow body may take a day, as long as something of it arrives', async () => {
      const caller = await newCaller(stage);
      async function* slow(): AsyncGenerator<Uint8Array> {
        for (let at = 0; at < 24 * 15; at += 1) {
          yield Buffer.from(' ');
          pass(4 * MINUTE_MS);
          await prune();
        }
      }
      const id = await receive(stage, caller, 'ctis', slow());
      assert.equal((await rowOf(caller, id))?.state, 'received');
      assert.equal((await workOnce(stage, () => {}))?.outcome, 'refused');
    });

    test('a body of which nothing arrives is given up after some minutes, and its sender is told', async () => {
      const caller = await newCaller(stage);
      async function* stopping(): AsyncGenerator<Uint8Array> {
        yield randomBytes(MIB);
        pass(limits.uploadQuietMs + 1);
        await prune();
        yield randomBytes(9);
      }
      await assert.rejects(receive(stage, caller, 'ctis', stopping()), { code: 'unavailable' });
      assert.equal(await count(caller, 'upload'), 0);
      assert.equal(await count(caller, 'upload_chunk'), 0);
    });
  });
}
