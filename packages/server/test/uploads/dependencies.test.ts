// A long list of dependencies, on both databases: read one by one as findings are, so that each is
// used or rejected by itself, in whatever place of the document the list stands; and the graph
// among them, whichever comes first.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { BACKENDS } from '../harness.ts';
import { type Answer, type Fields, ok, problemOf, send } from '../http/wire.ts';
import { look, newRunner, type Runner, startWorld, type World } from '../http/world.ts';

/** More than ten slices, and more than one piece of a document. */
const COUNT = 3000;

let serial = 0;
const fresh = (): string => {
  serial += 1;
  return `sbom-${String(serial).padStart(4, '0')}.example.com`;
};

const library = (at: number, more: Fields = {}): string =>
  JSON.stringify({
    id: `ref-${at}`,
    name: `library-${at}`,
    version: '1.0',
    purl: `pkg:npm/library-${at}@1.0`,
    ...more,
  });

/** Each depends on the next one, which isn't known yet, and on the first one, which is. */
const chain = (count: number): string[] =>
  Array.from({ length: count }, (_, at) =>
    library(at, { depends_on: at + 1 < count ? [`ref-${at + 1}`, 'library-0'] : [] }),
  );

const FINDING = '{"title":"t","type":"vulnerability","severity":"high","rule_id":"r"}';

/** A report with the members that every report has, and these. */
const report = (site: string, members: readonly string[]): string =>
  `{"assets":[{"type":"repository","value":"${site}"}],"tool":{"name":"t"},${members.join()}}`;

