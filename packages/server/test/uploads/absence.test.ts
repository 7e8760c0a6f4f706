// The effect of later scans on findings (contract §6): absence resolves only when it is conclusive,
// findings that come back are reopened, the blinding guard holds, branches are apart, decisions of
// people stay.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BACKENDS } from '../harness.ts';
import { ctis, ctisFinding, type CtisOptions, many, sarif, sarifResult } from '../http/reports.ts';
import { type Fields, ok, send } from '../http/wire.ts';
import { look, runnerCall, startWorld, type World } from '../http/world.ts';

let serial = 0;
const fresh = (): string => {
  serial += 1;
  // A list is searched by part of a value: none of these may be part of another.
  return `github.com/acme/absence-${String(serial).padStart(4, '0')}`;
};

for (const backend of BACKENDS) {
  let world: World;
  before(async () => {
    world = await startWorld(backend);
  });
  after(async () => await world.stop());

  const hand = async (body: Fields, query = '', path = '/ingest'): Promise<Fields> =>
    ok(await runnerCall(world, world.own.runner.key, `${path}${query}`, body), 201);
  const full = async (items: Fields[], repository: string, more: CtisOptions = {}) =>
    await hand(ctis(items, { repository, coverage: 'full', ...more }));
  const log = async (items: Fields[] | null, repository: string, run: Fields = {}, query = '') => {
    const body = sarif(items ?? [], { ...run, ...(items === null ? { results: null } : {}) });
    return await hand(body, `?repository_url=${repository}${query}`, '/ingest/sarif');
  };
  const findingsOf = async (repository: string): Promise<Fields[]> => {
    const page = await look(world, world.own.viewer, `/api/v1/assets?value=${repository}`);
    const [asset = {}] = page['items'] as Fields[];
    const path = `/api/v1/findings?asset_id=${String(asset['id'])}&limit=250`;
    return (await look(world, world.own.viewer, path))['items'] as Fields[];
  };
  const statuses = async (repository: string): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await findingsOf(repository)).map((finding) => [
        String(finding['rule_id']),
        [finding['status'], finding['resolution']].filter(Boolean).join(' '),
      ]),
    );
  const only = async (repository: string): Promise<Fields> => {
    const [finding, ...more] = await findingsOf(repository);
    assert.ok(finding !== undefined && more.length === 0);
    return await look(world, world.own.viewer, `/api/v1/findings/${String(finding['id'])}`);
  };
  const decide = async (repository: string, status: string): Promise<void> => {
    const path = `/api/v1/findings/${String((await only(repository))['id'])}`;
    ok(await send(world.url, { method: 'PATCH', path, key: world.own.analyst, body: { status } }));
  };
  const A = ctisFinding({ rule: 'a', path: 'a.js' });
  const B = ctisFinding({ rule: 'b', path: 'b.js' });
  const SA = sarifResult({ rule: 'a', path: 'a.js' });
  const SB = sarifResult({ rule: 'b', path: 'b.js' });

  const broken = 7 as unknown as Fields;

  describe(`conclusive absence on ${backend}`, { concurrency: true }, () => {
    test('a misspelt parameter is told, and nothing is closed unless the coverage is given', async () => {
      const at = fresh();
      await log([SA, SB], at);
      const misspelt = await log([SA], at, {}, '&covrage=partial');
      assert.equal(misspelt['resolved'], 0);
      const codes = (misspelt['warnings'] as Fields[]).map(({ code }) => code);
      assert.deepEqual(codes, ['unknown_parameter']);
      assert.equal((await log([SA], at, {}, '&build=7&coverage=full'))['resolved'], 1);
    });

    test('a full CTIS scan resolves what it no longer has; seen again it is reopened', async () => {
      const at = fresh();
      await full([A, B], at);
      const receipt = await full([A], at);
      assert.equal(receipt['resolved'], 1);
      assert.deepEqual(await statuses(at), { a: 'open', b: 'resolved fixed' });
      assert.equal((await full([A], at))['resolved'], 0, 'resolved once');
      const back = await full([A, B], at);
      assert.equal((back['findings'] as Fields)['reopened'], 1);
      assert.equal((back['findings'] as Fields)['unchanged'], 1);
      assert.deepEqual(await statuses(at), { a: 'open', b: 'open' });
    });

    test('a SARIF run is full unless told otherwise; `results: []` resolves the last one', async () => {
      const at = fresh();
      await log([SA, SB], at);
      assert.equal((await log([SB], at))['resolved'], 1);
      assert.equal((await log([], at))['resolved'], 1);
      assert.deepEqual(await statuses(at), { a: 'resolved fixed', b: 'resolved fixed' });
    });

    test('`findings: []` of a full CTIS scan resolves the last one', async () => {
      const at = fresh();
      await full([A], at);
      assert.equal((await full([], at))['resolved'], 1);
    });
  });

  describe(`inconclusive CTIS scans on ${backend}`, { concurrency: true }, () => {
    const inconclusive: Record<string, (at: string) => Promise<Fields>> = {
      'a partial CTIS scan': (at) => full([B], at, { coverage: 'partial' }),
      'an incremental CTIS scan': (at) => full([B], at, { coverage: 'incremental' }),
      'a CTIS scan that says nothing of its coverage': (at) => hand(ctis([B], { repository: at })),
      'a CTIS scan with a rejected item': (at) => full([B, broken], at),
      'a CTIS scan with another tool': (at) => full([B], at, { tool: 'anothertool' }),
      'a CTIS scan with `findings: null`': (at) => full([], at, { more: { findings: null } }),
      'a CTIS scan without a list': (at) => full([], at, { more: { findings: undefined } }),
      'a CTIS scan of a feature branch': (at) =>
        full([B], at, { branch: 'feature', isDefault: false }),
    };
    for (const [name, scan] of Object.entries(inconclusive)) {
      test(`${name} resolves nothing`, async () => {
        const at = fresh();
        await full([A], at);
        assert.equal((await scan(at))['resolved'], 0);
        assert.equal((await statuses(at))['a'], 'open');
      });
    }
  });

  describe(`inconclusive SARIF runs on ${backend}`, { concurrency: true }, () => {
    const failed = { invocations: [{ executionSuccessful: false }] };
    const runs: Record<string, (at: string) => Promise<Fields>> = {
      'a SARIF run told to be partial': (at) => log([SB], at, {}, '&coverage=partial'),
      'a SARIF run that failed': (at) => log([SB], at, failed),
      'a SARIF run with a rejected result': (at) => log([SB, broken], at),
      'a SARIF run with `results: null`': (at) => log(null, at),
      'a SARIF run of another category': (at) =>
        log([SB], at, { automationDetails: { id: 'nightly/1' } }),
      'a SARIF run of another category by parameter': (at) => log([SB], at, {}, '&category=x'),
      'a SARIF run of another tool': (at) =>
        log([SB], at, { tool: { driver: { name: 'anothertool' } } }),
      'a SARIF run of another branch': (at) => log([SB], at, {}, '&branch=feature'),
    };
    for (const [name, scan] of Object.entries(runs)) {
      test(`${name} resolves nothing`, async () => {
        const at = fresh();
        await log([SA], at);
        assert.equal((await scan(at))['resolved'], 0);
        assert.equal((await statuses(at))['a'], 'open');
      });
    }
  });

  describe(`analyses on ${backend}`, { concurrency: true }, () => {
    test('the category is automationDetails.id up to its last slash', async () => {
      const at = fresh();
      await log([SA], at, { automationDetails: { id: 'nightly/2026-11-20' } });
      const next = await log([SB], at, { automationDetails: { id: 'nightly/2026-11-21' } });
      assert.equal(next['resolved'], 1);
    });

    test('all runs of an upload with one tool and category are one analysis', async () => {
      const at = fresh();
      await log([SA, SB], at);
      const run = (result: Fields) => ({
        tool: { driver: { name: 'testtool' } },
        results: [result],
      });
      const body = { version: '2.1.0', runs: [run(SA), run(SB)] };
      const receipt = await hand(body, `?repository_url=${at}`, '/ingest/sarif');
      assert.equal(receipt['resolved'], 0);
      assert.deepEqual(await statuses(at), { a: 'open', b: 'open' });
    });

    test('what a runner’s own default asset holds is never resolved by absence', async () => {
      const tool = `own-${backend}`;
      await hand(ctis([A], { coverage: 'full', tool }));
      assert.equal((await hand(ctis([], { coverage: 'full', tool })))['resolved'], 0);
    });
  });

  describe(`the blinding guard on ${backend}`, { concurrency: true }, () => {
    const make = (count: number, from = 0): Fields[] => many(count, sarifResult, from);

    test('more than 100 and more than half is held; a second equal scan confirms it', async () => {
      const at = fresh();
      await log(make(210), at);
      const held = await log(make(50), at);
      assert.equal(held['held'], 160);
      assert.equal(held['resolved'], 0);
      const confirmed = await log(make(50), at);
      assert.equal(confirmed['resolved'], 160);
      assert.equal(confirmed['held'], 0);
    });

    test('a different second scan is held anew; a full one ends the matter', async () => {
      const at = fresh();
      await log(make(210), at);
      assert.equal((await log(make(50), at))['held'], 160);
      assert.equal((await log(make(40), at))['held'], 170);
      const whole = await log(make(210), at);
      assert.equal(whole['held'], 0);
      assert.equal((whole['findings'] as Fields)['unchanged'], 210);
      assert.equal((await log(make(40), at))['held'], 170, 'the earlier doubt doesn’t count');
    });

    test('100, or half, are not held', async () => {
      const [hundred, half] = [fresh(), fresh()];
      await log(make(120), hundred);
      assert.equal((await log(make(20), hundred))['resolved'], 100);
      await log(make(220), half);
      assert.equal((await log(make(110), half))['resolved'], 110);
    });
  });

  describe(`branches on ${backend}`, { concurrency: true }, () => {
    test('the first branch claimed as default stays so; later claims are warnings', async () => {
      const at = fresh();
      await full([A, B], at);
      const claim = await full([A], at, { branch: 'other', isDefault: true });
      assert.ok(Number(claim['warnings_total']) >= 1);
      assert.match(JSON.stringify(claim['warnings']), /default/i);
      assert.deepEqual(await statuses(at), { a: 'open', b: 'open' });
      await full([A, B], at, { branch: 'other', isDefault: true });
      await full([A], at, { branch: 'other', isDefault: true });
      assert.equal((await statuses(at))['b'], 'open', 'gone from a branch that isn’t the default');
    });

    test('presence is kept per branch, with commits', async () => {
      const at = fresh();
      await log([SA], at, {}, '&branch=main&default_branch=true&commit_sha=c1');
      await log([SA], at, {}, '&branch=feature&commit_sha=c2');
      await log([], at, {}, '&branch=feature&commit_sha=c3');
      const refs = (await only(at))['refs'] as Fields[];
      const of = (name: string): Fields => refs.find((ref) => ref['name'] === name) ?? {};
      assert.equal(of('main')['present'], true);
      assert.equal(of('main')['is_default'], true);
      assert.equal(of('main')['first_commit'], 'c1');
      assert.equal(of('feature')['present'], false);
      assert.equal((await statuses(at))['a'], 'open');
    });
  });

  describe(`severity, suppression and decisions on ${backend}`, { concurrency: true }, () => {
    test('severity is recomputed from each report, and can fall', async () => {
      const at = fresh();
      await full([ctisFinding({ severity: 'critical' })], at);
      const receipt = await full([ctisFinding({ severity: 'low' })], at);
      assert.equal((receipt['findings'] as Fields)['changed'], 1);
      assert.equal((await only(at))['severity'], 'low');
    });

    test('what the report suppresses is stored as suppressed, and counted', async () => {
      const at = fresh();
      const suppressions = [{ kind: 'inSource', justification: 'known' }];
      const receipt = await log([SA, { ...SB, suppressions }], at);
      assert.equal(receipt['suppressed'], 1);
      assert.equal((receipt['findings'] as Fields)['created'], 2);
      assert.deepEqual(await statuses(at), { a: 'open', b: 'suppressed' });
      const refusedSuppression = [{ kind: 'external', status: 'rejected' }];
      const other = fresh();
      await log([{ ...SB, suppressions: refusedSuppression }], other);
      assert.deepEqual(await statuses(other), { b: 'open' });
    });

    test('a suppression whose end has come suppresses no more', async () => {
      const at = fresh();
      const until = (expires_at: string): Fields => ({ ...A, suppression: { expires_at } });
      await full([until('9000-01-01T00:00:00Z')], at);
      assert.deepEqual(await statuses(at), { a: 'suppressed' });
      const receipt = await full([until('2001-01-01T00:00:00Z')], at);
      assert.equal(receipt['suppressed'], 0);
      assert.deepEqual(await statuses(at), { a: 'open' });
    });

    for (const status of ['false_positive', 'accepted', 'duplicate', 'suppressed']) {
      test(`a finding that somebody set to ${status} survives scans with and without it`, async () => {
        const at = fresh();
        await full([A], at);
        await decide(at, status);
        await full([A], at);
        assert.equal((await only(at))['status'], status);
        assert.equal((await full([], at))['resolved'], 0);
        await full([A], at);
        assert.equal((await only(at))['status'], status);
      });
    }

    test('confirmed and in_progress stay while it is seen, and are resolved when it is gone', async () => {
      for (const status of ['confirmed', 'in_progress']) {
        const at = fresh();
        await full([A], at);
        await decide(at, status);
        await full([A], at);
        assert.equal((await only(at))['status'], status);
        assert.equal((await full([], at))['resolved'], 1);
        assert.deepEqual(await statuses(at), { a: 'resolved fixed' });
      }
    });

    test('what an operator resolved stays resolved when a scan still sees it', async () => {
      const at = fresh();
      await full([A], at);
      await decide(at, 'resolved');
      const receipt = await full([A], at);
      assert.equal((receipt['findings'] as Fields)['reopened'], 0);
      assert.deepEqual(await statuses(at), { a: 'resolved by_operator' });
    });
  });
}
