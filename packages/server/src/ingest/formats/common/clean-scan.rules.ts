// The result of a scan without findings, as its runner reports it (RP §5.8) → the report that was
// never sent: a SARIF log with an empty list of results. Deployed agents hand in no report for such
// a scan. This file also chooses the analysis that the scan belongs to; where several fit, it
// chooses none.

import { limits } from '@muster/contract/plain';

/** The end of a scan that found nothing. */
export interface CleanScan {
  /**
   * False when the result itself reports a failure; nothing may be concluded from the scan then.
   */
  readonly succeeded: boolean;
  readonly exitCode: number | null;
  readonly endedAt: string | null;
  readonly scannerVersion: string | null;
}

/**
 * The clean scan that a result of `complete` reports; null unless `findings_count` is the number 0.
 */
export function cleanScanOf(result: unknown): CleanScan | null {
  const said = objectOf(result);
  if (said['findings_count'] !== 0) return null;
  const status = said['status'];
  const error = said['error'];
  const exitCode = typeof said['exit_code'] === 'number' ? said['exit_code'] : null;
  const isError = error !== undefined && error !== null && error !== '';
  const hasEnded = status === undefined || status === null || status === 'completed';
  return {
    // A scanner that found nothing ends with a code other than 0 only because it failed.
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

/**
 * The report that the runner could have sent (SARIF 2.1.0 §3.14.23: a run with an empty list found
 * nothing).
 */
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

/** An analysis that an asset already has, on one ref and in one category. */
interface KnownAnalysis {
  readonly tool: string;
  readonly coverage: 'full' | 'partial';
  /** The scanner's name in the command that asked for the newest report; null: no command asked. */
  readonly scanner: string | null;
}

/** Why no analysis can be chosen for the scans of a scanner. */
type NoAnalysis = 'none' | 'several' | 'other';

/**
 * The analysis to which the scans of a scanner belong: the one whose tool has the scanner's name,
 * else the only one whose tool fits (`trivy-fs` and `Trivy`, `semgrep` and `Semgrep OSS`). `none`:
 * no tool fits. `several`: more than one does. `other`: the only fitting analysis was not asked for
 * under this scanner's name, so it may belong to another scanner (`trivy-config`). `scanner` has
 * the form that `familyOf` gives.
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

/** The name in lower case with single blanks: the form in which names are compared. */
export const familyOf = (name: string): string => name.trim().toLowerCase().replace(/\s+/g, ' ');

/**
 * True when the reports of a tool may come from a scanner. Agents name a scanner after its tool and
 * its mode (`trivy-fs`, RP §5.7); tools name themselves `Semgrep OSS`. Two names fit when both
 * begin with the same word and one has all words of the other. `snyk-code` and `Snyk Open Source`
 * are two products: each name has a word that the other lacks.
 */
export function fitsTool(scanner: string, tool: string): boolean {
  const [one, other] = [wordsOf(scanner), wordsOf(tool)];
  if (one.length === 0 || other.length === 0) return false;
  if (one.join('') === other.join('')) return true;
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  return shorter[0] === longer[0] && shorter.every((word) => longer.includes(word));
}

/**
 * The words of a name, in any script. OWASP's projects are named with and without `OWASP`, and
 * scanner names shorten "open source" to `oss`.
 */
function wordsOf(name: string): readonly string[] {
  const words = name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const own = words[0] === 'owasp' && words.length > 1 ? words.slice(1) : words;
  return own.join(' ').replace('open source', 'oss').split(' ').filter(Boolean);
}

/** '' when the name has no word. */
const firstWord = (name: string): string => wordsOf(name)[0] ?? '';
