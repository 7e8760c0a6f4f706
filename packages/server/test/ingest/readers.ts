// What the tests of the report readers share: reading fixtures, and a decoded report as plain data.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { FindingDetail } from '@muster/contract';
import { decodeCtis } from '../../src/ingest/ctis.decode.ts';
import type {
  DecodedReport,
  FindingDraft,
  Item,
  UploadContext,
} from '../../src/ingest/draft.rules.ts';
import { decodeSarif } from '../../src/ingest/sarif.decode.ts';

const FIXTURES = new URL('../fixtures/', import.meta.url);
/** Reference material beside the repository; not part of it. */
const SHARED = new URL('../../../../../shared/', import.meta.url);

export type Format = 'sarif' | 'ctis';

export function decode(format: Format, document: unknown, context: UploadContext = {}) {
  return format === 'sarif' ? decodeSarif(document, context) : decodeCtis(document, context);
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

/** The files of a folder of the shared material; null where that isn't there. */
export function sharedFiles(folder: string): { name: string; url: URL }[] | null {
  const place = new URL(`${folder}/`, SHARED);
  if (!existsSync(place)) return null;
  return readdirSync(place)
    .filter((name) => /\.(?:sarif|json)$/.test(name))
    .sort()
    .map((name) => ({ name, url: new URL(name, place) }));
}

/** The drafts of a report's findings, in order. */
export function drafts(report: DecodedReport): FindingDraft[] {
  return [...report.items()].flatMap((item) => (item.outcome === 'finding' ? [item.draft] : []));
}

/** The only draft of a report. */
export function onlyDraft(report: DecodedReport): FindingDraft {
  const [draft, ...more] = drafts(report);
  if (draft === undefined || more.length > 0) throw new Error('exactly one finding was expected');
  return draft;
}

/** Where an item stands, whatever became of it. */
export function pointerOf(item: Item): string {
  if (item.outcome === 'finding') return item.draft.pointer;
  return item.outcome === 'rejected' ? item.rejection.pointer : item.pointer;
}

/** What stands at a JSON pointer; throws where nothing does. */
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

/** A SARIF log of one run. */
export function sarif(results: unknown, run: object = {}, driver: object = {}): unknown {
  return {
    version: '2.1.0',
    runs: [{ tool: { driver: { name: 'Tool', ...driver } }, results, ...run }],
  };
}

/** A SARIF result with a rule, a message, and what the test is about. */
export const result = (more: object): object => ({ ruleId: 'r', message: { text: 'm' }, ...more });

/** The draft of the only result of a run. */
export function oneResult(more: object, run: object = {}, driver: object = {}): FindingDraft {
  return onlyDraft(decodeSarif(sarif([result(more)], run, driver), {}));
}

/** What a finding page would show of the only result of a run. */
export function detailOfResult(more: object, run: object = {}, driver: object = {}): FindingDetail {
  return oneResult(more, run, driver).detail as FindingDetail;
}

/** A CTIS report of some findings. */
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
