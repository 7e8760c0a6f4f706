// Prints times as the wire has them. Apart from clock.ts, because pure files may print a time but
// not ask for it.

/** RFC 3339 with milliseconds. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();

export const isoTimeOrNull = (ms: number | null): string | null =>
  ms === null ? null : isoTime(ms);
