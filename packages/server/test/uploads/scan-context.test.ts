// The facts that a command gives about the reports made for it (contract §5, Context), where
// neither the request nor the report says what it is about.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BACKENDS } from '../harness.ts';
import { ctis, ctisFinding, many, sarif, sarifResult } from '../http/reports.ts';
import { type Fields, ok } from '../http/wire.ts';
import {
  look,
  move,
  newCommand,
  newRunner,
  type Runner,
  runnerCall,
  showCommand,
  startWorld,
  type World,
} from '../http/world.ts';

for (const backend of BACKENDS) {
  let world: World;
  let runner: Runner;
  before(async () => {
    world = await startWorld(backend);
  });
  after(async () => await world.stop());

  let serial = 0;
  const fresh = (): string => {
    serial += 1;
    return `github.com/acme/scanned-${String(serial).padStart(3, '0')}`;
  };
  const claimed = async (payload: Fields): Promise<string> => {
    const id = await newCommand(world, { type: 'scan', payload, runner_id: runner.id });
    ok(await move(world, runner.key, id, 'acknowledge'));
    return id;
  };
  const hand = async (body: Fields, headers: Record<string, string> = {}, path = '/ingest/sarif') =>
    ok(await runnerCall(world, runner.key, path, body, headers), 201);
  const assetsOf = async (receipt: Fields): Promise<string[]> => {
    const page = await look(world, world.own.viewer, '/api/v1/findings?limit=200');
    const upload = String(receipt['upload_id']);
    const shown = await look(world, world.own.viewer, `/api/v1/uploads/${upload}`);
    assert.equal(
      (shown['context'] as Fields)['scans'],
      undefined,
      'payloads of commands are not shown',
    );
    const tool = String(shown['tool']).toLowerCase();
    const items = (page['items'] as Fields[]).filter((finding) => finding['tool'] === tool);
    return [...new Set(items.map((finding) => String(finding['asset'])))].sort();
  };
  const results = (count = 2): Fields[] => many(count, sarifResult);
  const log = (tool: string, list = results()): Fields =>
    sarif(list, { tool: { driver: { name: tool, version: '1' } } });

  describe(`the command of an upload on ${backend}`, { concurrency: false }, () => {
    test('the only scan that a runner holds and that fits the tool names the repository', async () => {
      runner = await newRunner(world);
      const at = fresh();
      const id = await claimed({ scanner: 'semgrep', target: `https://${at}.git` });
      await claimed({ scanner: 'gitleaks', target: `https://${fresh()}` });
      const receipt = await hand(log('Semgrep OSS'));
      assert.deepEqual(await assetsOf(receipt), [at]);
      const uploads = (await showCommand(world, id))['uploads'] as Fields[];
      assert.deepEqual(
        uploads.map((upload) => upload['id']),
        [receipt['upload_id']],
      );
      // The command named the asset: findings that a later, full report of it lacks are fixed.
      const fewer = await hand(log('Semgrep OSS', results(1)));
      assert.equal(fewer['resolved'], 1);
    });

    test('two scans that fit tell nothing, unless the runner names one of them', async () => {
      runner = await newRunner(world);
      const [one, two] = [fresh(), fresh()];
      await claimed({ scanner: 'trivy-fs', target: `https://${one}` });
      const named = await claimed({ scanner: 'trivy-config', target: `https://${two}` });
      const unnamed = await hand(log('trivy'));
      assert.equal(unnamed['resolved'], 0);
      const [only] = await assetsOf(unnamed);
      assert.equal(only, 'reports without an asset');
      const receipt = await hand(log('Trivy'), { 'X-OpenCTEM-Command-ID': named });
      assert.deepEqual(await assetsOf(receipt), [two, 'reports without an asset'].sort());
    });

    test('request and report come first; what they leave open the operator’s words fill in', async () => {
      runner = await newRunner(world);
      const [said, written] = [fresh(), fresh()];
      const branch = { branch: 'release', category: 'nightly' };
      await claimed({ scanner: 'bandit', repository_url: written, coverage: 'partial', ...branch });
      const receipt = await hand(log('bandit'), { 'X-Muster-Repository-Url': said });
      assert.deepEqual(await assetsOf(receipt), [said]);
      const provenance = [{ repositoryUri: `https://${said}` }];
      const own = { ...log('bandit', results(1)) };
      (own['runs'] as Fields[])[0]!['versionControlProvenance'] = provenance;
      assert.equal((await hand(own))['resolved'], 0, 'coverage partial');
      assert.deepEqual(await assetsOf(receipt), [said]);
      const page = await look(world, world.own.viewer, '/api/v1/findings?tool=bandit');
      const [finding = {}] = page['items'] as Fields[];
      const shown = await look(
        world,
        world.own.viewer,
        `/api/v1/findings/${String(finding['id'])}`,
      );
      assert.equal(shown['category'], 'nightly');
      assert.equal((shown['refs'] as Fields[])[0]?.['name'], 'release');
    });

    test('a CTIS report that names no asset at all belongs where its command says', async () => {
      runner = await newRunner(world);
      const at = fresh();
      await claimed({ scanner: 'nuclei', asset: 'https://shop.acme.test', asset_type: 'website' });
      const report = ctis(many(2, ctisFinding), { tool: 'nuclei' });
      assert.deepEqual(await assetsOf(await hand(report, {}, '/ingest')), [
        'https://shop.acme.test',
      ]);
      const named = ctis(many(2, ctisFinding), { tool: 'nuclei', repository: at });
      const both = ['https://shop.acme.test', at].sort();
      assert.deepEqual(await assetsOf(await hand(named, {}, '/ingest')), both);
    });

    test('a path, and a command that another runner claimed, name nothing', async () => {
      runner = await newRunner(world);
      await claimed({ scanner: 'gosec', target: '/src/app.py' });
      assert.deepEqual(await assetsOf(await hand(log('gosec'))), ['reports without an asset']);
      const foreign = await claimed({ scanner: 'ruff', target: `https://${fresh()}` });
      runner = await newRunner(world);
      const receipt = await hand(log('ruff'), { 'X-OpenCTEM-Command-ID': foreign });
      assert.deepEqual(await assetsOf(receipt), ['reports without an asset']);
    });

    test('a repeat of a report whose command has ended meanwhile gets the same answer', async () => {
      runner = await newRunner(world);
      const id = await claimed({ scanner: 'eslint', target: `https://${fresh()}` });
      const key = { 'Idempotency-Key': 'scan-context-1' };
      const first = await hand(log('eslint'), key);
      ok(await move(world, runner.key, id, 'complete', {}));
      assert.deepEqual(await hand(log('eslint'), key), first);
    });
  });
}
