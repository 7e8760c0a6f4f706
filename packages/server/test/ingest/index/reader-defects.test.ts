// A reader that fails on an item costs that item alone, in whichever pass it fails; the defect is
// told without a word of the document. No item makes the real readers fail: they are made to fail
// here.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Receipt } from '@muster/contract';
import { DocumentSource } from '../../../src/ingest/document/document.ts';
import type {
  IndexedList,
  Item,
  ItemPass,
  ListReader,
  OpenReport,
  ReportWithAssets,
} from '../../../src/ingest/report/report.rules.ts';
import {
  completeReport,
  type OpenDocument,
  openDocument,
  type Reading,
  indexItems,
} from '../../../src/ingest/index/reading.ts';
import { dryRun as storyOfDryRun } from '../../../src/ingest/dry-run.ts';
import type { ReaderDefect } from '../../../src/ingest/lease/lease.ts';
import { findUpload } from '../../../src/ingest/store/upload.queries.ts';
import { claim, newCaller, openStage, receive, type Stage, watchedDeps } from '../crash/scene.ts';
import { ctis, decode, type Format, result, sarif } from '../formats/readers.ts';

let stage: Stage;
before(async () => {
  stage = await openStage();
});
after(async () => await stage.close());

const SECRET = 'hunter2-hunter2';
const fail = (): never => {
  throw new TypeError(`the reader stumbled over ${SECRET}\n    at ${SECRET}`);
};

/**
 * The receipt of three results whose outcomes `change` replaces, and the defects that were told.
 */
async function receiptOf(
  change: (item: Item, index: number) => Item,
): Promise<{ receipt: Receipt; told: ReaderDefect[] }> {
  const texts = ['one', 'two', 'three'];
  const document = sarif(texts.map((text) => result({ message: { text } })));
  return await dryRun('sarif', document, (opened) => {
    const pass = (): ItemPass => {
      const real = opened.report.pass();
      const read: ItemPass['read'] = (value, list, index) =>
        change(real.read(value, list, index), index);
      return { warnings: real.warnings, read };
    };
    return { ...opened, report: { ...opened.report, pass } };
  });
}

/**
 * The receipt of a document whose reading is changed: by `changeFirst` when its envelope was read,
 * by `change` when its report is known.
 */
async function dryRun(
  format: Format,
  document: unknown,
  change: (reading: Reading) => Reading,
  changeFirst: (opened: OpenDocument) => OpenDocument = (opened) => opened,
): Promise<{ receipt: Receipt; told: ReaderDefect[] }> {
  const caller = await newCaller(stage);
  await receive(stage, caller, format, document, { dryRun: true });
  const upload = await claim(stage);
  assert.ok(upload);
  const told: ReaderDefect[] = [];
  const deps = { ...watchedDeps(stage, () => {}), onDefect: (one: ReaderDefect) => told.push(one) };
  const db = stage.database.tenant(upload.tenant_id);
  const source = new DocumentSource(db, upload, deps.sealKey, async () => {});
  const opened = changeFirst(await openDocument(upload, source));
  const reading = change(await completeReport(deps, upload, opened));
  const itemIndex = await indexItems(deps, upload, reading);
  itemIndex.takeLists(reading.report.listIndexes);
  await storyOfDryRun(deps, upload, reading, itemIndex);
  const ended = await findUpload(db, upload.tenant_id, upload.id);
  return { receipt: JSON.parse(ended?.receipt ?? 'null') as Receipt, told };
}

function assertTold(told: readonly ReaderDefect[], place = '/runs/0/results/1'): void {
  assert.deepEqual(
    told.map(({ pointer, name }) => [pointer, name]),
    [[place, 'TypeError']],
  );
  assert.match(told[0]?.stack ?? '', /^at (?:Object\.)?fail /);
  assert.ok(!JSON.stringify(told).includes(SECRET), 'no word of the document is told');
}

