// The format `date-time` of the contract's schemas (RFC 3339 §5.6), limited to times that the
// server can store. A text that looks like a time and isn't one (a leap second, 31 April) is
// refused with the body, instead of becoming NaN later.

const SHAPE = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;

/** Whether the text is a moment that Date.parse knows, on a day that its month has. */
export function isTime(text: string): boolean {
  const match = SHAPE.exec(text);
  if (match === null || !Number.isFinite(Date.parse(text))) return false;
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number];
  // Day zero of a month is the last day of the month before. Date.UTC takes years below 100 as
  // 19xx: so 400 years are added.
  return day <= new Date(Date.UTC(year + 400, month, 0)).getUTCDate();
}
