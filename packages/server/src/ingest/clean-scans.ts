// Scans that ended without findings and without a report (contract §6): the command's end becomes an upload with an empty
// list, in the transaction that ends it, and goes the way of every upload: the same rules of absence, a receipt with the
// command. Only what such a scan is about has to be found out here. Called by commands.ts and by the ingest story.

import type { Db } from '../db/db.ts';
import type { RunnerCaller } from '../keys/authenticate.ts';
import type { Clock } from '../lib/clock.ts';
import { hash } from 'node:crypto';
import { randomBytes } from '../lib/random.ts';
import { identityOf } from './asset-names.rules.ts';
import { analysisOfScanner, type CleanScan, emptyLog } from './clean-scan.rules.ts';
import type { AnalysisDraft, Report, UploadContext } from './draft.rules.ts';
import { analysesOnRef, assetsByValue, refsByName } from './frame.queries.ts';
import { ScopeBusy } from './lease.ts';
import { newUploadRow } from './receive.ts';
import { scanContextOf } from './scan-context.rules.ts';
import { seal } from './seal.format.ts';
import { insertChunk, insertUpload, markReceived, type UploadRow } from './upload.queries.ts';
import { hasEarlierWaiting, hasReportOfCommand } from './upload-work.queries.ts';

export interface CleanScanDeps {
  readonly clock: Clock;
  readonly sealKey: Buffer;
}

/** The command that was completed, by whom, and with what. */
export interface EndedScan {
  readonly caller: Pick<RunnerCaller, 'tenantId' | 'runnerId' | 'keyId'>;
  readonly commandId: string;
  readonly payload: string | null;
  readonly clean: CleanScan;
}

/** Stores the upload without items that stands for a clean scan; inside the transaction that completes its command. */
export async function receiveCleanScan(deps: CleanScanDeps, tx: Db, ended: EndedScan) {
  const { caller, commandId, payload, clean } = ended;
  const scan = scanContextOf(commandId, payloadOf(payload), true);
  const log = Buffer.from(emptyLog(scan.scanner, clean));
  const incoming = {
    encoding: 'identity',
    format: 'sarif',
    context: { cleanScan: true },
    commandId,
  } as const;
  const row = newUploadRow(deps.clock, caller, incoming, [scan]);
  const { tenant_id: tenantId, id: uploadId } = row;
  await insertUpload(tx, row);
  const sealed = seal(deps.sealKey, { uploadId, seq: 0 }, randomBytes(12), log);
  await insertChunk(tx, tenantId, uploadId, 0, sealed);
  await markReceived(tx, {
    tenantId,
    uploadId,
    sha256: hash('sha256', log, 'buffer'),
    encoding: 'identity',
    wireBytes: log.length,
    storedBytes: log.length,
    nowMs: row.received_at,
  });
}

const payloadOf = (payload: string | null): Record<string, unknown> =>
  JSON.parse(payload ?? '{}') as Record<string, unknown>;

const contextOf = (upload: UploadRow): UploadContext => JSON.parse(upload.context) as UploadContext;

/**
 * The report of a clean scan, with what is known of the analysis that it repeats: by which name its tool reports, and how
 * much that covers. Where that can't be known it covers nothing, so that it closes nothing, and a warning says why. Other
 * reports stay as they are. Throws ScopeBusy while an earlier upload of the runner waits: it may be the scan's own report.
 */
export async function placeCleanScan(db: Db, upload: UploadRow, report: Report): Promise<Report> {
  const { cleanScan, scans } = contextOf(upload);
  const [analysis] = report.analyses;
  if (cleanScan !== true || analysis === undefined) return report;
  if (await hasEarlierWaiting(db, upload)) throw new ScopeBusy();
  const scan = scans?.[0];
  const found = await repeatedAnalysis(db, upload, report, analysis);
  if ('unknown' in found) return closingNothing(report, analysis, found.unknown);
  const inherited = scan?.isNarrowed === false ? found.coverage : 'partial';
  const coverage = scan?.said.coverage ?? inherited;
  if (coverage === 'partial') {
    const why = found.coverage === 'full' && scan?.said.coverage === undefined ? NARROWED : PARTIAL;
    return closingNothing(report, analysis, why);
  }
  return { ...report, analyses: [{ ...analysis, tool: found.tool, coverage }] };
}

const PARTIAL = 'its coverage is partial; `coverage: full` in the payload of the command says more';
const NARROWED =
  'its command names what to look at or for; `coverage: full` in its payload says that this is all of its asset';

function closingNothing(report: Report, analysis: AnalysisDraft, why: string): Report {
  const detail = `The scan ended without findings, and closes nothing: ${why}.`;
  report.notes.warn('', 'clean_scan_inconclusive', detail);
  return { ...report, analyses: [{ ...analysis, coverage: 'partial' }] };
}

type Found = Pick<AnalysisDraft, 'tool' | 'coverage'> | { readonly unknown: string };

async function repeatedAnalysis(
  db: Db,
  upload: UploadRow,
  report: Report,
  { asset, branch, category, scanner = '' }: AnalysisDraft,
): Promise<Found> {
  const { tenant_id: tenantId } = upload;
  if (await hasReportOfCommand(db, upload)) {
    return { unknown: 'a report of this command has findings, or could not be read' };
  }
  if (asset === null) return { unknown: 'its command names no asset' };
  const identity = identityOf(report.assets.at(asset));
  const stored = (await assetsByValue(db, tenantId, [identity]))[0];
  const refs = stored === undefined ? [] : await refsByName(db, tenantId, [stored.id], [branch]);
  const known = refs[0] === undefined ? [] : await analysesOnRef(db, tenantId, refs[0].id);
  const ofCategory = known.filter((one) => one.category === category);
  const found = analysisOfScanner(scanner, ofCategory);
  if (found === 'none') {
    return { unknown: 'no report of this scanner is known for its asset, branch and category' };
  }
  if (found === 'several') return { unknown: 'several tools of its asset fit its scanner' };
  if (found === 'other') {
    return {
      unknown:
        'the newest report of the tool that fits was not made for a command with this scanner',
    };
  }
  return found;
}
