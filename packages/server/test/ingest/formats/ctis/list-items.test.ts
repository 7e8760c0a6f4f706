// The items of a report beside its findings: the entries of its own lists, without the assets that
// findings only imply. Also warnings that are silenced, whatever goes wrong meanwhile.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '@muster/contract';
import { AssetNames } from '../../../../src/ingest/report/asset-names.rules.ts';
import { newListIndexes } from '../../../../src/ingest/report/asset-index.rules.ts';
import { Warnings } from '../../../../src/ingest/json/warnings.decode.ts';
import { ItemIndex } from '../../../../src/ingest/index/item-index.rules.ts';
import { ctis, decode } from '../readers.ts';

const assets = [{ type: 'domain' }, { type: 'domain', value: 'a.example' }];

test('assets that findings name and no list has are no items', () => {
  const findings = ['a.example', 'b.example'].map((asset_value) => ({
    type: 'vulnerability',
    title: 'named',
    severity: 'low',
    asset_type: 'domain',
    asset_value,
  }));
  const report = decode('ctis', ctis(findings));
  assert.equal(report.assets.usable.length, 2);
  assert.equal(report.listedAssets, 0);
  const listed = decode('ctis', { ...(ctis(findings) as object), assets });
  assert.equal(listed.listedAssets, 2);
});

test('entries of all lists are items; all rejected ones are counted, and the first of them are stored', () => {
  const itemIndex = new ItemIndex(new Warnings());
  const listIndexes = newListIndexes(new AssetNames());
  const max = limits.uploadRejectionsMax;
  const rejection = (at: number, code: string) => ({
    pointer: `/dependencies/${at}`,
    code,
    detail: '',
  });
  const missing = { pointer: '/assets/0/value', code: 'value_missing', detail: '' };
  listIndexes.assets.reject(missing, assets[0]);
  listIndexes.assets.accept(0);
  listIndexes.relationships.accept(0);
  listIndexes.endpoints.reject({ ...missing, pointer: '/endpoints/0' }, undefined);
  for (let at = 0; at < max; at += 1) itemIndex.components.reject(rejection(at, 'a'), { at });
  for (const [at, code] of ['b', 'a', 'b'].entries()) {
    itemIndex.components.reject(rejection(max + at, code), undefined);
  }
  itemIndex.takeLists(listIndexes);
  assert.deepEqual(itemIndex.listTally, { received: 4 + max + 3, rejected: 2 + max + 3 });
  const { rejections, rejectionsByCode } = itemIndex.tally;
  assert.deepEqual(
    [...rejectionsByCode],
    [
      ['value_missing', 2],
      ['a', max + 1],
      ['b', 2],
    ],
  );
  assert.equal(itemIndex.rejected.length, max);
  assert.deepEqual(itemIndex.rejected[0], { ...missing, item: '{"type":"domain"}' });
  assert.deepEqual(itemIndex.rejected[1], { ...rejection(0, 'a'), item: '{"at":0}' });
  assert.deepEqual(rejections[1], rejection(0, 'a'), 'the receipt has no texts');
});

test('a quiet reading records no warnings, and later warnings are recorded even if it throws', () => {
  const warnings = new Warnings();
  const fail = (): never => {
    warnings.warn('/a', 'wrong_type', 'not told');
    throw new Error('a defect');
  };
  assert.throws(() => warnings.quietly(fail), /a defect/);
  assert.equal(warnings.taken, 0);
  warnings.warn('/b', 'wrong_type', 'told');
  assert.equal(warnings.taken, 1);
});
