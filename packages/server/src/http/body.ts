// Request bodies, bounded while they stream: bytes on the wire, bytes decoded, ratio, and a minimum rate instead of a
// total time limit (contract §2). Uploads are handed on as they arrive; everything else is read whole.

import type { IncomingHttpHeaders } from 'node:http';
import { finished } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';
import type { Readable, Transform } from 'node:stream';
import { limits } from '@muster/contract';
import { jsonFault } from '../lib/json-fault.ts';
import { Problem } from '../lib/problem.ts';

export const ENCODINGS = ['identity', 'gzip', 'zstd', 'deflate', 'br'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** The one Content-Encoding of a request. Problem: unsupported_encoding, with what is understood. */
export function encodingOf(headers: IncomingHttpHeaders): Encoding {
  const text = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  const name = text === '' ? 'identity' : text === 'x-gzip' ? 'gzip' : text;
  const known = ENCODINGS.find((encoding) => encoding === name);
  if (known === undefined) {
    throw new Problem(
      'unsupported_encoding',
      `The Content-Encoding ${text.slice(0, 40)} is not understood.`,
      {
        headers: { 'accept-encoding': 'gzip, zstd, deflate, br' },
      },
    );
  }
  return known;
}

/**
 * The body as it arrives, bounded. Problems: body_too_large, slow_body, incomplete_body. The rate is judged over
 * windows of limits.bodyRateWindowMs.
 */
export async function* boundedBody(
  source: Readable,
  headers: IncomingHttpHeaders,
  wireBytesMax: number,
): AsyncGenerator<Buffer> {
  const declared = Number(headers['content-length'] ?? 0);
  if (declared > wireBytesMax) throw tooLarge(wireBytesMax, 'on the wire');
  let total = 0;
  let inWindow = 0;
  let slow = false;
  let held = false;
  const watch = setInterval(() => {
    const least = (limits.bodyRateBytesPerSecondMin * limits.bodyRateWindowMs) / 1000;
    // While the reader of this body holds a chunk, the sender is not the slow one.
    slow = !held && inWindow < least;
    inWindow = 0;
    if (slow) source.destroy();
  }, limits.bodyRateWindowMs);
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      total += chunk.length;
      inWindow += chunk.length;
      if (total > wireBytesMax) throw tooLarge(wireBytesMax, 'on the wire');
      held = true;
      yield chunk;
      held = false;
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    if (slow) throw new Problem('slow_body');
    if (isAborted(error))
      throw new Problem('incomplete_body', 'The connection ended before the body did.');
    throw error;
  } finally {
    clearInterval(watch);
  }
}

const tooLarge = (max: number, where: string): Problem =>
  new Problem('body_too_large', `The body may have ${max} bytes ${where}.`);

/** What node says of a request whose client went away: ECONNRESET or a premature close. */
function isAborted(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return (
    code === 'ECONNRESET' ||
    code === 'ERR_STREAM_PREMATURE_CLOSE' ||
    code === 'HPE_INVALID_EOF_STATE'
  );
}

/** 2^23 bytes of window, RFC 9659. */
const ZSTD_WINDOW_LOG_MAX = Math.log2(limits.zstdWindowBytesMax);

function decoderOf(encoding: Encoding): Transform | null {
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

/** The whole body, decoded. Problems: those of boundedBody, unsupported_encoding, invalid_encoding. */
export async function readWhole(
  source: Readable,
  headers: IncomingHttpHeaders,
  bytesMax: number,
): Promise<Buffer> {
  const encoding = encodingOf(headers);
  const pieces: Buffer[] = [];
  let wire = 0;
  let total = 0;
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of boundedBody(source, headers, bytesMax)) {
      wire += chunk.length;
      yield chunk;
    }
  }
  const collect = async (decoded: AsyncIterable<Buffer>): Promise<void> => {
    for await (const piece of decoded) {
      total += piece.length;
      if (total > bytesMax) throw tooLarge(bytesMax, 'decoded');
      const judged = total > limits.decompressionRatioFloorBytes;
      if (judged && total > wire * limits.decompressionRatioMax) {
        throw new Problem('body_too_large', 'The body decompresses to many times its size.');
      }
      pieces.push(piece);
    }
  };
  const decoder = decoderOf(encoding);
  if (decoder === null) {
    await collect(counted());
  } else {
    try {
      await pipeline(counted, decoder, collect);
    } catch (error) {
      if (error instanceof Problem) throw error;
      throw new Problem(
        'invalid_encoding',
        `The body is not valid ${encoding}, or did not arrive whole.`,
      );
    }
  }
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
}

/** JSON whatever the Content-Type says; an empty body is `undefined`. Problem: invalid_json. */
export function parseJson(bytes: Buffer): unknown {
  const bom = bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const text = bytes.toString('utf8', bom ? 3 : 0);
  if (text.trim() === '') return undefined;
  const fault = jsonFault(text, limits.jsonDepthMax);
  if (fault !== null) {
    const detail = `line ${fault.line}, column ${fault.column}: ${fault.detail}`;
    throw new Problem('invalid_json', `The body can not be read at ${detail}.`, { pointer: '' });
  }
  const value = JSON.parse(text) as unknown;
  return UNSTORABLE_ESCAPE.test(text) ? storable(value) : value;
}

/** How NUL and surrogates can stand in JSON: raw they are no JSON, or arrive as U+FFFD. */
const UNSTORABLE_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;

/** NUL and lone surrogates become U+FFFD in every text (contract §2): PostgreSQL stores neither. */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\u0000', '\ufffd');
  if (Array.isArray(value)) return value.map(storable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [storable(name) as string, storable(member)]),
  );
}

/** Resolves when the answer was written out whole; false when the client went away before. */
export async function answered(response: NodeJS.WritableStream): Promise<boolean> {
  return await new Promise((resolve) => {
    finished(response, { readable: false }, (error) =>
      resolve(error === null || error === undefined),
    );
  });
}
