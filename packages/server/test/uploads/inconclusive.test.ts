// The effect of a report that can't be read in full (contract §6): findings that don't tell their
// asset, or the part of the asset that was looked at, close nothing.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BACKENDS } from '../harness.ts';
import { ctis, ctisFinding, sarif, sarifResult } from '../http/reports.ts';
import { type Fields, ok } from '../http/wire.ts';
import { look, move, newCommand, runnerCall, startWorld, type World } from '../http/world.ts';

let serial = 0;
const fresh = (): string => {
  serial += 1;
  return `github.com/acme/inconclusive-${String(serial).padStart(4, '0')}`;
};

for (const backend of BACKENDS) {
  let world: World;
  before(async () => {
    world = await startWorld(backend);
  });
  after(async () => await world.stop());

  const hand = async (body: Fields, path = '/ingest', headers = {}): Promise<Fields> =>
    ok(await runnerCall(world, world.own.runner.key, path, body, headers), 201);
  const codes = (receipt: Fields): unknown[] =>
    (receipt['warnings'] as Fields[]).map(({ code }) => code);
  const refsOf = async (repository: string): Promise<Fields[]> => {
    const assets = await look(world, world.own.viewer, `/api/v1/assets?value=${repository}`);
    const path = `/api/v1/findings?asset_id=${String((assets['items'] as Fields[])[0]?.['id'])}`;
    const found = (await look(world, world.own.viewer, path))['items'] as Fields[];
    const detail = `/api/v1/findings/${String(found[0]?.['id'])}`;
    return (await look(world, world.own.viewer, detail))['refs'] as Fields[];
  };

  /** A full report on several repositories, by their ids. */
  const onAssets = (assets: Fields, findings: Fields[], more: Fields = {}): Fields => {
    const list = Object.entries(assets).map(([id, value]) => ({ id, type: 'repository', value }));
    return ctis(findings, { coverage: 'full', more: { assets: list, ...more } });
  };
  const about = (asset_ref?: string): Fields =>
    ctisFinding({ rule: 'a', more: asset_ref === undefined ? {} : { asset_ref } });
  const A = ctisFinding({ rule: 'a', path: 'a.js' });
  const B = ctisFinding({ rule: 'b', path: 'b.js' });
  const full = (findings: Fields[], repository: string, more: Fields = {}): Fields =>
    ctis(findings, { repository, coverage: 'full', more });
  const metadataOf = (report: Fields, more: Fields): Fields => ({
    ...report,
    metadata: { ...(report['metadata'] as Fields), ...more },
  });

  describe(`findings of an unknown asset on ${backend}`, { concurrency: true }, () => {
    for (const [name, ref] of Object.entries({ unknown: 'zzz', missing: undefined })) {
      test(`a finding whose asset_ref is ${name} closes nothing on the listed assets`, async () => {
        const assets = { a: fresh(), b: fresh() };
        await hand(onAssets(assets, [about('a'), about('b')]));
        const receipt = await hand(onAssets(assets, [about(ref)]));
        assert.equal(receipt['resolved'], 0);
        assert.ok(codes(receipt).includes('no_target_asset'));
        assert.equal((await hand(onAssets(assets, [about('a')])))['resolved'], 1, 'that of b');
      });
    }

    test('with an unknown asset_ref the only asset is meant, and all of it is known', async () => {
      const assets = { a: fresh() };
      await hand(onAssets(assets, [about('a'), ctisFinding({ rule: 'b' })]));
      const receipt = await hand(onAssets(assets, [about('zzz')]));
      assert.equal((receipt['findings'] as Fields)['unchanged'], 1);
      assert.equal(receipt['resolved'], 1);
    });

    test('an id of two assets closes nothing on either', async () => {
      const [a, b] = [fresh(), fresh()];
      await hand(onAssets({ a }, [about('a')]));
      const assets = [b, a].map((value) => ({ id: 'a', type: 'repository', value }));
      const receipt = await hand(onAssets({}, [about('a')], { assets }));
      assert.equal(receipt['resolved'], 0);
      assert.deepEqual(codes(receipt), ['asset_id_repeated']);
    });

    test('where findings name their assets one that doesn’t closes nothing on those', async () => {
      const [a, b] = [fresh(), fresh()];
      const on = (asset_value?: string, rule = 'a') =>
        ctisFinding({ rule, more: asset_value === undefined ? {} : { asset_value } });
      const report = (...findings: Fields[]) => ctis(findings, { coverage: 'full' });
      await hand(report(on(a), on(b), on(a, 'b')));
      const receipt = await hand(report(on(a), on(b), on(undefined, 'b')));
      assert.equal(receipt['resolved'], 0);
      assert.ok(codes(receipt).includes('no_target_asset'));
      assert.equal((await hand(report(on(a), on(b))))['resolved'], 1);
    });

    test('a SARIF run that names no asset closes nothing on the asset of another run', async () => {
      const a = fresh();
      const provenance = { versionControlProvenance: [{ repositoryUri: a }] };
      const run = (name: string, rules: string[], more: Fields = {}): Fields => ({
        tool: { driver: { name } },
        results: rules.map((rule) => sarifResult({ rule })),
        ...more,
      });
      const log = (...runs: Fields[]): Fields => ({ version: '2.1.0', runs });
      await hand(log(run('one', ['a', 'b'], provenance), run('two', ['c'], provenance)));
      const lost = log(run('one', ['a'], provenance), run('one', ['b']));
      assert.equal((await hand(lost, '/ingest/sarif'))['resolved'], 0);
      for (const rules of [['c'], []]) {
        const other = log(run('one', ['a', 'b'], provenance), run('two', rules));
        const receipt = await hand(other, '/ingest/sarif');
        assert.equal(receipt['resolved'], 0, 'the second run names no asset, so none of another');
      }
      const known = log(run('one', ['a'], provenance), run('two', ['c']));
      assert.equal((await hand(known, '/ingest/sarif'))['resolved'], 1);
    });
  });

  describe(`what a CTIS report covers on ${backend}`, { concurrency: true }, () => {
    for (const said of ['partial', 'incremental', 'complete', undefined]) {
      test(`a command’s coverage counts ${said === undefined ? 'where the report has none' : `less than "${said}"`}`, async () => {
        const at = fresh();
        await hand(full([A, B], at));
        const payload = { scanner: 'testtool', repository_url: at, coverage: 'full' };
        const id = await newCommand(world, { payload });
        ok(await move(world, world.own.runner.key, id, 'acknowledge'));
        const report = metadataOf(full([A], at), { coverage_type: said });
        const receipt = await hand(report, '/ingest', { 'X-OpenCTEM-Command-ID': id });
        assert.equal(receipt['resolved'], said === undefined ? 1 : 0);
        assert.equal(codes(receipt).includes('unknown_word'), said === 'complete');
      });
    }

    for (const scope of [{ includes: ['lib/'] }, { excludes: ['a.js'] }, { includes: [{}, 5] }]) {
      test(`a scope with ${JSON.stringify(scope)} is a part, unless the request says more`, async () => {
        const at = fresh();
        await hand(full([A, B], at));
        const narrowed = metadataOf(full([B], at), { scope });
        const receipt = await hand(narrowed);
        assert.equal(receipt['resolved'], 0);
        assert.ok(codes(receipt).includes('scope_narrowed'));
        assert.equal((await hand(narrowed, '/ingest?coverage=full'))['resolved'], 1);
      });
    }

    test('a scope that includes everything narrows nothing', async () => {
      const at = fresh();
      await hand(full([A, B], at));
      const scope = { name: 'shop', includes: ['.', '**/*', 'shop'], excludes: [] };
      assert.equal((await hand(metadataOf(full([B], at), { scope })))['resolved'], 1);
    });

    test('reports without a tool close nothing of one another', async () => {
      const at = fresh();
      const toolless = (findings: Fields[]) => full(findings, at, { tool: undefined });
      await hand(toolless([A]));
      const receipt = await hand(toolless([]));
      assert.equal(receipt['resolved'], 0);
      assert.deepEqual(codes(receipt), ['tool_missing']);
    });
  });

  describe(`the whole log and the default branch on ${backend}`, { concurrency: true }, () => {
    test('a run that can’t be read may be any of the analyses', async () => {
      const at = fresh();
      const path = `/ingest/sarif?repository_url=${at}`;
      const log = sarif([sarifResult({ rule: 'a' })]);
      await hand(log, path);
      const [run] = (sarif([])['runs'] ?? []) as Fields[];
      const receipt = await hand({ ...log, runs: [run, null] }, path);
      assert.equal(receipt['resolved'], 0);
      assert.deepEqual(codes(receipt), ['run_not_object']);
      assert.equal((await hand({ ...log, runs: [run] }, path))['resolved'], 1);
    });

    test('a list of findings that comes twice is not all there', async () => {
      const at = fresh();
      const item = JSON.stringify(A);
      await hand(full([A], at));
      const text = JSON.stringify(full([], at));
      const twice = text.replace('"findings":[]', `"findings":[${item}],"findings":[]`);
      const answer = await runnerCall(world, world.own.runner.key, '/ingest', twice);
      const receipt = ok(answer, 201);
      assert.equal(receipt['resolved'], 0);
      assert.deepEqual(codes(receipt), ['member_repeated']);
    });

    test('of runs that come twice the first ones are not all there', async () => {
      const path = `/ingest/sarif?repository_url=${fresh()}`;
      const run = (count: number) => {
        const results = Array.from({ length: count }, (_, at) => sarifResult({ path: `${at}.js` }));
        return JSON.stringify((sarif(results)['runs'] as Fields[])[0]);
      };
      const first = `"runs":[${run(0)},${run(2)}]`;
      const post = async (members: string) =>
        ok(
          await runnerCall(world, world.own.runner.key, path, `{"version":"2.1.0",${members}}`),
          201,
        );
      assert.equal(((await post(first))['findings'] as Fields)['created'], 2);
      assert.equal((await post(`${first},"runs":[${run(0)}]`))['resolved'], 0);
      assert.equal((await post(`"runs":[${run(0)}]`))['resolved'], 2, 'and without the repeat');
    });

    test('`is_default_branch: false` beside no name says nothing against the request', async () => {
      const at = fresh();
      const report = (name: string) =>
        metadataOf(full([A], at), {
          branch: { name, is_default_branch: false, repository_url: at },
        });
      await hand(report(''), '/ingest?branch=feature');
      await hand(report(''), '/ingest?branch=main&default_branch=true');
      await hand(report('named'), '/ingest?branch=main&default_branch=true');
      const refs = Object.fromEntries(
        (await refsOf(at)).map((ref) => [String(ref['name']), ref['is_default']]),
      );
      assert.deepEqual(refs, { feature: false, main: true, named: false });
    });
  });
}
