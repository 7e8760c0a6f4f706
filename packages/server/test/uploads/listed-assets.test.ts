// Long lists of assets, relationships and endpoints, on both databases: read one by one as findings
// are, so that each is used or rejected by itself; and known before the findings that refer to
// them, in whatever place of the document they stand.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { BACKENDS } from '../harness.ts';
import { type Answer, type Fields, ok, problemOf, send } from '../http/wire.ts';
import { look, newRunner, type Runner, startWorld, type World } from '../http/world.ts';

/** Several slices. */
const COUNT = 800;

let serial = 0;
const fresh = (): string => {
  serial += 1;
  return `w${String(serial).padStart(4, '0')}`;
};

const nameOf = (world: string, at: number): string => `host-${at}.${world}.example`;

const asset = (world: string, at: number, more: Fields = {}): string =>
  JSON.stringify({ id: `a${at}`, type: 'host', value: nameOf(world, at), ...more });

/** A note so long that a few hundred assets take more than one piece of a document. */
const NOTE = 'note '.repeat(80);

const assetsOf = (world: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) =>
    asset(world, at, { properties: { at: `n${at}`, note: NOTE } }),
  );

const relationship = (from: number, to: number, type = 'exposes'): string =>
  JSON.stringify({ type, from_ref: `a${from}`, to_ref: `a${to}` });

const endpoint = (world: string, at: number, more: Fields = {}): string =>
  JSON.stringify({
    origin: `https://${world}.example`,
    path: `/page-${at}`,
    method: 'GET',
    ...more,
  });

const finding = (more: Fields): string =>
  JSON.stringify({ title: 't', type: 'vulnerability', severity: 'high', rule_id: 'r', ...more });

const list = (name: string, entries: readonly string[]): string => `"${name}":[${entries.join()}]`;

const TOOL = '"tool":{"name":"t"}';

/** A flat report of these members. */
const report = (...members: readonly string[]): string => `{${[TOOL, ...members].join(',\n')}}`;

