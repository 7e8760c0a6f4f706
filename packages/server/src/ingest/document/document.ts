// From sealed chunks back to a document: unsealed, decompressed within bounds, and read piece by piece, as often as
// asked: once for its envelope, then for its items. Never held as a whole, but for small ones. What is too large, not JSON
// or too deep is refused with its place. Called by the ingest story.

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

/** Decoded documents up to this are kept between passes: most are, and the passes then cost no further reads. */
const HELD_BYTES_MAX = 16 * 1024 * 1024;

/** Decoded bytes that come in one piece: few enough to be cheap to keep, many enough that their handing over is. */
const PIECE_BYTES = 256 * 1024;

/** The check keeps one number for each open bracket: some megabytes, at twice the depth twice as many. */
const PASSED_DEPTH_MAX = 1_000_000;

/** A document that was read once: its envelope, and where its items are. */
export interface ScannedDocument {
  readonly envelope: unknown;
  /** By their pointers; lists that never had an item are missing. */
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

  /** `onPiece` is called before each piece that is read, in whatever pass. What it throws ends the pass. */
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
   * The first pass: the envelope, also as the bytes of JSON with its lists of items empty, and how many items stand in which of
   * the `places`. Problems: as of `pieces`, and invalid_json. Throws TooManyItems.
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

  /** Another pass: the items of these lists, in the order of the document, as many at a time as come in one piece. */
  async *items(
    { bounds }: ScannedDocument,
    wanted: ReadonlySet<string>,
  ): AsyncGenerator<ScannedItem[], void, undefined> {
    const cutter = new ItemCutter(bounds, wanted);
    for await (const piece of this.#pieces()) yield cutter.push(piece);
  }

  /** A fault becomes the Problem that tells line and column; everything else stays as it is. */
  async locate(error: unknown): Promise<unknown> {
    if (!(error instanceof DocumentFault)) return error;
    if (error.kind === 'size') {
      return new Problem('body_too_large', `The document can not be read: ${error.message}.`);
    }
    // Items that nest too deep are allowed beside others: only where nothing else is wrong the depth is the fault.
    const fault =
      (await this.#firstFault(PASSED_DEPTH_MAX)) ?? (await this.#firstFault(limits.jsonDepthMax));
    assert(fault !== null, `a document with a fault (${error.message}) is not JSON`);
    return notJson(fault);
  }

  /**
   * For documents with parts that nobody parses: throws the Problem of `locate` unless all of it is JSON. The depth was
   * judged by the scan: of the envelope with the document, of an item with the item, which costs its neighbours nothing.
   */
  async mustBeJson(): Promise<void> {
    const fault = await this.#firstFault(PASSED_DEPTH_MAX);
    if (fault !== null) throw notJson(fault);
  }

  /** A pass that looks at every byte, whatever it belongs to. */
  async #firstFault(depthMax: number): Promise<JsonFault | null> {
    const check = new JsonCheck(depthMax);
    for await (const piece of this.#pieces()) {
      const fault = check.push(piece);
      if (fault !== null) return fault;
    }
    return check.end();
  }

  /** The decoded bytes without a byte order mark. Problems: invalid_encoding, invalid_json, body_too_large. */
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

  /** The ratio is judged against what the sender sent: our own compression of a plain body is never held against it. */
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
  // A fault of either side ends the decoder with it, and so this loop; an early end of the loop ends both.
  const ended = pipeline(Readable.from(counted()), decoder).catch(() => {});
  for await (const piece of decoder) yield piece as Buffer;
  await ended;
  // Only gunzip complains about what stands behind its end; the others leave it out without a word.
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

/** Without the byte order mark of UTF-8, which is tolerated (RFC 8259 §8.1); UTF-16 is refused. */
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
