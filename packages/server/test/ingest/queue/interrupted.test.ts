// An upload that is interrupted in the middle of its batches while others of its analysis go on, on
// both databases: nothing that it has is resolved, nothing is lost, and it concludes the same as
// without the interruption.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits, type Receipt, SEVERITIES } from '@muster/contract';
import { holdLease, LeaseLost } from '../../../src/ingest/lease/lease.ts';
import type { UploadRow } from '../../../src/ingest/store/upload.queries.ts';
import type { RunnerCaller } from '../../../src/keys/authenticate.ts';
import { BACKENDS } from '../../harness.ts';
import { sarif, sarifResult } from '../../http/reports.ts';
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
  workSoon,
} from '../crash/scene.ts';

const CONTEXT = { repositoryUrl: 'https://github.com/acme/interrupted', branch: 'main' };

/** Later than all leases end: an upload that waits for so long waits until it is told to go on. */
const LATER_MS = 10 * limits.uploadLeaseMs;

for (const backend of BACKENDS) {
  describe(`interrupted uploads on ${backend}`, { concurrency: false }, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.close());

    const hand = async (
      caller: RunnerCaller,
      rules: readonly string[],
      severity: 'error' | 'note' = 'error',
    ) => {
      const results = rules.map((rule) => sarifResult({ rule, path: `${rule}.js`, severity }));
      return await receive(stage, caller, 'sarif', sarif(results), CONTEXT);
    };
    const work = async (): Promise<{ id: string; outcome: string }> => {
      const { upload, outcome } = await workSoon(stage, () => {});
      return { id: upload.id, outcome };
    };
    /**
     * Lets the worker die when the first batch is committed; the two batches after it are under
     * way, and may be committed or not. Then the upload waits.
     */
    const dieAfterFirstBatch = async (caller: RunnerCaller, id: string): Promise<UploadRow> => {
      const { upload, outcome } = await workSoon(stage, (_point, _index, step) => {
        if (step === 'batch 1') throw new Crash();
      });
      assert.deepEqual({ id: upload.id, outcome }, { id, outcome: 'crashed' });
      await giveBack(stage, upload, 'fault');
      await postpone(stage, caller, id, LATER_MS);
      return upload;
    };
    /** Lets the worker die like that, and the leases of the upload's scopes end. */
    const interrupt = async (caller: RunnerCaller, id: string): Promise<void> => {
      await dieAfterFirstBatch(caller, id);
      stage.clock.advance(limits.uploadLeaseMs + 1000);
    };

    /** The findings of these rules, as text: "open 3" with the severity behind the status. */
    const shownOf = async (
      { tenantId }: RunnerCaller,
      rules: readonly string[],
    ): Promise<ReadonlySet<string>> => {
      const rows = await stage.database
        .tenant(tenantId)
        .selectFrom('finding')
        .select(['rule_id', 'status', 'severity'])
        .where('tenant_id', '=', tenantId)
        .execute();
      const wanted = new Set(rules);
      const asked = rows.filter(({ rule_id }) => wanted.has(rule_id));
      assert.equal(asked.length, rules.length);
      return new Set(asked.map(({ status, severity }) => `${status} ${severity}`));
    };
    const codesOf = ({ warnings }: Receipt): string[] => warnings.map(({ code }) => code);

    test('two interrupted uploads each conclude the same as without the interruption', async () => {
      const caller = await newCaller(stage);
      const other = await newRunnerOf(stage, caller.tenantId);
      const rules = Array.from({ length: limits.ingestBatchItems + 10 }, (_, rule) => `r${rule}`);
      await hand(caller, [...rules, 'gone']);
      await work();
      stage.clock.advance(1);
      const older = await hand(other, rules, 'note');
      await interrupt(other, older);
      const newer = await hand(caller, rules);
      await interrupt(caller, newer);
      await postpone(stage, other, older, 0);
      assert.deepEqual(await work(), { id: older, outcome: 'processed' });
      const ofOlder = await receiptOf(stage, other, older);
      assert.equal(ofOlder.findings.received, rules.length);
      assert.equal(ofOlder.resolved, 1);
      assert.deepEqual(codesOf(ofOlder), []);
      await postpone(stage, caller, newer, 0);
      assert.deepEqual(await work(), { id: newer, outcome: 'processed' });
      const ofNewer = await receiptOf(stage, caller, newer);
      assert.equal(ofNewer.findings.received, rules.length);
      assert.equal(ofNewer.resolved, 0);
      assert.deepEqual(codesOf(ofNewer), []);
      assert.deepEqual(
        await shownOf(caller, rules),
        new Set([`open ${SEVERITIES.indexOf('high')}`]),
      );
    });

    for (const [whatItHas, overlap, closed] of [
      ['some of it', 200, { resolved: 50, held: 0 }],
      ['none of it', 0, { resolved: 0, held: 250 }],
    ] as const) {
      test(`an older upload that comes between changes nothing that the newer one has written: it has ${whatItHas}`, async () => {
        const caller = await newCaller(stage);
        const other = await newRunnerOf(stage, caller.tenantId);
        const base = Array.from({ length: 300 }, (_, rule) => `r${rule}`);
        await hand(caller, base, 'note');
        await work();
        stage.clock.advance(1);
        const older = await hand(other, base.slice(0, 250), 'note');
        await postpone(stage, other, older, LATER_MS);
        stage.clock.advance(1);
        const fresh = Array.from({ length: 60 }, (_, rule) => `n${rule}`);
        // The first batch has what only the newer upload has, beside some findings that both have.
        const only = [...fresh, ...base.slice(250)];
        const both = base.slice(0, overlap);
        const newer = await hand(caller, [...only, ...both]);
        await interrupt(caller, newer);
        await postpone(stage, other, older, 0);
        assert.deepEqual(await work(), { id: older, outcome: 'processed' });
        assert.equal((await receiptOf(stage, other, older)).resolved, 0);
        const written = [...only, ...both].slice(0, limits.ingestBatchItems);
        const asTheNewerSays = new Set([`open ${SEVERITIES.indexOf('high')}`]);
        assert.deepEqual(await shownOf(caller, written), asTheNewerSays);
        await postpone(stage, caller, newer, 0);
        assert.deepEqual(await work(), { id: newer, outcome: 'processed' });
        assert.deepEqual(await shownOf(caller, [...only, ...both]), asTheNewerSays);
        const receipt = await receiptOf(stage, caller, newer);
        assert.deepEqual({ resolved: receipt.resolved, held: receipt.held }, closed);
        assert.deepEqual(codesOf(receipt), []);
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
      await postpone(stage, other, older, LATER_MS);
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
      // Half of it is gone, just not too much for the guard; but the first batch suppresses some of
      // the other half.
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

    test('a worker that lost an upload extends none of its scopes', async () => {
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
      await postpone(stage, caller, lost, LATER_MS);
      const next = await hand(other, ['one', 'two']);
      assert.deepEqual(await work(), { id: next, outcome: 'processed' });
    });
  });
}
