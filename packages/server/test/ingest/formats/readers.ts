// The parts that tests of the report readers share: fixtures, and a whole report as plain data,
// read as the server reads it: from bytes, the envelope first, then the items one by one.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { FindingDetail } from '@muster/contract';
import type { AssetNames, NamedAsset } from '../../../src/ingest/report/asset-names.rules.ts';
import { ComponentIndex } from '../../../src/ingest/index/component-index.rules.ts';
import { edgesOf } from '../../../src/ingest/inventory/edges.rules.ts';
import { FORMATS, ITEM_PLACES } from '../../../src/ingest/formats/formats.ts';
import { parseEnvelope, parseItem } from '../../../src/ingest/document/parse.decode.ts';
import { ItemCutter, type ScannedItem } from '../../../src/ingest/document/items.decode.ts';
import { DocumentScanner } from '../../../src/ingest/document/scan.decode.ts';
import type {
  AssetEntry,
  ComponentDraft,
  ComponentEntry,
  EndpointDraft,
  FindingDraft,
  IndexedList,
  Item,
  ListReader,
  ListReaders,
  ListIndexes,
  OpenReport,
  RelationshipDraft,
  Report,
  UploadContext,
} from '../../../src/ingest/report/report.rules.ts';
import { type Located, Warnings } from '../../../src/ingest/json/warnings.decode.ts';
import type { ListIndex } from '../../../src/ingest/report/list-index.rules.ts';
import { EntriesAgain, takingEntries } from '../../../src/ingest/index/entries.ts';

const FIXTURES = new URL('../../fixtures/', import.meta.url);
/** Reference material beside the repository; not part of it. */
const SHARED = new URL('../../../../../../shared/', import.meta.url);

export type Format = (typeof FORMATS)[number]['name'];

/** A draft with its detail made. */
export type ReadDraft = Omit<FindingDraft, 'detail'> & {
  readonly detail: Readonly<Record<string, unknown>>;
};

export type ReadItem =
  | Exclude<Item, { outcome: 'finding' }>
  | { readonly outcome: 'finding'; readonly draft: ReadDraft };

/** A list beside the findings: its usable entries, and the rejected ones. */
export interface EntryList<T> {
  readonly usable: readonly T[];
  readonly rejections: readonly Located[];
}

/** An entry with all the parts that are made when asked for. */
export type ReadAsset = Omit<AssetEntry, 'attributes'> & {
  readonly attributes: Readonly<Record<string, unknown>>;
};
export type ReadEndpoint = Omit<EndpointDraft, 'document'> & {
  readonly document: Readonly<Record<string, unknown>>;
};

/**
 * A whole report: its envelope, the lists beside its findings, its items in one pass or several,
 * and its warnings.
 */
export interface DecodedReport
  extends Omit<Report, 'warnings' | 'pass' | 'contextOf' | 'assets' | 'listIndexes' | 'format'> {
  readonly format: Format;
  readonly assets: EntryList<ReadAsset>;
  readonly listedAssets: number;
  readonly components: EntryList<ComponentDraft>;
  readonly relationships: EntryList<RelationshipDraft>;
  readonly endpoints: EntryList<ReadEndpoint>;
  readonly warnings: readonly Located[];
  readonly warningsByCode: Readonly<Record<string, number>>;
  items(): Generator<ReadItem, void, undefined>;
}

export function decode(
  format: Format,
  document: unknown,
  context: UploadContext = {},
): DecodedReport {
  return decodeBytes(format, Buffer.from(JSON.stringify(document) ?? 'null'), context);
}

export const decodeSarif = (document: unknown, context: UploadContext = {}): DecodedReport =>
  decode('sarif', document, context);

export const decodeCtis = (document: unknown, context: UploadContext = {}): DecodedReport =>
  decode('ctis', document, context);

