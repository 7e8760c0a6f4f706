// An upload resolves and holds back the same findings on both databases, whether it is processed at
// once, or is interrupted at a bad moment and resumed after others of its analysis came between.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import type { RunnerCaller } from '../../../src/keys/authenticate.ts';
import { present } from '../../../src/lib/assert.ts';
import { BACKENDS } from '../../harness.ts';
import { sarif, sarifResult } from '../../http/reports.ts';
import type { Fields } from '../../http/wire.ts';
import {
  giveBack,
  newCaller,
  newRunnerOf,
  openStage,
  postpone,
  receiptOf,
  receive,
  type Stage,
  workSoon,
  workUntil,
} from '../crash/scene.ts';

const REPOSITORY = 'https://github.com/acme/conclusions';
const OTHER_REPOSITORY = 'https://github.com/acme/others';

/** Later than all leases end: an upload that waits for so long waits until it is told to go on. */
const LATER_MS = 100 * limits.uploadLeaseMs;

const rules = (from: number, to: number, prefix = 'r'): string[] =>
  Array.from({ length: to - from }, (_, at) => `${prefix}${from + at}`);

interface RunOptions {
  readonly branch?: string;
  readonly repository?: string;
  /** How many of the first results are suppressed. */
  readonly suppressed?: number;
}

function runOf(
  ids: readonly string[],
  { branch = 'main', repository = REPOSITORY, suppressed = 0 }: RunOptions = {},
): Fields {
  const suppressions = [{ kind: 'external', status: 'accepted' }];
  const results = ids.map((rule, at) =>
    sarifResult({ rule, path: `${rule}.js`, more: at < suppressed ? { suppressions } : {} }),
  );
  const provenance = [{ repositoryUri: repository, branch }];
  const { runs } = sarif(results, { versionControlProvenance: provenance });
  return present((runs as Fields[])[0], 'a run');
}