for (const backend of BACKENDS) {
  describe(`dependencies on ${backend}`, { concurrency: false }, () => {
    let world: World;
    let runner: Runner;
    before(async () => {
      world = await startWorld(backend);
      runner = await newRunner(world);
    });
    after(async () => await world.stop());

    const post = async (body: string | Buffer, path = '/ingest'): Promise<Answer> =>
      await send(world.url, {
        method: 'POST',
        path: `/api/v1/agent${path}`,
        key: runner.key,
        headers: { 'content-type': 'application/json' },
        body: typeof body === 'string' ? Buffer.from(body) : body,
      });
    const upload = async (body: string | Buffer): Promise<Fields> => ok(await post(body), 201);
    const get = async (path: string): Promise<Fields> => await look(world, world.own.viewer, path);
    /** All components of the asset, by name. */
    const componentsOf = async (site: string): Promise<Map<string, Fields>> => {
      const { items } = await get(`/api/v1/assets?value=${site}`);
      const [asset] = items as Fields[];
      const components = new Map<string, Fields>();
      for (let after: string | null = ''; after !== null; ) {
        const cursor: string = after === '' ? '' : `&after=${after}`;
        const path = `/api/v1/assets/${String(asset?.['id'])}/components?limit=250${cursor}`;
        const page = await get(path);
        for (const one of page['items'] as Fields[]) components.set(String(one['name']), one);
        after = page['next'] as string | null;
      }
      return components;
    };
    const placesOf = (receipt: Fields, list: 'rejections' | 'warnings') =>
      (receipt[list] as Fields[]).map(({ code, pointer }) => [code, pointer]);

    test('each of some thousand leads to the next, before findings and behind them, flat and wrapped', async () => {
      const list = `"dependencies":[${chain(COUNT).join(',\n')}]`;
      const findings = `"findings":[${FINDING}]`;
      const last = '"metadata":{"id":"sbom"}';
      const places = [
        (site: string) => report(site, [list, findings, last]),
        (site: string) => report(site, [findings, list, last]),
        (site: string) => `{"report":${report(site, [findings, list, last])}}`,
      ];
      for (const place of places) {
        const site = fresh();
        const foreseen = ok(await post(place(site), '/ingest/validate'), 200);
        const receipt = await upload(place(site));
        const sums = { received: COUNT, created: COUNT, updated: 0, duplicate: 0, rejected: 0 };
        for (const told of [foreseen, receipt]) {
          assert.deepEqual(told['dependencies'], sums);
          assert.equal((told['findings'] as Fields)['created'], 1);
          assert.equal(told['warnings_total'], 0);
          assert.equal(told['scan_id'], 'sbom');
        }
        const components = await componentsOf(site);
        assert.equal(components.size, COUNT);
        for (const at of [1, 249, 250, 1234, COUNT - 2]) {
          const edges = components.get(`library-${at}`)?.['depends_on'];
          assert.deepEqual(edges, [`pkg:npm/library-${at + 1}@1.0`, 'pkg:npm/library-0@1.0']);
        }
        const again = ok(await post(place(site), '/ingest/validate'), 200);
        assert.deepEqual(again['dependencies'], { ...sums, created: 0, updated: COUNT });
      }
    });

    test('entries that can’t be used are rejected in their place, and cost no other', async () => {
      const site = fresh();
      const deep = `${'['.repeat(limits.jsonDepthMax)}${']'.repeat(limits.jsonDepthMax)}`;
      const large = `{"name":"large","x":"${'x'.repeat(limits.itemBytesMax)}"}`;
      const bad = ['{"note":"nameless"}', '7', `{"name":"deep","x":${deep}}`, large];
      const good = chain(4);
      const mixed = good.flatMap((one, at) => [one, bad[at] ?? '']);
      const receipt = await upload(report(site, [`"dependencies":[${mixed.join()}]`]));
      assert.deepEqual(placesOf(receipt, 'rejections'), [
        ['name_missing', '/dependencies/1/name'],
        ['item_not_object', '/dependencies/3'],
        ['item_too_deep', '/dependencies/5'],
        ['item_too_large', '/dependencies/7'],
      ]);
      const { received, created, rejected } = receipt['dependencies'] as Fields;
      assert.deepEqual([received, created, rejected], [8, 4, 4]);
      const { items } = await get(`/api/v1/uploads/${String(receipt['upload_id'])}/rejections`);
      const texts = (items as Fields[]).map(({ item }) => item);
      assert.deepEqual(texts, ['{"note":"nameless"}', '7', null, null]);
      const edges = (await componentsOf(site)).get('library-2')?.['depends_on'];
      assert.deepEqual(edges, ['pkg:npm/library-3@1.0', 'pkg:npm/library-0@1.0']);
    });

    test('what an entry has to be tolerated for is told with its place', async () => {
      const invalid = Buffer.from([0xff]).toString('latin1');
      const entries = ['{"name":"a","name":"b"}', `{"name":"c${invalid}"}`];
      const text = report(fresh(), [`"dependencies":[${entries.join()}]`]);
      const receipt = await upload(Buffer.from(text, 'latin1'));
      assert.deepEqual(placesOf(receipt, 'warnings'), [
        ['member_repeated', '/dependencies/0/name'],
        ['invalid_utf8', '/dependencies/1'],
      ]);
    });

    test('warnings come in the order of lists, ids before edges, edges before findings', async () => {
      const dependencies = [
        '{"id":"x","name":"a","depends_on":["gone"],"odd":1}',
        '{"id":"x","name":"b","other":1}',
      ];
      const endpoints = '"endpoints":[{"origin":"https://e.example","path":"/","odd":1}]';
      const findings = `"findings":[${FINDING.replace('{', '{"odd":1,')}]`;
      const list = `"dependencies":[${dependencies.join()}]`;
      const expected = [
        ['unknown_member', '/endpoints/0/odd'],
        ['unknown_member', '/dependencies/0/odd'],
        ['unknown_member', '/dependencies/1/other'],
        ['dependency_id_repeated', '/dependencies/1/id'],
        ['dependency_unknown', '/dependencies/0/depends_on/0'],
        ['unknown_member', '/findings/0/odd'],
      ];
      const accepted = await upload(report(fresh(), [findings, list, endpoints]));
      assert.deepEqual(placesOf(accepted, 'warnings'), expected);
      const bad = Array.from({ length: 20 }, () => '{}');
      const members = [findings, `"dependencies":[${[...dependencies, ...bad].join()}]`, endpoints];
      const refused = problemOf(await post(report(fresh(), members)), 'report_refused');
      const receipt = refused['receipt'] as Fields;
      assert.deepEqual(placesOf(receipt, 'warnings'), expected);
      const { received, rejected } = receipt['dependencies'] as Fields;
      assert.deepEqual([received, rejected], [22, 22]);
    });

    test('of a list that comes twice the last one counts, and one that is none is told', async () => {
      const site = fresh();
      const twice = [
        `"dependencies":[${library(0)},${library(1)}]`,
        `"dependencies":[${library(2)}]`,
      ];
      const receipt = await upload(report(site, twice));
      assert.equal((receipt['dependencies'] as Fields)['received'], 1);
      assert.deepEqual([...(await componentsOf(site)).keys()], ['library-2']);
      const none = await upload(report(fresh(), ['"dependencies":[{}]', '"dependencies":{"a":1}']));
      assert.equal((none['dependencies'] as Fields)['received'], 0);
      assert.deepEqual(
        placesOf(none, 'warnings').map(([code]) => code),
        ['member_repeated', 'wrong_type'],
      );
    });

    test('what isn’t JSON among dependencies is refused with its place', async () => {
      const text = report(fresh(), [`"dependencies":[{"name":"a"},\n{"name":b}]`]);
      const problem = problemOf(await post(text), 'invalid_json');
      assert.match(String(problem['detail']), /line 2, column 9/);
    });

    test('a component that comes again much later is counted once, and its edges add up', async () => {
      const site = fresh();
      const again = library(0, { depends_on: ['ref-7'] });
      const list = `"dependencies":[${[...chain(700), again].join()}]`;
      const sums = { received: 701, created: 700, updated: 0, duplicate: 1, rejected: 0 };
      const foreseen = ok(await post(report(site, [list]), '/ingest/validate'), 200);
      assert.deepEqual(foreseen['dependencies'], sums);
      assert.deepEqual((await upload(report(site, [list])))['dependencies'], sums);
      const edges = (await componentsOf(site)).get('library-0')?.['depends_on'];
      assert.deepEqual(edges, ['pkg:npm/library-1@1.0', 'pkg:npm/library-7@1.0']);
    });

    test('edges of one component that add up to more than their bound are cut visibly', async () => {
      const site = fresh();
      const to = (from: number) =>
        library(0, { depends_on: Array.from({ length: 600 }, (_, at) => `ref-${from + at}`) });
      const list = [to(1), ...chain(1201).slice(1), to(601)];
      const receipt = await upload(report(site, [`"dependencies":[${list.join()}]`]));
      const [warning] = receipt['warnings'] as Fields[];
      assert.equal(warning?.['code'], 'list_cut');
      assert.match(String(warning['detail']), /^200 entries/);
      const edges = (await componentsOf(site)).get('library-0')?.['depends_on'];
      assert.equal((edges as string[]).length, 1000);
    });

    test('short ids of components with long names are edges up to a number of characters', async () => {
      const site = fresh();
      const named = (at: number, more: Fields = {}) =>
        library(at, { purl: `pkg:npm/${'x'.repeat(900)}${at}@1.0`, ...more });
      const others = Array.from({ length: 100 }, (_, at) => named(at + 1));
      const first = named(0, { depends_on: others.map((_, at) => `ref-${at + 1}`) });
      const receipt = await upload(report(site, [`"dependencies":[${[first, ...others].join()}]`]));
      assert.equal((receipt['warnings'] as Fields[])[0]?.['code'], 'list_cut');
      const edges = (await componentsOf(site)).get('library-0')?.['depends_on'] as string[];
      assert.equal(edges.length, Math.floor((64 * 1024) / (edges[0]?.length ?? 1)));
    });
  });
}
