// One log with runs on several branches of one repository, on both databases: a defect that several
// of them have is one finding, present on each.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { present } from '../../../src/lib/assert.ts';
import { BACKENDS } from '../../harness.ts';
import { sarif, sarifResult } from '../../http/reports.ts';
import type { Fields } from '../../http/wire.ts';
import { Crash, giveBack, newCaller, openStage, receive, type Stage, workOnce } from './scene.ts';
import { snapshotOf } from './snapshot.ts';

const REPOSITORY = 'https://github.com/acme/branches';
const CONTEXT = { repositoryUrl: REPOSITORY };

const runOn = (branch: string, rules: readonly string[], more: Fields = {}): Fields => {
  const results = rules.map((rule) => sarifResult({ rule, path: `${rule}.js`, more }));
  const provenance = [{ repositoryUri: REPOSITORY, branch }];
  const { runs } = sarif(results, { versionControlProvenance: provenance });
  return present((runs as Fields[])[0], 'a run');
};
const logOf = (...runs: Fields[]): Fields => ({ version: '2.1.0', runs });

for (const backend of BACKENDS) {
  describe(`runs on several branches on ${backend}`, { concurrency: false }, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.close());

    const tell = async (logs: readonly Fields[], crashAt: string | null = null) => {
      const caller = await newCaller(stage);
      const ids: string[] = [];
      for (const log of logs) {
        stage.clock.advance(limits.lostAnswerMs + 1);
        ids.push(await receive(stage, caller, 'sarif', log, CONTEXT));
        const work = await workOnce(stage, (_, __, step) => {
          if (step === crashAt && step !== null) throw new Crash();
        });
        if (work?.outcome !== 'crashed') continue;
        await giveBack(stage, work.upload, 'restart');
        await workOnce(stage, () => {});
      }
      const snapshot = await snapshotOf(stage.database, caller.tenantId, ids);
      const receipts = snapshot.receipts.map(
        (line) => JSON.parse((JSON.parse(line) as { receipt: string }).receipt) as Fields,
      );
      return { snapshot, receipts };
    };
    const both = logOf(runOn('main', ['a', 'b']), runOn('next', ['a', 'c']));

    test('a defect on two branches of one log is one finding, created once and present on both', async () => {
      const { snapshot, receipts } = await tell([both]);
      const rules = snapshot.findings.map((line) =>
        String((JSON.parse(line) as Fields)['rule_id']),
      );
      assert.deepEqual(rules.sort(), ['a', 'b', 'c']);
      assert.equal(snapshot.refs.filter((line) => line.includes('"present":1')).length, 4);
      const { received, created, unchanged } = present(receipts[0], 'a receipt')[
        'findings'
      ] as Fields;
      assert.deepEqual({ received, created, unchanged }, { received: 4, created: 3, unchanged: 1 });
    });

    test('the next log of one branch resolves nothing that it still has', async () => {
      const { snapshot, receipts } = await tell([both, logOf(runOn('main', ['a', 'b']))]);
      assert.equal(receipts[1]?.['resolved'], 0);
      const open = snapshot.findings.filter((line) => line.includes('"status":"open"'));
      assert.equal(open.length, 3);
    });

    const shown = (snapshot: Awaited<ReturnType<typeof tell>>['snapshot']): string[] =>
      snapshot.findings.map((line) => {
        const { rule_id: rule, status, severity, resolution } = JSON.parse(line) as Fields;
        return [rule, status, severity, resolution ?? ''].join(' ').trim();
      });
    const SUPPRESSED = { suppressions: [{ kind: 'inSource' }] };

    test('what the default branch says of a finding is shown, whatever others say of it', async () => {
      const quiet = logOf(runOn('next', ['a'], { ...SUPPRESSED, level: 'note' }));
      const { snapshot, receipts } = await tell([logOf(runOn('main', ['a'])), quiet]);
      assert.deepEqual(shown(snapshot), ['a open 1']);
      const { unchanged } = present(receipts[1], 'a receipt')['findings'] as Fields;
      assert.equal(unchanged, 1);
      const loud = [logOf(runOn('main', ['a'], SUPPRESSED)), logOf(runOn('next', ['a']))];
      assert.deepEqual(shown((await tell(loud)).snapshot), ['a suppressed 1']);
      const gone = [logOf(runOn('main', ['a'])), quiet, logOf(runOn('main', []))];
      assert.deepEqual(shown((await tell(gone)).snapshot), ['a resolved 1 fixed']);
    });

    test('a finding that the default branch never had is shown as the other branch says', async () => {
      const start = [logOf(runOn('main', ['a'])), logOf(runOn('next', ['b'], SUPPRESSED))];
      assert.deepEqual(shown((await tell(start)).snapshot), ['a open 1', 'b suppressed 1']);
      const next = [...start, logOf(runOn('next', ['b'], { level: 'note' }))];
      assert.deepEqual(shown((await tell(next)).snapshot), ['a open 1', 'b open 3']);
    });

    test('a worker that dies between the branches costs nothing and doubles nothing', async () => {
      const undisturbed = (await tell([both])).snapshot;
      for (const step of ['batch 1', 'batch 2']) {
        assert.deepEqual((await tell([both], step)).snapshot, undisturbed, `behind ${step}`);
      }
    });
  });
}
