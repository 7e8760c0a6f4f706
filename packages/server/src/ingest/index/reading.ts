// A stored document becomes a report and then an item index, before anything is written. The
// envelope is read first, then the lists that findings refer to, wherever the document has them,
// then the items: each gets its outcome, and a finding its evidence. A bad item never takes the
// others along; a document that isn't JSON is refused with the place. Called by ingest.ts.

import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { formatOf, isFindingList, ITEM_PLACES } from '../formats/formats.ts';
import type { DocumentSource, ScannedDocument } from '../document/document.ts';
import { DocumentFault } from '../document/scan.decode.ts';
import { parseItem, warnRepeatedMembers } from '../document/parse.decode.ts';
import {
  type IndexedList,
  isSuppressedAt,
  type Item,
  type ItemPass,
  type ListReaders,
  type Look,
  type OpenReport,
  type Report,
  type UploadContext,
} from '../report/report.rules.ts';
import { type Evidence, evidenceOf } from '../match/evidence.rules.ts';
import { RawHashes } from './raw-hashes.rules.ts';
import { readKnown } from './known-items.ts';
import type { IngestDeps } from '../lease/lease.ts';
import { Warnings } from '../json/warnings.decode.ts';
import { excessive, NOT_UTF8, type TakeEntry, takingEntries, valueOf } from './entries.ts';
import { ItemIndex } from './item-index.rules.ts';
import { ReaderDefects } from './reader-defects.ts';
import type { UploadRow } from '../store/upload.queries.ts';

/**
 * A report whose findings and dependencies aren't read yet, and the document that has all its
 * items.
 */
export interface Reading {
  readonly source: DocumentSource;
  readonly document: ScannedDocument;
  readonly report: Report;
  /** The pointers of the report's lists of findings. */
  readonly lists: ReadonlySet<string>;
  readonly readers: ListReaders;
}

/** A document whose envelope was read. */
export interface OpenDocument {
  readonly source: DocumentSource;
  readonly document: ScannedDocument;
  readonly opened: OpenReport;
}

/** `openDocument`, then `completeReport`. */
export async function openReport(
  deps: IngestDeps,
  upload: UploadRow,
  source: DocumentSource,
): Promise<Reading> {
  return await completeReport(deps, upload, await openDocument(upload, source));
}

/**
 * The first pass: reads the envelope. Throws DocumentRefused, TooManyItems, DocumentFault and
 * Problems of the body.
 */
export async function openDocument(
  upload: UploadRow,
  source: DocumentSource,
): Promise<OpenDocument> {
  const { document, envelopeBytes } = await source.scan(ITEM_PLACES);
  const warnings = new Warnings();
  if (!isUtf8(envelopeBytes)) warnings.warn('', 'invalid_utf8', NOT_UTF8);
  warnRepeatedMembers(envelopeBytes.toString('utf8'), '', warnings);
  warnUnknown(upload, warnings);
  const opened = await openEnvelope(upload, source, document, warnings);
  if (hasStrays(document, new Set(opened.allLists))) await source.mustBeJson();
  return { source, document, opened };
}

/**
 * Reads the lists that have to be known before the first finding, whatever the order of the members
 * in the document: the assets; then the findings, if assets and envelope alone don't say what those
 * are about; then the relationships and endpoints. Throws the same as `openDocument`.
 */
export async function completeReport(
  deps: IngestDeps,
  upload: UploadRow,
  { source, document, opened }: OpenDocument,
): Promise<Reading> {
  const lists = new Set(opened.lists);
  const defects = new ReaderDefects(deps, upload);
  const takerFor = <T>({ reader, index }: IndexedList<T>): [string, TakeEntry][] =>
    reader === null || countOf(document, reader.list) === 0
      ? []
      : [[reader.list, takingEntries(reader, index, defects.reject)]];
  await readLists(source, document, new Map(takerFor(opened.assets)));
  const withAssets = opened.assetsIndexed();
  const { look } = withAssets;
  if (look !== null) await showFindings(look, source, document, lists, defects);
  const withTargets = withAssets.findingsSeen();
  const { relationships, endpoints } = withTargets;
  const takers = new Map([...takerFor(relationships), ...takerFor(endpoints)]);
  await readLists(source, document, takers);
  const report = unlistedWhereRepeated(withTargets.linksIndexed(), document, lists);
  const readers = {
    assets: opened.assets.reader,
    components: opened.components,
    relationships: relationships.reader,
    endpoints: endpoints.reader,
  };
  return { source, document, lists, readers, report };
}

/** One pass over the entries of some lists, if there are any. */
async function readLists(
  source: DocumentSource,
  document: ScannedDocument,
  takes: ReadonlyMap<string, TakeEntry>,
): Promise<void> {
  if (takes.size === 0) return;
  for await (const items of source.items(document, new Set(takes.keys()))) {
    for (const item of items) takes.get(item.list)?.(item);
  }
}

async function showFindings(
  look: Look,
  source: DocumentSource,
  document: ScannedDocument,
  lists: ReadonlySet<string>,
  defects: ReaderDefects,
): Promise<void> {
  for await (const items of source.items(document, lists)) {
    for (const { bytes, list, index } of items) {
      if (bytes === null) continue;
      const value = parseItem(bytes);
      try {
        look(value, list, index);
      } catch (error) {
        if (error instanceof DocumentFault) throw error;
        // The pass over the items meets the defect again, and rejects the item.
        defects.tell(`${list}/${index}`, error);
      }
    }
  }
}

