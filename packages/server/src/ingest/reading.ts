// A stored document is read: its frame first, then its items, each of which gets its outcome and, if it is a finding, its
// evidence. One bad item never takes the others along; what isn't JSON at all is refused with its place. Called by the
// ingest story before anything is written.

import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { limits } from '@muster/contract/plain';
import type { ComponentSurvey } from './component-survey.rules.ts';
import { looksLikeReport, openCtis } from './ctis.decode.ts';
import type { DocumentSource, ScannedDocument } from './document.ts';
import type { ScannedItem } from './document-items.decode.ts';
import { TooManyItems } from './document-scan.decode.ts';
import { countMembers, parseItem, warnRepeatedMembers } from './document-parse.decode.ts';
import {
  isSuppressedAt,
  type ComponentEntry,
  type ComponentReader,
  type Item,
  type ItemPass,
  type Located,
  type OpenReport,
  type Report,
  type UploadContext,
} from './draft.rules.ts';
import { type Evidence, evidenceOf } from './evidence.rules.ts';
import { RawHashes } from './raw-hashes.rules.ts';
import { readKnown } from './known-items.ts';
import type { IngestDeps } from './lease.ts';
import { Notes, objectOf } from './report-notes.decode.ts';
import { openSarif, saysSarif } from './sarif.decode.ts';
import { DUE, hasTooManyItems, Survey } from './survey.rules.ts';
import { ReaderDefects, unreadable } from './unreadable.ts';
import type { UploadRow } from './upload.queries.ts';

/** A report whose frame was read, and the document that its items are still in. */
export interface Reading {
  readonly source: DocumentSource;
  readonly document: ScannedDocument;
  readonly report: Report;
  /** The pointers of the report's lists of findings. */
  readonly lists: ReadonlySet<string>;
  readonly components: ComponentReader | null;
}

/**
 * The first pass: the frame; and another one where the frame alone doesn't say what the items are about. Throws
 * DocumentRefused, TooManyItems, DocumentFault and Problems of the body.
 */
export async function openReport(
  deps: IngestDeps,
  upload: UploadRow,
  source: DocumentSource,
): Promise<Reading> {
  const { document, frameBytes } = await source.scan();
  const notes = new Notes();
  if (!isUtf8(frameBytes)) notes.warn('', 'invalid_utf8', NOT_UTF8);
  warnRepeatedMembers(frameBytes.toString('utf8'), '', notes);
  warnUnknown(upload, notes);
  const { lists: pointers, components, look, report } = readFrame(upload, document, notes);
  const lists = new Set(pointers);
  const asked = withComponents(lists, components);
  const listed = [...asked].reduce((sum, list) => sum + countOf(document, list), 0);
  if (hasStrays(document, asked)) await source.mustBeJson();
  if (look !== null) {
    const defects = new ReaderDefects(deps, upload);
    for await (const items of source.items(document, lists)) {
      for (const { bytes, list, index } of items) {
        if (bytes === null) continue;
        const value = parseItem(bytes);
        try {
          look(value, list, index);
        } catch (error) {
          // The pass that judges the items meets it again.
          defects.tell(`${list}/${index}`, error);
        }
      }
    }
  }
  const found = withoutLost(report(), document, lists);
  const reading = { source, document, lists, components, report: found };
  if (hasTooManyItems(reading.report, listed)) throw new TooManyItems();
  return reading;
}

const withComponents = (
  lists: ReadonlySet<string>,
  components: ComponentReader | null,
): ReadonlySet<string> => (components === null ? lists : new Set([...lists, components.list]));

const countOf = ({ lists }: ScannedDocument, list: string): number => lists.get(list)?.count ?? 0;

/** Items that nobody parses: too deep or too large ones, and those of lists that come again, or mean nothing where they stand. */
function hasStrays({ lists, bounds }: ScannedDocument, asked: ReadonlySet<string>): boolean {
  if (bounds.hasExcess) return true;
  for (const { pointer, occurrence } of lists.values()) {
    if (occurrence > 1 || !asked.has(pointer)) return true;
  }
  return false;
}

/**
 * Where a list of findings, or a member around it, comes twice, those of the first one are not read: nothing is concluded from
 * what the last one lacks.
 */
function withoutLost(
  report: Report,
  { lists }: ScannedDocument,
  asked: ReadonlySet<string>,
): Report {
  const isLost = [...lists.values()].some(({ pointer, occurrence, count }) =>
    asked.has(pointer) ? occurrence > 1 : count > 0 && LIST_OF_FINDINGS.test(pointer),
  );
  if (!isLost) return report;
  return { ...report, analyses: report.analyses.map((one) => ({ ...one, listed: false })) };
}

/** Of either format. */
const LIST_OF_FINDINGS = /\/(?:results|findings)$/;

/** SARIF is recognised by its media type (the route says `sarif`) or by its content. */
function readFrame(upload: UploadRow, document: ScannedDocument, notes: Notes): OpenReport {
  const { frame } = document;
  const context = JSON.parse(upload.context) as UploadContext;
  const counts = new Map([...document.lists.values()].map((list) => [list.pointer, list.count]));
  if (upload.format === 'sarif') return openSarif(frame, counts, context, notes);
  if (!isSarif(frame) && context.declaredSarif !== true) return openCtis(frame, context, notes);
  // The sender of SARIF on a CTIS route is told that it was understood as what it is. The dry run is the route of both.
  const detail = 'The document is SARIF and was read as such; /ingest/sarif is its own route.';
  if (context.rehearsal !== true) notes.warn('', 'recognised_as_sarif', detail);
  return openSarif(frame, counts, context, notes);
}

