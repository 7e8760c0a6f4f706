// Request bodies, bounded while they stream: bytes on the wire, bytes decoded, ratio, and a minimum
// rate instead of a total time limit (contract §2). Uploads are handed on as they arrive;
// everything else is read whole.

import type { IncomingHttpHeaders } from 'node:http';
import { finished, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { limits } from '@muster/contract';
import { decoderOf, type Encoding, ENCODINGS } from '../lib/decompress.ts';
import { jsonFault, nestsDeeper } from '../lib/json-fault.ts';
import { Problem } from '../lib/problem.ts';
import { connectionEnded, earlyFault, endArrival, startArrival } from './arrival.ts';
import { digestCheckOf } from './digest.ts';

/**
 * The one Content-Encoding of a request. Problem: unsupported_encoding, with the encodings that are
 * understood.
 */
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
 * The body as it arrives, bounded. Problems: body_too_large, slow_body, incomplete_body. The rate
 * is judged over windows of limits.bodyRateWindowMs. The connection stays open, so that the caller
 * can be answered.
 */
export async function* boundedBody(
  source: Readable,
  headers: IncomingHttpHeaders,
  wireBytesMax: number,
): AsyncGenerator<Buffer> {
  refuseDeclared(headers, wireBytesMax);
  let total = 0;
  let failure: unknown = earlyFault(source);
  let wake = (): void => undefined;
  const ring = (): void => wake();
  const fail = (error: unknown): void => {
    failure ??= error;
    wake();
  };
  const arrival = startArrival(source, fail);
  const stop = listen(source, fail);
  source.on('readable', ring).on('end', ring);
  try {
    while (true) {
      if (failure !== null) throw failure;
      const chunk = source.read() as Buffer | null;
      if (chunk !== null) {
        total += chunk.length;
        arrival.bytes += chunk.length;
        if (total > wireBytesMax) throw tooLarge(wireBytesMax, 'on the wire');
        arrival.held = true;
        yield chunk;
        arrival.held = false;
      } else if (source.readableEnded) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    stop();
    source.off('readable', ring).off('end', ring);
  }
}

/**
 * Calls `fail` when the stream breaks or closes before its end. Returns the function that ends the
 * watch.
 */
function listen(source: Readable, fail: (error: unknown) => void): () => void {
  const onError = (error: unknown): void => fail(isAborted(error) ? connectionEnded() : error);
  const onClose = (): void => (source.readableEnded ? undefined : fail(connectionEnded()));
  source.on('error', onError).on('close', onClose);
  return () => {
    endArrival(source);
    source.off('error', onError).off('close', onClose);
  };
}

/**
 * Reads a small body with a declared length, which the parser itself enforces: no generator, no
 * stream machinery.
 */
async function readSmall(source: Readable & { readonly complete?: boolean }): Promise<Buffer> {
  const early = earlyFault(source);
  if (early !== null) throw early;
  // A body that came with its headers, in one segment, is there by now: there is nothing to wait
  // for or to watch.
  if (source.complete === true) return (source.read() as Buffer | null) ?? EMPTY;
  return await new Promise<Buffer>((resolve, reject) => {
    const pieces: Buffer[] = [];
    const finish = (): void => {
      stop();
      source.off('data', onData).off('end', onEnd);
    };
    const fail = (error: unknown): void => {
      finish();
      source.pause();
      reject(error as Error);
    };
    const onData = (piece: Buffer): void => {
      arrival.bytes += piece.length;
      pieces.push(piece);
    };
    const onEnd = (): void => {
      finish();
      resolve(joined(pieces));
    };
    const arrival = startArrival(source, fail);
    const stop = listen(source, fail);
    source.on('end', onEnd).on('data', onData);
  });
}

const EMPTY = Buffer.alloc(0);

const joined = (pieces: readonly Buffer[]): Buffer =>
  pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);

/**
 * Bodies up to this length are collected in one buffer. Heartbeats have about 1 KiB; a buffer of
 * this size costs nothing.
 */
const SMALL_BYTES_MAX = 64 * 1024;

/**
 * Whether the length is known, and small. Without a length and without chunks there is no body at
 * all (RFC 9112 §6.3).
 */
function isSmall(headers: IncomingHttpHeaders): boolean {
  if (headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= SMALL_BYTES_MAX;
}

function refuseDeclared(headers: IncomingHttpHeaders, max: number): void {
  if (Number(headers['content-length'] ?? 0) > max) throw tooLarge(max, 'on the wire');
}

const tooLarge = (max: number, where: string): Problem =>
  new Problem('body_too_large', `The body may have ${max} bytes ${where}.`);

/**
 * Whether the error is node's report of a client that went away: ECONNRESET or a premature close.
 */
function isAborted(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return (
    code === 'ECONNRESET' ||
    code === 'ERR_STREAM_PREMATURE_CLOSE' ||
    code === 'HPE_INVALID_EOF_STATE'
  );
}

/**
 * The whole body, decoded, its Content-Digest verified. Problems: those of boundedBody,
 * unsupported_encoding, invalid_encoding, invalid_digest, digest_mismatch.
 */
export async function readWhole(
  source: Readable,
  headers: IncomingHttpHeaders,
  bytesMax: number,
): Promise<Buffer> {
  const encoding = encodingOf(headers);
  const check = digestCheckOf(headers);
  refuseDeclared(headers, bytesMax);
  if (encoding === 'identity' && isSmall(headers)) {
    const bytes = await readSmall(source);
    check?.update(bytes);
    check?.verify();
    return bytes;
  }
  let wire = 0;
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of boundedBody(source, headers, bytesMax)) {
      wire += chunk.length;
      check?.update(chunk);
      yield chunk;
    }
    check?.verify();
  }
  const pieces: Buffer[] = [];
  let total = 0;
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
  await decoded(encoding, counted, collect);
  return joined(pieces);
}

