// Chunks are sealed: AES-256-GCM with a random 96-bit nonce, bound to the upload and the chunk's
// place in it. Whoever only has the database can neither read nor swap them. Layout: nonce (12) ‖
// tag (16) ‖ ciphertext.

import { createCipheriv, createDecipheriv } from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

interface ChunkPlace {
  readonly uploadId: string;
  readonly seq: number;
}

const placeBytes = (place: ChunkPlace): Buffer => Buffer.from(`${place.uploadId}/${place.seq}`);

/**
 * `nonce`: 12 fresh random bytes, never used twice with one key (2^32 chunks are the safe bound of
 * random nonces).
 */
export function seal(key: Buffer, place: ChunkPlace, nonce: Buffer, plain: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(placeBytes(place));
  const body = cipher.update(plain);
  cipher.final();
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

/** Throws when the key is another, or the chunk was changed or moved. */
export function unseal(key: Buffer, place: ChunkPlace, sealed: Uint8Array): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES));
  decipher.setAAD(placeBytes(place));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const body = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
  // GCM has nothing left to give here: this only checks the tag.
  decipher.final();
  return body;
}