export function decodeBytes(format: Format, bytes: Buffer, context: UploadContext): DecodedReport {
  const envelope = new DocumentScanner(ITEM_PLACES);
  envelope.push(bytes);
  const { value } = parseEnvelope(envelope);
  const counts = new Map([...envelope.lists.values()].map((list) => [list.pointer, list.count]));
  const warnings = new Warnings();
  const row = FORMATS.find(({ name }) => name === format);
  if (row === undefined) throw new Error(`no such format: ${format}`);
  const opened = row.open({ envelope: value, counts, context, warnings });
  const scanned = (lists: readonly string[]) =>
    new ItemCutter(envelope.bounds, new Set(lists)).push(bytes);
  const { known, readers } = knowLists(opened, scanned);
  const { listIndexes } = known;
  const components = componentsOf(readers.components, entriesOf(readers.components, scanned));
  const {
    warnings: envelopeWarnings,
    pass,
    contextOf: _,
    assets: names,
    listIndexes: __,
    ...rest
  } = known;
  const { placeOf, format: facts, ...more } = rest;
  const before = { format: facts.name, ...more };
  const again = new Warnings();
  const assets = assetsOf(names, listIndexes, readers.assets, scanned, again);
  const relationships = againOf(readers.relationships, listIndexes.relationships, scanned, again);
  const endpoints = againOf(readers.endpoints, listIndexes.endpoints, scanned, again);
  const documented = endpoints.map((entry) => ({ ...entry, document: entry.document() }));
  let itemWarnings = new Warnings();
  const all = () => Warnings.all([envelopeWarnings, again, ...components.told, itemWarnings]);
  return {
    ...before,
    assets,
    listedAssets: listIndexes.assets.received,
    components: components.list,
    relationships: { usable: relationships, rejections: rejectionsOf(listIndexes.relationships) },
    endpoints: { usable: documented, rejections: rejectionsOf(listIndexes.endpoints) },
    placeOf,
    get warnings() {
      return all().shown();
    },
    get warningsByCode() {
      return Object.fromEntries(all().counts());
    },
    *items() {
      const reader = pass();
      for (const item of scanned(opened.lists)) {
        const read = reader.read(valueOf(item), item.list, item.index);
        if (read.outcome !== 'finding') yield read;
        else {
          const { draft } = read;
          yield {
            outcome: 'finding',
            draft: { ...draft, ...alsoOf(draft), detail: draft.detail() },
          };
        }
      }
      itemWarnings = reader.warnings;
    },
  };
}

type Scanned = (lists: readonly string[]) => ScannedItem[];

const valueOf = (item: ScannedItem): unknown => parseItem(item.bytes ?? Buffer.from('null'));

const entriesOf = (reader: { readonly list: string } | null, scanned: Scanned): ScannedItem[] =>
  reader === null ? [] : scanned([reader.list]);

const rejectionsOf = ({ rejections }: ListIndex): Located[] =>
  rejections.map(({ pointer, code, detail }) => ({ pointer, code, detail }));

/** A reader that throws fails the test. */
function onDefect(_: string, error: unknown): never {
  throw error;
}

/** As reading.ts does it: assets first, then what findings name, then what refers to assets. */
function knowLists(opened: OpenReport, scanned: Scanned): { known: Report; readers: ListReaders } {
  const take = <T>({ reader, index }: IndexedList<T>): void => {
    if (reader === null) return;
    entriesOf(reader, scanned).forEach(takingEntries(reader, index, onDefect));
  };
  take(opened.assets);
  const { look, findingsSeen } = opened.assetsIndexed();
  if (look !== null) {
    for (const item of scanned(opened.lists)) look(valueOf(item), item.list, item.index);
  }
  const { relationships, endpoints, linksIndexed } = findingsSeen();
  take(relationships);
  take(endpoints);
  const readers = {
    assets: opened.assets.reader,
    components: opened.components,
    relationships: relationships.reader,
    endpoints: endpoints.reader,
  };
  return { known: linksIndexed(), readers };
}

/** The usable entries of a list, read again as before they are written. */
function againOf<T>(
  reader: ListReader<T> | null,
  itemIndex: ListIndex,
  scanned: Scanned,
  warnings: Warnings,
): T[] {
  if (reader === null) return [];
  const entries = new EntriesAgain(reader, itemIndex, warnings);
  return entriesOf(reader, scanned).flatMap((item) => {
    const again = entries.next(item);
    return again === null ? [] : [again.entry];
  });
}

/** All assets by their index; a listed asset has the facts of its first entry. */
function assetsOf(
  names: AssetNames,
  { assets: itemIndex }: ListIndexes,
  reader: ListReader<AssetEntry> | null,
  scanned: Scanned,
  warnings: Warnings,
): EntryList<ReadAsset> {
  const byRow = new Map<number, ReadAsset>();
  for (const entry of againOf(reader, itemIndex, scanned, warnings)) {
    const row = names.find(entry) ?? -1;
    const read = { ...entry, attributes: entry.attributes() };
    if (!byRow.has(row)) byRow.set(row, read);
  }
  const usable = Array.from(
    { length: names.length },
    (_, row) => byRow.get(row) ?? bareAsset(names.at(row)),
  );
  return { usable, rejections: rejectionsOf(itemIndex) };
}

const bareAsset = ({ kind, value }: NamedAsset): ReadAsset => ({
  ref: null,
  kind,
  value,
  name: null,
  criticality: null,
  attributes: {},
});

