// The decoders of the Content-Encodings that are understood (contract §2), with their bounds. The caller bounds what
// comes out. Used for request bodies (http/body.ts) and for stored uploads (ingest/document.ts).

import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';
import { limits } from '@muster/contract';

export const ENCODINGS = ['identity', 'gzip', 'zstd', 'deflate', 'br'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** RFC 9659: a window of 2^23 bytes. */
const ZSTD_WINDOW_LOG_MAX = Math.log2(limits.zstdWindowBytesMax);

/** A fresh decoder; null for `identity`, which needs none. */
export function decoderOf(encoding: Encoding): Transform | null {
  switch (encoding) {
    case 'identity':
      return null;
    case 'gzip':
      return createGunzip();
    case 'zstd':
      return createZstdDecompress({
        params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX },
      });
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
  }
}
