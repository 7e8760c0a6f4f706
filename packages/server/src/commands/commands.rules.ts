// Small pure rules of commands: which leases a sign of life extends, how often a command was
// offered to a runner, and how a result or message is cut to size.

import { limits } from '@muster/contract';
import { OFFERS_BEFORE_BEHIND } from './eligibility.rules.ts';

/**
 * The larger of 90 s and three intervals (contract §4): two lost heartbeats must not cost a lease.
 */
export const leaseMs = (intervalMs: number): number => Math.max(limits.leaseMsMin, 3 * intervalMs);

export interface SignOfLife {
  readonly tenantId: string;
  readonly runnerId: string;
  readonly intervalMs: number;
  /** The commands that the runner lists as running; null: the runner lists none. */
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
 * The leases that these signs of life extend, with their new ends. For a runner that lists its
 * running commands: the leases of the listed commands, whatever their deadline. For a runner that
 * doesn't list: all leases that it holds, until their deadline.
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
    // Runners list ids in any spelling, also in upper case.
    const isListed = running?.some((id) => id.toLowerCase() === lease.id);
    if (!(isListed ?? (deadline !== null && deadline > nowMs))) return [];
    const until = nowMs + leaseMs(sign.intervalMs);
    return (lease.lease_until ?? 0) < until ? [{ ...lease, lease_until: until }] : [];
  });
}

/** Whether the command may be claimed at this time. */
export const isDue = (
  {
    scheduled_at: at,
    expires_at: until,
  }: Readonly<Record<'scheduled_at' | 'expires_at', number | null>>,
  nowMs: number,
): boolean => (at === null || at <= nowMs) && (until === null || until > nowMs);

/** Length of a UUID as text. */
const ID_CHARS = 36;

/**
 * Pairs of runner and command that are counted; beyond this number the oldest count is lost. About
 * 20 MB.
 */
const PAIRS_MAX = 100_000;

interface Offered {
  readonly id: string;
  readonly type: string;
}

/**
 * Counts, in memory, how often each command was offered to each runner in an answer from which the
 * runner claimed nothing. A command of a type that a client silently ignores must not fill its
 * polls for ever (RP W-10). Losing the counts costs order only.
 */
export class OfferCounts {
  readonly #counts = new Map<string, number>();
  /**
   * For each runner, the commands that were offered to it so often that the runner counts as
   * ignoring them.
   */
  readonly #ignored = new Map<string, Set<string>>();
  /** For each runner, the last answer, while the runner has claimed nothing from it. */
  readonly #last = new Map<string, readonly Offered[]>();
  #lastSize = 0;

  count(runnerId: string, commandId: string): number {
    return this.#counts.get(commandId + runnerId) ?? 0;
  }

  /**
   * The runner claimed a command. A runner that takes one command at a time doesn't ignore the
   * others in the same answer, and a runner that claims a type doesn't ignore that type.
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

  /** The command no longer waits for this runner. */
  gone(runnerId: string, commandId: string): void {
    this.#set(runnerId, commandId, 0);
  }

  /** The commands that the runner keeps ignoring. */
  ignoredBy(runnerId: string): readonly string[] {
    return [...(this.#ignored.get(runnerId) ?? [])];
  }

  /** Counts one answer to a poll. */
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
    // Deleted first: the order of the map is the order of the last change.
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
 * The result of a command, as JSON: unchanged, or, where it is too large, its beginning. A refusal
 * would make the runner execute the command again: deployed clients drop what is answered 413, and
 * the lease ends.
 */
export function storedResult(text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes <= limits.commandResultBytesMax) return text;
  const start = truncateUtf8(text, limits.commandResultStartBytes);
  return JSON.stringify({ truncated: true, bytes, start });
}

/**
 * The text, cut to at most `bytesMax` bytes of UTF-8 without splitting a character; NUL becomes
 * U+FFFD.
 */
export function truncateUtf8(text: string, bytesMax: number): string {
  const clean = text.toWellFormed().replaceAll('\u0000', '\ufffd');
  const bytes = Buffer.from(clean);
  if (bytes.length <= bytesMax) return clean;
  let end = bytesMax - 3;
  // A byte 0b10xxxxxx continues a character: step back to the byte that begins it.
  while (end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
  return `${bytes.subarray(0, end).toString()}…`;
}
