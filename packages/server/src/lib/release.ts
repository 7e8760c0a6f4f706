// Memory of byte strings given back at once. V8 counts buffers that nobody holds any more as heap until its collector comes
// by, and comes by for every few of them: of a large body that was a third of what receiving it cost.

/**
 * Frees the buffer that `bytes` are the last part of, if that is one of `ownBytes` bytes, so that no pool is freed that others
 * have bytes in. Whoever reads `bytes` afterwards finds none.
 */
export function release({ buffer, byteOffset, byteLength }: Uint8Array, ownBytes: number): void {
  const isLast = byteOffset + byteLength === buffer.byteLength;
  if (isLast && buffer.byteLength === ownBytes) (buffer as ArrayBuffer).transfer(0);
}
