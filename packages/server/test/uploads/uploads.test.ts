// Uploads (contract §5 and §2, Repeats): receipts that add up, refusals, repeats, context, the job,
// recognition. The effect of absence on findings is in absence.test.ts.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { FINDING_OUTCOMES, limits } from '@muster/contract';
import { BACKENDS } from '../harness.ts';
import { ctis, ctisFinding, type Item, many, sarif, sarifResult } from '../http/reports.ts';
import { type Answer, type Fields, ok, problemOf, send } from '../http/wire.ts';
import { look, newRunner, type Runner, runnerCall, startWorld, type World } from '../http/world.ts';

let serial = 0;
/** A repository that no other test knows. */
const fresh = (): string => {
  serial += 1;
  // A list is searched by part of a value: none of these may be part of another.
  return `github.com/acme/uploads-${String(serial).padStart(4, '0')}`;
};

/**
 * The seven outcomes add up to the number received, and the older counters say the same (contract
 * §5).
 */
function addsUp(receipt: Fields): Fields {
  const findings = receipt['findings'] as Record<string, number>;
  const of = (name: string): number => findings[name] ?? Number.NaN;
  const sum = FINDING_OUTCOMES.reduce((total, name) => total + of(name), 0);
  assert.equal(sum, of('received'), JSON.stringify(findings));
  assert.equal(receipt['findings_created'], of('created'));
  assert.equal(receipt['findings_updated'], of('changed') + of('unchanged') + of('reopened'));
  const skipped = of('duplicate') + of('not_problem') + of('rejected');
  assert.equal(receipt['findings_skipped'], skipped);
  for (const envelope of ['assets', 'dependencies', 'relationships', 'endpoints']) {
    const { received, ...parts } = receipt[envelope] as Record<string, number>;
    assert.equal(
      Object.values(parts).reduce((total, n) => total + n, 0),
      received,
      envelope,
    );
  }
  return findings;
}

