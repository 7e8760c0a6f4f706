// The dry run (POST /ingest/validate): the receipt that a report would get, and nothing else
// changes (contract §1, §5).

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BACKENDS } from '../harness.ts';
import { ctis, ctisFinding, sarif, sarifResult } from '../http/reports.ts';
import { type Fields, ok, problemOf } from '../http/wire.ts';
import { look, newRunner, type Runner, runnerCall, startWorld, type World } from '../http/world.ts';

let serial = 0;
const fresh = (): string => {
  serial += 1;
  return `github.com/acme/validated-${String(serial).padStart(4, '0')}`;
};

/** A receipt without the ids of its own upload. */
const told = (receipt: Fields): Fields => ({ ...receipt, upload_id: null, scan_id: null });

for (const backend of BACKENDS) {
  let world: World;
  let runner: Runner;
  before(async () => {
    world = await startWorld(backend);
    runner = await newRunner(world);
  });
  after(async () => await world.stop());

  const hand = async (route: string, body: Fields, repository: string) =>
    await runnerCall(world, runner.key, `/ingest${route}`, body, {
      'x-muster-repository-url': repository,
    });
  const validated = async (body: Fields, repository: string): Promise<Fields> =>
    ok(await hand('/validate', body, repository), 200);
  const applied = async (body: Fields, repository: string): Promise<Fields> =>
    ok(await hand('runs' in body ? '/sarif' : '/ctis', body, repository), 201);
  const assetsOf = async (repository: string): Promise<Fields[]> => {
    const page = await look(world, world.own.viewer, `/api/v1/assets?value=${repository}`);
    return page['items'] as Fields[];
  };
  const results = (...rules: string[]): Fields => sarif(rules.map((rule) => sarifResult({ rule })));

  describe(`the dry run on ${backend}`, { concurrency: false }, () => {
    test('a new report is told as it would be received, and leaves no trace', async () => {
      const repository = fresh();
      const report = results('R1', 'R2');
      const receipt = await validated(report, repository);
      assert.deepEqual(await assetsOf(repository), []);
      assert.equal((receipt['findings'] as Fields)['created'], 2);
      assert.equal(receipt['assets_created'], 1);
      assert.deepEqual(told(await applied(report, repository)), told(receipt));
    });

    test('against what is stored it tells what would change, resolve and stay', async () => {
      const repository = fresh();
      await applied(results('R1', 'R2', 'R3'), repository);
      const [asset] = await assetsOf(repository);
      const next = results('R2', 'R4');
      const receipt = await validated(next, repository);
      assert.deepEqual(receipt['findings'], {
        received: 2,
        created: 1,
        changed: 0,
        unchanged: 1,
        reopened: 0,
        duplicate: 0,
        not_problem: 0,
        rejected: 0,
      });
      assert.equal(receipt['resolved'], 2);
      const path = `/api/v1/findings?asset_id=${String(asset?.['id'])}`;
      const { items } = await look(world, world.own.viewer, path);
      const states = (items as Fields[])
        .map((one) => `${String(one['rule_id'])} ${String(one['status'])}`)
        .sort();
      assert.deepEqual(states, ['R1 open', 'R2 open', 'R3 open']);
      assert.deepEqual(told(await applied(next, repository)), told(receipt));
    });

    test('a CTIS report with assets and dependencies is told with all its sums', async () => {
      const repository = fresh();
      const report = {
        ...ctis([ctisFinding()], { repository }),
        dependencies: [{ name: 'left-pad', version: '1.0.0', ecosystem: 'npm' }],
      };
      const receipt = await validated(report, repository);
      assert.equal((receipt['dependencies'] as Fields)['created'], 1);
      assert.deepEqual(told(await applied(report, repository)), told(receipt));
    });

    test('what would be refused is refused, with the same reason', async () => {
      const repository = fresh();
      const broken = { ...sarif([]), runs: [{ tool: { driver: { name: 't' } }, results: [1, 2] }] };
      const answer = await hand('/validate', broken, repository);
      const problem = problemOf(answer, 'report_refused');
      assert.equal(((problem['receipt'] as Fields)['findings'] as Fields)['rejected'], 2);
      const old = await hand('/validate', { version: '1.0.0', runs: [] }, repository);
      problemOf(old, 'unsupported_sarif_version');
      for (const route of ['/validate', '/sarif', '']) {
        problemOf(await hand(route, { version: '2.1.0' }, repository), 'not_sarif');
      }
    });

    test('the upload stays with its receipt and says what it was', async () => {
      const receipt = await validated(results('R1'), fresh());
      const path = `/api/v1/uploads/${String(receipt['upload_id'])}`;
      const upload = await look(world, world.own.viewer, path);
      assert.equal((upload['context'] as Fields)['dryRun'], true);
      assert.deepEqual(upload['receipt'], receipt);
    });
  });
}
