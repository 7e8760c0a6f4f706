// From sealed chunks back to a JSON value: unsealed, decompressed within bounds, decoded, parsed. The present reader
// holds the whole document (limits.documentBytesMax); what is too large, not JSON or too deep is refused with its place.

import { pipeline } from 'node:stream/promises';
import { limits } from '@muster/contract';
import type { Db } from '../db/db.ts';
import { decoderOf, type Encoding } from '../lib/decompress.ts';
import { type JsonFault, jsonFault, nestsDeeper } from '../lib/json-fault.ts';
import { Problem } from '../lib/problem.ts';
import { unseal } from './seal.format.ts';
import { readChunk, type UploadRow } from './upload.queries.ts';

export interface Document {
  readonly value: unknown;
  readonly decodedBytes: number;
}

/** Problems: invalid_encoding, body_too_large, invalid_json. */
export async function readDocument(db: Db, upload: UploadRow, sealKey: Buffer): Promise<Document> {
  const bytes = await decode(upload.encoding, unsealed(db, upload, sealKey), upload.wire_bytes);
  return { value: parseDocument(bytes), decodedBytes: bytes.length };
}

async function* unsealed(db: Db, upload: UploadRow, key: Buffer): AsyncGenerator<Buffer> {
  for (let seq = 0; ; seq += 1) {
    const sealed = await readChunk(db, upload.tenant_id, upload.id, seq);
    if (sealed === undefined) return;
    yield unseal(key, { uploadId: upload.id, seq }, sealed);
  }
}

/**
 * The decoded bytes. The ratio is judged against what the sender sent, so that our own compression of a plain body
 * is never held against it.
 */
async function decode(
  encoding: string,
  source: AsyncGenerator<Buffer>,
  wireBytes: number,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let total = 0;
  const collect = async (decoded: AsyncIterable<Buffer>): Promise<void> => {
    for await (const piece of decoded) {
      total += piece.length;
      if (total > limits.documentBytesMax) {
        throw new Problem(
          'body_too_large',
          `The decoded document is larger than the ${limits.documentBytesMax} bytes that can be read; split the report.`,
        );
      }
      const bomb =
        total > limits.decompressionRatioFloorBytes &&
        total > wireBytes * limits.decompressionRatioMax;
      if (bomb) {
        throw new Problem(
          'body_too_large',
          `The body decompresses to more than ${limits.decompressionRatioMax} times its size.`,
        );
      }
      pieces.push(piece);
    }
  };
  const decoder = decoderOf(encoding as Encoding);
  if (decoder === null) {
    await collect(source);
  } else {
    try {
      await pipeline(source, decoder, collect);
    } catch (error) {
      throw isZlibError(error)
        ? new Problem(
            'invalid_encoding',
            `The body is not valid ${encoding}, or did not arrive whole.`,
          )
        : error;
    }
  }
  return Buffer.concat(pieces);
}

/** zlib names its errors Z_… (deflate, gzip), ZSTD_… and ERR__ERROR_… or ERR_BROTLI… (brotli). */
function isZlibError(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^(Z_|ZSTD_|ERR_ZSTD|ERR__ERROR|ERR_BROTLI|ERR_PADDING)/.test(code);
}

const BOM_8 = Buffer.from([0xef, 0xbb, 0xbf]);

function parseDocument(bytes: Buffer): unknown {
  const marked = bytes.subarray(0, 3).equals(BOM_8);
  const first = bytes.length >= 2 ? bytes.readUInt16BE(0) : 0;
  if (first === 0xfeff || first === 0xfffe) {
    throw new Problem(
      'invalid_json',
      'The document is UTF-16; JSON is sent as UTF-8 (RFC 8259 §8.1).',
      {
        pointer: '',
      },
    );
  }
  if (bytes.length === (marked ? 3 : 0)) {
    throw new Problem('invalid_json', 'The body is empty; a report was expected.', { pointer: '' });
  }
  // Invalid UTF-8 becomes U+FFFD, which readers count among the replaced characters.
  const text = bytes.toString('utf8', marked ? 3 : 0);
  if (nestsDeeper(bytes, limits.jsonDepthMax)) throw notJson(jsonFault(text, limits.jsonDepthMax));
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The engine's own message may quote the document; ours says only where and what was expected.
    throw notJson(jsonFault(text, limits.jsonDepthMax));
  }
}

function notJson(fault: JsonFault | null): Problem {
  const place =
    fault === null ? '' : ` at line ${fault.line}, column ${fault.column}: ${fault.detail}`;
  return new Problem('invalid_json', `The document can not be read${place}.`, { pointer: '' });
}
