// The assets of a report, compared with the rule as it is written down: one row for each, in the
// order in which they came; an id means the first usable asset that has it. Also the columns that
// keep hashes and names.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { normaliseAsset } from '../../../src/ingest/report/asset.rules.ts';
import {
  AssetNames,
  identityOf,
  type NamedAsset,
} from '../../../src/ingest/report/asset-names.rules.ts';
import { AssetIndex } from '../../../src/ingest/report/asset-index.rules.ts';
import { DocumentFault } from '../../../src/ingest/document/scan.decode.ts';
import { HashedTexts } from '../../../src/ingest/report/hashed-texts.columns.ts';
import { ctis, decodeCtis } from '../formats/readers.ts';

const KINDS = ['host', 'domain', 'website', 'repository'] as const;
const named = fc.record<NamedAsset>({
  kind: fc.constantFrom(...KINDS),
  value: fc.constantFrom('a.example', 'b.example', 'c.example'),
});

test('an asset has one row, by what it is stored as, and the kind that it was first said to be', () => {
  fc.assert(
    fc.property(fc.array(named, { maxLength: 20 }), (all) => {
      const names = new AssetNames();
      const rows: NamedAsset[] = [];
      const same = (one: NamedAsset) => (other: NamedAsset) =>
        JSON.stringify(identityOf(one)) === JSON.stringify(identityOf(other));
      for (const one of all) {
        const known = rows.findIndex(same(one));
        const expected = known === -1 ? rows.push(one) - 1 : known;
        assert.equal(names.add(one), expected);
      }
      assert.equal(names.length, rows.length);
      for (const [row, one] of rows.entries()) {
        assert.deepEqual(names.at(row), { ...one });
        assert.equal(names.find(one), row);
      }
    }),
    { numRuns: 500 },
  );
});

test('a value too long to be stored as it is has one row, and reads as it is stored', () => {
  const names = new AssetNames();
  const long = normaliseAsset('website', `https://h.example/${'x'.repeat(2000)}`);
  assert.ok(long !== null);
  assert.equal(names.add(long), 0);
  assert.equal(names.add({ ...long, value: `${long.value.slice(0, -1)}y` }), 1);
  assert.equal(names.find(long), 0);
  assert.deepEqual(identityOf(names.at(0)), identityOf(long));
  assert.equal(names.add(names.at(0)), 0);
});

test('names beyond what may be held are refused for their size', () => {
  const names = new AssetNames(128 * 1024);
  const add = (): void => {
    for (let at = 0; at < 200; at += 1) {
      names.add({ kind: 'host', value: `${at} ${'x'.repeat(1000)}` });
    }
  };
  assert.throws(add, (error) => error instanceof DocumentFault && error.kind === 'size');
  assert.ok(names.length > 120);
});

interface Listed {
  readonly id: string | null;
  readonly value: string | null;
}

const listed = fc.array(
  fc.record<Listed>({
    id: fc.option(fc.constantFrom('x', 'y', 'z')),
    value: fc.option(fc.constantFrom('a', 'b', 'c'), { freq: 3 }),
  }),
  { maxLength: 8 },
);

test('an id means the first usable asset that has it; two assets of one id are told, one asset with it twice is not', () => {
  fc.assert(
    fc.property(listed, (all) => {
      const itemIndex = new AssetIndex(new AssetNames());
      const means = new Map<string, string>();
      const rejected = new Set<string>();
      const repeated: string[] = [];
      for (const [at, { id, value }] of all.entries()) {
        const pointer = `/assets/${at}`;
        if (value === null) {
          itemIndex.reject({ pointer, code: 'value_missing', detail: '' }, { id });
          if (id !== null) rejected.add(id);
          continue;
        }
        const said = { name: null, criticality: null, attributes: () => ({}) };
        itemIndex.take({ ref: id, kind: 'host', value, ...said }, pointer);
        if (id === null) continue;
        if ((means.get(id) ?? value) !== value) repeated.push(`${pointer}/id`);
        if (!means.has(id)) means.set(id, value);
      }
      for (const id of ['x', 'y', 'z']) {
        const row = itemIndex.rowOfRef(id);
        assert.equal(row === null ? undefined : itemIndex.names.at(row).value, means.get(id));
        assert.equal(itemIndex.isRejectedRef(id), rejected.has(id) && !means.has(id));
      }
      assert.deepEqual(
        itemIndex.idWarnings.shown().map(({ pointer }) => pointer),
        repeated,
      );
      assert.equal(itemIndex.isAmbiguous, repeated.length > 0);
      assert.equal(itemIndex.rows, itemIndex.names.length);
    }),
    { numRuns: 1000 },
  );
});

test('entries of one asset with ids of their own may be related; an entry and itself may not', () => {
  const assets = ['x', 'y'].map((id) => ({ id, type: 'host', value: 'one' }));
  const between = (from_ref: string, to_ref: string) => ({ type: 'exposes', from_ref, to_ref });
  const relationships = [between('x', 'y'), between('x', 'x')];
  const report = decodeCtis(ctis([], { assets, relationships }));
  assert.equal(report.relationships.usable.length, 1);
  assert.deepEqual(
    report.relationships.rejections.map(({ pointer, code }) => [pointer, code]),
    [['/relationships/1/to_ref', 'relationship_to_itself']],
  );
});

test('a finding names an asset by its value however that has to be cleaned', () => {
  const finding = { title: 't', type: 'vulnerability', severity: 'low', asset_type: 'host' };
  const values = ['a\0b.example', `${'x'.repeat(3000)}`];
  const assets = [...values, 'other'].map((value) => ({ type: 'host', value }));
  const findings = values.map((asset_value) => ({ ...finding, asset_value }));
  const items = [...decodeCtis(ctis(findings, { assets })).items()];
  assert.deepEqual(
    items.map((item) => (item.outcome === 'finding' ? item.draft.asset : item.outcome)),
    [0, 1],
  );
});

test('many thousand texts are found again by their hashes, each under its number', () => {
  const texts = new HashedTexts();
  const count = 5000;
  for (let turn = 0; turn < 2; turn += 1) {
    for (let at = 0; at < count; at += 1) assert.equal(texts.add(`text ${at}`), at);
  }
  assert.equal(texts.length, count);
  for (let at = 0; at < count; at += 1) assert.equal(texts.find(`text ${at}`), at);
  assert.equal(texts.find(`text ${count}`), null);
  assert.notEqual(texts.add('\ud800'), texts.add('\ud801'), 'halves of characters stay apart');
});

test('beside an asset that was too large to be read an id that nothing has may be its id', () => {
  const itemIndex = new AssetIndex(new AssetNames());
  const rejection = { pointer: '/assets/0', code: 'item_too_large', detail: 'It is too large.' };
  itemIndex.reject(rejection, { id: 'known' });
  assert.ok(itemIndex.isRejectedRef('known'));
  assert.ok(!itemIndex.isRejectedRef('unheard'));
  itemIndex.reject(rejection, undefined);
  assert.ok(itemIndex.isRejectedRef('unheard'));
});
