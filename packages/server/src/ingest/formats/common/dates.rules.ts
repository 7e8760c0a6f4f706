// Times as reports write them → milliseconds, UTC. What can't be read is null, never a guess. Pure.

import { stringOf } from '../../json/json.decode.ts';

/** RFC 3339, or only its date: then the whole day counts. */
const TIME = /^\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d)?)?$/;

const DAY_MS = 24 * 60 * 60 * 1000;

/** The last moment of a time or day as it is written, in milliseconds; null where that can't be read. */
export function endOfTime(written: string): number | null {
  const text = written.trim();
  const isDate = text.length === 10;
  const isZoned = isDate || /(?:[Zz]|[+-]\d\d:\d\d)$/.test(text);
  const time = TIME.test(text) ? Date.parse(isZoned ? text : `${text}Z`) : Number.NaN;
  if (Number.isNaN(time)) return null;
  return isDate ? time + DAY_MS : time;
}

/** §3.9, RFC 3339; a time without a zone is UTC, as the names of the members say. */
export function timeOf(value: unknown): number | null {
  const text = stringOf(value)?.trim() ?? '';
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) || text.length > 64) return null;
  const time = Date.parse(/(?:z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`);
  return Number.isFinite(time) ? time : null;
}

/** Null outside of the years that a time of RFC 3339 has. */
export const isoOf = (time: number): string | null =>
  time >= 0 && time < 253_402_300_800_000 ? new Date(time).toISOString() : null;
