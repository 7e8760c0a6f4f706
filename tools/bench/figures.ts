// Turns repeated measurements into the printed table: medians with their range, ratios taken within
// one run, a verdict against aim and floor. Pure; every row uses it, and bench.ts prints.

/** One measured quantity: a value for every repetition. */
export interface Series {
  readonly name: string;
  readonly unit: string;
  readonly values: readonly number[];
}

export type Verdict = 'aim met' | 'floor met' | 'MISSED';

/** One line of the table. */
export interface Row {
  readonly id: string;
  readonly what: string;
  readonly series: readonly Series[];
  /** The series to which aim and floor apply. */
  readonly judged: Series;
  readonly rule: string;
  readonly verdict: Verdict;
  readonly notes: readonly string[];
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  const lower = sorted[Math.ceil(middle) - 1] ?? Number.NaN;
  return (upper + lower) / 2;
}

/** The value that `fraction` of all values do not exceed (nearest rank). */
export function percentile(values: ArrayLike<number>, fraction: number): number {
  const sorted = Array.from(values).sort((a, b) => a - b);
  const rank = Math.max(1, Math.ceil(fraction * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}

/**
 * `ours / theirs`, repetition by repetition: both were measured next to each other, so noise hits
 * both.
 */
export function ratios(name: string, ours: Series, theirs: Series): Series {
  const values = ours.values.map((value, at) => value / (theirs.values[at] ?? Number.NaN));
  return { name, unit: '×', values };
}

/** Judges a median that should be large. */
export function atLeast(value: number, aim: number, floor: number): Verdict {
  if (value >= aim) return 'aim met';
  return value >= floor ? 'floor met' : 'MISSED';
}

/** `median (least–most) unit`, with as many digits as the size of the number deserves. */
export function show({ values, unit }: Series): string {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const range = values.length > 1 ? ` (${digits(least)}–${digits(most)})` : '';
  return `${digits(median(values))}${range} ${unit}`;
}

function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en').replaceAll(',', ' ');
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

/** The table for people. */
export function printTable(rows: readonly Row[]): string {
  const lines: string[] = [];
  for (const row of rows) {
    lines.push('', `${row.id}  ${row.what}`);
    const all = [...row.series, row.judged];
    const width = Math.max(...all.map(({ name }) => name.length));
    for (const series of row.series) lines.push(`   ${series.name.padEnd(width)}  ${show(series)}`);
    lines.push(
      ` → ${row.judged.name.padEnd(width)}  ${show(row.judged)}   ${row.rule}: ${row.verdict}`,
    );
    for (const note of row.notes) lines.push(`     ${note}`);
  }
  return lines.join('\n');
}
