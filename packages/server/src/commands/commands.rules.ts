// Small rules of commands: the lease, the count of offers, cutting a message.

import { limits } from '@muster/contract';

/** The larger of 90 s and three intervals (contract §4): two lost heartbeats must not cost a lease. */
export const leaseMs = (intervalMs: number): number => Math.max(limits.leaseMsMin, 3 * intervalMs);

/** May it be claimed at this time? */
export const isDue = (
  {
    scheduled_at: at,
    expires_at: until,
  }: Readonly<Record<'scheduled_at' | 'expires_at', number | null>>,
  nowMs: number,
): boolean => (at === null || at <= nowMs) && (until === null || until > nowMs);

/** Pairs of runner and command that are counted; beyond, the oldest count is lost. About 20 MB. */
const PAIRS_MAX = 100_000;

/**
 * How often each command was offered to each runner without being claimed, in memory: types that a client silently
 * ignores must not fill its polls for ever (RP W-10). Losing the count costs order only.
 */
export class OfferCounts {
  readonly #counts = new Map<string, number>();

  count(runnerId: string, commandId: string): number {
    return this.#counts.get(`${commandId}${runnerId}`) ?? 0;
  }

  /** It did claim it: what it is offered again later is new to it. */
  taken(runnerId: string, commandId: string): void {
    this.#counts.delete(`${commandId}${runnerId}`);
  }

  offered(runnerId: string, commandId: string): void {
    const key = `${commandId}${runnerId}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.delete(key);
    this.#counts.set(key, count);
    if (this.#counts.size > PAIRS_MAX) {
      const oldest = this.#counts.keys().next().value;
      if (oldest !== undefined) this.#counts.delete(oldest);
    }
  }
}

/** The text, cut to at most `bytesMax` bytes of UTF-8 without splitting a character; NUL becomes U+FFFD. */
export function truncateUtf8(text: string, bytesMax: number): string {
  const clean = text.toWellFormed().replaceAll('\u0000', '\ufffd');
  const bytes = Buffer.from(clean);
  if (bytes.length <= bytesMax) return clean;
  let end = bytesMax - 3;
  // 0b10xxxxxx continues a character: step back to where one begins.
  while (end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
  return `${bytes.subarray(0, end).toString()}…`;
}
