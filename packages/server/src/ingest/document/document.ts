// The sealed chunks of an upload → its document: unsealed, decompressed within bounds, and read
// piece by piece as often as asked, once for the envelope and then for the items. Only a small
// document is held as a whole. A document that is too large, too deep or not JSON is refused with
// the place of its fault. Called by ingest.ts and reading.ts.

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { limits } from '@muster/contract/plain';
import type { Db } from '../../db/db.ts';
import { assert } from '../../lib/assert.ts';
import { decoderOf, type Encoding } from '../../lib/decompress.ts';
import { JsonCheck, type JsonFault } from '../../lib/json-fault.ts';
import { Problem } from '../../lib/problem.ts';
import { release } from '../../lib/release.ts';
import { parseEnvelope } from './parse.decode.ts';
import { type ItemBounds, ItemCutter, type ItemList, type ScannedItem } from './items.decode.ts';
import { DocumentFault, DocumentScanner } from './scan.decode.ts';
import type { ItemTree } from './shape.rules.ts';
import { unseal } from '../store/seal.format.ts';
import { readChunk, type UploadRow } from '../store/upload.queries.ts';

/**
 * Decoded documents up to this size are kept between passes. Most are, and their later passes read
 * nothing.
 */
const HELD_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Decoded bytes in one piece: few enough to be cheap to keep, and enough that handing them over is
 * cheap.
 */
const PIECE_BYTES = 256 * 1024;

/**
 * The check keeps one number for each open bracket: some megabytes, and twice as many at twice the
 * depth.
 */
const PASSED_DEPTH_MAX = 1_000_000;

/** A document after its first pass: its envelope, and the bounds of its items. */
export interface ScannedDocument {
  readonly envelope: unknown;
  /** Lists by their pointers; a list that never had an item is missing. */
  readonly lists: ReadonlyMap<string, ItemList>;
  readonly bounds: ItemBounds;
  readonly decodedBytes: number;
}

export class DocumentSource {
  readonly #db: Db;
  readonly #upload: UploadRow;
  readonly #sealKey: Buffer;
  readonly #onPiece: () => void | Promise<void>;
  #held: Buffer[] | null = null;
  #isLarge = false;

  /**
   * `onPiece` is called before each piece that is read, in every pass. If it throws, the pass ends.
   */
  constructor(
    db: Db,
    upload: UploadRow,
    sealKey: Buffer,
    onPiece: () => void | Promise<void> = () => {},
  ) {
    this.#db = db;
    this.#upload = upload;
    this.#sealKey = sealKey;
    this.#onPiece = onPiece;
  }

  /**
   * The first pass: the envelope as a value and as bytes of JSON with empty lists of items, and the
   * number of items in each list. Problems: those of `pieces`, and invalid_json. Throws
   * TooManyItems.
   */
  async scan(places: ItemTree): Promise<{ document: ScannedDocument; envelopeBytes: Buffer }> {
    const scanner = new DocumentScanner(places);
    let decodedBytes = 0;
    try {
      for await (const piece of this.#pieces()) {
        decodedBytes += piece.length;
        scanner.push(piece);
      }
      if (decodedBytes === 0) {
        const detail = 'The body is empty; a report was expected.';
        throw new Problem('invalid_json', detail, { pointer: '' });
      }
      const { bytes: envelopeBytes, value: envelope } = parseEnvelope(scanner);
      const { lists, bounds } = scanner;
      return { document: { envelope, lists, bounds, decodedBytes }, envelopeBytes };
    } catch (error) {
      throw await this.locate(error);
    }
  }

