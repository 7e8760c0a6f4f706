// A clean scan ended without findings and without a report. Its upload has an empty list, and gets
// here the analysis that it repeats: the tool under its stored name, and how much it covers. A scan
// whose analysis can't be known closes nothing.

import type { Db } from '../../db/db.ts';
import { identityOf } from '../report/asset-names.rules.ts';
import { analysisOfScanner } from '../formats/common/clean-scan.rules.ts';
import type { AnalysisDraft, Report, UploadContext } from '../report/report.rules.ts';
import { analysesOnRef, assetsByValue, refsByName } from '../store/inventory.queries.ts';
import { ScopeBusy } from '../lease/lease.ts';
import type { UploadRow } from '../store/upload.queries.ts';
import { hasEarlierWaiting, hasReportOfCommand } from '../store/upload-work.queries.ts';

const contextOf = (upload: UploadRow): UploadContext => JSON.parse(upload.context) as UploadContext;

/**
 * The report of a clean scan, with the tool and the coverage of the analysis that it repeats. If
 * that analysis can't be known the report covers nothing, so that it closes nothing, and a warning
 * says why. Other reports are returned unchanged. Throws ScopeBusy while an earlier upload of the
 * runner waits: that one may be the report of this scan.
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
  report.warnings.warn('', 'clean_scan_inconclusive', detail);
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
