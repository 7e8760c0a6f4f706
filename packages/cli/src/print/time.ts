// Times for people: in their own zone, in an order that sorts. Machines get RFC 3339 as the wire
// has it.

const MINUTE = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short' });
const SECOND = new Intl.DateTimeFormat('sv-SE', {
  dateStyle: 'short',
  timeStyle: 'medium',
});
const ZONE = new Intl.DateTimeFormat('en', { timeZoneName: 'short' });

/** `2027-01-31 14:05`, for tables; `-` for none. */
export const minuteOf = (time: string | null): string => format(time, MINUTE);

/** `2027-01-31 14:05:09 GMT+1 (3 minutes ago)`, for a page about one thing. */
export function momentOf(time: string | null, nowMs: number): string {
  const at = time === null ? Number.NaN : Date.parse(time);
  if (Number.isNaN(at)) return format(time, SECOND);
  const zone = ZONE.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  return `${SECOND.format(at)} ${zone} (${distance(at - nowMs)})`;
}

function format(time: string | null, formatter: Intl.DateTimeFormat): string {
  if (time === null) return '-';
  const at = Date.parse(time);
  return Number.isNaN(at) ? time : formatter.format(at);
}

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'always' });
const STEPS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

function distance(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const [unit, length] = STEPS.find(([, each]) => Math.abs(seconds) >= each) ?? STEPS[3];
  return RELATIVE.format(Math.trunc(seconds / length), unit);
}

/** `45s`, `15m`, `2h`, `7d`: the largest unit that loses nothing. */
export function durationText(seconds: number): string {
  for (const [unit, length] of STEPS) {
    if (seconds >= length && seconds % length === 0) return `${seconds / length}${unit[0]}`;
  }
  return `${seconds}s`;
}