for (const backend of BACKENDS) {
  let world: World;
  let runner: Runner;
  before(async () => {
    world = await startWorld(backend);
    runner = await newRunner(world);
  });
  after(async () => await world.stop());

  const hand = async (
    body: Fields | string,
    headers: Record<string, string> = {},
    path = '/ingest',
    as = runner,
  ): Promise<Answer> => await runnerCall(world, as.key, path, body, headers);
  const receiptOf = async (body: Fields | string, path = '/ingest'): Promise<Fields> => {
    const receipt = ok(await hand(body, {}, path), 201);
    addsUp(receipt);
    return receipt;
  };
  const findingsOf = async (repository: string): Promise<Fields[]> => {
    const { items } = await look(world, world.own.viewer, `/api/v1/assets?value=${repository}`);
    const [asset] = items as Fields[];
    if (asset === undefined) return [];
    const query = `asset_id=${String(asset['id'])}&limit=250`;
    const page = await look(world, world.own.viewer, `/api/v1/findings?${query}`);
    return page['items'] as Fields[];
  };

  describe(`receipts on ${backend}`, { concurrency: false }, () => {
    test('every received finding has exactly one outcome, and the seven add up', async () => {
      const repository = fresh();
      const items = many(6, ctisFinding);
      const first = addsUp(await receiptOf(ctis(items, { repository })));
      assert.equal(first['created'], 6);
      const mixed = [
        ...items.slice(0, 4),
        items[0] ?? {},
        ctisFinding({ rule: 'new' }),
        ctisFinding({ rule: 'passed', more: { kind: 'pass' } }),
        7 as unknown as Fields,
        { ...items[4], severity: 'low' },
      ];
      const receipt = await receiptOf(ctis(mixed, { repository }));
      const { received, created, changed, unchanged, duplicate, not_problem, rejected } = receipt[
        'findings'
      ] as Record<string, number>;
      assert.deepEqual(
        { received, created, changed, unchanged, duplicate, not_problem, rejected },
        {
          received: 9,
          created: 1,
          changed: 1,
          unchanged: 4,
          duplicate: 1,
          not_problem: 1,
          rejected: 1,
        },
      );
      assert.equal(receipt['outcome'], 'partial');
      const [rejection = {}] = receipt['rejections'] as Fields[];
      assert.equal(rejection['pointer'], '/findings/7');
      assert.equal((receipt['errors'] as string[]).length, 1);
    });

    test('the same file again, in any order, changes nothing', async () => {
      for (const [path, make, wrap] of [
        ['/ingest', ctisFinding, (items: Fields[], at: string) => ctis(items, { repository: at })],
        ['/ingest/sarif', sarifResult, (items: Fields[]) => sarif(items)],
      ] as const) {
        const repository = fresh();
        const items = many(30, make as (item: Item) => Fields);
        const at = path === '/ingest' ? path : `${path}?repository_url=${repository}`;
        await receiptOf(wrap(items, repository), at);
        const seen = await findingsOf(repository);
        for (const order of [
          items,
          items.toReversed(),
          [...items.slice(9), ...items.slice(0, 9)],
        ]) {
          const findings = addsUp(await receiptOf(wrap([...order], repository), at));
          assert.equal(findings['unchanged'], 30, JSON.stringify(findings));
        }
        const ids = (list: Fields[]): string[] => list.map(({ id }) => String(id)).sort();
        assert.deepEqual(ids(await findingsOf(repository)), ids(seen));
      }
    });
  });

  describe(`items that are known by their bytes on ${backend}`, { concurrency: false }, () => {
    test('which of two that are the same item counts is no matter of their order', async () => {
      const at = `/ingest/sarif?repository_url=${fresh()}`;
      const one = (more: Fields): Fields => sarifResult({ rule: 'r', path: 'src/r.js', more });
      const [low, high] = [one({ level: 'note' }), one({ level: 'error' })];
      const quiet = one({ level: 'error', suppressions: [{ kind: 'inSource' }] });
      const first = addsUp(await receiptOf(sarif([low, quiet, high]), at));
      assert.equal(first['created'], 1);
      for (const results of [[high, low], [low, high], [high], [high, quiet, low]]) {
        const { unchanged, duplicate } = addsUp(await receiptOf(sarif(results), at));
        assert.deepEqual([unchanged, duplicate], [1, results.length - 1]);
      }
    });

    test('they get the outcomes and warnings that reading them would give', async () => {
      const at = `/ingest/sarif?repository_url=${fresh()}`;
      const item = (rule: string, more: Fields = {}): Fields =>
        sarifResult({ rule, path: `src/${rule}.js`, more });
      const suppressed = { suppressions: [{ kind: 'inSource' }] };
      const results = [
        item('plain'),
        item('quiet', suppressed),
        item('odd', { surprising: true }),
        item('passed', { kind: 'pass' }),
        'no result at all',
      ] as Fields[];
      const first = await receiptOf(sarif(results), at);
      const again = await receiptOf(sarif(results), at);
      assert.deepEqual(again['warnings'], first['warnings']);
      assert.deepEqual(again['rejections'], first['rejections']);
      assert.equal(again['suppressed'], 1);
      assert.deepEqual(
        { ...addsUp(again), created: 3, unchanged: 0 },
        addsUp(first),
        'only created and unchanged differ',
      );
      // The same defect in other bytes, beside itself: one of them repeats the other, as if both
      // were read.
      const twice = [...results, item('plain', { properties: { seen: 'twice' } })];
      const folded = addsUp(await receiptOf(sarif(twice), at));
      assert.equal(folded['duplicate'], 1, JSON.stringify(folded));
      assert.equal(folded['unchanged'], 3, JSON.stringify(folded));
    });

    test('one that was fixed meanwhile is reopened', async () => {
      const at = `/ingest/sarif?repository_url=${fresh()}`;
      const results = many(3, sarifResult);
      await receiptOf(sarif(results), at);
      assert.equal((await receiptOf(sarif(results.slice(1)), at))['resolved'], 1);
      const findings = addsUp(await receiptOf(sarif(results), at));
      assert.deepEqual([findings['reopened'], findings['unchanged']], [1, 2]);
    });
  });

  describe(`one truth on ${backend}`, { concurrency: false }, () => {
    test('lines that move, and absolute paths of another machine, are the same findings', async () => {
      const repository = fresh();
      const at = `/ingest/sarif?repository_url=${repository}`;
      const results = (shift: number): Fields[] =>
        [1, 2, 3].map((n) =>
          sarifResult({ rule: `r${n}`, path: `src/${n}.js`, line: n * 10 + shift }),
        );
      assert.equal(addsUp(await receiptOf(sarif(results(0)), at))['created'], 3);
      const moved = addsUp(await receiptOf(sarif(results(25)), at));
      assert.equal(moved['created'], 0, JSON.stringify(moved));
      assert.equal((await findingsOf(repository)).length, 3);
    });

    test('the receipt of the answer, of the job and of the operator are one', async () => {
      const receipt = await receiptOf(ctis(many(3, ctisFinding), { repository: fresh() }));
      const id = String(receipt['upload_id']);
      const path = `/api/v1/agent/ingest/jobs/${id}?wait=10`;
      const job = ok(await send(world.url, { path, key: runner.key }));
      assert.deepEqual(job['result'], receipt);
      assert.equal(job['status'], 'completed');
      const shown = await look(world, world.own.viewer, `/api/v1/uploads/${id}`);
      assert.deepEqual(shown['receipt'], receipt);
      assert.equal(shown['runner_id'], runner.id);
    });
  });

  describe(`refusals on ${backend}`, { concurrency: false }, () => {
    const bad = (count: number): Fields[] =>
      Array.from({ length: count }, (_, n) => n as unknown as Fields);
    const cases = [
      { good: 0, bad: 3, refused: true, rule: 'all rejected' },
      { good: 1, bad: 9, refused: false, rule: 'more than half, but fewer than ten' },
      { good: 10, bad: 10, refused: false, rule: 'ten, but not more than half' },
      { good: 9, bad: 10, refused: true, rule: 'more than half and ten' },
      { good: 0, bad: 0, refused: false, rule: 'nothing at all' },
    ];
    for (const { good, bad: wrong, refused, rule } of cases) {
      test(`${rule}: ${refused ? 'refused, and nothing applied' : 'taken'}`, async () => {
        const repository = fresh();
        const report = ctis([...many(good, ctisFinding), ...bad(wrong)], { repository });
        const answer = await hand(report);
        if (!refused) {
          const receipt = ok(answer, 201);
          assert.equal(addsUp(receipt)['rejected'], wrong);
          assert.equal(receipt['outcome'], wrong > 0 ? 'partial' : 'complete');
          assert.equal((await findingsOf(repository)).length, good);
          return;
        }
        const problem = problemOf(answer, 'report_refused');
        const receipt = problem['receipt'] as Fields;
        assert.equal(receipt['outcome'], 'refused');
        const findings = addsUp(receipt);
        for (const name of ['created', 'changed', 'unchanged', 'reopened'])
          assert.equal(findings[name], 0, name);
        assert.ok((receipt['rejections'] as Fields[]).length > 0, 'it says why');
        assert.deepEqual(await findingsOf(repository), []);
        const path = `/api/v1/agent/ingest/jobs/${String(problem['upload_id'])}`;
        const job = ok(await send(world.url, { path, key: runner.key }));
        assert.equal(job['status'], 'failed');
        assert.equal((job['error'] as Fields)['code'], 'report_refused');
      });
    }

    test('a refused upload shows the runs of its report, as far as its envelope could be read', async () => {
      const broken = JSON.stringify(sarif([sarifResult()])).replace('"ruleId"', '"ruleId"x');
      const told = [
        [ctis(bad(3), { tool: 'teller' }), 'report_refused', 'teller'],
        [broken, 'invalid_json', 'testtool'],
        ['[1, 2', 'invalid_json', null],
      ] as const;
      for (const [body, code, tool] of told) {
        const { upload_id: id } = problemOf(await hand(body), code);
        const shown = await look(world, world.own.viewer, `/api/v1/uploads/${String(id)}`);
        const runs = shown['runs'] as Fields[] | null;
        assert.deepEqual([shown['tool'], runs?.[0]?.['tool'] ?? null], [tool, tool], code);
        assert.equal(shown['runs_total'], tool === null ? null : 1);
      }
    });

    test('at most 100 rejections are listed, all are counted by code', async () => {
      const report = ctis([...many(200, ctisFinding), ...bad(150)], { repository: fresh() });
      const receipt = await receiptOf(report);
      assert.equal((receipt['rejections'] as Fields[]).length, limits.receiptRejectionsMax);
      const counts = Object.values(receipt['rejections_by_code'] as Record<string, number>);
      assert.equal(
        counts.reduce((total, n) => total + n, 0),
        150,
      );
    });
  });

  describe(`context on ${backend}`, { concurrency: false }, () => {
    test('query and headers give what SARIF lacks; the query wins', async () => {
      const [byQuery, byHeader] = [fresh(), fresh()];
      const headers = {
        'x-muster-repository-url': `https://${byHeader}.git`,
        'x-muster-branch': 'main',
        'x-muster-commit-sha': 'c0ffee',
      };
      ok(await hand(sarif([sarifResult()]), headers, '/ingest/sarif'), 201);
      const query = `/ingest/sarif?repository_url=git@github.com:acme/${byQuery.split('/')[2]}.git&branch=dev`;
      ok(await hand(sarif([sarifResult()]), headers, query), 201);
      for (const [repository, ref] of [
        [byHeader, 'main'],
        [byQuery, 'dev'],
      ] as const) {
        const [finding = {}] = await findingsOf(repository);
        const path = `/api/v1/findings/${String(finding['id'])}`;
        const [seen = {}] = (await look(world, world.own.viewer, path))['refs'] as Fields[];
        assert.equal(seen['name'], ref);
        assert.equal(seen['last_commit'], 'c0ffee');
      }
    });

    test('https, ssh and bare forms of a repository are one asset', async () => {
      const name = fresh();
      const tail = name.split('/').slice(1).join('/');
      const forms = [
        name,
        `https://${name}`,
        `https://GitHub.com/${tail}.git`,
        `git@github.com:${tail}.git`,
      ];
      for (const form of forms)
        ok(
          await hand(sarif([sarifResult()]), { 'x-muster-repository-url': form }, '/ingest/sarif'),
          201,
        );
      const page = await look(world, world.own.viewer, `/api/v1/assets?value=${name}`);
      assert.equal((page['items'] as Fields[]).length, 1);
      assert.equal((await findingsOf(name)).length, 1);
    });

    test('a value that the query would refuse is refused as a header, too', async () => {
      const report = sarif([sarifResult()]);
      for (const [name, value] of [
        ['coverage', 'most'],
        ['default-branch', 'yes'],
        ['asset-type', 'moon'],
      ]) {
        const query = `/ingest?${String(name).replace('-', '_')}=${value}`;
        problemOf(await hand(report, {}, query), 'invalid_parameter');
        const headers = { [`x-muster-${name}`]: String(value) };
        problemOf(await hand(report, headers), 'invalid_parameter');
      }
    });

    test('reports without any context go to the runner’s own asset, never to another’s', async () => {
      const [one, two] = [await newRunner(world), await newRunner(world)];
      const report = sarif([sarifResult({ rule: `own-${backend}` })]);
      for (const as of [one, two]) {
        const receipt = ok(await hand(report, {}, '/ingest/sarif', as), 201);
        assert.equal(receipt['findings_created'], 1, 'two runners, two projects');
      }
    });
  });

  describe(`recognition on ${backend}`, { concurrency: false }, () => {
    test('SARIF on a CTIS route is recognised by content and by type, and a warning says so', async () => {
      for (const path of ['/ingest', '/ingest/ctis']) {
        for (const type of ['application/json', 'application/sarif+json', 'text/plain']) {
          const report = sarif([sarifResult({ rule: `${path} ${type}` })]);
          const receipt = ok(await hand(report, { 'content-type': type }, path), 201);
          assert.equal(receipt['format'], 'sarif');
          const told = JSON.stringify(receipt['warnings']);
          assert.match(told, /sarif/i, `${path} ${type}: ${told}`);
        }
      }
    });

    test('SARIF is recognised whatever stands beside its version and runs', async () => {
      const report = { ...sarif([sarifResult({ rule: 'beside' })]), metadata: {}, findings: [] };
      const receipt = ok(await hand(report, {}, '/ingest'), 201);
      assert.equal(receipt['format'], 'sarif');
      assert.equal((receipt['findings'] as Fields)['created'], 1);
    });

    test('the SARIF route says no such thing, and takes all runs and all results', async () => {
      const two = { ...sarif([]), runs: ['a', 'b'].map((name) => runOf(name)) };
      const receipt = await receiptOf(two, `/ingest/sarif?repository_url=${fresh()}`);
      assert.equal((receipt['findings'] as Fields)['created'], 4);
      assert.ok(!/recognised/.test(JSON.stringify(receipt['warnings'])));
    });
    const runOf = (name: string): Fields => ({
      tool: { driver: { name } },
      results: [sarifResult({ rule: `${name}1` }), sarifResult({ rule: `${name}2` })],
    });

    test('ingest/check knows the producer’s base fingerprints, and compares all 50 000', async () => {
      const known = Array.from({ length: 3 }, (_, n) => `${'ab'.repeat(16)}${n}${backend.length}`);
      const items = known.map((fingerprint, n) => ctisFinding({ rule: `k${n}`, fingerprint }));
      await receiptOf(ctis(items, { repository: fresh() }));
      const asked = Array.from(
        { length: limits.fingerprintsCheckMax - 3 },
        (_, n) => `unknown-${n}`,
      );
      const fingerprints = [...asked.slice(0, 40_000), ...known, ...asked.slice(40_000)];
      const reply = ok(await hand({ fingerprints }, {}, '/ingest/check'));
      assert.deepEqual(new Set(reply['existing'] as string[]), new Set(known));
      assert.equal((reply['missing'] as string[]).length, asked.length);
      const tooMany = { fingerprints: [...fingerprints, 'one more'] };
      const problem = problemOf(await hand(tooMany, {}, '/ingest/check'), 'too_many_items');
      assert.match(String(problem['detail']), /50.?000/);
      const none = ok(await hand({ fingerprints: [] }, {}, '/ingest/check'));
      assert.deepEqual(none, { existing: [], missing: [] });
    });
  });
}
