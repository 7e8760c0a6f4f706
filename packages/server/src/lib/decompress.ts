// The decoders of the Content-Encodings that are understood (contract §2), with their bounds. The
// caller bounds the decoded bytes. Used for request bodies (http/body.ts) and for stored uploads
// (ingest/document/document.ts).

import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';
import { limits } from '@muster/contract/plain';

export const ENCODINGS = ['identity', 'gzip', 'zstd', 'deflate', 'br'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** RFC 9659: a window of 2^23 bytes. */
const ZSTD_WINDOW_LOG_MAX = Math.log2(limits.zstdWindowBytesMax);

/** zlib's own default: the most that it gives out in one piece. */
const CHUNK_BYTES = 16 * 1024;

/**
 * A fresh decoder that gives out pieces of at most `chunkSize` bytes; null for `identity`, which
 * needs no decoder.
 */
export function decoderOf(
  encoding: Encoding,
  chunkSize = CHUNK_BYTES,
): (Transform & { readonly bytesWritten: number }) | null {
  switch (encoding) {
    case 'identity':
      return null;
    case 'gzip':
      return createGunzip({ chunkSize });
    case 'zstd':
      return createZstdDecompress({
        chunkSize,
        params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX },
      });
    case 'deflate':
      return createInflate({ chunkSize });
    case 'br':
      return createBrotliDecompress({ chunkSize });
  }
}
