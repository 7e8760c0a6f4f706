// The format `date-time` of the contract's schemas (RFC 3339 §5.6), held to what the server can store: a text that looks
// like a time and isn't one (a leap second, 31 April) is refused with the body, instead of becoming NaN later.

const SHAPE = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;

/** A moment that Date.parse knows, on a day that its month has. */
export function isTime(text: string): boolean {
  const match = SHAPE.exec(text);
  if (match === null || !Number.isFinite(Date.parse(text))) return false;
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number];
  // The zeroth day of a month is the last of the one before. Years below 100 mean 19xx to Date.UTC: 400 years later.
  return day <= new Date(Date.UTC(year + 400, month, 0)).getUTCDate();
}