test('an item on which the reader fails is rejected alone, and the defect is told', async () => {
  const { receipt, told } = await receiptOf((item, index) => (index === 1 ? fail() : item));
  assert.equal(receipt.findings.created, 2);
  const places = receipt.rejections.map(({ pointer, code }) => [pointer, code]);
  assert.deepEqual(places, [['/runs/0/results/1', 'item_unreadable']]);
  assert.ok(!JSON.stringify(receipt).includes(SECRET));
  assertTold(told);
});

test('an item whose details the reader fails on is stored without them, and the defect is told', async () => {
  const { receipt, told } = await receiptOf((item, index) =>
    item.outcome === 'finding' && index === 1
      ? { ...item, draft: { ...item.draft, detail: fail } }
      : item,
  );
  assert.equal(receipt.findings.created, 3);
  const places = receipt.warnings.map(({ pointer, code }) => [pointer, code]);
  assert.deepEqual(places, [['/runs/0/results/1', 'detail_unreadable']]);
  assertTold(told);
});

test('a dependency on which the reader fails is rejected alone, and the defect is told', async () => {
  const report = { version: '1.6', assets: [{ type: 'host', value: 'h' }], findings: [] };
  const dependencies = ['one', 'two', 'three'].map((name) => ({ name }));
  const { receipt, told } = await dryRun('ctis', { ...report, dependencies }, (opened) => {
    const real = opened.readers.components;
    assert.ok(real !== null);
    const read: typeof real.read = (value, pointer, warnings) =>
      pointer.endsWith('/1') ? fail() : real.read(value, pointer, warnings);
    return { ...opened, readers: { ...opened.readers, components: { ...real, read } } };
  });
  const { received, created, rejected } = receipt.dependencies;
  assert.deepEqual([received, created, rejected], [3, 2, 1]);
  const places = receipt.rejections.map(({ pointer, code }) => [pointer, code]);
  assert.deepEqual(places, [['/dependencies/1', 'item_unreadable']]);
  assert.ok(!JSON.stringify(receipt).includes(SECRET));
  assertTold(told, '/dependencies/1');
});

test('a dependency whose details the reader fails on is stored without them, and the defect is told', async () => {
  const report = ctis([], { assets: [{ type: 'host', value: 'h' }] }) as object;
  const dependencies = ['one', 'two', 'three'].map((name) => ({ name }));
  const { receipt, told } = await dryRun('ctis', { ...report, dependencies }, (opened) => {
    const real = opened.readers.components;
    assert.ok(real !== null);
    const read: typeof real.read = (value, pointer, warnings) => {
      const entry = real.read(value, pointer, warnings);
      if ('code' in entry || !pointer.endsWith('/1')) return entry;
      return { ...entry, document: fail };
    };
    return { ...opened, readers: { ...opened.readers, components: { ...real, read } } };
  });
  assert.equal(receipt.dependencies.created, 3);
  const places = receipt.warnings.map(({ pointer, code }) => [pointer, code]);
  assert.deepEqual(places, [['/dependencies/1', 'detail_unreadable']]);
  assertTold(told, '/dependencies/1');
});

const LINKED = ctis([{ title: 't', type: 'vulnerability', severity: 'low', asset_ref: 'a0' }], {
  assets: ['a0', 'a1', 'a2'].map((id) => ({ id, type: 'host', value: id })),
  relationships: ['a1', 'a2', 'a0'].map((to_ref) => ({
    type: 'exposes',
    from_ref: to_ref === 'a0' ? 'a1' : 'a0',
    to_ref,
  })),
  endpoints: ['/0', '/1', '/2'].map((path) => ({ origin: 'https://e.example', path })),
});