  /**
   * A later pass: the items of the wanted lists in the order of the document, one array for each
   * piece.
   */
  async *items(
    { bounds }: ScannedDocument,
    wanted: ReadonlySet<string>,
  ): AsyncGenerator<ScannedItem[], void, undefined> {
    const cutter = new ItemCutter(bounds, wanted);
    for await (const piece of this.#pieces()) yield cutter.push(piece);
  }

  /**
   * Turns a fault into the Problem that tells its line and column; other errors stay as they are.
   */
  async locate(error: unknown): Promise<unknown> {
    if (!(error instanceof DocumentFault)) return error;
    if (error.kind === 'size') {
      return new Problem('body_too_large', `The document can not be read: ${error.message}.`);
    }
    // Items that nest too deep are allowed, so depth is the fault only when nothing else is wrong.
    const fault =
      (await this.#firstFault(PASSED_DEPTH_MAX)) ?? (await this.#firstFault(limits.jsonDepthMax));
    assert(fault !== null, `a document with a fault (${error.message}) is not JSON`);
    return notJson(fault);
  }

  /**
   * Throws the Problem of `locate` unless the whole document is JSON, for documents with items that
   * nobody parses. The scan has judged the depth already: too deep an envelope refuses the
   * document, too deep an item costs only itself.
   */
  async mustBeJson(): Promise<void> {
    const fault = await this.#firstFault(PASSED_DEPTH_MAX);
    if (fault !== null) throw notJson(fault);
  }

  /** A pass that looks at every byte of the document. */
  async #firstFault(depthMax: number): Promise<JsonFault | null> {
    const check = new JsonCheck(depthMax);
    for await (const piece of this.#pieces()) {
      const fault = check.push(piece);
      if (fault !== null) return fault;
    }
    return check.end();
  }

  /**
   * The decoded bytes without a byte order mark. Problems: invalid_encoding, invalid_json,
   * body_too_large.
   */
  async *#pieces(): AsyncGenerator<Buffer, void, undefined> {
    if (this.#held !== null) {
      yield* this.#held;
      return;
    }
    const held: Buffer[] = [];
    let bytes = 0;
    for await (const piece of withoutMark(this.#decoded())) {
      bytes += piece.length;
      await this.#onPiece();
      this.#isLarge ||= bytes > HELD_BYTES_MAX;
      if (this.#isLarge) held.length = 0;
      else held.push(piece);
      yield piece;
      if (this.#isLarge) release(piece, PIECE_BYTES);
    }
    if (!this.#isLarge) this.#held = held;
  }

  /**
   * The ratio compares with the bytes that the sender sent: our own compression of a plain body
   * doesn't count.
   */
  async *#decoded(): AsyncGenerator<Buffer, void, undefined> {
    const { encoding, wire_bytes: wireBytes } = this.#upload;
    let total = 0;
    try {
      for await (const piece of decompressed(encoding, this.#unsealed())) {
        total += piece.length;
        if (total > limits.documentBytesMax) {
          const detail = `The decoded document is larger than ${limits.documentBytesMax} bytes; split the report.`;
          throw new Problem('body_too_large', detail);
        }
        if (
          total > limits.decompressionRatioFloorBytes &&
          total > wireBytes * limits.decompressionRatioMax
        ) {
          const detail = `The body decompresses to more than ${limits.decompressionRatioMax} times its size.`;
          throw new Problem('body_too_large', detail);
        }
        yield piece;
      }
    } catch (error) {
      if (!isZlibError(error)) throw error;
      const detail = `The body is not valid ${encoding}, or did not arrive whole.`;
      throw new Problem('invalid_encoding', detail);
    }
  }

  async *#unsealed(): AsyncGenerator<Buffer> {
    const { tenant_id: tenantId, id: uploadId } = this.#upload;
    for (let seq = 0; ; seq += 1) {
      const sealed = await readChunk(this.#db, tenantId, uploadId, seq);
      if (sealed === undefined) return;
      const plain = unseal(this.#sealKey, { uploadId, seq }, sealed);
      release(sealed, sealed.byteLength);
      yield plain;
    }
  }
}

function notJson({ line, column, detail }: JsonFault): Problem {
  const place = `line ${line}, column ${column}`;
  return new Problem('invalid_json', `The document can not be read at ${place}: ${detail}.`, {
    pointer: '',
  });
}

async function* decompressed(
  encoding: string,
  source: AsyncGenerator<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  const decoder = decoderOf(encoding as Encoding, PIECE_BYTES);
  if (decoder === null) return yield* source;
  let given = 0;
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      given += chunk.length;
      yield chunk;
    }
  }
  // A fault on either side ends the decoder and so this loop; an early end of the loop ends both
  // sides.
  const ended = pipeline(Readable.from(counted()), decoder).catch(() => {});
  for await (const piece of decoder) yield piece as Buffer;
  await ended;
  // Only gunzip complains about bytes behind its end; the other decoders leave them out silently.
  if (decoder.bytesWritten < given) throw trailingGarbage(encoding);
}

const trailingGarbage = (encoding: string): Problem =>
  new Problem('invalid_encoding', `Something stands behind the end of the ${encoding}.`);

/** zlib names its errors Z_… (deflate, gzip), ZSTD_… and ERR__ERROR_… or ERR_BROTLI… (brotli). */
function isZlibError(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^(Z_|ZSTD_|ERR_ZSTD|ERR__ERROR|ERR_BROTLI|ERR_PADDING)/.test(code);
}

const BOM_8 = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * The pieces without the byte order mark of UTF-8, which is tolerated (RFC 8259 §8.1); UTF-16 is
 * refused.
 */
async function* withoutMark(
  pieces: AsyncGenerator<Buffer, void, undefined>,
): AsyncGenerator<Buffer, void, undefined> {
  let head: Buffer | null = Buffer.alloc(0);
  for await (const piece of pieces) {
    if (head === null) {
      yield piece;
      continue;
    }
    head = Buffer.concat([head, piece]);
    if (head.length < BOM_8.length) continue;
    yield unmarked(head);
    head = null;
  }
  if (head !== null && head.length > 0) yield unmarked(head);
}

function unmarked(head: Buffer): Buffer {
  const first = head.length >= 2 ? head.readUInt16BE(0) : 0;
  if (first === 0xfeff || first === 0xfffe) {
    const detail = 'The document is UTF-16; JSON is sent as UTF-8 (RFC 8259 §8.1).';
    throw new Problem('invalid_json', detail, { pointer: '' });
  }
  return head.subarray(0, 3).equals(BOM_8) ? head.subarray(3) : head;
}