async function decoded(
  encoding: Encoding,
  wire: () => AsyncGenerator<Buffer>,
  collect: (source: AsyncIterable<Buffer>) => Promise<void>,
): Promise<void> {
  const decoder = decoderOf(encoding);
  if (decoder === null) return await collect(wire());
  try {
    let given = 0;
    const counted = async function* (): AsyncGenerator<Buffer> {
      for await (const chunk of wire()) {
        given += chunk.length;
        yield chunk;
      }
    };
    await pipeline(counted, decoder, collect);
    // Only gunzip complains about bytes behind its end; the other decoders ignore them silently.
    if (decoder.bytesWritten < given) {
      throw new Problem('invalid_encoding', `Something stands behind the end of the ${encoding}.`);
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(
      'invalid_encoding',
      `The body is not valid ${encoding}, or did not arrive whole.`,
    );
  }
}

/**
 * Parses JSON, whatever the Content-Type says. An empty body gives `undefined`, and so does a body
 * that is no JSON when `malformed` is `ignored`. Problem: invalid_json.
 */
export function parseJson(bytes: Buffer, malformed: 'refused' | 'ignored' = 'refused'): unknown {
  if (bytes.length === 0) return undefined;
  const bom = bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const text = bytes.toString('utf8', bom ? 3 : 0);
  try {
    // The depth is checked first: a document that nests millions deep must not be built, because
    // its readers recurse.
    if (!nestsDeeper(bytes, limits.jsonDepthMax)) {
      const value = JSON.parse(text) as unknown;
      return UNSTORABLE_ESCAPE.test(text) ? storable(value) : value;
    }
  } catch {
    // The engine's own message may quote the document; jsonFault says only where the fault is and
    // what was expected.
    if (text.trim() === '') return undefined;
  }
  const fault = jsonFault(bom ? bytes.subarray(3) : bytes, limits.jsonDepthMax);
  if (malformed === 'ignored' && fault?.kind !== 'depth') return undefined;
  const place =
    fault === null ? '' : ` at line ${fault.line}, column ${fault.column}: ${fault.detail}`;
  throw new Problem('invalid_json', `The body can not be read${place}.`, { pointer: '' });
}

/**
 * The escapes of NUL and surrogates in JSON. Raw NUL is no JSON, and raw surrogates arrive as
 * U+FFFD.
 */
const UNSTORABLE_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;

/**
 * Replaces NUL and lone surrogates by U+FFFD in every text (contract §2): PostgreSQL stores
 * neither.
 */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\u0000', '\ufffd');
  if (Array.isArray(value)) return value.map(storable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [storable(name) as string, storable(member)]),
  );
}

/**
 * Resolves to true when the whole answer was written, to false when the client went away before.
 */
export async function answered(response: NodeJS.WritableStream): Promise<boolean> {
  return await new Promise((resolve) => {
    finished(response, { readable: false }, (error) =>
      resolve(error === null || error === undefined),
    );
  });
}
