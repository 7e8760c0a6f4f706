// Prints numbers, sizes, times and words of the wire as people read them. Pure: the present time is
// an argument.

const ABSOLUTE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const NUMBER = new Intl.NumberFormat();

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/** In the reader's time zone and language. */
export const timeText = (iso: string): string => ABSOLUTE.format(new Date(iso));

/** "12 sec. ago"; a time that is still to come, by a clock that differs, counts as now. */
export function agoText(iso: string, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(iso)) / 1000));
  if (seconds < MINUTE_S) return RELATIVE.format(-seconds, 'second');
  if (seconds < HOUR_S) return RELATIVE.format(-Math.floor(seconds / MINUTE_S), 'minute');
  if (seconds < DAY_S) return RELATIVE.format(-Math.floor(seconds / HOUR_S), 'hour');
  return RELATIVE.format(-Math.floor(seconds / DAY_S), 'day');
}

export const numberText = (value: number): string => NUMBER.format(value);

/** "1 finding", "1,204 findings". */
export const countText = (count: number, one: string, many = `${one}s`): string =>
  `${numberText(count)} ${count === 1 ? one : many}`;

/** "340 ms", "12.5 s", "3 min 5 s", "2 h 10 min". */
export function durationText(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < MINUTE_S) return `${Math.round(ms / 100) / 10} s`;
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)} min ${seconds % MINUTE_S} s`;
  const minutes = Math.floor((seconds % HOUR_S) / MINUTE_S);
  return `${numberText(Math.floor(seconds / HOUR_S))} h ${minutes} min`;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB'] as const;

export function bytesText(bytes: number): string {
  let value = bytes;
  let index = 0;
  while (value >= 1024 && index < UNITS.length - 1) {
    value /= 1024;
    index += 1;
  }
  return `${index === 0 ? value : value.toFixed(1)} ${UNITS[index]}`;
}

/** `false_positive` → "false positive". */
export const words = (name: string): string => name.replaceAll('_', ' ');

/** "False positive": for the beginning of a line. */
export function sentence(name: string): string {
  const text = words(name);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The end of a UUIDv7, where it differs most. */
export const shortId = (id: string): string => `…${id.slice(-8)}`;

export const jsonText = (value: unknown): string => JSON.stringify(value, null, 2) ?? '';

/** `src/a.ts:12`, or null where the finding isn't in a file. */
export function placeText(path: string | null | undefined, line: number | null | undefined) {
  if (path === null || path === undefined || path === '') return null;
  return line === null || line === undefined ? path : `${path}:${line}`;
}
