// What beside its findings a report has as items: the entries of its own lists, and nothing that findings only imply. And notes
// that are made quietly, whatever goes wrong on the way.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '@muster/contract';
import { AssetNames } from '../../src/ingest/asset-names.rules.ts';
import { newSurveys } from '../../src/ingest/asset-survey.rules.ts';
import { Notes } from '../../src/ingest/report-notes.decode.ts';
import { Survey } from '../../src/ingest/survey.rules.ts';
import { ctis, decode } from './readers.ts';

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

test('entries of all lists are items; of those that are rejected the first stay to be looked at, and all are counted', () => {
  const survey = new Survey(new Notes());
  const surveys = newSurveys(new AssetNames());
  const max = limits.uploadRejectionsMax;
  const rejection = (at: number, code: string) => ({
    pointer: `/dependencies/${at}`,
    code,
    detail: '',
  });
  const missing = { pointer: '/assets/0/value', code: 'value_missing', detail: '' };
  surveys.assets.reject(missing, assets[0]);
  surveys.assets.accept(0);
  surveys.relationships.accept(0);
  surveys.endpoints.reject({ ...missing, pointer: '/endpoints/0' }, undefined);
  for (let at = 0; at < max; at += 1) survey.components.reject(rejection(at, 'a'), { at });
  for (const [at, code] of ['b', 'a', 'b'].entries()) {
    survey.components.reject(rejection(max + at, code), undefined);
  }
  survey.takeLists(surveys);
  assert.deepEqual(survey.beside, { received: 4 + max + 3, rejected: 2 + max + 3 });
  const { rejections, rejectionsByCode } = survey.tally;
  assert.deepEqual(
    [...rejectionsByCode],
    [
      ['value_missing', 2],
      ['a', max + 1],
      ['b', 2],
    ],
  );
  assert.equal(survey.rejected.length, max);
  assert.deepEqual(survey.rejected[0], { ...missing, item: '{"type":"domain"}' });
  assert.deepEqual(survey.rejected[1], { ...rejection(0, 'a'), item: '{"at":0}' });
  assert.deepEqual(rejections[1], rejection(0, 'a'), 'the receipt has no texts');
});

test('what is read quietly notes nothing, and what comes after it is noted even where it throws', () => {
  const notes = new Notes();
  const fail = (): never => {
    notes.warn('/a', 'wrong_type', 'not told');
    throw new Error('a defect');
  };
  assert.throws(() => notes.quietly(fail), /a defect/);
  assert.equal(notes.taken, 0);
  notes.warn('/b', 'wrong_type', 'told');
  assert.equal(notes.taken, 1);
});
