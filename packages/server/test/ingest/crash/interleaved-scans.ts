// Overlapping scans of one repository by one tool, made by chance, as SARIF: findings come, go,
// move by a line, are suppressed, change their severity; some are equal except for their line. Made
// for interleaving.ts.

import { present } from '../../../src/lib/assert.ts';
import type { Random } from '../../generate/random.ts';
import { sarif, sarifResult } from '../../http/reports.ts';
import type { Fields } from '../../http/wire.ts';

export const BRANCHES = ['main', 'feature'] as const;
/** The first one is the default branch, whose state is shown. */
export type Branch = (typeof BRANCHES)[number];

export interface Item {
  readonly rule: string;
  readonly line: number;
  readonly severity: 'error' | 'note';
  readonly isSuppressed: boolean;
  readonly fingerprint: string | null;
}

/** The findings of a scan on each branch, in the order of its runs. */
export type Scan = ReadonlyMap<Branch, readonly Item[]>;

/** The rule of all items that only their lines tell apart. Each other rule has one item. */
export const EQUAL = 'equal';

export function scanOf(random: Random, branches: readonly Branch[]): Scan {
  return new Map(random.shuffled(branches).map((branch) => [branch, itemsOf(random)]));
}

/**
 * In batches of limits.ingestBatchItems: most scans take several, and two scans have more or less
 * than half in common.
 */
function itemsOf(random: Random): Item[] {
  const parts = random.shuffled([different(random), equal(random)]);
  const items = parts.flat();
  return random.chance(0.5) ? items : items.reverse();
}

function different(random: Random): Item[] {
  const first = random.below(300);
  const count = 150 + random.below(400);
  const missing = random.pick([0, 1 / 6, 1 / 6]);
  const mild = random.pick([0, 1 / 3, 2 / 3]);
  const suppressed = random.pick([0, 0, 0, 1 / 5]);
  return Array.from({ length: count }, (_, at) => first + at)
    .filter(() => !random.chance(missing))
    .map((number) => ({
      rule: `r${number}`,
      line: 1 + random.below(3),
      severity: random.chance(mild) ? 'note' : 'error',
      isSuppressed: random.chance(suppressed),
      fingerprint: number % 7 === 0 ? `fp-${number}` : null,
    }));
}

function equal(random: Random): Item[] {
  const first = 1 + random.below(40);
  const lines = Array.from({ length: random.below(300) }, (_, at) => {
    const moves = random.chance(1 / 4);
    return first + at + Number(moves);
  });
  return [...new Set(lines)].map((line) => ({
    rule: EQUAL,
    line,
    severity: 'error',
    isSuppressed: false,
    fingerprint: null,
  }));
}

const SUPPRESSED = { suppressions: [{ kind: 'external', status: 'accepted' }] };

const resultOf = ({ rule, line, severity, isSuppressed, fingerprint }: Item): Fields =>
  sarifResult({
    rule,
    path: `${rule}.js`,
    line,
    severity,
    ...(fingerprint === null ? {} : { fingerprint }),
    more: isSuppressed ? SUPPRESSED : {},
  });

/** One log with a run for each branch. */
export function sarifOfScan(scan: Scan, repositoryUri: string): Fields {
  const runs = [...scan].map(([branch, items]) => {
    const versionControlProvenance = [{ repositoryUri, branch }];
    const log = sarif(items.map(resultOf), { versionControlProvenance });
    return present((log['runs'] as Fields[])[0], 'a run');
  });
  return { version: '2.1.0', runs };
}
