// A CTIS report (specification 1.0 to 1.6, flat or wrapped in `{"report": …}`) → Report, by the
// lenient profile of CTIS §8: unknown members, unknown words and wrong names cost a warning at
// most. The envelope is read at once. Findings, and the entries of the lists beside them, are read
// one by one when asked for. The document comes from POST /ingest and /ingest/ctis, or is a chunk
// or a recon result converted to CTIS.

import { limits } from '@muster/contract/plain';
import { AssetNames } from '../../report/asset-names.rules.ts';
import { newListIndexes } from '../../report/asset-index.rules.ts';
import { analysisOf } from './analysis.decode.ts';
import { readComponent } from './components.decode.ts';
import { readEndpoint } from './endpoints.decode.ts';
import { decodeFinding } from './finding.decode.ts';
import { readAsset, readRelationship, warnUnlessList } from './lists.decode.ts';
import { readObject } from './members.decode.ts';
import { Targets } from './targets.decode.ts';
import {
  DocumentRefused,
  type FormatFacts,
  type ItemPass,
  type ListReader,
  type ListReaders,
  type OpenReport,
  type Report,
  type ReportWithAssets,
  type UploadContext,
} from '../../report/report.rules.ts';
import { pathRoots } from '../common/path.rules.ts';
import { Warnings } from '../../json/warnings.decode.ts';
import {
  type JsonObject,
  memberOf,
  objectOf,
  pointerToken,
  stringOf,
} from '../../json/json.decode.ts';
import { CERTAINTY, type Certainty } from '../common/certainty.rules.ts';
import { ctisRun } from './run-summary.decode.ts';
import { contextAsset } from '../common/sender-context.rules.ts';
import { scanOf } from '../common/scan-context.rules.ts';

/** A document without any of these members isn't CTIS. */
const REPORT_LISTS = ['assets', 'findings', 'dependencies', 'relationships', 'endpoints'];
const REPORT_MEMBERS = ['metadata', 'tool', ...REPORT_LISTS];

/**
 * Where items stand: whatever a report may have by the hundred thousand, in a flat report and in a
 * wrapped one.
 */
export const CTIS_LISTS = ['', '/report'].flatMap((base) =>
  REPORT_LISTS.map((name) => `${base}/${name}`),
);

/** Findings of one report may be about any of the assets that it names. */
export const CTIS: FormatFacts = { name: 'ctis', coversAssets: true };

/** How surely a document is CTIS, by its envelope. */
export function certaintyOfCtis(envelope: unknown): Certainty {
  const outer = objectOf(envelope);
  if (outer === null) return CERTAINTY.none;
  const report = objectOf(outer.report) ?? outer;
  if ([outer, report].some((object) => Object.hasOwn(object, 'findings')))
    return CERTAINTY.findings;
  return [outer, report].some(looksLikeReport) ? CERTAINTY.likely : CERTAINTY.none;
}

/**
 * Reads the envelope of a CTIS document; its lists are empty there, and their entries come one by
 * one. Throws only DocumentRefused, for a document that isn't CTIS 1.x.
 */
export function openCtis(
  document: unknown,
  context: UploadContext,
  warnings: Warnings,
): OpenReport {
  const { report, base } = reportOf(document, warnings);
  const version = versionOf(report, base);
  const metadata = readObject('metadata', report.metadata, `${base}/metadata`, warnings) ?? {};
  const branch = readObject('branch', metadata.branch, `${base}/metadata/branch`, warnings) ?? {};
  for (const name of ['assets', 'findings'] as const) {
    warnUnlessList(report[name], `${base}/${name}`, warnings);
  }
  const listIndexes = newListIndexes(new AssetNames());
  const targets = new Targets(listIndexes.assets);
  const scan = scanOf(context, stringOf(objectOf(report.tool)?.name) ?? '');
  const stated = contextAsset(context, warnings) ?? (scan && contextAsset(scan.said, warnings));
  const readers = readersOf(report, base, targets);
  const lists = Array.isArray(report.findings) ? [`${base}/findings`] : [];
  const withLinks = (): Report => {
    const { implicit, names } = targets;
    warnUnlessList(report.relationships, `${base}/relationships`, warnings);
    warnings.append(listIndexes.relationships.warnings);
    const { isAmbiguous } = listIndexes.assets;
    const said = { implicit, isAmbiguous, context, scan };
    const analysis = analysisOf(report, metadata, branch, base, said, warnings);
    warnUnlessList(report.endpoints, `${base}/endpoints`, warnings);
    warnings.append(listIndexes.endpoints.warnings);
    const implied = implicit === null ? null : names.at(implicit);
    const roots = pathRoots([], implied?.kind === 'repository' ? implied.value : null);
    warnUnlessList(report.dependencies, `${base}/dependencies`, warnings);
    return {
      format: CTIS,
      version,
      reportId: warnings.textOf(metadata.id, limits.nameCharsMax),
      runs: ctisRun(objectOf(report.tool), metadata),
      analyses: [analysis],
      assets: names,
      listIndexes,
      contextOf: () => JSON.stringify([implied, names.length]),
      placeOf: () => null,
      warnings,
      pass: () => newPass(targets, roots),
    };
  };
  const withAssets = (): ReportWithAssets => {
    warnings.append(listIndexes.assets.warnings);
    warnings.append(listIndexes.assets.idWarnings);
    const looks = targets.begin(stringOf(branch.repository_url), warnings);
    return {
      look: looks
        ? (value, list, index) => targets.look(value, `${list}/${index}`, warnings)
        : null,
      findingsSeen: () => {
        if (looks) targets.resolve(stated);
        return {
          relationships: { reader: readers.relationships, index: listIndexes.relationships },
          endpoints: { reader: readers.endpoints, index: listIndexes.endpoints },
          linksIndexed: withLinks,
        };
      },
    };
  };
  return {
    lists,
    allLists: [...lists, ...Object.values(readers).flatMap((reader) => reader?.list ?? [])],
    assets: { reader: readers.assets, index: listIndexes.assets },
    components: readers.components,
    assetsIndexed: withAssets,
  };
}

