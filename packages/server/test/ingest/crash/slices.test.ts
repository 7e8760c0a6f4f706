// Writes that grow with a report are done in slices, on both databases: no slice is long, a worker
// that dies between two of them costs nothing, and the decisions made before the first slice hold
// for all.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { SLICE_ROWS } from '../../../src/ingest/lease/slices.ts';
import type { RunnerCaller } from '../../../src/keys/authenticate.ts';
import { present } from '../../../src/lib/assert.ts';
import { BACKENDS } from '../../harness.ts';
import { ctis, ctisFinding, many } from '../../http/reports.ts';
import type { Fields } from '../../http/wire.ts';
import {
  claim,
  Crash,
  giveBack,
  newCaller,
  openStage,
  receiptOf,
  receive,
  type Stage,
  type Watch,
  workOnce,
} from './scene.ts';
import { snapshotOf } from './snapshot.ts';

const REPOSITORY = 'https://github.com/acme/slices';

/** `count` entries in every list of the inventory, and a conclusive analysis of each asset. */
function largeInventory(count: number): Fields {
  const names = Array.from({ length: count }, (_, n) => `${REPOSITORY}-${n}`);
  return {
    version: '1.6',
    metadata: { id: 'large', coverage_type: 'full' },
    tool: { name: 'testtool' },
    assets: names.map((value) => ({ id: value, type: 'repository', value })),
    dependencies: names.map((_, n) => ({
      name: `library-${n}`,
      purl: `pkg:npm/library-${n}@1.0.0`,
    })),
    relationships: names
      .slice(1)
      .map((from, n) => ({ from_ref: from, to_ref: names[n], type: 'depends_on' })),
    endpoints: names.map((_, n) => ({ origin: 'https://shop.example', path: `/${n}` })),
    findings: ['not a finding', ...names.slice(0, 2).map(findingOn)],
  };
}

const findingOn = (asset: string): Fields => ctisFinding({ more: { asset_ref: asset } });

const full = (findings: Fields[]): Fields =>
  ctis(findings, { repository: REPOSITORY, coverage: 'full' });

