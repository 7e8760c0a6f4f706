// A scan that ended without findings, as its runner tells it (RP §5.8): deployed agents then hand in no report at all. What
// it says is written as the report that was never sent: a SARIF log with an empty list of results. Called by clean-scans.ts.

import { limits } from '@muster/contract';

/** The end of a scan that found nothing. */
export interface CleanScan {
  /** False when the result itself says that something went wrong: then nothing may be concluded from it. */
  readonly succeeded: boolean;
  readonly exitCode: number | null;
  readonly endedAt: string | null;
  readonly scannerVersion: string | null;
}

/** What a result of `complete` says, if it says that nothing was found: the number 0, nothing else. */
export function cleanScanOf(result: unknown): CleanScan | null {
  const said = objectOf(result);
  if (said['findings_count'] !== 0) return null;
  const status = said['status'];
  const error = said['error'];
  const exitCode = typeof said['exit_code'] === 'number' ? said['exit_code'] : null;
  const isError = error !== undefined && error !== null && error !== '';
  const hasEnded = status === undefined || status === null || status === 'completed';
  return {
    // A scanner that found nothing has no other reason to end with anything but 0 than that it failed.
    succeeded: hasEnded && !isError && (exitCode === null || exitCode === 0),
    exitCode: Number.isSafeInteger(exitCode) ? exitCode : null,
    endedAt: textOf(said['completed_at']),
    scannerVersion: textOf(objectOf(said['metadata'])['scanner_version']),
  };
}

const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && value.length <= limits.nameCharsMax ? value : null;

/** The report that the runner could have sent (SARIF 2.1.0 §3.14.23: an empty list is a run that found nothing). */
export function emptyLog(scanner: string, clean: CleanScan): string {
  const { succeeded, exitCode, endedAt, scannerVersion } = clean;
  const driver = { name: scanner, ...(scannerVersion === null ? {} : { version: scannerVersion }) };
  const invocation = {
    executionSuccessful: succeeded,
    ...(exitCode === null ? {} : { exitCode }),
    ...(endedAt === null ? {} : { endTimeUtc: endedAt }),
  };
  const run = { tool: { driver }, invocations: [invocation], results: [] };
  return JSON.stringify({ version: '2.1.0', runs: [run] });
}

/** An analysis that is known of an asset, on one ref and in one category. */
export interface KnownAnalysis {
  readonly tool: string;
  readonly coverage: 'full' | 'partial';
}

/**
 * The analysis that a scanner's scans make: the one whose tool has its name, else the only one whose tool fits by the first
 * word (`trivy-fs` and `trivy`). `several`: nothing tells which.
 */
export function analysisOfScanner(
  scanner: string,
  known: readonly KnownAnalysis[],
): KnownAnalysis | 'none' | 'several' {
  const name = scanner.trim().toLowerCase().replace(/\s+/g, ' ');
  const same = known.find(({ tool }) => tool === name);
  if (same !== undefined) return same;
  const fitting = known.filter(({ tool }) => firstWord(tool) === firstWord(name));
  return fitting.length > 1 ? 'several' : (fitting[0] ?? 'none');
}

/** Agents call a scanner by its tool and how it is run (`trivy-fs`, RP §5.7), tools call themselves `Semgrep OSS`. */
export const firstWord = (name: string): string => /[a-z0-9]+/.exec(name.toLowerCase())?.[0] ?? '';