/** The report with a reader of that list that fails on the second entry. */
function failingAt(opened: OpenReport, list: 'assets' | 'relationships' | 'endpoints'): OpenReport {
  const failing = <T>({ reader, index }: IndexedList<T>): IndexedList<T> => {
    assert.ok(reader !== null);
    const read: ListReader<T>['read'] = (value, pointer, warnings) =>
      pointer.endsWith('/1') ? fail() : reader.read(value, pointer, warnings);
    return { reader: { ...reader, read }, index };
  };
  if (list === 'assets') return { ...opened, assets: failing(opened.assets) };
  const assetsIndexed = (): ReportWithAssets => {
    const { look, findingsSeen } = opened.assetsIndexed();
    return {
      look,
      findingsSeen: () => {
        const known = findingsSeen();
        return list === 'endpoints'
          ? { ...known, endpoints: failing(known.endpoints) }
          : { ...known, relationships: failing(known.relationships) };
      },
    };
  };
  return { ...opened, assetsIndexed };
}

for (const list of ['assets', 'relationships', 'endpoints'] as const) {
  test(`an entry of ${list} on which the reader fails is rejected alone, and the defect is told`, async () => {
    const { receipt, told } = await dryRun(
      'ctis',
      LINKED,
      (reading) => reading,
      (document) => {
        return { ...document, opened: failingAt(document.opened, list) };
      },
    );
    const { received, created, rejected } = receipt[list];
    const origin = list === 'assets' ? 1 : 0;
    assert.deepEqual([received, created, rejected], [3 + origin, 2 + origin, 1]);
    const [place] = receipt.rejections.map(({ pointer, code }) => [pointer, code]);
    assert.deepEqual(place, [`/${list}/1`, 'item_unreadable']);
    assert.equal(receipt.findings.created, 1);
    assert.ok(!JSON.stringify(receipt).includes(SECRET));
    assertTold(told, `/${list}/1`);
  });
}

for (const [list, member] of [
  ['assets', 'attributes'],
  ['endpoints', 'document'],
] as const) {
  test(`an entry of ${list} whose ${member} the reader fails on is stored without, and the defect is told`, async () => {
    const { receipt, told } = await dryRun('ctis', LINKED, (reading) => {
      const real = reading.readers[list];
      assert.ok(real !== null);
      const read: ListReader<object>['read'] = (value, pointer, warnings) => {
        const entry = real.read(value, pointer, warnings);
        if ('code' in entry || !pointer.endsWith('/1')) return entry;
        return { ...entry, [member]: fail };
      };
      return { ...reading, readers: { ...reading.readers, [list]: { ...real, read } } };
    });
    assert.equal(receipt[list].rejected, 0);
    const places = receipt.warnings.map(({ pointer, code }) => [pointer, code]);
    assert.deepEqual(places, [[`/${list}/1`, 'detail_unreadable']]);
    assertTold(told, `/${list}/1`);
  });
}

const HUGE_HOST = `http://${'eyJ'.repeat(5462)}`;
const uri = { artifactLocation: { uri: HUGE_HOST } };

for (const [place, format, document] of [
  ['a web request', 'sarif', sarif([result({ webRequest: { target: HUGE_HOST } })])],
  ['a location', 'sarif', sarif([result({ locations: [{ physicalLocation: uri }] })])],
  [
    'a related location',
    'sarif',
    sarif([result({ relatedLocations: [{ physicalLocation: uri }] })]),
  ],
  ['the web part', 'ctis', ctis([{ title: 't', type: 'vulnerability', web: { url: HUGE_HOST } }])],
  ['a path', 'ctis', ctis([{ title: 't', location: { path: HUGE_HOST } }])],
  ['an asset', 'ctis', ctis([{ title: 't' }], { assets: [{ type: 'website', value: HUGE_HOST }] })],
] satisfies [string, Format, unknown][]) {
  test(`an address too long to be parsed in ${place} of a ${format} report costs nothing`, () => {
    const items = [...decode(format, document).items()];
    assert.deepEqual(
      items.map(({ outcome }) => outcome),
      ['finding'],
    );
  });
}