for (const backend of BACKENDS) {
  describe(`slices of an upload on ${backend}`, { concurrency: false }, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.close());

    const tell = async (caller: RunnerCaller, report: Fields, watch: Watch = () => {}) => {
      // Later the same bytes are a new upload, and not a repeat of the first one.
      stage.clock.advance(limits.lostAnswerMs + 1);
      const id = await receive(stage, caller, 'ctis', report);
      return { id, work: present(await workOnce(stage, watch), 'the work') };
    };
    /** The names of the steps of the last of these reports. */
    const stepsOf = async (reports: readonly Fields[]): Promise<string[]> => {
      const caller = await newCaller(stage);
      let steps: string[] = [];
      for (const report of reports) {
        steps = [];
        await tell(caller, report, (_, __, step) => void (step !== null && steps.push(step)));
      }
      return steps;
    };
    const tellAll = async (reports: readonly Fields[], crashAt: string | null) => {
      const caller = await newCaller(stage);
      const ids: string[] = [];
      for (const [at, report] of reports.entries()) {
        let isLeft = crashAt !== null && at === reports.length - 1;
        const { id, work } = await tell(caller, report, (_, __, step) => {
          if (!isLeft || step !== crashAt) return;
          isLeft = false;
          throw new Crash();
        });
        ids.push(id);
        if (work.outcome !== 'crashed') continue;
        await giveBack(stage, work.upload, 'restart');
        await workOnce(stage, () => {});
      }
      return await snapshotOf(stage.database, caller.tenantId, ids);
    };

    test('a large inventory is written in slices, and its counts survive a crash after each', async () => {
      const report = largeInventory(2 * SLICE_ROWS + 10);
      const steps = await stepsOf([report]);
      const counted = steps.filter((step) => /^frame \d+$/.test(step));
      assert.deepEqual(
        counted,
        Array.from({ length: 12 }, (_, n) => `frame ${n}`),
        'assets, dependencies, relationships and endpoints in three slices each',
      );
      assert.equal(
        steps.filter((step) => step === 'a slice of the frame').length,
        1 + 3 + 3,
        'the rejection, refs, scopes',
      );
      assert.equal(steps.filter((step) => step === 'a slice of the absence').length, 3, 'analyses');
      const undisturbed = await tellAll([report], null);
      for (const step of ['frame 0', 'frame 2', 'frame 4', 'frame 11']) {
        assert.deepEqual(await tellAll([report], step), undisturbed, `a crash behind ${step}`);
      }
    });

    test('what a component depends on adds up over slices, wherever a worker dies between them', async () => {
      const names = Array.from({ length: 2 * SLICE_ROWS }, (_, n) => `library-${n}`);
      const [first = '', ...others] = names;
      const entry = (name: string, on: string, path = 'a/package-lock.json') => ({
        name,
        purl: `pkg:npm/${name}`,
        version: '1',
        path,
        depends_on: [on],
      });
      const report = {
        ...largeInventory(1),
        dependencies: [
          entry(first, 'library-1'),
          ...others.map((name) => entry(name, first)),
          entry(first, 'library-2', 'b/package-lock.json'),
          entry(first, 'library-1', 'c/package-lock.json'),
        ],
      };
      const undisturbed = await tellAll([report, report], null);
      const stored = undisturbed.frame.filter((line) => line.includes('"pkg:npm/library-0@1"'));
      const rows = stored.map((line) => JSON.parse(line) as Fields);
      const shown = rows.find((row) => row['identity'] === 'pkg:npm/library-0@1');
      const edges = JSON.parse(String(shown?.['depends_on'])) as string[];
      assert.deepEqual(edges.sort(), ['pkg:npm/library-1@1', 'pkg:npm/library-2@1']);
      for (const folder of ['a', 'b', 'c']) {
        assert.ok(String(shown?.['document']).includes(`${folder}/package-lock.json`), folder);
      }
      for (const step of ['frame 1', 'frame 2', 'frame 3', 'frame 4']) {
        assert.deepEqual(await tellAll([report, report], step), undisturbed, `behind ${step}`);
      }
    });

    test('what is said of one asset or endpoint in several slices is put together, wherever a worker dies', async () => {
      const report = largeInventory(SLICE_ROWS + 10);
      const { assets, relationships, endpoints } = report as Record<string, Fields[]>;
      const [first, second] = [present(assets?.[0], 'one'), present(assets?.[1], 'another')];
      const again = (properties: Fields, more: Fields = {}) => ({ ...first, properties, ...more });
      const [link, page] = [present(relationships?.[0], 'one'), present(endpoints?.[0], 'one')];
      const repeated = {
        ...report,
        metadata: {},
        dependencies: [],
        assets: [
          again({ a: '1', b: '1' }, { name: 'the first' }),
          ...(assets?.slice(1) ?? []),
          again({ b: '2', c: '2' }, { name: 'the last', criticality: 'low' }),
          { ...second, properties: { only: 'behind' } },
          again({ c: '3' }, { criticality: 'high' }),
        ],
        relationships: [...(relationships ?? []), link, link, link],
        endpoints: [...(endpoints ?? []), { ...page, kind: 'html' }, { ...page, kind: 'api' }],
      };
      const once = await tellAll([repeated], null);
      const twice = await tellAll([repeated, repeated], null);
      for (const { frame } of [once, twice]) {
        const rows = frame.map((line) => JSON.parse(line) as Fields);
        const attributesOf = (value: unknown) => {
          const shown = rows.find(
            (row) => 'attributes' in row && value === `https://${String(row['value'])}`,
          );
          return JSON.parse(String(shown?.['attributes'])) as { properties: Fields };
        };
        assert.deepEqual(attributesOf(first['value']).properties, { a: '1', b: '2', c: '3' });
        assert.deepEqual(attributesOf(second['value']).properties, { only: 'behind' });
        const named = rows.filter(({ name }) => name === 'the first');
        assert.deepEqual(
          named.map(({ criticality }) => criticality),
          ['low'],
        );
        const shown = rows.filter(({ identity }) => identity === 'ANY https://shop.example/0');
        assert.match(JSON.stringify(shown), /"kind\\":\\"api/);
      }
      const steps = (await stepsOf([repeated])).filter((step) => /^frame \d+$/.test(step));
      assert.equal(steps.length, 6, 'two slices of each list');
      for (const step of steps) {
        assert.deepEqual(await tellAll([repeated], step), once, `behind ${step}`);
        assert.deepEqual(await tellAll([repeated, repeated], step), twice, `again, behind ${step}`);
      }
    });

    test('assets and endpoints with large documents are written in slices of fewer rows', async () => {
      const text = 'word '.repeat(3000);
      const properties = { a: text, b: text, c: text, d: text };
      const names = Array.from({ length: 150 }, (_, n) => `n${n}`);
      const report = {
        ...ctis([]),
        assets: names.map((value) => ({ type: 'host', value, properties })),
        endpoints: names.map((name) => ({
          origin: 'https://e.example',
          path: `/${name}`,
          params: [{ name: text }],
          properties,
        })),
      };
      const counted = (await stepsOf([report])).filter((step) => /^frame \d+$/.test(step));
      assert.deepEqual(
        counted,
        Array.from({ length: 6 }, (_, n) => `frame ${n}`),
      );
    });

    test('dependencies with large documents are written in slices of fewer rows', async () => {
      const text = 'word '.repeat(3000);
      const properties = { a: text, b: text, c: text, d: text };
      const dependencies = Array.from({ length: 150 }, (_, n) => ({ name: `n${n}`, properties }));
      const steps = await stepsOf([{ ...ctis([]), dependencies }]);
      // An asset; 60 000 characters in each row.
      const counted = steps.filter((step) => /^frame \d+$/.test(step));
      assert.deepEqual(counted, ['frame 0', 'frame 1', 'frame 2', 'frame 3']);
    });

    test('an upload whose worker dies after each of its slices gets further each time, and is done in the end', async () => {
      const dependencies = Array.from({ length: 6 * SLICE_ROWS }, (_, n) => ({ name: `n${n}` }));
      const caller = await newCaller(stage);
      const id = await receive(stage, caller, 'ctis', { ...ctis([]), dependencies });
      const steps: string[] = [];
      const work = async () =>
        present(
          await workOnce(stage, (_point, _index, step) => {
            if (step === null || !/^frame \d+$/.test(step)) return;
            steps.push(step);
            throw new Crash();
          }),
          'the work',
        );
      for (let last = await work(); last.outcome !== 'processed'; last = await work()) {
        assert.equal(last.outcome, 'crashed', steps.join());
        await giveBack(stage, last.upload, 'thread died');
      }
      // An asset, six slices.
      assert.deepEqual(
        steps,
        Array.from({ length: 7 }, (_, n) => `frame ${n}`),
      );
      assert.ok(steps.length > limits.uploadAttemptsMax);
      const { dependencies: counted } = await receiptOf(stage, caller, id);
      assert.equal(counted.created, dependencies.length);
    });

    test('many entries of one component fill slices as others do', async () => {
      const dependencies = Array.from({ length: 2 * SLICE_ROWS + 10 }, (_, n) => ({
        name: 'the same',
        path: `${n}/package-lock.json`,
      }));
      const steps = await stepsOf([{ ...ctis([]), dependencies }]);
      const counted = steps.filter((step) => /^frame \d+$/.test(step));
      assert.deepEqual(counted, ['frame 0', 'frame 1', 'frame 2', 'frame 3'], 'an asset, 3 slices');
    });

    test('absence is closed in slices as decided before the first one, wherever a worker dies', async () => {
      const [all, few] = [full(many(700, ctisFinding)), full(many(100, ctisFinding))];
      // The guard holds 600 of 700 back; a second equal scan is believed.
      const reports = [all, few, few];
      const steps = (await stepsOf(reports)).filter((step) => step.includes('absence'));
      const closing = ['absence 0', 'absence 1', 'absence 2', 'absence 3'];
      assert.deepEqual(steps, [...closing, 'a slice of the absence']);
      const undisturbed = await tellAll(reports, null);
      assert.match(present(undisturbed.receipts[2], 'a receipt'), /\\"resolved\\":600,/);
      assert.equal(undisturbed.findingEvents.length, 600);
      for (const step of steps) {
        assert.deepEqual(await tellAll(reports, step), undisturbed, `a crash behind ${step}`);
      }
    });

    test('what the guard holds back stays held when a worker dies after its analysis was noted', async () => {
      const reports = [full(many(300, ctisFinding)), full(many(10, ctisFinding))];
      const undisturbed = await tellAll(reports, null);
      assert.match(present(undisturbed.receipts[1], 'a receipt'), /\\"held\\":290,/);
      assert.deepEqual(await tellAll(reports, 'a slice of the absence'), undisturbed);
    });

    test('what an operator decides between the decision and its slice is neither resolved nor told so', async () => {
      const caller = await newCaller(stage);
      await tell(caller, full(many(3, ctisFinding)));
      const db = stage.database.tenant(caller.tenantId);
      const decide = async (rule: string, status: 'false_positive' | 'confirmed') =>
        await db
          .updateTable('finding')
          .set({ status, status_by: 'operator' })
          .where('tenant_id', '=', caller.tenantId)
          .where('rule_id', '=', rule)
          .execute();
      // After the commit of the decision, the last but three: its slice, the analysis and the end
      // follow.
      const commits: number[] = [];
      const dry = await newCaller(stage);
      await tell(dry, full(many(3, ctisFinding)));
      await tell(
        dry,
        full([]),
        (point, index) => void (point === 'after commit' && commits.push(index)),
      );
      const { id } = await tell(caller, full([]), async (point, index) => {
        if (point !== 'after commit' || index !== commits.length - 4) return;
        await decide('rule-0', 'false_positive');
        await decide('rule-1', 'confirmed');
      });
      assert.equal((await receiptOf(stage, caller, id)).resolved, 2);
      const { findings, findingEvents } = await snapshotOf(stage.database, caller.tenantId, [id]);
      const statuses = findings.map((line) => String((JSON.parse(line) as Fields)['status']));
      assert.deepEqual(statuses.sort(), ['false_positive', 'resolved', 'resolved']);
      const from = findingEvents.map(
        (line) => JSON.parse((JSON.parse(line) as { data: string }).data) as Fields,
      );
      assert.deepEqual(from.map((data) => String(data['from'])).sort(), ['confirmed', 'open']);
    });

    test('an upload takes all of its scopes or none: when one is busy it gives the others back', async () => {
      const caller = await newCaller(stage);
      const report = largeInventory(SLICE_ROWS + 10);
      const first = await tell(caller, report);
      assert.equal(first.work.outcome, 'processed');
      const db = stage.database.tenant(caller.tenantId);
      const scopes = db.selectFrom('scope').where('tenant_id', '=', caller.tenantId);
      const last = await scopes
        .select('asset_id')
        .orderBy('asset_id', 'desc')
        .executeTakeFirstOrThrow();
      await db
        .updateTable('scope')
        .set({
          holder_upload_id: first.id,
          lease_until: stage.clock.nowMs() + 10 * limits.lostAnswerMs,
        })
        .where('tenant_id', '=', caller.tenantId)
        .where('asset_id', '=', last.asset_id)
        .execute();
      const second = await tell(caller, report);
      assert.equal(second.work.outcome, 'requeued');
      const held = await scopes
        .select('holder_upload_id')
        .where('holder_upload_id', 'is not', null)
        .execute();
      assert.deepEqual(held, [{ holder_upload_id: first.id }]);
      assert.equal(await claim(stage), undefined, 'it is tried again a little later');
    });
  });
}
