// Scans that end without findings and without a report (contract §6): the word of their command
// closes open findings, by the rules of absence that hold for reports.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BACKENDS } from '../harness.ts';
import { ctis, ctisFinding, many, sarif, sarifResult } from '../http/reports.ts';
import { type Fields, ok, send } from '../http/wire.ts';
import {
  look,
  move,
  newCommand,
  newKey,
  newRunner,
  type Runner,
  runnerCall,
  showCommand,
  startWorld,
  type World,
} from '../http/world.ts';

const CLEAN: Fields = {
  status: 'completed',
  completed_at: '2026-11-20T08:00:00Z',
  duration_ms: 1200,
  exit_code: 0,
  findings_count: 0,
  metadata: { scanner_name: 'semgrep', scanner_version: '1.90.0' },
};

for (const backend of BACKENDS) {
  let world: World;
  let runner: Runner;
  before(async () => {
    world = await startWorld(backend);
    runner = await newRunner(world);
  });
  after(async () => await world.stop());

  let serial = 0;
  const fresh = (): string => {
    serial += 1;
    return `github.com/acme/clean-${String(serial).padStart(3, '0')}`;
  };
  const claimed = async (payload: Fields): Promise<string> => {
    const id = await newCommand(world, { type: 'scan', payload, runner_id: runner.id });
    ok(await move(world, runner.key, id, 'acknowledge'));
    return id;
  };
  /** The upload that a command's end became, when it was processed; empty: there is none. */
  const uploadOf = async (command: string): Promise<Fields> => {
    const [newest] = (await showCommand(world, command))['uploads'] as Fields[];
    if (newest === undefined) return {};
    const id = String(newest['id']);
    const path = `/api/v1/agent/ingest/jobs/${id}?wait=30`;
    ok(await send(world.url, { path, key: runner.key }));
    return await look(world, world.own.viewer, `/api/v1/uploads/${id}`);
  };
  const scan = async (payload: Fields, result: Fields = CLEAN): Promise<Fields> => {
    const id = await claimed(payload);
    ok(await move(world, runner.key, id, 'complete', { result }));
    return await uploadOf(id);
  };
  const log = async (at: string, tool: string, count: number, query = '') => {
    const body = sarif(many(count, sarifResult), { tool: { driver: { name: tool } } });
    const path = `/ingest/sarif?repository_url=${at}${query}`;
    return ok(await runnerCall(world, runner.key, path, body), 201);
  };
  const resolvedBy = (upload: Fields): unknown => (upload['receipt'] as Fields)['resolved'];
  const warned = (upload: Fields): string =>
    ((upload['receipt'] as Fields)['warnings'] as Fields[])
      .map(({ code, detail }) => `${String(code)}: ${String(detail)}`)
      .join('\n');
  const openAt = async (at: string): Promise<number> => {
    const page = await look(world, world.own.viewer, `/api/v1/assets?value=${at}`);
    const [asset = {}] = page['items'] as Fields[];
    const query = `asset_id=${String(asset['id'])}&status=open&limit=250`;
    const found = await look(world, world.own.viewer, `/api/v1/findings?${query}`);
    return (found['items'] as Fields[]).length;
  };

  describe(`clean scans on ${backend}`, { concurrency: false }, () => {
    test('a scan completed with no findings closes what was open; its receipt is with the command', async () => {
      const at = fresh();
      await log(at, 'Semgrep OSS', 3);
      const upload = await scan({ scanner: 'semgrep', repository_url: at });
      assert.equal(upload['state'], 'processed');
      assert.equal(resolvedBy(upload), 3);
      assert.equal(upload['tool'], 'semgrep');
      assert.equal((upload['context'] as Fields)['cleanScan'], true);
      const [run] = upload['runs'] as Fields[];
      assert.equal(run?.['tool_version'], '1.90.0');
      assert.equal(run['ended_at'], '2026-11-20T08:00:00.000Z');
      assert.equal(await openAt(at), 0);
    });

    test('the same answer again makes no second upload, and a scan with findings none at all', async () => {
      const at = fresh();
      await log(at, 'semgrep', 1);
      const id = await claimed({ scanner: 'semgrep', repository_url: at });
      ok(await move(world, runner.key, id, 'complete', { result: CLEAN }));
      ok(await move(world, runner.key, id, 'complete', { result: CLEAN }));
      assert.equal(((await showCommand(world, id))['uploads'] as Fields[]).length, 1);
      for (const findings of [1, '0', null, undefined]) {
        const result = { ...CLEAN, findings_count: findings };
        assert.deepEqual(await scan({ scanner: 'semgrep', repository_url: at }, result), {});
      }
    });

    test('a result that tells of a failure closes nothing', async () => {
      const at = fresh();
      await log(at, 'semgrep', 2);
      for (const trouble of [{ exit_code: 2 }, { status: 'failed' }, { error: 'out of memory' }]) {
        const result = { ...CLEAN, ...trouble };
        const upload = await scan({ scanner: 'semgrep', repository_url: at }, result);
        assert.equal(resolvedBy(upload), 0);
        assert.match(warned(upload), /run_failed/);
      }
      assert.equal(await openAt(at), 2);
    });

    test('what its asset or its tool is must be known, else it closes nothing and says why', async () => {
      const at = fresh();
      await log(at, 'Trivy', 1);
      const cases: [Fields, RegExp][] = [
        [{ scanner: 'trivy', target: '/src' }, /names no asset/],
        [{ scanner: 'gitleaks', repository_url: at }, /no report of this scanner/],
        [{ scanner: 'trivy', repository_url: at, branch: 'other' }, /no report of this scanner/],
        [{ scanner: 'trivy', repository_url: at, category: 'iac' }, /no report of this scanner/],
      ];
      for (const [payload, why] of cases) {
        const upload = await scan(payload);
        assert.equal(resolvedBy(upload), 0);
        assert.match(warned(upload), /clean_scan_inconclusive/);
        assert.match(warned(upload), why);
      }
      assert.equal(resolvedBy(await scan({ scanner: 'trivy', repository_url: at })), 1);
      await log(at, 'Semgrep OSS', 1);
      await log(at, 'Semgrep Pro', 1);
      const torn = await scan({ scanner: 'semgrep', repository_url: at });
      assert.equal(resolvedBy(torn), 0);
      assert.match(warned(torn), /several tools/);
      assert.equal(await openAt(at), 2);
    });

    test('names that merely begin alike are those of different tools, in any script', async () => {
      const at = fresh();
      for (const tool of ['Snyk Open Source', 'Сканер', '★']) await log(at, tool, 1);
      for (const scanner of ['snyk-code', 'Детектор', '☆']) {
        const upload = await scan({ scanner, repository_url: at });
        assert.equal(resolvedBy(upload), 0);
        assert.match(warned(upload), /no report of this scanner/);
      }
      assert.equal(await openAt(at), 3);
      assert.equal(resolvedBy(await scan({ scanner: 'СКАНЕР', repository_url: at })), 1);
    });

    test('one tool that is run in several ways closes what it found when it was run in this one', async () => {
      const at = fresh();
      const payload = { scanner: 'trivy-fs', repository_url: at };
      const other = { ...payload, scanner: 'trivy-config' };
      await log(at, 'Trivy', 1);
      assert.match(warned(await scan(payload)), /not made for a command with this scanner/);
      const id = await claimed(payload);
      const body = sarif(many(2, sarifResult), { tool: { driver: { name: 'Trivy' } } });
      const named = { 'X-OpenCTEM-Command-ID': id };
      ok(await runnerCall(world, runner.key, '/ingest/sarif', body, named), 201);
      ok(
        await move(world, runner.key, id, 'complete', { result: { ...CLEAN, findings_count: 2 } }),
      );
      assert.match(warned(await scan(other)), /not made for a command with this scanner/);
      const bare = await scan({ ...payload, scanner: 'trivy' });
      assert.match(warned(bare), /not made for a command with this scanner/);
      assert.equal(await openAt(at), 2);
      assert.equal(resolvedBy(await scan(payload)), 2);
    });

    test('a scan that its command narrows covers the whole only if the command says so', async () => {
      const at = fresh();
      await log(at, 'semgrep', 2);
      const payload = { scanner: 'semgrep', repository_url: at };
      const template = { id: 't', name: 't', template_type: 'semgrep', content: 'YQ==' };
      const narrowing: Fields[] = [
        { custom_templates: [{ ...template, content_hash: 'a'.repeat(64) }] },
        { config: { exclude: ['vendor/'] } },
        { config: { paths: ['src/'] } },
        { targets: ['src/'] },
        { target: 'src/' },
        { rules: 'p/ci' },
      ];
      for (const more of narrowing) {
        const upload = await scan({ ...payload, ...more });
        assert.equal(resolvedBy(upload), 0, JSON.stringify(more));
        assert.match(warned(upload), /names what to look at or for/);
      }
      assert.equal(await openAt(at), 2);
      const idle = { target: at, targets: [], config: { exclude: [] }, timeout_seconds: 60 };
      const held = await scan({ ...payload, ...idle });
      assert.equal(resolvedBy(held), 2, warned(held));
      await log(at, 'semgrep', 1);
      const said = { ...payload, target: 'src/', coverage: 'full' };
      assert.equal(resolvedBy(await scan(said)), 1);
    });

    test('a key that may hand in no reports closes nothing by the end of a command', async () => {
      const at = fresh();
      await log(at, 'semgrep', 1);
      const id = await claimed({ scanner: 'semgrep', repository_url: at });
      const key = await newKey(world, runner.id, { scopes: ['commands'] });
      ok(await move(world, key, id, 'complete', { result: CLEAN }));
      assert.deepEqual((await showCommand(world, id))['uploads'], []);
      assert.equal(await openAt(at), 1);
    });

    test('it covers what its command says, else what the newest report of the analysis covered', async () => {
      const at = fresh();
      const report = ctis(many(2, ctisFinding), { repository: at, tool: 'semgrep' });
      ok(await runnerCall(world, runner.key, '/ingest', report), 201);
      const payload = { scanner: 'semgrep', repository_url: at, branch: 'main' };
      const partial = await scan(payload);
      assert.equal(resolvedBy(partial), 0);
      assert.match(warned(partial), /coverage/);
      assert.equal(resolvedBy(await scan({ ...payload, coverage: 'full' })), 2);
    });

    test('a command whose report has findings has not ended clean', async () => {
      const at = fresh();
      const id = await claimed({ scanner: 'semgrep', repository_url: at });
      const body = sarif(many(2, sarifResult), { tool: { driver: { name: 'semgrep' } } });
      const named = { 'X-OpenCTEM-Command-ID': id };
      ok(await runnerCall(world, runner.key, '/ingest/sarif', body, named), 201);
      ok(await move(world, runner.key, id, 'complete', { result: CLEAN }));
      const upload = await uploadOf(id);
      assert.equal(resolvedBy(upload), 0);
      assert.match(warned(upload), /report of this command has findings/);
      assert.equal(await openAt(at), 2);
    });

    test('the guard against blinding holds for it, too', async () => {
      const at = fresh();
      await log(at, 'semgrep', 101);
      const payload = { scanner: 'semgrep', repository_url: at };
      const held = await scan(payload);
      assert.equal((held['receipt'] as Fields)['held'], 101);
      assert.equal(resolvedBy(await scan(payload)), 101);
    });
  });
}