/** Follows reading.ts and components.ts: first each component by itself, then their edges. */
function componentsOf(
  reader: ListReader<ComponentEntry> | null,
  items: readonly ScannedItem[],
): { list: EntryList<ComponentDraft>; told: Warnings[] } {
  const itemIndex = new ComponentIndex();
  const edgeWarnings = new Warnings();
  if (reader !== null) items.forEach(takingEntries(reader, itemIndex, onDefect));
  const again = reader === null ? null : new EntriesAgain(reader, itemIndex, edgeWarnings);
  const usable = items.flatMap((item) => {
    const found = again?.next(item) ?? null;
    if (found === null) return [];
    const { entry, row, pointer } = found;
    const { identity, name, version } = entry;
    const dependsOn = edgesOf(entry, row, pointer, itemIndex.names, edgeWarnings);
    return [{ identity, name, version, document: entry.document(), dependsOn }];
  });
  return {
    list: { usable, rejections: rejectionsOf(itemIndex) },
    told: [itemIndex.warnings, itemIndex.idWarnings, edgeWarnings],
  };
}

const SAME = new Map<string, () => readonly string[]>();

/** Equal texts give the same function, so that drafts can be compared. */
function alsoOf(draft: FindingDraft): Pick<FindingDraft, 'also'> {
  const texts = draft.also?.() ?? [];
  const key = JSON.stringify(texts);
  const also = SAME.get(key) ?? (() => texts);
  SAME.set(key, also);
  return { also };
}

export function readJson(url: URL): unknown {
  return JSON.parse(readFileSync(url, 'utf8').replace(/^\uFEFF/, ''));
}

export function fixture(format: Format, name: string): unknown {
  return readJson(new URL(`${format}/${name}.json`, FIXTURES));
}

export function fixtureNames(format: Format): string[] {
  return readdirSync(new URL(`${format}/`, FIXTURES)).map((file) => file.replace(/\.json$/, ''));
}

/** The files of a folder of the shared material; null when the folder isn't there. */
export function sharedFiles(folder: string): { name: string; url: URL }[] | null {
  const place = new URL(`${folder}/`, SHARED);
  if (!existsSync(place)) return null;
  return readdirSync(place)
    .filter((name) => /\.(?:sarif|json)$/.test(name))
    .sort()
    .map((name) => ({ name, url: new URL(name, place) }));
}

/** The drafts of a report's findings, in order. */
export function drafts(report: DecodedReport): ReadDraft[] {
  return [...report.items()].flatMap((item) => (item.outcome === 'finding' ? [item.draft] : []));
}

/** The only draft of a report. */
export function onlyDraft(report: DecodedReport): ReadDraft {
  const [draft, ...more] = drafts(report);
  if (draft === undefined || more.length > 0) throw new Error('exactly one finding was expected');
  return draft;
}

/** The place of an item, whatever its outcome is. */
export function pointerOf(item: ReadItem): string {
  if (item.outcome === 'finding') return item.draft.pointer;
  return item.outcome === 'rejected' ? item.rejection.pointer : item.pointer;
}

/** The value at a JSON pointer; throws when there is none. */
export function resolve(document: unknown, pointer: string): unknown {
  let value = document;
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) {
      throw new Error(`nothing stands at ${pointer}`);
    }
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** A SARIF log with one run. */
export function sarif(results: unknown, run: object = {}, driver: object = {}): unknown {
  return {
    version: '2.1.0',
    runs: [{ tool: { driver: { name: 'Tool', ...driver } }, results, ...run }],
  };
}

/** A SARIF result with a rule, a message, and the members that the test is about. */
export const result = (more: object): object => ({ ruleId: 'r', message: { text: 'm' }, ...more });

/** The draft of the only result of a run. */
export function oneResult(more: object, run: object = {}, driver: object = {}): ReadDraft {
  return onlyDraft(decodeSarif(sarif([result(more)], run, driver), {}));
}

/** The detail of the only result of a run, as a finding page would show it. */
export function detailOfResult(more: object, run: object = {}, driver: object = {}): FindingDetail {
  return oneResult(more, run, driver).detail as FindingDetail;
}

/** A CTIS report with some findings. */
export function ctis(findings: unknown, report: object = {}): unknown {
  return { version: '1.6', metadata: {}, tool: { name: 'Tool' }, findings, ...report };
}

/** A SARIF location in a file. */
export function at(uri: string, region?: object, more: object = {}): unknown {
  const physicalLocation = { artifactLocation: { uri, ...more }, ...(region && { region }) };
  return { physicalLocation };
}

/** The codes of a report's warnings after all items were read. */
export function warningCodes(report: DecodedReport): string[] {
  for (const _ of report.items());
  return Object.keys(report.warningsByCode).sort();
}
