// The inventory of a CTIS report, from the upload to the operators' views, on both databases:
// assets with their attributes, components with their graph, relationships, endpoints; the sums in
// the receipt; later reports.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BACKENDS } from '../harness.ts';
import { ctis, ctisFinding, many } from '../http/reports.ts';
import { type Fields, ok, problemOf } from '../http/wire.ts';
import { look, newRunner, type Runner, runnerCall, startWorld, type World } from '../http/world.ts';

const TOKEN = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a';

let serial = 0;
/** A site that no other test knows. */
const fresh = (): string => {
  serial += 1;
  return `site-${String(serial).padStart(4, '0')}.example.com`;
};

for (const backend of BACKENDS) {
  describe(`the inventory of assets on ${backend}`, () => {
    let world: World;
    let runner: Runner;
    before(async () => {
      world = await startWorld(backend);
      runner = await newRunner(world);
    });
    after(async () => await world.stop());

    const upload = async (more: Fields): Promise<Fields> =>
      ok(await runnerCall(world, runner.key, '/ingest', ctis([], { more })), 201);
    const get = async (path: string): Promise<Fields> => await look(world, world.own.viewer, path);
    const idOf = async (value: string): Promise<string> => {
      const { items } = await get(`/api/v1/assets?value=${value}`);
      const found = (items as Fields[]).find((asset) => asset['value'] === value);
      return String(found?.['id']);
    };
    /** All items of a list, in pages of `limit`. */
    const all = async (path: string, limit: number): Promise<Fields[]> => {
      const items: Fields[] = [];
      let next: string | null = null;
      do {
        const cursor: string = next === null ? '' : `&after=${next}`;
        const joint = path.includes('?') ? '&' : '?';
        const page = await get(`${path}${joint}limit=${limit}${cursor}`);
        items.push(...(page['items'] as Fields[]));
        next = page['next'] as string | null;
      } while (next !== null);
      return items;
    };

    test('the receipt counts assets, dependencies, relationships and endpoints, each with its sum', async () => {
      const site = fresh();
      const report = {
        assets: [
          { id: 's', type: 'domain', value: site },
          { id: 't', type: 'domain', value: `${site}.` },
          { type: 'host' },
        ],
        dependencies: [{ name: 'a' }, { name: 'a' }, {}],
        relationships: [{ type: 'exposes', from_ref: 's', to_ref: 's' }],
        endpoints: [
          { origin: `https://${site}`, path: '/' },
          { origin: `https://${site}/`, path: '/#top' },
          { origin: 'nowhere', path: '/' },
        ],
      };
      const none = { created: 0, updated: 0, duplicate: 0, rejected: 0 };
      const sums = async () => {
        const receipt = await upload(report);
        const { assets, dependencies, relationships, endpoints } = receipt;
        return { assets, dependencies, relationships, endpoints };
      };
      assert.deepEqual(await sums(), {
        assets: { ...none, received: 4, created: 2, duplicate: 1, rejected: 1 },
        dependencies: { ...none, received: 3, created: 1, duplicate: 1, rejected: 1 },
        relationships: { ...none, received: 1, rejected: 1 },
        endpoints: { ...none, received: 3, created: 1, duplicate: 1, rejected: 1 },
      });
      assert.deepEqual(await sums(), {
        assets: { ...none, received: 4, updated: 2, duplicate: 1, rejected: 1 },
        dependencies: { ...none, received: 3, updated: 1, duplicate: 1, rejected: 1 },
        relationships: { ...none, received: 1, rejected: 1 },
        endpoints: { ...none, received: 3, updated: 1, duplicate: 1, rejected: 1 },
      });
    });

    test('a later report adds to what is known of an asset and unsays nothing', async () => {
      const site = fresh();
      const asset = { type: 'domain', value: site };
      const records = (value: string) => ({
        technical: { domain: { dns_records: [{ type: 'A', name: site, value }] } },
      });
      await upload({ assets: [{ ...asset, tags: ['shop'], ...records('192.0.2.1') }] });
      await upload({ assets: [{ ...asset, criticality: 'high', ...records('192.0.2.2') }] });
      await upload({ assets: [{ ...asset, criticality: 'low' }] });
      const shown = await get(`/api/v1/assets/${await idOf(site)}`);
      assert.deepEqual(shown['attributes'], {
        tags: ['shop'],
        technical: {
          domain: {
            dns_records: [
              { type: 'A', name: site, value: '192.0.2.1' },
              { type: 'A', name: site, value: '192.0.2.2' },
            ],
          },
        },
      });
      assert.deepEqual(
        [shown['criticality'], shown['components'], shown['endpoints']],
        ['high', 0, 0],
      );
    });

    test('two entries of one report that name the same asset are one with both of their attributes', async () => {
      const site = fresh();
      await upload({
        assets: [
          { type: 'domain', value: site, tags: ['a'] },
          { type: 'subdomain', value: `https://${site}/`, tags: ['b'], criticality: 'low' },
        ],
      });
      const shown = await get(`/api/v1/assets/${await idOf(site)}`);
      const { tags } = shown['attributes'] as { tags: string[] };
      assert.deepEqual([tags, shown['criticality']], [['a', 'b'], 'low']);
    });

    test('components come page by page with what they depend on, as the newest report has it', async () => {
      const site = fresh();
      const assets = [{ type: 'repository', value: site }];
      const names = Array.from({ length: 7 }, (_, index) => `lib-${index}`);
      const dependencies = names.map((name, index) => ({
        id: name,
        name,
        version: '1.0',
        ecosystem: 'npm',
        depends_on: index === 0 ? ['lib-1', 'lib-2'] : [],
      }));
      await upload({ assets, dependencies });
      const path = `/api/v1/assets/${await idOf(site)}/components`;
      const identities = names.map((name) => `npm/${name}@1.0`);
      for (const limit of [1, 3, 7, 50]) {
        assert.deepEqual(
          (await all(path, limit)).map(({ identity }) => identity),
          identities,
        );
      }
      const edges = async () => (await all(path, 50))[0]?.['depends_on'];
      assert.deepEqual(await edges(), ['npm/lib-1@1.0', 'npm/lib-2@1.0']);
      const newest = dependencies.map((entry) => ({ ...entry, depends_on: ['lib-6'] }));
      await upload({ assets, dependencies: newest });
      assert.deepEqual(await edges(), ['npm/lib-6@1.0']);
      const asset = await get(`/api/v1/assets/${await idOf(site)}`);
      assert.equal(asset['components'], 7);
    });

    test('a component listed twice depends on what either of its entries says', async () => {
      const site = fresh();
      const twice = (dependsOn: string) => ({ name: 'a', version: '1', depends_on: [dependsOn] });
      const dependencies = [twice('b'), twice('c'), { name: 'b' }, { name: 'c' }];
      await upload({ assets: [{ type: 'repository', value: site }], dependencies });
      const [first] = await all(`/api/v1/assets/${await idOf(site)}/components`, 50);
      assert.deepEqual(first?.['depends_on'], ['other/b', 'other/c']);
    });

    test('relationships are seen from both of their assets, page by page', async () => {
      const site = fresh();
      const hosts = Array.from({ length: 5 }, (_, index) => `host${index}.${site}`);
      const assets = [site, ...hosts].map((value) => ({ id: value, type: 'domain', value }));
      const relationships = hosts.map((host, index) => ({
        type: index < 3 ? 'subdomain_of' : 'cname_of',
        from_ref: host,
        to_ref: site,
      }));
      await upload({ assets, relationships });
      const path = `/api/v1/assets/${await idOf(site)}/relationships`;
      assert.deepEqual(await all(path, 50), []);
      for (const limit of [1, 2, 50]) {
        const found = await all(`${path}?direction=in`, limit);
        assert.deepEqual(
          found.map(({ type, to_asset: to }) => [type, to]),
          ['cname_of', 'cname_of', 'subdomain_of', 'subdomain_of', 'subdomain_of'].map((type) => [
            type,
            site,
          ]),
        );
        assert.equal(new Set(found.map((one) => one['from_asset'])).size, 5);
      }
      const [host = ''] = hosts;
      const out = await all(`/api/v1/assets/${await idOf(host)}/relationships`, 50);
      assert.deepEqual(
        out.map(({ type, from_asset: from, to_asset: to }) => [from, type, to]),
        [[host, 'subdomain_of', site]],
      );
    });

    test('endpoints stand with the asset that their origin is, long addresses included', async () => {
      const site = fresh();
      const origin = `https://${site}`;
      const long = `/${'x'.repeat(2000)}`;
      const endpoints = ['/a', '/b/17', long].map((path) => ({ origin, path, method: 'GET' }));
      await upload({ assets: [{ type: 'website', value: `${origin}/` }], endpoints });
      const path = `/api/v1/assets/${await idOf(origin)}/endpoints`;
      for (const limit of [1, 50]) {
        const found = await all(path, limit);
        assert.deepEqual(
          found.map(({ detail }) => (detail as Fields)['template']),
          ['/a', '/b/{int}', long],
        );
      }
      const asset = await get(`/api/v1/assets/${await idOf(origin)}`);
      assert.equal(asset['endpoints'], 3);
    });

    /** The counts for lists with so many good and bad entries, beside so many good findings. */
    const become = async (findings: number, lists: Record<string, [number, number]>) => {
      const domain = fresh();
      const good = { type: 'domain', value: domain, name: 'a' };
      const more = Object.fromEntries(
        Object.entries(lists).map(([name, [fine, bad]]) => [
          name,
          [
            ...Array.from({ length: fine }, (_, n) => ({ ...good, version: `1.${n}` })),
            ...Array.from({ length: bad }, () => ({ type: 'domain', note: `of ${TOKEN}` })),
          ],
        ]),
      );
      const report = ctis(many(findings, ctisFinding), { more, repository: domain });
      return await runnerCall(world, runner.key, '/ingest', report);
    };

    test('entries of lists beside the findings are items: a report of which most is bad is refused', async () => {
      const refused = async (...report: Parameters<typeof become>): Promise<string> => {
        const problem = problemOf(await become(...report), 'report_refused');
        return String(problem['detail']).split(' items', 1)[0] ?? '';
      };
      assert.equal(await refused(0, { assets: [0, 2] }), '2 of 2');
      assert.equal(await refused(0, { dependencies: [0, 30] }), '30 of 30');
      assert.equal(await refused(9, { dependencies: [0, 10] }), '10 of 19');
      for (const [findings, lists] of [
        [10, { dependencies: [0, 10] }],
        [0, { assets: [1, 2] }],
        [1, { assets: [0, 9] }],
      ] satisfies Parameters<typeof become>[]) {
        const receipt = ok(await become(findings, lists), 201);
        assert.equal(receipt['outcome'], 'partial');
      }
    });

    test('a rejected entry of such a list stays to be looked at, without its secrets', async () => {
      const receipt = ok(await become(2, { assets: [1, 1], dependencies: [0, 1] }), 201);
      const { items } = await get(`/api/v1/uploads/${String(receipt['upload_id'])}/rejections`);
      const texts = (items as Fields[]).map(({ pointer, item }) => [pointer, item]);
      const shown = '{"type":"domain","note":"of ghp_***8B4a"}';
      assert.deepEqual(texts, [
        ['/assets/1/value', shown],
        ['/dependencies/0/name', shown],
      ]);
    });
  });
}