const countOf = ({ lists }: ScannedDocument, list: string): number => lists.get(list)?.count ?? 0;

/**
 * True when the document has items that nobody parses: too deep or too large ones, and those of
 * lists that come twice or mean nothing in their place.
 */
function hasStrays({ lists, bounds }: ScannedDocument, asked: ReadonlySet<string>): boolean {
  if (bounds.hasExcess) return true;
  for (const { pointer, occurrence } of lists.values()) {
    if (occurrence > 1 || !asked.has(pointer)) return true;
  }
  return false;
}

/**
 * When a list of findings, or a member around it, comes twice, the items of the first one are not
 * read. Then absence from the last one means nothing.
 */
function unlistedWhereRepeated(
  report: Report,
  { lists }: ScannedDocument,
  asked: ReadonlySet<string>,
): Report {
  const isRepeated = [...lists.values()].some(({ pointer, occurrence, count }) =>
    asked.has(pointer) ? occurrence > 1 : count > 0 && isFindingList(pointer),
  );
  if (!isRepeated) return report;
  return { ...report, analyses: report.analyses.map((one) => ({ ...one, listed: false })) };
}

/** Finds the format of the document, and has its reader open the envelope. */
async function openEnvelope(
  upload: UploadRow,
  source: DocumentSource,
  document: ScannedDocument,
  warnings: Warnings,
): Promise<OpenReport> {
  const { envelope } = document;
  const context = JSON.parse(upload.context) as UploadContext;
  const counts = new Map([...document.lists.values()].map((list) => [list.pointer, list.count]));
  const opening = { envelope, counts, context, warnings };
  const first = Array.isArray(envelope) ? await firstEntry(source, document) : undefined;
  return formatOf(upload.format, opening, first).open(opening);
}

/** The first entry of a document that is one list: nothing else tells what it lists. */
async function firstEntry(source: DocumentSource, document: ScannedDocument): Promise<unknown> {
  for await (const [first] of source.items(document, new Set(['']))) {
    if (first !== undefined) return first.bytes === null ? undefined : parseItem(first.bytes);
  }
  return undefined;
}

/** Warns of unknown parameters: a misspelt `coverage=partial` must not pass for a full scan. */
function warnUnknown(upload: UploadRow, warnings: Warnings): void {
  const { unknown = [] } = JSON.parse(upload.context) as UploadContext;
  for (const name of unknown) {
    const detail =
      `"${name}" is no parameter or header of this route and was ignored; ` +
      'unless `coverage` is given beside it, nothing is closed by this upload.';
    warnings.warn('', 'unknown_parameter', detail);
  }
}

/**
 * The next pass: every item gets its outcome, every finding its evidence, every dependency its
 * names.
 */
export async function indexItems(
  deps: IngestDeps,
  upload: UploadRow,
  { source, document, report, lists, readers }: Reading,
): Promise<ItemIndex> {
  const { database, secretKey } = deps;
  const pass = report.pass();
  const itemIndex = new ItemIndex(pass.warnings);
  const defects = new ReaderDefects(deps, upload);
  const counts = new Map([...lists].map((list) => [list, countOf(document, list)]));
  const known = await readKnown(database.tenant(upload.tenant_id), upload, report, counts);
  const raws = new RawHashes(report, secretKey);
  const { components } = readers;
  const takeComponent =
    components === null ? null : takingEntries(components, itemIndex.components, defects.reject);
  const wanted = components === null ? lists : new Set([...lists, components.list]);
  for await (const items of source.items(document, wanted)) {
    for (const item of items) {
      const { bytes, excess, list, index } = item;
      if (components?.list === list) {
        takeComponent?.(item);
        continue;
      }
      if (bytes === null) {
        itemIndex.reject(excessive(`${list}/${index}`, excess), null);
        continue;
      }
      // The hash isn't kept: it is made once more while the database writes.
      const same = known.hasAny(list) ? known.find(list, raws.of(list, bytes)) : null;
      if (same !== null) {
        itemIndex.takeKnown(same, crc32(bytes));
        continue;
      }
      const before = pass.warnings.taken;
      const value = valueOf(bytes, item, pass.warnings);
      const read = readItem(pass, value, list, index, secretKey, defects);
      if (read.outcome !== 'finding') itemIndex.take(read, value);
      else {
        // A later upload may recognise this item by its bytes alone, unless it has warnings, which
        // every receipt has to tell, or is suppressed, because a suppression may end.
        const isKnownByBytes = pass.warnings.taken === before && !read.draft.suppressed;
        const suppressed = isSuppressedAt(read.draft, upload.received_at);
        itemIndex.takeFinding(read.draft, suppressed, read.evidence, isKnownByBytes, crc32(bytes));
      }
    }
  }
  known.release();
  return itemIndex;
}

type ReadItem =
  | Exclude<Item, { outcome: 'finding' }>
  | (Extract<Item, { outcome: 'finding' }> & { readonly evidence: Evidence });

/**
 * The outcome of one item. Whatever the reader throws is its defect, and rejects this item alone.
 */
function readItem(
  pass: ItemPass,
  value: unknown,
  list: string,
  index: number,
  secretKey: Buffer,
  defects: ReaderDefects,
): ReadItem {
  try {
    const item = pass.read(value, list, index);
    if (item.outcome !== 'finding') return item;
    return { ...item, evidence: evidenceOf(item.draft, secretKey) };
  } catch (error) {
    return { outcome: 'rejected', rejection: defects.reject(`${list}/${index}`, error) };
  }
}
