// CTIS report (spec 1.0 to 1.6, flat or wrapped in `{"report": …}`) → Report, by the lenient profile of CTIS §8: unknown
// members, enum drift and wrong names never cost more than a warning. The frame is read at once; findings, and the entries of
// the lists beside them, when asked for, one by one. Called by the ingest worker; POST /ingest, /ingest/ctis, chunks and recon once converted.

import { limits } from '@muster/contract/plain';
import { AssetNames } from './asset-names.rules.ts';
import { newSurveys } from './asset-survey.rules.ts';
import { analysisOf } from './ctis-analysis.decode.ts';
import { readComponent } from './ctis-components.decode.ts';
import { readEndpoint } from './ctis-endpoints.decode.ts';
import { decodeFinding } from './ctis-finding.decode.ts';
import { readAsset, readRelationship, warnUnlessList } from './ctis-frame.decode.ts';
import { readObject } from './ctis-members.decode.ts';
import { Targets } from './ctis-targets.decode.ts';
import {
  DocumentRefused,
  type ItemPass,
  type ListReader,
  type ListReaders,
  type OpenReport,
  type UploadContext,
} from './draft.rules.ts';
import { pathRoots } from './path.rules.ts';
import {
  type JsonObject,
  memberOf,
  Notes,
  objectOf,
  pointerToken,
  stringOf,
} from './report-notes.decode.ts';
import { ctisRun } from './run-summary.decode.ts';
import { contextAsset } from './sarif-frame.decode.ts';
import { scanOf } from './scan-context.rules.ts';

/** A document with none of these is something else. */
const REPORT_LISTS = ['assets', 'findings', 'dependencies', 'relationships', 'endpoints'];
const REPORT_MEMBERS = ['metadata', 'tool', ...REPORT_LISTS];

/**
 * Reads the frame of a CTIS document, whose lists are empty there: their entries come one by one. Throws DocumentRefused, and
 * nothing else, for what isn't CTIS 1.x.
 */
export function openCtis(document: unknown, context: UploadContext, notes: Notes): OpenReport {
  const { report, base } = reportOf(document, notes);
  const version = versionOf(report, base);
  const metadata = readObject('metadata', report.metadata, `${base}/metadata`, notes) ?? {};
  const at = `${base}/metadata/branch`;
  const branch = readObject('branch', metadata.branch, at, notes) ?? {};
  for (const name of ['assets', 'findings'] as const) {
    warnUnlessList(report[name], `${base}/${name}`, notes);
  }
  const surveys = newSurveys(new AssetNames());
  const targets = new Targets(surveys.assets);
  const scan = scanOf(context, stringOf(objectOf(report.tool)?.name) ?? '');
  const stated =
    contextAsset(context, notes) ?? (scan === null ? null : contextAsset(scan.said, notes));
  let looks = false;
  return {
    lists: Array.isArray(report.findings) ? [`${base}/findings`] : [],
    readers: readersOf(report, base, targets),
    surveys,
    look: () => {
      notes.append(surveys.assets.notes);
      notes.append(surveys.assets.idNotes);
      looks = targets.begin(stringOf(branch.repository_url), notes);
      return looks ? (value, list, index) => targets.look(value, `${list}/${index}`, notes) : null;
    },
    settle: () => {
      if (looks) targets.settle(stated);
    },
    report: () => {
      const { implicit, names } = targets;
      warnUnlessList(report.relationships, `${base}/relationships`, notes);
      notes.append(surveys.relationships.notes);
      const { isAmbiguous } = surveys.assets;
      const said = { implicit, isAmbiguous, context, scan };
      const analysis = analysisOf(report, metadata, branch, base, said, notes);
      warnUnlessList(report.endpoints, `${base}/endpoints`, notes);
      notes.append(surveys.endpoints.notes);
      const implied = implicit === null ? null : names.at(implicit);
      const roots = pathRoots([], implied?.kind === 'repository' ? implied.value : null);
      warnUnlessList(report.dependencies, `${base}/dependencies`, notes);
      return {
        format: 'ctis',
        version,
        reportId: notes.textOf(metadata.id, limits.nameCharsMax),
        runs: ctisRun(objectOf(report.tool), metadata),
        analyses: [analysis],
        assets: names,
        surveys,
        contextOf: () => JSON.stringify([implied, names.length]),
        placeOf: () => null,
        notes,
        pass: () => newPass(targets, roots),
      };
    },
  };
}