for (const backend of BACKENDS) {
  describe(`what interrupted uploads conclude on ${backend}`, { concurrency: false }, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.close());

    /** Two runners of a tenant, so that no upload waits for another's turn. */
    const runners = async (): Promise<[RunnerCaller, RunnerCaller]> => {
      const caller = await newCaller(stage);
      return [caller, await newRunnerOf(stage, caller.tenantId)];
    };
    /** Receives an upload, which waits until it is told to go on. */
    const hand = async (caller: RunnerCaller, ...runs: Fields[]): Promise<string> => {
      stage.clock.advance(1);
      const id = await receive(stage, caller, 'sarif', { version: '2.1.0', runs });
      await postpone(stage, caller, id, LATER_MS);
      return id;
    };
    /** Processes an upload to its end; returns what it resolved and held back. */
    const work = async (caller: RunnerCaller, id: string) => {
      await postpone(stage, caller, id, 0);
      const { upload, outcome } = await workSoon(stage, () => {});
      assert.deepEqual({ id: upload.id, outcome }, { id, outcome: 'processed' });
      const { resolved, held } = await receiptOf(stage, caller, id);
      return { resolved, held };
    };
    /**
     * Processes an upload up to this step; then it waits until the leases of its scopes have ended.
     */
    const dieAt = async (caller: RunnerCaller, id: string, at: string): Promise<void> => {
      await postpone(stage, caller, id, 0);
      const { upload, outcome } = await workUntil(stage, at);
      assert.deepEqual({ id: upload.id, outcome }, { id, outcome: 'crashed' });
      await giveBack(stage, upload, 'fault');
      await postpone(stage, caller, id, LATER_MS);
      stage.clock.advance(limits.uploadLeaseMs + 1000);
    };

    for (const dies of [false, true]) {
      const how = dies ? 'interrupted' : 'at once';

      test(`what a later branch of a log is judged by is what was open before: ${how}`, async () => {
        const [caller] = await runners();
        await work(caller, await hand(caller, runOf(rules(0, 1200))));
        // Half of main is gone, just not too much for the guard; the first batch of main suppresses
        // some of the rest.
        const half = rules(600, 1200);
        const log = await hand(
          caller,
          runOf(half, { branch: 'feature' }),
          runOf(half, { suppressed: 10 }),
        );
        if (dies) await dieAt(caller, log, 'batch 4');
        assert.deepEqual(await work(caller, log), { resolved: 600, held: 0 });
      });

      test(`findings of a newer upload don't hide how much an older one would close: ${how}`, async () => {
        const [caller, other] = await runners();
        await work(caller, await hand(caller, runOf(rules(0, 300))));
        const older = await hand(other, runOf(rules(0, 100)));
        const newer = await hand(caller, runOf([...rules(0, 1000, 'n'), ...rules(0, 300)]));
        if (dies) await dieAt(caller, newer, 'batch 1');
        assert.deepEqual(await work(other, older), { resolved: 0, held: 200 });
        assert.deepEqual(await work(caller, newer), { resolved: 0, held: 0 });
      });

      test(`a decision to close stands for what it was made of: ${how}`, async () => {
        const [caller, other] = await runners();
        await work(caller, await hand(caller, runOf([...rules(0, 20), 'gone'])));
        const older = await hand(other, runOf([...rules(0, 20), 'gone', ...rules(0, 500, 'o')]));
        const newer = await hand(caller, runOf(rules(0, 20)));
        if (dies) await dieAt(caller, newer, 'absence 0');
        assert.deepEqual(await work(other, older), { resolved: 0, held: 0 });
        assert.deepEqual(await work(caller, newer), { resolved: 0, held: 501 });
      });

      test(`a second equal scan is believed to its end: ${how}`, async () => {
        const [caller] = await runners();
        await work(caller, await hand(caller, runOf(rules(0, 1000))));
        const few = await hand(caller, runOf(rules(0, 100)));
        assert.deepEqual(await work(caller, few), { resolved: 0, held: 900 });
        const again = await hand(caller, runOf(rules(0, 100).reverse()));
        // The first slice is resolved: what is left is no longer what the first scan lacked.
        if (dies) await dieAt(caller, again, 'absence 1');
        assert.deepEqual(await work(caller, again), { resolved: 900, held: 0 });
      });

      test(`what others closed is no longer open: ${how}`, async () => {
        const [caller, other] = await runners();
        await work(caller, await hand(caller, runOf(rules(0, 1000))));
        const older = await hand(other, runOf(rules(0, 500)));
        const newer = await hand(caller, runOf([...rules(0, 300, 'n'), ...rules(0, 100)]));
        if (dies) await dieAt(caller, newer, 'batch 1');
        assert.deepEqual(await work(other, older), { resolved: 500, held: 0 });
        assert.deepEqual(await work(caller, newer), { resolved: 0, held: 400 });
      });

      test(`what happened to one repository keeps nothing of another one open: ${how}`, async () => {
        const [caller, other] = await runners();
        const elsewhere = { repository: OTHER_REPOSITORY };
        const all = rules(0, 300);
        await work(caller, await hand(caller, runOf(all), runOf(['x', 'gone'], elsewhere)));
        const older = await hand(other, runOf(all), runOf(['x'], elsewhere));
        if (dies) await dieAt(other, older, 'batch 1');
        await work(caller, await hand(caller, runOf(all)));
        assert.deepEqual(await work(other, older), { resolved: 1, held: 0 });
      });

      test(`nothing is held back by an upload that came too late: ${how}`, async () => {
        const [caller, other] = await runners();
        await work(caller, await hand(caller, runOf(rules(0, 300))));
        const older = await hand(other, runOf(rules(0, 100)));
        if (dies) await dieAt(other, older, 'absence 0');
        await work(caller, await hand(caller, runOf(rules(0, 301))));
        assert.deepEqual(await work(other, older), { resolved: 0, held: 0 });
      });
    }
  });
}
