// A hash of texts that costs a nanosecond for each character. Not cryptographic: anybody can make
// two texts with the same hash on purpose. For telling apart texts that a real hash has already
// called equal.

/**
 * 64 bits in two numbers of 32: two lanes take the UTF-16 units in the manner of FNV-1a, and
 * Murmur3's finish spreads them.
 */
export function quickHash(texts: readonly string[]): readonly [number, number] {
  let one = 0x811c9dc5;
  let other = 0x9747b28c;
  for (const text of texts) {
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      one = Math.imul(one ^ unit, 0x01000193);
      other = Math.imul(other ^ unit, 0x5bd1e995);
      other ^= other >>> 15;
    }
    // The end of each text counts: "ab" + "c" isn't "a" + "bc".
    one = Math.imul(one ^ text.length ^ 0x10000, 0x01000193);
    other = Math.imul(other ^ text.length ^ 0x10000, 0x5bd1e995);
  }
  return [spread(one), spread(other)];
}

function spread(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
