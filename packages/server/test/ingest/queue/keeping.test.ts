// The parts of uploads that are kept, and for how long, on both databases: bytes in flight, raw
// bytes, bodies that stopped arriving, rejections; and what becomes of an upload whose worker gave
// up.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { limits, type UploadFault } from '@muster/contract';
import { end } from '../../../src/ingest/finish/end.ts';
import {
  insertRejections,
  type RejectionRow,
} from '../../../src/ingest/store/rejection.queries.ts';
import { retryAfterMs } from '../../../src/ingest/finish/retry.rules.ts';
import { retryOrFail } from '../../../src/ingest/finish/retry.ts';
import {
  findUpload,
  inFlight,
  insertChunk,
  noteStored,
  readChunk,
  type UploadRow,
} from '../../../src/ingest/store/upload.queries.ts';
import { pruneUploads } from '../../../src/ingest/store/retention.ts';
import { listRejections } from '../../../src/uploads/uploads.ts';
import type { RunnerCaller } from '../../../src/keys/authenticate.ts';
import { present } from '../../../src/lib/assert.ts';
import { newId } from '../../../src/lib/ids.ts';
import { BACKENDS } from '../../harness.ts';
import { claim, newCaller, openStage, receive, type Stage, workOnce } from '../crash/scene.ts';

const DAY_MS = 86_400_000;
const KEEP_MS = 30 * DAY_MS;
const MIB = 1024 * 1024;