/** A misspelt `coverage=partial` must not pass for a full scan. */
function warnUnknown(upload: UploadRow, notes: Notes): void {
  const { unknown = [] } = JSON.parse(upload.context) as UploadContext;
  for (const name of unknown) {
    const detail =
      `"${name}" is no parameter or header of this route and was ignored; ` +
      'unless `coverage` is given beside it, nothing is closed by this upload.';
    notes.warn('', 'unknown_parameter', detail);
  }
}

/**
 * Whether a document that may be either is SARIF: by its version and runs, whatever stands beside them, else by its runs
 * where there are no findings, else by its version where nothing of a CTIS report is there.
 */
function isSarif(document: unknown): boolean {
  const object = objectOf(document);
  if (object === null) return false;
  if (!Object.hasOwn(object, 'runs')) return saysSarif(object) && !looksLikeReport(object);
  return saysSarif(object) || !Object.hasOwn(object, 'findings');
}

const NOT_UTF8 = 'Not everything in it is UTF-8; what is not was replaced by U+FFFD.';

/** The second pass: every item has its outcome, every finding its evidence, every dependency its names. */
export async function surveyItems(
  deps: IngestDeps,
  upload: UploadRow,
  { source, document, report, lists, components }: Reading,
): Promise<Survey> {
  const { database, secretKey } = deps;
  const pass = report.pass();
  const survey = new Survey(pass.notes);
  const defects = new ReaderDefects(deps, upload);
  const counts = new Map([...lists].map((list) => [list, countOf(document, list)]));
  const known = await readKnown(database.tenant(upload.tenant_id), upload, report, counts);
  const raws = new RawHashes(report, secretKey);
  for await (const items of source.items(document, withComponents(lists, components))) {
    for (const item of items) {
      const { bytes, excess, list, index } = item;
      if (components?.list === list) {
        surveyComponent(survey.components, components, item, defects);
        continue;
      }
      if (bytes === null) {
        survey.reject(excessive(`${list}/${index}`, excess), null);
        continue;
      }
      // Where nothing is known the hash is only stored: then it is made while the database writes.
      const raw = known.hasAny(list) ? raws.of(list, bytes) : DUE;
      const same = raw === DUE ? null : known.find(list, raw);
      if (same !== null) {
        survey.takeKnown(same, crc32(bytes));
        continue;
      }
      const before = pass.notes.taken;
      const value = valueOf(bytes, item, pass.notes);
      const read = judged(pass, value, list, index, secretKey, defects);
      if (read.outcome !== 'finding') survey.take(read, value);
      else {
        // Only what had nothing to tell, and isn't suppressed, is taken in later by its bytes alone: a suppression ends.
        const tellsAll = pass.notes.taken === before && !read.draft.suppressed;
        const suppressed = isSuppressedAt(read.draft, upload.received_at);
        const told = tellsAll ? raw : null;
        survey.takeFinding(read.draft, suppressed, read.evidence, told, crc32(bytes));
      }
    }
  }
  return survey;
}

/** The value of an item of these bytes; what is wrong with how it is written is noted. */
function valueOf(bytes: Buffer, { list, index, members }: ScannedItem, notes: Notes): unknown {
  if (!isUtf8(bytes)) notes.warn(`${list}/${index}`, 'invalid_utf8', NOT_UTF8);
  const value = parseItem(bytes);
  if (members !== countMembers(value)) {
    warnRepeatedMembers(bytes.toString('utf8'), `${list}/${index}`, notes);
  }
  return value;
}

/** The outcome of one dependency, as `judged` for findings. */
function surveyComponent(
  survey: ComponentSurvey,
  { read }: ComponentReader,
  item: ScannedItem,
  defects: ReaderDefects,
): void {
  const { bytes, excess, list, index } = item;
  const pointer = `${list}/${index}`;
  if (bytes === null) return survey.reject(excessive(pointer, excess), undefined);
  survey.notes.at = pointer;
  const value = valueOf(bytes, item, survey.notes);
  let entry: ComponentEntry | Located;
  try {
    entry = read(value, pointer, survey.notes);
  } catch (error) {
    defects.tell(pointer, error);
    entry = unreadable(pointer);
  }
  if ('code' in entry) survey.reject(entry, value);
  else survey.take(entry, pointer);
}

type Judged =
  | Exclude<Item, { outcome: 'finding' }>
  | (Extract<Item, { outcome: 'finding' }> & { readonly evidence: Evidence });

/** The outcome of one item; whatever is thrown on the way is a defect of the reader, and rejects this item alone. */
function judged(
  pass: ItemPass,
  value: unknown,
  list: string,
  index: number,
  secretKey: Buffer,
  defects: ReaderDefects,
): Judged {
  try {
    const item = pass.read(value, list, index);
    if (item.outcome !== 'finding') return item;
    return { ...item, evidence: evidenceOf(item.draft, secretKey) };
  } catch (error) {
    const pointer = `${list}/${index}`;
    defects.tell(pointer, error);
    return { outcome: 'rejected', rejection: unreadable(pointer) };
  }
}

function excessive(pointer: string, excess: ScannedItem['excess']): Located {
  if (excess === 'depth') {
    const detail = `One item may have ${limits.jsonDepthMax} nested arrays and objects, with those around it.`;
    return { pointer, code: 'item_too_deep', detail };
  }
  const detail = `One item may have ${limits.itemBytesMax} bytes.`;
  return { pointer, code: 'item_too_large', detail };
}
