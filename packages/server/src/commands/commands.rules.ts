// Small rules of commands: the lease, the count of offers, cutting a message.

import { limits } from '@muster/contract';
import { OFFERS_BEFORE_BEHIND } from './eligibility.rules.ts';

/** The larger of 90 s and three intervals (contract §4): two lost heartbeats must not cost a lease. */
export const leaseMs = (intervalMs: number): number => Math.max(limits.leaseMsMin, 3 * intervalMs);

export interface SignOfLife {
  readonly tenantId: string;
  readonly runnerId: string;
  readonly intervalMs: number;
  /** The commands it lists as running; null: it doesn't list. */
  readonly running: readonly string[] | null;
}

interface Lease {
  readonly tenant_id: string;
  readonly id: string;
  readonly holder_id: string | null;
  readonly lease_until: number | null;
  readonly deadline_at: number | null;
}

/**
 * The leases that these signs of life extend, as they are from then on: of what a runner lists, whatever its deadline; of
 * one that doesn't list, all that it holds, until its deadline.
 */
export function renewedLeases<L extends Lease>(
  leases: readonly L[],
  signs: readonly SignOfLife[],
  nowMs: number,
): Omit<L, 'deadline_at'>[] {
  const signOf = new Map(signs.map((sign) => [sign.tenantId + sign.runnerId, sign]));
  return leases.flatMap(({ deadline_at: deadline, ...lease }) => {
    const sign = signOf.get(lease.tenant_id + lease.holder_id);
    if (sign === undefined) return [];
    const { running } = sign;
    // Runners list what they like, in upper case, too.
    const isListed = running?.some((id) => id.toLowerCase() === lease.id);
    if (!(isListed ?? (deadline !== null && deadline > nowMs))) return [];
    const until = nowMs + leaseMs(sign.intervalMs);
    return (lease.lease_until ?? 0) < until ? [{ ...lease, lease_until: until }] : [];
  });
}

/** May it be claimed at this time? */
export const isDue = (
  {
    scheduled_at: at,
    expires_at: until,
  }: Readonly<Record<'scheduled_at' | 'expires_at', number | null>>,
  nowMs: number,
): boolean => (at === null || at <= nowMs) && (until === null || until > nowMs);

/** A UUID as text. */
const ID_CHARS = 36;

/** Pairs of runner and command that are counted; beyond, the oldest count is lost. About 20 MB. */
const PAIRS_MAX = 100_000;

interface Offered {
  readonly id: string;
  readonly type: string;
}

/**
 * How often each command was offered to each runner in an answer of which it claimed nothing, in memory: types that a
 * client silently ignores must not fill its polls for ever (RP W-10). Losing the count costs order only.
 */
export class OfferCounts {
  readonly #counts = new Map<string, number>();
  /** Runner → what was offered to it so often that it is taken at its word: it doesn't want it. */
  readonly #ignored = new Map<string, Set<string>>();
  /** The last answer to each runner, while nothing of it was claimed. */
  readonly #last = new Map<string, readonly Offered[]>();
  #lastSize = 0;

  count(runnerId: string, commandId: string): number {
    return this.#counts.get(commandId + runnerId) ?? 0;
  }

  /**
   * It did claim one: who takes one thing at a time doesn't ignore what came with it, and a type that it claims is none
   * that it ignores.
   */
  taken(runnerId: string, commandId: string): void {
    const last = this.#last.get(runnerId) ?? [];
    const claimed = last.find(({ id }) => id === commandId);
    if (claimed !== undefined) {
      for (const { id, type } of last) {
        this.#set(runnerId, id, type === claimed.type ? 0 : this.count(runnerId, id) - 1);
      }
      this.#forgetLast(runnerId);
    }
    this.gone(runnerId, commandId);
  }

  /** Nobody waits for this runner to take it any more. */
  gone(runnerId: string, commandId: string): void {
    this.#set(runnerId, commandId, 0);
  }

  /** What it keeps ignoring. */
  ignoredBy(runnerId: string): readonly string[] {
    return [...(this.#ignored.get(runnerId) ?? [])];
  }

  /** One answer. */
  offered(runnerId: string, commands: readonly Offered[]): void {
    for (const { id } of commands) this.#set(runnerId, id, this.count(runnerId, id) + 1);
    for (const key of this.#counts.keys()) {
      if (this.#counts.size <= PAIRS_MAX) break;
      this.gone(key.slice(ID_CHARS), key.slice(0, ID_CHARS));
    }
    this.#forgetLast(runnerId);
    this.#last.set(runnerId, commands);
    this.#lastSize += commands.length;
    for (const oldest of this.#last.keys()) {
      if (this.#lastSize <= PAIRS_MAX) break;
      this.#forgetLast(oldest);
    }
  }

  #set(runnerId: string, commandId: string, count: number): void {
    const key = commandId + runnerId;
    // Deleted first: the map's order is that of the last change.
    this.#counts.delete(key);
    if (count > 0) this.#counts.set(key, count);
    const ignored = this.#ignored.get(runnerId) ?? new Set();
    if (count >= OFFERS_BEFORE_BEHIND) this.#ignored.set(runnerId, ignored.add(commandId));
    else if (ignored.delete(commandId) && ignored.size === 0) this.#ignored.delete(runnerId);
  }

  #forgetLast(runnerId: string): void {
    this.#lastSize -= this.#last.get(runnerId)?.length ?? 0;
    this.#last.delete(runnerId);
  }
}

/**
 * The result of a command, as JSON: as it came, or, where it is too large, how it begins. A refusal would have it run again:
 * deployed clients drop what is answered 413, and the lease ends.
 */
export function storedResult(text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes <= limits.commandResultBytesMax) return text;
  const start = truncateUtf8(text, limits.commandResultStartBytes);
  return JSON.stringify({ truncated: true, bytes, start });
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
