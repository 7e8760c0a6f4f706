// What of a report's frame is an item: the entries of its own lists, and nothing that findings only imply. And notes that
// are made quietly, whatever goes wrong on the way.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '@muster/contract';
import { Notes } from '../../src/ingest/report-notes.decode.ts';
import { hasTooManyItems, Survey } from '../../src/ingest/survey.rules.ts';
import { ctis, decode } from './readers.ts';

const inFrame = (document: unknown) => {
  const report = decode('ctis', document);
  const survey = new Survey(new Notes());
  survey.takeFrame({ ...report, notes: new Notes() } as never, document);
  return survey.inFrame;
};

const assets = [{ type: 'domain' }, { type: 'domain', value: 'a.example' }];

test('the assets of a wrapped report are counted where the report is, whatever stands beside it', () => {
  const wrapped = { report: { ...(ctis([]) as object), assets } };
  assert.deepEqual(inFrame(wrapped), { received: 2, rejected: 1 });
  assert.deepEqual(inFrame({ ...wrapped, assets: 'x' }), { received: 2, rejected: 1 });
});

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
  assert.equal(hasTooManyItems(report as never, limits.uploadItemsMax), false);
  const listed = decode('ctis', { ...(ctis(findings) as object), assets });
  assert.equal(hasTooManyItems(listed as never, limits.uploadItemsMax - 2), false);
  assert.equal(hasTooManyItems(listed as never, limits.uploadItemsMax - 1), true);
});

test('dependencies are items; of those that are rejected the first stay to be looked at, and all are counted', () => {
  const survey = new Survey(new Notes());
  const max = limits.uploadRejectionsMax;
  const rejection = (at: number, code: string) => ({
    pointer: `/dependencies/${at}`,
    code,
    detail: '',
  });
  for (let at = 0; at < max; at += 1) survey.components.reject(rejection(at, 'a'), { at });
  for (const [at, code] of ['b', 'a', 'b'].entries()) {
    survey.components.reject(rejection(max + at, code), undefined);
  }
  const report = decode('ctis', { ...(ctis([]) as object), assets });
  survey.takeFrame({ ...report, notes: new Notes() } as never, { assets });
  assert.deepEqual(survey.inFrame, { received: 2 + max + 3, rejected: 1 + max + 3 });
  const { rejections, rejectionsByCode } = survey.tally;
  assert.deepEqual(
    [...rejectionsByCode],
    [
      ['value_missing', 1],
      ['a', max + 1],
      ['b', 2],
    ],
  );
  assert.equal(survey.rejected.length, max);
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
