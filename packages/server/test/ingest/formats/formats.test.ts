// Which format reads a document: what its route says, what its media type means, else whatever is
// surest of its content.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  FORMATS,
  formatOf,
  isFindingList,
  ITEM_PLACES,
} from '../../../src/ingest/formats/formats.ts';
import { Trail } from '../../../src/ingest/document/shape.rules.ts';
import { Warnings } from '../../../src/ingest/json/warnings.decode.ts';
import type { UploadContext } from '../../../src/ingest/report/report.rules.ts';

function recognised(
  envelope: unknown,
  {
    route = 'auto',
    context = {},
    first,
  }: { route?: string; context?: UploadContext; first?: unknown } = {},
): [string, string[]] {
  const warnings = new Warnings();
  const { name } = formatOf(route, { envelope, counts: new Map(), context, warnings }, first);
  return [name, warnings.shown().map(({ code }) => code)];
}

const LEAK = { RuleID: 'r', File: 'f' };

test('a document is read as what it says to be, and its sender is told', () => {
  const sarif: [string, string[]] = ['sarif', ['recognised_as_sarif']];
  assert.deepEqual(recognised({ version: '2.1.0', runs: [] }), sarif);
  assert.deepEqual(recognised({ runs: [] }), sarif);
  assert.deepEqual(recognised({ runs: [], findings: [], version: '2.1.0' }), sarif);
  assert.deepEqual(recognised({ runs: [], assets: [] }), sarif);
  assert.deepEqual(recognised({ version: '2.1.0' }), sarif);
  assert.deepEqual(recognised([], { first: LEAK }), ['gitleaks', ['recognised_as_gitleaks']]);
});

test('CTIS is the format of the primary route: it reads what nobody recognises', () => {
  const ctis: [string, string[]] = ['ctis', []];
  assert.deepEqual(recognised({ findings: [], runs: [] }), ctis);
  assert.deepEqual(recognised({ version: '2.1.0', metadata: {} }), ctis);
  assert.deepEqual(recognised({ report: { findings: [] } }), ctis);
  for (const odd of [null, 'text', 7, [], {}]) assert.deepEqual(recognised(odd), ctis);
  assert.deepEqual(recognised([], { first: { rule: 'no leak' } }), ctis);
});

test('a route of its own and a media type come before the content', () => {
  const log = { version: '2.1.0', runs: [] };
  assert.deepEqual(recognised({ findings: [] }, { route: 'sarif' }), ['sarif', []]);
  const declared = (mediaType: string): UploadContext => ({ mediaType });
  assert.deepEqual(recognised({}, { context: declared('application/sarif+json') }), [
    'sarif',
    ['recognised_as_sarif'],
  ]);
  assert.deepEqual(recognised([], { context: declared('application/vnd.gitleaks+json') }), [
    'gitleaks',
    [],
  ]);
  assert.deepEqual(recognised(log, { context: declared('application/ld+json') }), [
    'sarif',
    ['recognised_as_sarif'],
  ]);
});

test('the dry run is the route of all formats: it tells nobody', () => {
  const context = { dryRun: true } as const;
  assert.deepEqual(recognised({ runs: [] }, { context }), ['sarif', []]);
});

test('no two formats have the same name or media type', () => {
  const names = FORMATS.map(({ name }) => name);
  const types = FORMATS.flatMap(({ mediaTypes }) => mediaTypes);
  assert.equal(new Set(names).size, names.length);
  assert.equal(new Set(types).size, types.length);
});

test('items are found where some format has them, and nowhere else', () => {
  const trail = () => new Trail(ITEM_PLACES);
  assert.deepEqual(trail().open(false), { opened: 'items', pointer: '' });
  const log = trail();
  assert.equal(log.open(true).opened, 'level');
  log.name([...Buffer.from('runs')]);
  assert.deepEqual(log.open(false), { opened: 'level', pointer: '/runs' });
  log.next();
  assert.deepEqual(log.open(true), { opened: 'level', pointer: '/runs/1' });
  log.name([...Buffer.from('results')]);
  assert.deepEqual(log.open(false), { opened: 'items', pointer: '/runs/1/results' });
  assert.ok(isFindingList('/runs/12/results') && isFindingList('/report/findings'));
  assert.ok(!isFindingList('/assets') && !isFindingList('/runs/x/results'));
});
