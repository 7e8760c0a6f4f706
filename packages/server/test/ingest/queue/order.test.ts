// Uploads of one analysis that wait for each other, on both databases: those of a runner are
// applied in the order of their arrival, and one that is applied late nevertheless takes back
// nothing that a later one said.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { processUpload } from '../../../src/ingest/ingest.ts';
import type { RunnerCaller } from '../../../src/keys/authenticate.ts';
import { present } from '../../../src/lib/assert.ts';
import { BACKENDS } from '../../harness.ts';
import { sarif, sarifResult } from '../../http/reports.ts';
import {
  claim,
  Crash,
  giveBack,
  newCaller,
  newRunnerOf,
  openStage,
  postpone,
  type Point,
  receiptOf,
  receive,
  type Stage,
  watchedDeps,
  workOnce,
} from '../crash/scene.ts';
import { snapshotOf } from '../crash/snapshot.ts';

const CONTEXT = { repositoryUrl: 'https://github.com/acme/order', branch: 'main' };

for (const backend of BACKENDS) {
  describe(`the order of uploads on ${backend}`, { concurrency: false }, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.close());

    const hand = async (caller: RunnerCaller, rules: readonly string[], words = 'Broken.') => {
      const results = rules.map((rule) =>
        sarifResult({ rule, path: `${rule}.js`, more: { message: { text: words } } }),
      );
      return await receive(stage, caller, 'sarif', sarif(results), CONTEXT);
    };
    const work = async (): Promise<{ id: string; outcome: string }> => {
      const { upload, outcome } = present(await workOnce(stage, () => {}), 'an upload');
      return { id: upload.id, outcome };
    };
    const rowOf = async ({ tenantId }: RunnerCaller, id: string) =>
      await stage.database
        .tenant(tenantId)
        .selectFrom('upload')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
    const hold = async ({ tenantId }: RunnerCaller, uploadId: string | null): Promise<void> => {
      const until = uploadId === null ? null : stage.clock.nowMs() + 60_000;
      await stage.database
        .tenant(tenantId)
        .updateTable('scope')
        .set({ holder_upload_id: uploadId, lease_until: until })
        .where('tenant_id', '=', tenantId)
        .execute();
    };

    test('a runner’s newer upload isn’t claimed past an older one that waits for a busy scope', async () => {
      const caller = await newCaller(stage);
      const first = await hand(caller, ['a']);
      await work();
      await hold(caller, first);
      const older = await hand(caller, ['a', 'b']);
      const newer = await hand(caller, ['a'], 'Newer words.');
      assert.deepEqual(await work(), { id: older, outcome: 'requeued' });
      const { items_total: judged } = await rowOf(caller, older);
      assert.equal(judged, null, 'a scope that is seen to be busy costs no reading of all items');
      assert.equal(await claim(stage), undefined, 'nothing is due');
      await hold(caller, null);
      stage.clock.advance(2000);
      assert.deepEqual(await work(), { id: older, outcome: 'processed' });
      assert.deepEqual(await work(), { id: newer, outcome: 'processed' });
      assert.equal((await receiptOf(stage, caller, newer)).resolved, 1);
    });

    test('an upload that did not extend its scope in time is pushed aside: it writes nothing more, and is claimed anew', async () => {
      const caller = await newCaller(stage);
      const other = await newRunnerOf(stage, caller.tenantId);
      const slow = await hand(caller, ['both', 'slow']);
      const quick = await hand(other, ['both', 'quick']);
      const scopes = stage.database.tenant(caller.tenantId);
      let quickly: { id: string; outcome: string } | null = null;
      const stall = async (point: Point): Promise<void> => {
        if (quickly !== null || point !== 'after commit') return;
        const taken = await scopes
          .updateTable('scope')
          .set({ lease_until: stage.clock.nowMs() - 1 })
          .where('tenant_id', '=', caller.tenantId)
          .where('holder_upload_id', '=', slow)
          .executeTakeFirst();
        if (taken.numUpdatedRows > 0n) quickly = await work();
      };
      const { outcome } = present(await workOnce(stage, stall), 'an upload');
      assert.deepEqual(quickly, { id: quick, outcome: 'processed' });
      assert.equal(outcome, 'lost');
      const { findings } = await snapshotOf(stage.database, caller.tenantId, [slow, quick]);
      assert.equal(findings.length, 2, 'what the quick one has, and nothing of the slow one');

      stage.clock.advance(1);
      assert.deepEqual(await work(), { id: slow, outcome: 'processed' });
      const receipt = await receiptOf(stage, caller, slow);
      assert.equal(receipt.findings.created, 1);
      assert.equal(receipt.findings.unchanged, 1, 'the later upload has the last word');
      assert.deepEqual((await rowOf(caller, slow)).attempt, 2);
    });

    test('an upload that waits because of a fault holds up no other one of its runner', async () => {
      const caller = await newCaller(stage);
      await postpone(stage, caller, await hand(caller, ['a']), 60_000);
      const newer = await hand(caller, ['a', 'b']);
      assert.deepEqual(await work(), { id: newer, outcome: 'processed' });
      stage.clock.advance(60_000);
      await work();
    });

    test('a clean scan that waits for its runner’s earlier uploads holds none of the later ones up', async () => {
      const caller = await newCaller(stage);
      const earlier = await hand(caller, ['a']);
      await postpone(stage, caller, earlier, 60_000);
      const clean = { ...CONTEXT, cleanScan: true } as const;
      const parked = await receive(stage, caller, 'sarif', sarif([]), clean);
      assert.deepEqual(await work(), { id: parked, outcome: 'requeued' });
      const newer = await hand(caller, ['a', 'b']);
      assert.deepEqual(await work(), { id: newer, outcome: 'processed' });
      stage.clock.advance(60_000);
      assert.deepEqual(await work(), { id: earlier, outcome: 'processed' });
      assert.deepEqual(await work(), { id: parked, outcome: 'processed' });
      assert.equal((await receiptOf(stage, caller, parked)).resolved, 0);
    });

    test('an upload that is tried again has what it took from the beginning, before it takes it anew', async () => {
      const caller = await newCaller(stage);
      const other = await newRunnerOf(stage, caller.tenantId);
      const first = await hand(caller, ['both', 'first']);
      const interrupted = await workOnce(stage, (_point, _index, step) => {
        if (step === 'batch 1') throw new Crash();
      });
      await giveBack(stage, present(interrupted, 'the first one').upload, 'lease ended');
      const again = present(await claim(stage), 'the first one again');
      const second = await hand(other, ['both', 'second']);
      let meanwhile: { id: string; outcome: string } | null = null;
      // Reading the first piece takes so long that the claim is extended after it: that is when the
      // other upload comes.
      const deps = {
        ...watchedDeps(stage, () => {}),
        onProgress: () => stage.clock.age(limits.uploadLeaseMs / 2),
        alignClock: async () => {
          meanwhile ??= await work();
        },
      };
      assert.equal(await processUpload(deps, again), 'processed');
      assert.equal(again.id, first);
      assert.deepEqual(meanwhile, { id: second, outcome: 'requeued' });
      stage.clock.advance(2000);
      assert.deepEqual(await work(), { id: second, outcome: 'processed' });
    });

    test('applied after a later one, an upload reopens, closes and changes nothing; what only it has is stored', async () => {
      const caller = await newCaller(stage);
      const first = await hand(caller, ['kept', 'fixed']);
      await work();
      const older = await hand(caller, ['kept', 'fixed', 'extra'], 'Older words.');
      await postpone(stage, caller, older, 60_000);
      const newer = await hand(caller, ['kept', 'late']);
      await work();
      stage.clock.advance(60_000);
      const ids = [first, older, newer];
      const earlier = await snapshotOf(stage.database, caller.tenantId, ids);
      assert.deepEqual(await work(), { id: older, outcome: 'processed' });

      const receipt = await receiptOf(stage, caller, older);
      const { created, unchanged, received } = receipt.findings;
      assert.deepEqual({ received, created, unchanged }, { received: 3, created: 1, unchanged: 2 });
      assert.equal(receipt.resolved, 0);
      assert.deepEqual(
        receipt.warnings.map(({ code }) => code),
        ['later_upload_applied'],
      );
      const later = await snapshotOf(stage.database, caller.tenantId, ids);
      assert.deepEqual(
        later.analyses,
        earlier.analyses,
        'the next one is compared with the newest',
      );
      assert.deepEqual(later.findingEvents, earlier.findingEvents);
      const findings = later.findings.filter((line) => !line.includes('"rule_id":"extra"'));
      assert.deepEqual(findings, earlier.findings);
      const gone = later.refs.filter((line) => line.includes('"present":0'));
      assert.equal(
        gone.length,
        1,
        'what the newest report doesn’t have is still gone from the ref',
      );

      const next = await hand(caller, ['kept', 'late', 'new']);
      await work();
      assert.equal(
        (await receiptOf(stage, caller, next)).resolved,
        1,
        'the one that only the older had',
      );
    });

    test('applied after a later one, a report takes back nothing that was said of assets, components and endpoints', async () => {
      const caller = await newCaller(stage);
      const say = async (word: string, more: readonly object[] = []) => {
        const host = 'late.example.com';
        const report = {
          version: '1.2',
          tool: { name: 'inventory' },
          metadata: { source_type: 'scanner' },
          assets: [{ id: 'a', type: 'domain', value: host, properties: { said: word, [word]: 1 } }],
          dependencies: [
            { id: 'x', name: 'x', version: '1', license: word, depends_on: [word] },
            { id: word, name: word, version: '1' },
            ...more,
          ],
          endpoints: [{ origin: `https://${host}`, path: '/', method: 'GET', name: word }],
          findings: [],
        };
        stage.clock.advance(1000);
        return await receive(stage, caller, 'ctis', report);
      };
      const { tenantId } = caller;
      const db = stage.database.tenant(tenantId);
      const componentsNow = async () =>
        await db.selectFrom('component').selectAll().where('tenant_id', '=', tenantId).execute();
      const endpointsNow = async () =>
        await db.selectFrom('endpoint').selectAll().where('tenant_id', '=', tenantId).execute();
      const older = await say('older', [{ id: 'o', name: 'only-older', version: '1' }]);
      await postpone(stage, caller, older, 60_000);
      await say('newer');
      await work();
      const before = { components: await componentsNow(), endpoints: await endpointsNow() };
      stage.clock.advance(60_000);
      assert.deepEqual(await work(), { id: older, outcome: 'processed' });

      const components = await componentsNow();
      const isKnown = (identity: string) =>
        before.components.some((row) => row.identity === identity);
      const known = components.filter(({ identity }) => isKnown(identity));
      assert.deepEqual(known, before.components, 'also when they were seen');
      assert.equal(components.length, known.length + 2, 'what only the older one has is added');
      assert.deepEqual(await endpointsNow(), before.endpoints);
      const assets = db.selectFrom('asset').selectAll().where('tenant_id', '=', tenantId);
      const asset = await assets.executeTakeFirstOrThrow();
      const { properties } = JSON.parse(asset.attributes ?? '') as {
        properties: Record<string, unknown>;
      };
      assert.deepEqual(properties, { older: 1, said: 'newer', newer: 1 });
    });
  });
}