for (const backend of BACKENDS) {
  describe(`listed assets on ${backend}`, { concurrency: false }, () => {
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
    const dryRun = async (body: string): Promise<Fields> =>
      ok(await post(body, '/ingest/validate'), 200);
    const get = async (path: string): Promise<Fields> => await look(world, world.own.viewer, path);
    const assetOf = async (value: string): Promise<Fields> => {
      const { items } = await get(`/api/v1/assets?value=${encodeURIComponent(value)}`);
      const [found] = items as Fields[];
      return await get(`/api/v1/assets/${String(found?.['id'])}`);
    };
    const belowOf = async (value: string, what: string): Promise<Fields[]> => {
      const { id } = await assetOf(value);
      return (await get(`/api/v1/assets/${String(id)}/${what}`))['items'] as Fields[];
    };
    const placesOf = (receipt: Fields, of: 'rejections' | 'warnings') =>
      (receipt[of] as Fields[]).map(({ code, pointer }) => [code, pointer]);
    const sums = (received: number, more: Fields = {}): Fields => ({
      received,
      created: received,
      updated: 0,
      duplicate: 0,
      rejected: 0,
      ...more,
    });

    test('some thousand are known to what refers to them, in any order of members, flat and wrapped', async () => {
      const last = COUNT - 1;
      const orders = [
        [0, 1, 2, 3],
        [3, 2, 1, 0],
        [1, 3, 0, 2],
      ];
      for (const [turn, order] of orders.entries()) {
        const here = fresh();
        const members = [
          list('assets', assetsOf(here, COUNT)),
          list(
            'relationships',
            Array.from({ length: last }, (_, at) => relationship(at, at + 1)),
          ),
          list(
            'endpoints',
            Array.from({ length: 600 }, (_, at) => endpoint(here, at)),
          ),
          list('findings', [
            finding({ asset_ref: `a${last}` }),
            finding({ asset_value: nameOf(here, 7), asset_type: 'host' }),
            finding({ asset_value: `https://${here}.example/`, asset_type: 'website' }),
          ]),
        ];
        const flat = report(...order.map((at) => members[at] ?? ''));
        const text = turn === 1 ? `{"report":${flat}}` : flat;
        const foreseen = await dryRun(text);
        const receipt = await upload(text);
        for (const told of [foreseen, receipt]) {
          assert.deepEqual(told['assets'], sums(COUNT + 1), 'with the origin of the endpoints');
          assert.deepEqual(told['relationships'], sums(last));
          assert.deepEqual(told['endpoints'], sums(600));
          assert.equal((told['findings'] as Fields)['created'], 3);
          assert.equal(told['warnings_total'], 0);
        }
        for (const value of [nameOf(here, last), nameOf(here, 7), `https://${here}.example`]) {
          const { id } = await assetOf(value);
          const found = await get(`/api/v1/findings?asset_id=${String(id)}`);
          assert.equal((found['items'] as Fields[]).length, 1, value);
        }
        for (const at of [0, 249, 250, 600]) {
          const { attributes } = await assetOf(nameOf(here, at));
          assert.deepEqual(attributes, { properties: { at: `n${at}`, note: NOTE } });
          const related = await belowOf(nameOf(here, at), 'relationships');
          assert.ok(JSON.stringify(related).includes(nameOf(here, at + 1)));
        }
        const again = await dryRun(text);
        assert.deepEqual(again['assets'], sums(COUNT + 1, { created: 0, updated: COUNT + 1 }));
        assert.deepEqual(again['relationships'], sums(last, { created: 0, updated: last }));
        assert.deepEqual(again['endpoints'], sums(600, { created: 0, updated: 600 }));
      }
    });

    test('entries that can’t be used are rejected in their place, and cost no other', async () => {
      const here = fresh();
      const deep = `${'['.repeat(limits.jsonDepthMax)}${']'.repeat(limits.jsonDepthMax)}`;
      const large = `{"value":"large","x":"${'x'.repeat(limits.itemBytesMax)}"}`;
      const bad = ['{"id":"bad","type":"host"}', '7', `{"value":"deep","x":${deep}}`, large];
      const assets = assetsOf(here, 8).flatMap((one, at) => [one, ...bad.slice(at, at + 1)]);
      const good = relationship(0, 1);
      const relationships = [good, '{}', `{"type":"t","x":${deep}}`, relationship(0, 9), '[]'];
      const endpoints = [endpoint(here, 0), '{"origin":"x"}', `{"origin":"x","x":${deep}}`];
      const findings = [finding({ asset_ref: 'bad' }), finding({ asset_ref: 'a1' })];
      const receipt = await upload(
        report(
          list('findings', findings),
          list('endpoints', endpoints),
          list('relationships', relationships),
          list('assets', assets),
        ),
      );
      assert.deepEqual(placesOf(receipt, 'rejections'), [
        ['value_missing', '/assets/1/value'],
        ['item_not_object', '/assets/3'],
        ['item_too_deep', '/assets/5'],
        ['item_too_large', '/assets/7'],
        ['asset_ref_unknown', '/relationships/1/from_ref'],
        ['item_too_deep', '/relationships/2'],
        ['asset_ref_unknown', '/relationships/3/to_ref'],
        ['item_not_object', '/relationships/4'],
        ['origin_missing', '/endpoints/1/origin'],
        ['item_too_deep', '/endpoints/2'],
      ]);
      const fallback = 1;
      assert.deepEqual(
        receipt['assets'],
        sums(12 + 1 + fallback, { created: 8 + 1 + fallback, rejected: 4 }),
      );
      assert.deepEqual(receipt['relationships'], sums(5, { created: 1, rejected: 4 }));
      assert.deepEqual(receipt['endpoints'], sums(3, { created: 1, rejected: 2 }));
      const { items } = await get(`/api/v1/uploads/${String(receipt['upload_id'])}/rejections`);
      const texts = (items as Fields[]).map(({ item }) => item);
      assert.deepEqual(texts.slice(0, 6), [bad[0], '7', null, null, '{}', null]);
      assert.deepEqual(placesOf(receipt, 'warnings'), [
        ['asset_ref_unknown', '/findings/0/asset_ref'],
      ]);
    });

    test('what several entries say of one asset is put together, near and far, and counted once', async () => {
      const here = fresh();
      const first = asset(here, 0, {
        name: 'first',
        tags: ['one'],
        properties: { a: '1', b: '1' },
      });
      const near = asset(here, 0, { name: 'near', tags: ['two'], properties: { b: '2', c: '2' } });
      const far = asset(here, 0, { criticality: 'high', tags: ['three'], properties: { c: '3' } });
      const others = assetsOf(here, 600).slice(1);
      const text = report(list('assets', [first, near, ...others, far]), list('findings', []));
      const counts = sums(602, { created: 600, duplicate: 2 });
      assert.deepEqual((await dryRun(text))['assets'], counts);
      assert.deepEqual((await upload(text))['assets'], counts);
      const shown = await assetOf(nameOf(here, 0));
      assert.deepEqual(
        [shown['name'], shown['criticality'], shown['attributes']],
        [
          'first',
          'high',
          { tags: ['one', 'two', 'three'], properties: { a: '1', b: '2', c: '3' } },
        ],
      );
      // Sent once more, in another document, nothing is doubled, and the newest value wins.
      const more = asset(here, 0, { criticality: 'low', properties: { a: '4' } });
      const again = await upload(report(list('assets', [more, ...others]), list('findings', [])));
      assert.deepEqual(again['assets'], sums(600, { created: 0, updated: 600 }));
      const later = await assetOf(nameOf(here, 0));
      assert.deepEqual(
        [later['criticality'], (later['attributes'] as Fields)['properties']],
        ['high', { a: '4', b: '2', c: '3' }],
      );
    });

    test('a relationship or endpoint that comes again is counted once, and of an endpoint the last entry is kept', async () => {
      const here = fresh();
      const page = (at: number): string => endpoint(here, at);
      const pages = Array.from({ length: 600 }, (_, at) => page(at));
      const first = [endpoint(here, 0, { kind: 'html' }), endpoint(here, 0, { kind: 'api' })];
      const links = Array.from({ length: 599 }, (_, at) => relationship(at, at + 1));
      const text = report(
        list('assets', assetsOf(here, 600)),
        list('relationships', [...links, relationship(0, 1), relationship(0, 1, 'Exposes')]),
        list('endpoints', [...first, ...pages.slice(1), endpoint(here, 0, { kind: 'file' })]),
        list('findings', []),
      );
      for (const told of [await dryRun(text), await upload(text)]) {
        assert.deepEqual(told['relationships'], sums(601, { created: 599, duplicate: 2 }));
        assert.deepEqual(told['endpoints'], sums(602, { created: 600, duplicate: 2 }));
      }
      const found = await belowOf(`https://${here}.example`, 'endpoints');
      const kept = found.filter((one) => JSON.stringify(one).includes('/page-0"'));
      assert.equal(kept.length, 1);
      assert.match(JSON.stringify(kept), /"kind":"file"/);
    });

    test('warnings come in the order of lists, ids behind entries, with the place of each', async () => {
      const here = fresh();
      const invalid = Buffer.from([0xff]).toString('latin1');
      const assets = [
        `{"id":"a0","type":"odd","value":"x.${here}.example","value":"y.${here}.example"}`,
        `{"id":"a0","type":"host","value":"${nameOf(here, 1)}","description":"${invalid}"}`,
        asset(here, 2, { properties: { long: 'x'.repeat(limits.propertiesBytesMax) } }),
      ];
      const text = report(
        list('findings', [finding({ odd: 1, asset_ref: 'a2' })]),
        list('endpoints', [endpoint(here, 0, { odd: 1 })]),
        list('relationships', [JSON.stringify({ type: 'odd', from_ref: 'a0', to_ref: 'a2' })]),
        list('assets', assets),
      );
      const expected = [
        ['member_repeated', '/assets/0/value'],
        ['unknown_asset_type', '/assets/0/type'],
        ['invalid_utf8', '/assets/1'],
        ['asset_id_repeated', '/assets/1/id'],
        ['unknown_word', '/relationships/0/type'],
        ['unknown_member', '/endpoints/0/odd'],
        ['unknown_member', '/findings/0/odd'],
        ['text_cut', '/assets/2'],
      ];
      const accepted = await upload(Buffer.from(text, 'latin1'));
      assert.deepEqual(placesOf(accepted, 'warnings'), expected);
      const bad = Array.from({ length: 20 }, () => '{}');
      const all = text.replace('"assets":[', `"dependencies":[${bad.join()}],"assets":[`);
      const refused = problemOf(await post(Buffer.from(all, 'latin1')), 'report_refused');
      const receipt = refused['receipt'] as Fields;
      assert.deepEqual(placesOf(receipt, 'warnings'), expected);
      const none = (received: number) => sums(received, { created: 0, rejected: received });
      assert.deepEqual(receipt['assets'], none(4), 'with the origin of the endpoint');
      assert.deepEqual(receipt['relationships'], none(1));
      assert.deepEqual(receipt['endpoints'], none(1));
    });

    test('of a list that comes twice the last one counts, and one that is none is told', async () => {
      const here = fresh();
      const [one = '', two = '', three = ''] = assetsOf(here, 3);
      const twice = report(
        list('assets', [one, two]),
        list('findings', []),
        list('assets', [three]),
      );
      const receipt = await upload(twice);
      assert.deepEqual(receipt['assets'], sums(1));
      assert.equal((await assetOf(nameOf(here, 2)))['value'], nameOf(here, 2));
      const none = await upload(
        report(list('assets', [one]), list('findings', []), '"assets":{"a":1}', '"endpoints":7'),
      );
      assert.equal((none['assets'] as Fields)['received'], 0);
      assert.deepEqual(placesOf(none, 'warnings'), [
        ['member_repeated', '/assets'],
        ['wrong_type', '/assets'],
        ['wrong_type', '/endpoints'],
      ]);
    });

    test('what isn’t JSON among the entries of a list is refused with its place', async () => {
      for (const name of ['assets', 'relationships', 'endpoints']) {
        const text = report(list('findings', []), `"${name}":[{"value":"a"},\n{"value":b}]`);
        const problem = problemOf(await post(text), 'invalid_json');
        assert.match(String(problem['detail']), /line 4, column 10/);
      }
    });

    // The rule is the same on both backends, and the test costs a second.
    if (backend !== 'sqlite') return;
    test('a list of assets may be larger than what isn’t read one by one may be', async () => {
      const here = fresh();
      const note = 'x'.repeat(2 ** 20);
      const count = Math.ceil((limits.envelopeBytesMax + 2 ** 20) / note.length);
      const assets = Array.from({ length: count }, (_, at) => asset(here, at, { note }));
      const text = report(list('assets', assets), list('findings', []));
      assert.ok(text.length > limits.envelopeBytesMax);
      assert.deepEqual((await upload(text))['assets'], sums(count));
    });
  });
}
