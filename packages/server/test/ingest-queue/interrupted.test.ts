// What an upload is worth that is interrupted in the middle of its batches while others of its analysis go on, on both
// databases: nothing that it has is closed, nothing is lost, and what is concluded is what it would have been at once.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { holdLease, LeaseLost } from '../../src/ingest/lease.ts';
import type { UploadRow } from '../../src/ingest/upload.queries.ts';
import type { RunnerCaller } from '../../src/keys/authenticate.ts';
import { present } from '../../src/lib/assert.ts';
import { BACKENDS } from '../harness.ts';
import { sarif, sarifResult } from '../http/reports.ts';
import {
  Crash,
  giveBack,
  newCaller,
  newRunnerOf,
  openStage,
  postpone,
  receiptOf,
  receive,
  type Stage,
  watchedDeps,
  workOnce,
} from '../ingest-crash/scene.ts';

const CONTEXT = { repositoryUrl: 'https://github.com/acme/interrupted', branch: 'main' };

for (const backend of BACKENDS) {
  describe(`interrupted uploads on ${backend}`, { concurrency: false }, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.close());

    const hand = async (caller: RunnerCaller, rules: readonly string[]) => {
      const results = rules.map((rule) => sarifResult({ rule, path: `${rule}.js` }));
      return await receive(stage, caller, 'sarif', sarif(results), CONTEXT);
    };
    const work = async (): Promise<{ id: string; outcome: string }> => {
      const { upload, outcome } = present(await workOnce(stage, () => {}), 'an upload');
      return { id: upload.id, outcome };
    };
    /** Dies when the first batch is committed; the two behind it are under way and may still be, or not. It waits. */
    const dieAfterFirstBatch = async (caller: RunnerCaller, id: string): Promise<UploadRow> => {
      const interrupted = await workOnce(stage, (_point, _index, step) => {
        if (step === 'batch 1') throw new Crash();
      });
      const { upload, outcome } = present(interrupted, 'the interrupted one');
      assert.deepEqual({ id: upload.id, outcome }, { id, outcome: 'crashed' });
      await giveBack(stage, upload, 'fault');
      await postpone(stage, caller, id, 60_000);
      return upload;
    };
    /** The same, until the leases of its scopes have ended. */
    const interrupt = async (caller: RunnerCaller, id: string): Promise<void> => {
      await dieAfterFirstBatch(caller, id);
      stage.clock.advance(limits.uploadLeaseMs + 1000);
    };

    const statusesOf = async ({ tenantId }: RunnerCaller): Promise<ReadonlyMap<string, string>> => {
      const rows = await stage.database
        .tenant(tenantId)
        .selectFrom('finding')
        .select(['rule_id', 'status'])
        .where('tenant_id', '=', tenantId)
        .execute();
      return new Map(rows.map((row) => [row.rule_id, row.status]));
    };

    test('interrupted, and resumed after another one of its analysis, an upload closes nothing', async () => {
      const caller = await newCaller(stage);
      const other = await newRunnerOf(stage, caller.tenantId);
      const rules = Array.from({ length: limits.ingestBatchItems + 10 }, (_, rule) => `r${rule}`);
      const older = await hand(other, rules.slice(100, 190));
      await postpone(stage, other, older, 60_000);
      stage.clock.advance(1);
      const newer = await hand(caller, rules);
      await interrupt(caller, newer);
      await postpone(stage, other, older, 0);
      assert.deepEqual(await work(), { id: older, outcome: 'processed' });
      await postpone(stage, caller, newer, 0);
      assert.deepEqual(await work(), { id: newer, outcome: 'processed' });
      const receipt = await receiptOf(stage, caller, newer);
      assert.equal(receipt.findings.received, rules.length);
      assert.equal(receipt.resolved, 0, 'it has all of them itself');
      const codes = receipt.warnings.map(({ code }) => code);
      assert.ok(codes.includes('interrupted_by_upload'), codes.join());
    });

    for (const [whatItHas, overlap] of [
      ['some of it', 200],
      ['none of it', 0],
    ] as const) {
      test(`an older upload that comes between closes nothing that the newer one has written: it has ${whatItHas}`, async () => {
        const caller = await newCaller(stage);
        const other = await newRunnerOf(stage, caller.tenantId);
        const base = Array.from({ length: 300 }, (_, rule) => `r${rule}`);
        await hand(caller, base);
        await work();
        stage.clock.advance(1);
        const older = await hand(other, base.slice(0, 250));
        await postpone(stage, other, older, 60_000);
        stage.clock.advance(1);
        const fresh = Array.from({ length: 60 }, (_, rule) => `n${rule}`);
        // What only the newer one has is in its first batch.
        const written = [...fresh, ...base.slice(250)];
        const newer = await hand(caller, [...written, ...base.slice(0, overlap)]);
        await interrupt(caller, newer);
        await postpone(stage, other, older, 0);
        assert.deepEqual(await work(), { id: older, outcome: 'processed' });
        assert.equal((await receiptOf(stage, other, older)).resolved, 0);
        await postpone(stage, caller, newer, 0);
        assert.deepEqual(await work(), { id: newer, outcome: 'processed' });
        const statuses = await statusesOf(caller);
        assert.deepEqual(
          written.filter((rule) => statuses.get(rule) !== 'open'),
          [],
        );
      });
    }

    test('interrupted, and another one of its analysis came between: equal items stay as many as there are', async () => {
      const caller = await newCaller(stage);
      const other = await newRunnerOf(stage, caller.tenantId);
      const handEqual = async (who: RunnerCaller, count: number): Promise<string> => {
        const results = Array.from({ length: count }, (_, at) =>
          sarifResult({ rule: 'same', path: 'same.js', line: at + 1 }),
        );
        return await receive(stage, who, 'sarif', sarif(results), CONTEXT);
      };
      const older = await handEqual(other, 1260);
      await postpone(stage, other, older, 60_000);
      stage.clock.advance(1);
      const newer = await handEqual(caller, 1300);
      await interrupt(caller, newer);
      await postpone(stage, other, older, 0);
      assert.deepEqual(await work(), { id: older, outcome: 'processed' });
      await postpone(stage, caller, newer, 0);
      assert.deepEqual(await work(), { id: newer, outcome: 'processed' });
      assert.equal((await receiptOf(stage, caller, newer)).findings.received, 1300);
      const rows = await stage.database
        .tenant(caller.tenantId)
        .selectFrom('finding')
        .select(['start_line', 'status'])
        .where('tenant_id', '=', caller.tenantId)
        .execute();
      assert.equal(rows.filter(({ status }) => status === 'open').length, 1300);
      assert.equal(new Set(rows.map((row) => row.start_line)).size, 1300);
    });

    test('what is held back is judged by what was open before the first batch, interrupted or not', async () => {
      const caller = await newCaller(stage);
      const rules = Array.from({ length: 1200 }, (_, rule) => `r${rule}`);
      await hand(caller, rules);
      await work();
      stage.clock.advance(1);
      // Half of it is gone, which is just not too much; but of the other half the first batch suppresses some.
      const suppressions = [{ kind: 'external', status: 'accepted' }];
      const results = rules
        .slice(600)
        .map((rule, at) =>
          sarifResult({ rule, path: `${rule}.js`, more: at < 10 ? { suppressions } : {} }),
        );
      const half = await receive(stage, caller, 'sarif', sarif(results), CONTEXT);
      await interrupt(caller, half);
      await postpone(stage, caller, half, 0);
      assert.deepEqual(await work(), { id: half, outcome: 'processed' });
      const { held, resolved, suppressed } = await receiptOf(stage, caller, half);
      assert.deepEqual({ held, resolved, suppressed }, { held: 0, resolved: 600, suppressed: 10 });
    });

    test('who lost an upload extends none of its scopes', async () => {
      const caller = await newCaller(stage);
      const other = await newRunnerOf(stage, caller.tenantId);
      const lost = await hand(caller, ['one']);
      const upload = await dieAfterFirstBatch(caller, lost);
      stage.clock.advance(limits.uploadLeaseMs - 1000);
      const db = stage.database.tenant(caller.tenantId);
      await assert.rejects(
        holdLease(
          watchedDeps(stage, () => {}),
          db,
          upload,
          {},
        ),
        LeaseLost,
      );
      stage.clock.advance(2000);
      await postpone(stage, caller, lost, 60_000);
      const next = await hand(other, ['one', 'two']);
      assert.deepEqual(await work(), { id: next, outcome: 'processed' });
    });
  });
}
