// Where a key is accepted from: turns CIDR blocks (RFC 4632, RFC 4291 §2.3), as operators write
// them, into a list against which addresses are checked. An IPv4-mapped IPv6 address (RFC 4291
// §2.5.5.2), as a socket for both families shows an IPv4 peer, is the IPv4 address. Blocks are
// checked when a key is made or changed, and addresses at each use of a key that has a list.

import { BlockList, isIP } from 'node:net';
import { Problem } from '../lib/problem.ts';

interface Block {
  readonly address: string;
  readonly family: 'ipv4' | 'ipv6';
  readonly bits: number;
}

const MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;
/** Bits before the IPv4 part of a mapped address. */
const MAPPED_BITS = 96;

/**
 * The address in one spelling: a mapped one as IPv4, without the zone (RFC 4007 §11). Null: it is
 * no address.
 */
function plain(text: string): Pick<Block, 'address' | 'family'> | null {
  const address = text.replace(/%.*$/, '');
  const family = isIP(address);
  if (family === 0) return null;
  if (family === 4) return { address, family: 'ipv4' };
  // The URL standard has one spelling for each IPv6 address.
  const mapped = MAPPED.exec(new URL(`http://[${address}]`).hostname.slice(1, -1));
  if (mapped === null) return { address, family: 'ipv6' };
  const [high, low] = [Number.parseInt(mapped[1] ?? '', 16), Number.parseInt(mapped[2] ?? '', 16)];
  return { address: [high >> 8, high & 255, low >> 8, low & 255].join('.'), family: 'ipv4' };
}

function blockOf(text: string): Block | null {
  const [, address = '', bitsText] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const parsed = plain(address);
  if (parsed === null) return null;
  const isMapped = parsed.family === 'ipv4' && address.includes(':');
  const max = parsed.family === 'ipv4' ? 32 : 128;
  if (bitsText === undefined) return { ...parsed, bits: max };
  const bits = Number(bitsText) - (isMapped ? MAPPED_BITS : 0);
  return bits >= 0 && bits <= max ? { ...parsed, bits } : null;
}

/** Problem: invalid_body, with the place of each entry that is no address and no block. */
export function requireBlocks(entries: readonly string[]): void {
  const faults = entries.flatMap((entry, index) =>
    blockOf(entry) === null
      ? [
          {
            pointer: `/allow_from/${index}`,
            code: 'cidr',
            detail: 'is no address and no CIDR block.',
          },
        ]
      : [],
  );
  if (faults.length > 0) {
    const names = faults.map(({ pointer }) => pointer).join(', ');
    throw new Problem('invalid_body', `No address and no CIDR block: ${names}.`, {
      pointer: faults[0]?.pointer ?? '',
      errors: faults,
    });
  }
}

/** Makes the list. Entries that are not understood open nothing. */
export function allowList(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const block = blockOf(entry);
    if (block !== null) list.addSubnet(block.address, block.bits, block.family);
  }
  return list;
}

/** Whether the peer's address is in the list; a text that is no address is not. */
export function isAllowed(list: BlockList, peer: string): boolean {
  const parsed = plain(peer);
  return parsed !== null && list.check(parsed.address, parsed.family);
}
