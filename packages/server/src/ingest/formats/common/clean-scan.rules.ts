// A scan that ended without findings, as its runner tells it (RP §5.8): deployed agents then hand in no report at all. What
// it says is written as the report that was never sent: a SARIF log with an empty list of results. Called by place-clean-scan.ts.

import { limits } from '@muster/contract/plain';

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
  /** By which scanner's name its newest report was asked for; null: by no command. */
  readonly scanner: string | null;
}

/** Why nothing is known of what a scanner's scans fill. */
export type NoAnalysis = 'none' | 'several' | 'other';

/**
 * The analysis that a scanner's scans fill: the one whose tool has its name, else the only one whose tool fits
 * (`trivy-fs` and `Trivy`, `semgrep` and `Semgrep OSS`). `other`: it
 * may as well be that of another scanner (`trivy-config`), for it was not asked for by this one's name. `several`: nothing
 * tells which. `scanner`: as `familyOf` makes it.
 */
export function analysisOfScanner<T extends KnownAnalysis>(
  scanner: string,
  known: readonly T[],
): T | NoAnalysis {
  const same = known.filter(({ tool }) => tool === scanner);
  const fitting = same.length > 0 ? same : known.filter(({ tool }) => fitsTool(scanner, tool));
  const [only] = fitting;
  if (only === undefined) return 'none';
  if (fitting.length > 1) return 'several';
  const isItsOwn =
    only.scanner === null
      ? only.tool === scanner || scanner === firstWord(scanner)
      : only.scanner === scanner;
  return isItsOwn ? only : 'other';
}

/** Names are compared in lower case, with single blanks. */
export const familyOf = (name: string): string => name.trim().toLowerCase().replace(/\s+/g, ' ');

/**
 * Whether reports of a tool may be those of a scanner. Agents call a scanner by its tool and how it is run (`trivy-fs`, RP
 * §5.7), tools call themselves `Semgrep OSS`: both begin with the same word, and one says nothing that the other contradicts.
 * `snyk-code` and `Snyk Open Source` are two products, so each has a word that the other lacks.
 */
export function fitsTool(scanner: string, tool: string): boolean {
  const [one, other] = [wordsOf(scanner), wordsOf(tool)];
  if (one.length === 0 || other.length === 0) return false;
  if (one.join('') === other.join('')) return true;
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  return shorter[0] === longer[0] && shorter.every((word) => longer.includes(word));
}

/**
 * The words of a name, in whatever script. OWASP's projects are called with its name and without; "open source" is
 * written short in the names of scanners.
 */
function wordsOf(name: string): readonly string[] {
  const words = name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const own = words[0] === 'owasp' && words.length > 1 ? words.slice(1) : words;
  return own.join(' ').replace('open source', 'oss').split(' ').filter(Boolean);
}

/** '' where there is none. */
const firstWord = (name: string): string => wordsOf(name)[0] ?? '';
