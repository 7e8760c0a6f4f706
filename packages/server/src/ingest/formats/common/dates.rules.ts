// Times and days as reports write them (RFC 3339) → milliseconds UTC, and back to ISO texts. A time
// without a zone counts as UTC. A text that can't be read becomes null, never a guess. Pure.

import { DAY_MS } from '@muster/contract/plain';
import { stringOf } from '../../json/json.decode.ts';

/** A time of RFC 3339, or a day alone, which then counts as a whole. */
const TIME = /^\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d)?)?$/;

/** The last moment of a time or day, in milliseconds UTC; null when the text can't be read. */
export function endOfTime(written: string): number | null {
  const text = written.trim();
  const isDate = text.length === 10;
  const isZoned = isDate || /(?:[Zz]|[+-]\d\d:\d\d)$/.test(text);
  const time = TIME.test(text) ? Date.parse(isZoned ? text : `${text}Z`) : Number.NaN;
  if (Number.isNaN(time)) return null;
  return isDate ? time + DAY_MS : time;
}

/**
 * A time in milliseconds UTC (SARIF 2.1.0 §3.9, RFC 3339); null when it can't be read. A time
 * without a zone is UTC: the members are named `…Utc`.
 */
export function timeOf(value: unknown): number | null {
  const text = stringOf(value)?.trim() ?? '';
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) || text.length > 64) return null;
  const time = Date.parse(/(?:z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`);
  return Number.isFinite(time) ? time : null;
}

/**
 * The time as an ISO text; null before 1970 and after the year 9999, which RFC 3339 can't write.
 */
export const isoOf = (time: number): string | null =>
  time >= 0 && time < 253_402_300_800_000 ? new Date(time).toISOString() : null;