/** The readers of the lists beside the findings; null for a list that the report doesn't have. */
function readersOf(report: JsonObject, base: string, targets: Targets): ListReaders {
  const readerOf = <T>(name: string, read: ListReader<T>['read']): ListReader<T> | null =>
    Array.isArray(report[name]) ? { list: `${base}/${name}`, read } : null;
  return {
    assets: readerOf('assets', readAsset),
    components: readerOf('dependencies', readComponent),
    relationships: readerOf('relationships', (value, pointer, warnings) =>
      readRelationship(value, pointer, targets.listed, warnings),
    ),
    endpoints: readerOf('endpoints', (value, pointer, warnings) =>
      readEndpoint(value, pointer, targets, warnings),
    ),
  };
}

function newPass(targets: Targets, roots: ReturnType<typeof pathRoots>): ItemPass {
  const pass = { warnings: new Warnings(), targets, roots };
  return {
    warnings: pass.warnings,
    read: (value, list, index) => {
      pass.warnings.at = `${list}/${index}`;
      return decodeFinding(value, pass.warnings.at, pass);
    },
  };
}

/**
 * The report, and the pointer `base` at which it stands. A wrapper is looked for first, as in the
 * protocol: members beside a wrapped report get a warning and aren't read.
 */
function reportOf(document: unknown, warnings: Warnings): { report: JsonObject; base: string } {
  const outer = objectOf(document);
  if (outer === null) {
    throw new DocumentRefused('not_ctis', '', 'The document is not a JSON object, so not CTIS.');
  }
  const report = wrappedReport(outer, warnings) ?? outer;
  const base = report === outer ? '' : '/report';
  if (Object.hasOwn(report, 'runs') && !Object.hasOwn(report, 'findings')) {
    throw new DocumentRefused('not_ctis', base, 'This is a SARIF log: send it to /ingest/sarif.');
  }
  if (!looksLikeReport(report)) {
    const detail = 'The document has none of metadata, tool, assets, findings, dependencies.';
    throw new DocumentRefused('not_ctis', base, detail);
  }
  readObject('report', report, base, warnings);
  return { report, base };
}

/**
 * The report in `{"report": …}`; null for a flat report, which may have an unknown member of that
 * name.
 */
function wrappedReport(outer: JsonObject, warnings: Warnings): JsonObject | null {
  const inner = objectOf(outer.report);
  if (inner === null) return null;
  if (!looksLikeReport(inner)) return looksLikeReport(outer) ? null : inner;
  if (hasLists(outer)) {
    if (!hasLists(inner)) return null;
    // Only one of the two could be read. If that one had an empty list, findings would be closed.
    const detail =
      'The document has lists both at its top and under `report`: it is one or the other.';
    throw new DocumentRefused('not_ctis', '/report', detail);
  }
  for (const name of Object.keys(outer)) {
    if (name === 'report') continue;
    const detail = `"${name.slice(0, 64)}" stands beside a wrapped report; it is left out.`;
    warnings.warn(`/${pointerToken(name)}`, 'unknown_member', detail);
  }
  return inner;
}

/** True for an object that has a member of a CTIS report. */
function looksLikeReport(object: JsonObject): boolean {
  return REPORT_MEMBERS.some((name) => Object.hasOwn(object, name));
}

/** True for an object with a list of items, even an empty one. */
function hasLists(object: JsonObject): boolean {
  return REPORT_LISTS.some((name) => Array.isArray(memberOf(object, name)));
}

/**
 * Any minor version of major version 1. A missing or empty version means 1.0: partial pushes of
 * agents write none (CTIS §1.4).
 */
function versionOf(report: JsonObject, base: string): string {
  const sent = report.version;
  if (sent === undefined || sent === null || (typeof sent === 'string' && sent.trim() === '')) {
    return '1.0';
  }
  const text = typeof sent === 'number' || typeof sent === 'string' ? String(sent).trim() : '';
  const version = text.replace(/^v/i, '').slice(0, 32);
  if (/^1(?:$|\.)/.test(version)) return version;
  const said = text === '' ? 'something that is not a version' : `"${text.slice(0, 64)}"`;
  const detail = `CTIS 1.x is read (1.0 to 1.6 and later minors), the report says ${said}.`;
  throw new DocumentRefused('unsupported_ctis_version', `${base}/version`, detail);
}
