// The list of findings by branch and status, on both databases: it may be narrowed to what is open
// on default branches, or to what one branch has; pages are whole and in order, however many assets
// a branch is on.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SEVERITIES } from '@muster/contract';
import { BACKENDS } from '../harness.ts';
import { ctis, ctisFinding, sarif, sarifResult } from '../http/reports.ts';
import { type Fields, ok, problemOf, send } from '../http/wire.ts';
import { look, runnerCall, startWorld, type World } from '../http/world.ts';

const OPEN_ON_DEFAULT = 'status=active&default_branch=true';

let serial = 0;
/** A name that no other test uses, nor begins another one. */
const fresh = (what: string): string => {
  serial += 1;
  return `${what}-${String(serial).padStart(4, '0')}`;
};

/** The rules of findings in the order of the list. */
const rules = (findings: readonly Fields[]): string => findings.map(rule).join(' ');
const rule = (finding: Fields): string => String(finding['rule_id']);

for (const backend of BACKENDS) {
  let world: World;
  before(async () => {
    world = await startWorld(backend);
  });
  after(async () => await world.stop());

  const upload = async (path: string, body: Fields): Promise<Fields> =>
    ok(await runnerCall(world, world.own.runner.key, path, body), 201);
  /** A full scan of one branch; the severity of a finding is by its rule. */
  const scan = async (repository: string, branch: string, found: string): Promise<Fields> => {
    const findings = found.split(' ').filter(Boolean);
    const items = findings.map((name) => ctisFinding({ rule: name, path: `${name}.js` }));
    const more = { repository, branch, isDefault: branch === 'main', coverage: 'full' };
    return await upload('/ingest', ctis(items, more));
  };
  const page = async (query: string): Promise<Fields> =>
    await look(world, world.own.viewer, `/api/v1/findings?${query}`);
  const listed = async (query: string): Promise<Fields[]> =>
    (await page(query))['items'] as Fields[];
  /** All pages of `limit`. */
  const paged = async (query: string, limit: number): Promise<Fields[]> => {
    const items: Fields[] = [];
    let next: string | null = null;
    do {
      const cursor: string = next === null ? '' : `&after=${next}`;
      const reply = await page(`${query}&limit=${limit}${cursor}`);
      items.push(...(reply['items'] as Fields[]));
      next = reply['next'] as string | null;
    } while (next !== null);
    return items;
  };
  const assetOf = async (repository: string): Promise<string> => {
    const { items } = await look(world, world.own.viewer, `/api/v1/assets?value=${repository}`);
    const [asset] = items as Fields[];
    return `asset_id=${String(asset?.['id'])}`;
  };
  const decide = async (asset: string, name: string, status: string): Promise<void> => {
    const [finding] = await listed(`${asset}&rule_id=${name}`);
    const path = `/api/v1/findings/${String(finding?.['id'])}`;
    ok(await send(world.url, { method: 'PATCH', path, key: world.own.analyst, body: { status } }));
  };

  describe(`findings by branch on ${backend}`, { concurrency: true }, () => {
    test('what only a feature branch has is not open on the default branch, and is in the list of all', async () => {
      const at = `github.com/acme/${fresh('feature-only')}`;
      await scan(at, 'main', 'a b');
      await scan(at, 'feature', 'b c');
      const asset = await assetOf(at);
      assert.equal(rules(await listed(`${asset}&${OPEN_ON_DEFAULT}`)), 'b a');
      assert.equal(rules(await listed(`${asset}&default_branch=true`)), 'b a');
      assert.equal(rules(await listed(asset)), 'c b a');
      assert.equal(rules(await listed(`${asset}&default_branch=false`)), 'c b a');
    });

    test('a branch has what is on it now; its full name and its short one are one', async () => {
      const at = `github.com/acme/${fresh('named')}`;
      const [feature, asset] = [fresh('feature'), async () => await assetOf(at)];
      await scan(at, 'main', 'a b');
      await scan(at, feature, 'b c d');
      await scan(at, feature, 'b c');
      assert.equal(rules(await listed(`branch=${feature}`)), 'c b');
      assert.equal(rules(await listed(`branch=refs/heads/${feature}`)), 'c b');
      assert.equal(rules(await listed(`branch=${feature}&${await asset()}`)), 'c b');
      assert.equal(rules(await listed(`branch=main&${await asset()}`)), 'b a');
      assert.deepEqual(await listed(`branch=${feature}-more`), []);
      assert.deepEqual(await listed(`branch=nowhere&${await asset()}`), []);
    });

    test('the ref without a name is asked for by the empty one', async () => {
      const at = `github.com/acme/${fresh('unnamed')}`;
      const query = `?repository_url=${at}`;
      await upload(`/ingest/sarif${query}&branch=main&default_branch=true`, sarif([]));
      await upload(`/ingest/sarif${query}`, sarif([sarifResult({ rule: 'nameless' })]));
      const asset = await assetOf(at);
      assert.equal(rules(await listed(`${asset}&branch=`)), 'nameless');
      assert.deepEqual(await listed(`${asset}&${OPEN_ON_DEFAULT}`), []);
    });

    test('without a claimed default branch the first one that was seen stands in', async () => {
      const at = `github.com/acme/${fresh('unclaimed')}`;
      await scan(at, 'trunk', 'a');
      await scan(at, 'other', 'b');
      const asset = await assetOf(at);
      assert.equal(rules(await listed(`${asset}&${OPEN_ON_DEFAULT}`)), 'a');
      await scan(at, 'main', 'c');
      assert.equal(rules(await listed(`${asset}&${OPEN_ON_DEFAULT}`)), 'c');
    });

    test('what is fixed on the default branch is resolved there, and still active on a branch that has it', async () => {
      const at = `github.com/acme/${fresh('fixed')}`;
      const feature = fresh('release');
      await scan(at, 'main', 'a b');
      await scan(at, feature, 'a b');
      await scan(at, 'main', 'a');
      const asset = await assetOf(at);
      assert.equal(rules(await listed(`${asset}&${OPEN_ON_DEFAULT}`)), 'a');
      assert.equal(rules(await listed(`${asset}&status=resolved&default_branch=true`)), 'b');
      assert.equal(rules(await listed(`${asset}&default_branch=true`)), 'b a');
      const active = await listed(`branch=${feature}&status=active`);
      assert.deepEqual(
        active.map((finding) => [rule(finding), finding['status']]),
        [
          ['b', 'resolved'],
          ['a', 'open'],
        ],
      );
      assert.equal(rules(await listed(`branch=${feature}&status=open`)), 'a');
      await scan(at, feature, 'a');
      assert.equal(rules(await listed(`branch=${feature}&status=active`)), 'a');
      assert.equal(rules(await listed(`branch=${feature}`)), 'a');
    });

    test('active are open, confirmed and in progress, and none of those that somebody has decided', async () => {
      const at = `github.com/acme/${fresh('statuses')}`;
      await scan(at, 'main', 'a b c d e f');
      const asset = await assetOf(at);
      await decide(asset, 'a', 'confirmed');
      await decide(asset, 'b', 'in_progress');
      await decide(asset, 'c', 'false_positive');
      await decide(asset, 'd', 'accepted');
      await decide(asset, 'e', 'resolved');
      assert.equal(rules(await listed(`${asset}&${OPEN_ON_DEFAULT}`)), 'f b a');
      assert.equal(rules(await listed(`${asset}&status=active`)), 'f b a');
      assert.equal(rules(await listed(`${asset}&status=active&branch=main`)), 'f b a');
      assert.equal(rules(await listed(`${asset}&status=accepted&default_branch=true`)), 'd');
    });

    test('a branch and the default one, or another word than true, are invalid_parameter', async () => {
      for (const [query, pointer] of [
        ['branch=main&default_branch=true', '/branch'],
        ['default_branch=yes', '/default_branch'],
        ['status=every', '/status'],
      ] as const) {
        const path = `/api/v1/findings?${query}`;
        const answer = await send(world.url, { path, key: world.own.viewer });
        assert.equal(problemOf(answer, 'invalid_parameter')['pointer'], pointer, query);
      }
    });
  });

  describe(`pages of findings on ${backend}`, () => {
    // More than are read asset by asset, and some on which the branch isn't.
    const repositories = Array.from({ length: 24 }, (_, n) => `https://github.com/paged/r-${n}`);
    const branch = 'next';
    const results = (from: number, count: number): Fields[] =>
      Array.from({ length: count }, (_, n) => {
        const level = ['error', 'warning', 'note'][(from + n) % 3] ?? 'error';
        return sarifResult({ rule: `p${from + n}`, path: `p/${from + n}.js`, severity: level });
      });
    const log = (at: readonly string[], branchName: string, from: number, count: number) => ({
      version: '2.1.0',
      runs: at.map((repositoryUri) => ({
        tool: { driver: { name: 'pager' } },
        versionControlProvenance: [{ repositoryUri, branch: branchName }],
        results: results(from, count),
      })),
    });
    before(async () => {
      await upload('/ingest/sarif?default_branch=true', log(repositories, 'main', 0, 6));
      await upload('/ingest/sarif?coverage=partial', log(repositories.slice(1), branch, 3, 6));
      const fixed = log(repositories.slice(0, 5), 'main', 2, 4);
      await upload('/ingest/sarif?default_branch=true', fixed);
      const some = await listed('tool=pager&rule_id=p3');
      for (const [n, finding] of some.slice(0, 12).entries()) {
        const status = ['confirmed', 'in_progress', 'false_positive'][n % 3];
        const path = `/api/v1/findings/${String(finding['id'])}`;
        const body = { status };
        ok(await send(world.url, { method: 'PATCH', path, key: world.own.analyst, body }));
      }
    });

    const rank = (finding: Fields): string =>
      `${SEVERITIES.indexOf(finding['severity'] as (typeof SEVERITIES)[number])}`;
    /** Worst first, then newest: ids of one length compare as the times they begin with. */
    const inOrder = (findings: readonly Fields[]): boolean =>
      findings.slice(1).every((finding, at) => {
        const previous = findings[at] ?? {};
        if (rank(previous) !== rank(finding)) return rank(previous) < rank(finding);
        return String(previous['id']) > String(finding['id']);
      });

    const EXPECTED: Readonly<Record<string, number>> = {
      // 24 × 6, less 5 × 2 that are fixed and the 4 false positives.
      [OPEN_ON_DEFAULT]: 130,
      'status=resolved&default_branch=true': 10,
      'default_branch=true': 144,
      // 23 × 6, of which none is fixed on main.
      'branch=next': 138,
      'branch=next&status=open': 126,
      'branch=next&status=active': 134,
      // 24 × 9, less the 3 that the first repository hasn't.
      '': 213,
      'status=active': 199,
    };
    for (const [query, count] of Object.entries(EXPECTED)) {
      test(`pages of "${query}" have each finding once, worst first, then newest`, async () => {
        const whole = await listed(`tool=pager&${query}&limit=250`);
        assert.equal(whole.length, count);
        assert.ok(inOrder(whole), 'not in order');
        for (const limit of [1, 7, count - 1, count]) {
          if (limit === 1 && count > 20) continue;
          const all = await paged(`tool=pager&${query}`, limit);
          assert.deepEqual(
            all.map((finding) => finding['id']),
            whole.map((finding) => finding['id']),
            `limit ${limit}`,
          );
        }
      });
    }

    test('another tenant sees none of it', async () => {
      for (const query of [OPEN_ON_DEFAULT, 'branch=next', 'branch=main&status=active']) {
        const path = `/api/v1/findings?${query}`;
        assert.deepEqual((await look(world, world.other.viewer, path))['items'], [], query);
      }
    });
  });
}