/** For each list beside the findings how an entry of it is read. */
function readersOf(report: JsonObject, base: string, targets: Targets): ListReaders {
  const readerOf = <T>(name: string, read: ListReader<T>['read']): ListReader<T> | null =>
    Array.isArray(report[name]) ? { list: `${base}/${name}`, read } : null;
  return {
    assets: readerOf('assets', readAsset),
    components: readerOf('dependencies', readComponent),
    relationships: readerOf('relationships', (value, pointer, notes) =>
      readRelationship(value, pointer, targets.listed, notes),
    ),
    endpoints: readerOf('endpoints', (value, pointer, notes) =>
      readEndpoint(value, pointer, targets, notes),
    ),
  };
}

function newPass(targets: Targets, roots: ReturnType<typeof pathRoots>): ItemPass {
  const pass = { notes: new Notes(), targets, roots };
  return {
    notes: pass.notes,
    read: (value, list, index) => {
      pass.notes.at = `${list}/${index}`;
      return decodeFinding(value, pass.notes.at, pass);
    },
  };
}

/**
 * The report; `base` is where it stands. The wrapper is looked for first, as the protocol has it: what stands beside a
 * report in its wrapper is told, and isn't read.
 */
function reportOf(document: unknown, notes: Notes): { report: JsonObject; base: string } {
  const outer = objectOf(document);
  if (outer === null) {
    throw new DocumentRefused('not_ctis', '', 'The document is not a JSON object, so not CTIS.');
  }
  const report = wrappedReport(outer, notes) ?? outer;
  const base = report === outer ? '' : '/report';
  if (Object.hasOwn(report, 'runs') && !Object.hasOwn(report, 'findings')) {
    throw new DocumentRefused('not_ctis', base, 'This is a SARIF log: send it to /ingest/sarif.');
  }
  if (!looksLikeReport(report)) {
    const detail = 'The document has none of metadata, tool, assets, findings, dependencies.';
    throw new DocumentRefused('not_ctis', base, detail);
  }
  readObject('report', report, base, notes);
  return { report, base };
}

/** What `{"report": …}` wraps; null for a flat report, which may have an unknown member of that name. */
function wrappedReport(outer: JsonObject, notes: Notes): JsonObject | null {
  const inner = objectOf(outer.report);
  if (inner === null) return null;
  if (!looksLikeReport(inner)) return looksLikeReport(outer) ? null : inner;
  if (hasLists(outer)) {
    if (!hasLists(inner)) return null;
    // One of the two would be lost, and with an empty list in its place findings would be closed.
    const detail =
      'The document has lists both at its top and under `report`: it is one or the other.';
    throw new DocumentRefused('not_ctis', '/report', detail);
  }
  for (const name of Object.keys(outer)) {
    if (name === 'report') continue;
    const detail = `"${name.slice(0, 64)}" stands beside a wrapped report; it is left out.`;
    notes.warn(`/${pointerToken(name)}`, 'unknown_member', detail);
  }
  return inner;
}

/** True for an object that has a member of a CTIS report. */
export function looksLikeReport(object: JsonObject): boolean {
  return REPORT_MEMBERS.some((name) => Object.hasOwn(object, name));
}

/** True for what has items to read, or says that it has none. */
function hasLists(object: JsonObject): boolean {
  return REPORT_LISTS.some((name) => Array.isArray(memberOf(object, name)));
}

/**
 * Any minor of major 1; absent or empty is 1.0: partial agent pushes write nothing there (CTIS
 * §1.4).
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