for (const backend of BACKENDS) {
  describe(`what is kept on ${backend}`, { concurrency: false }, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.close());

    const rowOf = async ({ tenantId }: RunnerCaller, id: string): Promise<UploadRow | undefined> =>
      await findUpload(stage.database.tenant(tenantId), tenantId, id);
    const chunks = async ({ tenantId }: RunnerCaller, id: string): Promise<number> => {
      const db = stage.database.tenant(tenantId);
      const rows = await db
        .selectFrom('upload_chunk')
        .select('seq')
        .where('upload_id', '=', id)
        .execute();
      return rows.length;
    };
    const prune = async (): Promise<number> =>
      await pruneUploads(stage.database, stage.clock, KEEP_MS);
    /** A body of so many bytes that no compression makes smaller. */
    const noise = (bytes: number): Buffer => randomBytes(bytes);

    test('raw bytes past their keeping go, the upload and its outcome stay and say so', async () => {
      const caller = await newCaller(stage);
      // More than one step of upkeep, and not a whole number of them.
      const id = await receive(stage, caller, 'ctis', noise(5 * MIB));
      assert.equal((await workOnce(stage, () => {}))?.outcome, 'refused');
      const pieces = await chunks(caller, id);
      assert.ok(pieces > 16, String(pieces));
      stage.clock.advance(KEEP_MS - DAY_MS);
      await prune();
      assert.equal(await chunks(caller, id), pieces, 'a day is left');
      stage.clock.advance(2 * DAY_MS);
      const waiting = await receive(stage, caller, 'ctis', noise(MIB));
      await prune();
      assert.equal(await chunks(caller, id), 0);
      const row = present(await rowOf(caller, id), 'the upload');
      assert.equal(row.state, 'refused');
      assert.ok(row.raw_deleted_at !== null && row.problem !== null);
      assert.equal(await prune(), 0, 'and it is not looked at again');
      stage.clock.advance(2 * KEEP_MS);
      await prune();
      assert.ok((await chunks(caller, waiting)) > 0, 'what waits to be processed keeps its bytes');
      assert.equal((await workOnce(stage, () => {}))?.outcome, 'refused');
    });

    test('a round deletes a bounded part, from the first piece on, and the next one goes on', async () => {
      const caller = await newCaller(stage);
      const id = await receive(stage, caller, 'ctis', Buffer.from('1'));
      await workOnce(stage, () => {});
      const { tenantId } = caller;
      const db = stage.database.tenant(tenantId);
      // As many chunks as the largest upload has; small ones, since only their number matters.
      const rows = Array.from({ length: 5000 }, (_, at) => ({
        tenant_id: tenantId,
        upload_id: id,
        seq: at + 1,
        sealed: new Uint8Array(1),
      }));
      for (let at = 0; at < rows.length; at += 1000)
        await db
          .insertInto('upload_chunk')
          .values(rows.slice(at, at + 1000))
          .execute();
      stage.clock.advance(KEEP_MS + DAY_MS);
      await prune();
      const left = await chunks(caller, id);
      assert.ok(left > 0 && left < 5001, String(left));
      assert.equal(await readChunk(db, tenantId, id, 0), undefined, 'nobody takes it for whole');
      assert.equal((await rowOf(caller, id))?.raw_deleted_at, null);
      await prune();
      assert.equal(await chunks(caller, id), 0);
      assert.ok((await rowOf(caller, id))?.raw_deleted_at !== null);
    });

    test('a body that stopped arriving is removed, and can’t be made whole meanwhile', async () => {
      const caller = await newCaller(stage);
      const { tenantId } = caller;
      const db = stage.database.tenant(tenantId);
      const known = present(
        await rowOf(caller, await receive(stage, caller, 'ctis', noise(9))),
        'one',
      );
      const id = newId<string>(stage.clock.nowMs());
      await db
        .insertInto('upload')
        .values({ ...known, id, state: 'receiving' })
        .execute();
      await insertChunk(db, tenantId, id, 0, new Uint8Array(1));
      assert.equal(await noteStored(db, tenantId, id, 1, stage.clock.nowMs()), 1);
      await prune();
      assert.equal(await chunks(caller, id), 1, 'it may still arrive');
      stage.clock.advance(limits.uploadQuietMs + 1);
      await prune();
      assert.equal(await rowOf(caller, id), undefined);
      assert.equal(await chunks(caller, id), 0);
      assert.equal(await noteStored(db, tenantId, id, 2, stage.clock.nowMs()), 0);
      assert.equal((await workOnce(stage, () => {}))?.outcome, 'refused');
    });

    test('a tenant’s stored bytes in flight are bounded; an upload on its own always fits', async () => {
      const caller = await newCaller(stage);
      const more = { waitingBytesMax: 6 * MIB };
      const first = await receive(stage, caller, 'ctis', noise(9 * MIB), {}, more);
      const another = receive(stage, caller, 'ctis', noise(1000), {}, more);
      await assert.rejects(another, { code: 'rate_limited' });
      const done = present(await claim(stage), 'the first');
      assert.equal(done.id, first);
      await end(stage, done, 'refused', null, { code: 'not_ctis', detail: 'told by a test' });
      await receive(stage, caller, 'ctis', noise(1000), {}, more);
      // The server can't know beforehand that it is too much: it refuses the body in the middle,
      // and keeps nothing of it.
      await assert.rejects(receive(stage, caller, 'ctis', noise(20 * MIB), {}, more), {
        code: 'rate_limited',
      });
      const { uploads, bytes } = await inFlight(
        stage.database.tenant(caller.tenantId),
        caller.tenantId,
      );
      assert.equal(uploads, 1);
      assert.ok(bytes < 2000, String(bytes));
    });

    test('on a disk that is nearly full nothing of an upload is stored', async () => {
      const caller = await newCaller(stage);
      const refused = receive(stage, caller, 'ctis', noise(9), {}, { isStorageLow: () => true });
      await assert.rejects(refused, { code: 'storage_full' });
      const { uploads } = await inFlight(stage.database.tenant(caller.tenantId), caller.tenantId);
      assert.equal(uploads, 0);
    });
  });

  describe(`uploads that can’t be processed, on ${backend}`, { concurrency: false }, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.close());

    const claimed = async (): Promise<UploadRow> => present(await claim(stage), 'an upload');
    const stateOf = async ({ tenant_id: tenantId, id }: UploadRow): Promise<UploadRow> =>
      present(await findUpload(stage.database.tenant(tenantId), tenantId, id), 'the upload');

    test('after three attempts without progress an upload has failed, with the last reason', async () => {
      await receive(stage, await newCaller(stage), 'ctis', { version: '1.0' });
      const faults: UploadFault[] = ['stalled', 'error', 'out_of_memory'];
      const outcomes: string[] = [];
      for (const fault of faults) {
        const upload = await claimed();
        outcomes.push(await retryOrFail(stage, upload, fault));
        assert.equal((await claim(stage))?.id, undefined, 'it waits for a while');
        stage.clock.advance(retryAfterMs(upload.attempt));
        if (outcomes.length < faults.length) assert.equal((await stateOf(upload)).fault, fault);
        else {
          const { state, problem, attempt } = await stateOf(upload);
          assert.deepEqual([state, attempt], ['failed', limits.uploadAttemptsMax]);
          assert.match(String(problem), /processing_failed.*3 times.*ran out of memory/);
        }
      }
      assert.deepEqual(outcomes, ['requeued', 'requeued', 'failed']);
      assert.equal(await claim(stage), undefined, 'it is set aside');
    });

    test('a database that is away and a server that stops are no fault of the upload', async () => {
      await receive(stage, await newCaller(stage), 'ctis', { version: '1.0' });
      for (let n = 0; n < 3 * limits.uploadAttemptsMax; n += 1) {
        const upload = await claimed();
        const fault = n % 2 === 0 ? 'unavailable' : 'process_ended';
        assert.equal(await retryOrFail(stage, upload, fault), 'requeued');
        if (fault === 'unavailable') stage.clock.advance(retryAfterMs(upload.attempt));
      }
      const upload = await claimed();
      assert.equal(upload.attempt, 1);
      await end(stage, upload, 'refused', null, { code: 'not_ctis', detail: 'told by a test' });
    });

    test('a worker that lost its upload ends nothing, and leaves alone what its successor holds', async () => {
      const caller = await newCaller(stage);
      await receive(stage, caller, 'ctis', { version: '1.0' });
      const late = await claimed();
      stage.clock.advance(limits.uploadLeaseMs + 1);
      const successor = await claimed();
      assert.equal(successor.id, late.id);
      const db = stage.database.tenant(caller.tenantId);
      const batch = {
        tenant_id: caller.tenantId,
        upload_id: late.id,
        part: 'items' as const,
        batch: 1,
        counts: '{}',
        lease_holder: 'the successor',
      };
      await db.insertInto('upload_batch').values(batch).execute();
      const problem = { code: 'not_ctis', detail: 'told by a test' };
      assert.equal(await end(stage, late, 'failed', null, problem), 'lost');
      assert.equal(await retryOrFail(stage, late, 'crashed'), 'lost');
      const rows = async (table: 'upload_batch' | 'event'): Promise<unknown[]> =>
        await db
          .selectFrom(table)
          .select('tenant_id')
          .where('tenant_id', '=', caller.tenantId)
          .execute();
      assert.equal((await rows('upload_batch')).length, 1);
      assert.equal((await rows('event')).length, 0);
      assert.equal(await end(stage, successor, 'refused', null, problem), 'refused');
    });
  });

  describe(`rejections on ${backend}`, { concurrency: false }, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.close());

    test('all of them are kept, page by page in the order of the document; a re-run adds none', async () => {
      const caller = await newCaller(stage);
      const { tenantId } = caller;
      const id = await receive(stage, caller, 'ctis', { version: '1.0' });
      const rows: RejectionRow[] = Array.from({ length: 700 }, (_, seq) => ({
        tenant_id: tenantId,
        upload_id: id,
        seq,
        pointer: `/findings/${seq}`,
        code: 'not_an_object',
        detail: `item ${seq}`,
        item: seq % 2 === 0 ? '7' : null,
      }));
      for (let run = 0; run < 2; run += 1)
        await stage.database.transaction(tenantId, async (tx) => insertRejections(tx, rows));
      const seen: RejectionRow[] = [];
      for (let after = -1; ; after = seen.at(-1)?.seq ?? -1) {
        const page = await listRejections(stage.database, tenantId, id, after, 250);
        seen.push(...page.slice(0, 250));
        if (page.length <= 250) break;
      }
      assert.deepEqual(seen, rows);
      const beyond = await listRejections(stage.database, tenantId, id, Number.MAX_SAFE_INTEGER, 9);
      assert.deepEqual(beyond, []);
      const other = await newCaller(stage);
      const theirs = listRejections(stage.database, other.tenantId, id, -1, 9);
      await assert.rejects(theirs, { code: 'not_found' });
    });
  });
}
