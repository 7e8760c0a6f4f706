// A receipt for people: every outcome is printed, because together they are the promise that
// nothing got lost. Pure.

import { FINDING_OUTCOMES, type FindingOutcome, type Receipt } from '@muster/contract';
import type { Printer, Style } from '../print/printer.ts';
import { plain } from '../print/text.ts';

const NAMES: Readonly<Record<FindingOutcome, string>> = {
  created: 'created',
  changed: 'changed',
  unchanged: 'unchanged',
  reopened: 'reopened',
  duplicate: 'duplicate',
  not_problem: 'not a problem',
  rejected: 'rejected',
};
const STYLES: Partial<Record<FindingOutcome, Style>> = {
  created: 'yellow',
  reopened: 'yellow',
  rejected: 'red',
};

const REJECTIONS_SHOWN = 5;

/** The counts, then the first rejections. `rejectionsMax`: the number of rejections shown. */
export function receiptText(
  print: Printer,
  receipt: Receipt,
  rejectionsMax = REJECTIONS_SHOWN,
): string {
  const { findings } = receipt;
  const rows: [name: string, count: number, style: Style | undefined][] = [
    ['findings', findings.received, 'bold'],
    ...FINDING_OUTCOMES.map((outcome): [string, number, Style | undefined] => [
      `  ${NAMES[outcome]}`,
      findings[outcome],
      STYLES[outcome],
    ]),
    ['resolved', receipt.resolved, 'green'],
  ];
  const more: [string, number][] = [
    ['suppressed', receipt.suppressed],
    ['held back', receipt.held],
    ['assets', receipt.assets.received],
    ['dependencies', receipt.dependencies.received],
    ['warnings', receipt.warnings_total],
  ];
  for (const [name, count] of more) if (count > 0) rows.push([name, count, undefined]);
  const counts = rows.map(([, count]) => count.toLocaleString('en'));
  const room = Math.max(...counts.map((count) => count.length));
  const lines = rows.map(([name, count, style], at) => {
    const text = `  ${name.padEnd(16)}${(counts[at] ?? '').padStart(room)}`;
    const shown = count === 0 ? 'dim' : style;
    return shown === undefined ? text : print.style(shown, text);
  });
  return [...lines, ...rejections(print, receipt, rejectionsMax)].join('\n').concat('\n');
}

function rejections(print: Printer, receipt: Receipt, most: number): string[] {
  const total = Object.values(receipt.rejections_by_code).reduce((sum, count) => sum + count, 0);
  if (receipt.rejections.length === 0) return [];
  const shown = receipt.rejections.slice(0, most).map(({ pointer, code, detail }) => {
    const place = pointer === '' ? 'the document' : plain(pointer);
    return `  ${print.style('red', place)}  ${plain(detail)} (${plain(code)})`;
  });
  const left = total - shown.length;
  if (left > 0) {
    shown.push(`  and ${left.toLocaleString('en')} more: muster uploads show ${receipt.upload_id}`);
  }
  return ['Rejected:', ...shown];
}
