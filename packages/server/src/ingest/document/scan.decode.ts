// The bytes of a JSON document, piece by piece → the bounds of its items, and its envelope: the
// same document with empty lists of items, small enough to be parsed as a whole. Each byte is
// looked at once. Later passes cut the items out (document/items.decode.ts), and their reader
// parses each one alone. A fault is thrown as a DocumentFault. Called by document.ts.

import { limits } from '@muster/contract/plain';
import { ItemBounds, type ItemList, TOO_DEEP } from './items.decode.ts';
import { type ItemTree, Trail } from './shape.rules.ts';

/** The first room for the envelope, in bytes; it doubles when it is full. */
const ENVELOPE_BYTES_FIRST = 4096;

/** A name with more bytes (escapes included) names no list of items. */
const NAME_BYTES_MAX = 256;

/**
 * The document can't be read any further: it isn't JSON, it nests too deep, or it is larger than
 * can be held. It may have been wrong before this place; document.ts looks for the first fault.
 */
export class DocumentFault extends Error {
  readonly kind: 'syntax' | 'size';
  constructor(detail: string, kind: DocumentFault['kind'] = 'syntax') {
    super(detail);
    this.kind = kind;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/** The meaning of a byte outside of strings. */
const OTHER = 0;
const BLANK = 1;
const STRING = 2;
const OPEN = 3;
const CLOSE = 4;
const NAME_END = 5;
const NEXT = 6;

const MEANING = new Uint8Array(256);
for (const byte of [0x20, 0x09, 0x0a, 0x0d]) MEANING[byte] = BLANK;
MEANING[QUOTE] = STRING;
for (const byte of [OPEN_OBJECT, OPEN_ARRAY]) MEANING[byte] = OPEN;
for (const byte of [0x7d, CLOSE_ARRAY]) MEANING[byte] = CLOSE;
MEANING[COLON] = NAME_END;
MEANING[COMMA] = NEXT;

/**
 * The part that the scanner is in. 'envelope': levels in which items may stand; 'deep': a part of
 * the envelope without items.
 */
type Mode = 'envelope' | 'deep' | 'list' | 'item' | 'scalar';

/** The lists have more than limits.uploadItemsMax items together: the upload is refused. */
export class TooManyItems extends Error {}

/** Scans one document; see the head of this file. */
export class DocumentScanner {
  /** The lists that have, or had, an item. */
  readonly lists = new Map<string, ItemList>();
  readonly bounds = new ItemBounds();
  /** The envelope's text so far is the first #envelopeBytes of these. */
  #envelope = Buffer.allocUnsafe(ENVELOPE_BYTES_FIRST);
  #envelopeBytes = 0;
  #mode: Mode = 'envelope';
  readonly #trail: Trail;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** The bytes of the member name that is being read; null outside of names. */
  #name: number[] | null = null;
  #list: ItemList | null = null;
  /** Between items: whether an item came last, or a comma. They decide what may come next. */
  #afterItem = false;
  #afterComma = false;
  /** The bytes of all pieces before the current one. */
  #offset = 0;
  /** The item being read: its first byte, its depth, the members of all its objects. */
  #itemStart = 0;
  #itemDepth = 0;
  #itemMembers = 0;
  #itemIsTooDeep = false;

  /** `places`: where lists of items stand. */
  constructor(places: ItemTree) {
    this.#trail = new Trail(places);
  }

  /** Throws DocumentFault and TooManyItems. */
  push(piece: Buffer): void {
    let at = 0;
    while (at < piece.length) {
      switch (this.#mode) {
        case 'envelope':
          at = this.#readEnvelope(piece, at);
          break;
        case 'deep':
          at = this.#readDeep(piece, at);
          break;
        case 'list':
          at = this.#readList(piece, at);
          break;
        case 'item':
          at = this.#readItem(piece, at);
          break;
        case 'scalar':
          at = this.#readScalar(piece, at);
          break;
      }
    }
    this.#offset += piece.length;
  }

  /**
   * The bytes of the envelope, once all pieces are in. Throws DocumentFault when the document ends
   * too early.
   */
  end(): Buffer {
    if (this.#mode === 'list' || this.#mode === 'item' || this.#mode === 'scalar') {
      throw new DocumentFault('the document ends inside a list of items');
    }
    return this.#envelope.subarray(0, this.#envelopeBytes);
  }

  /** Adds bytes to the envelope. */
  #keep(piece: Buffer, from: number, to: number): void {
    if (from === to) return;
    const bytes = this.#envelopeBytes + to - from;
    if (bytes > limits.envelopeBytesMax) {
      const detail = `what is not an item takes more than ${limits.envelopeBytesMax} bytes`;
      throw new DocumentFault(detail, 'size');
    }
    if (bytes > this.#envelope.length) {
      const larger = Buffer.allocUnsafe(Math.max(bytes, 2 * this.#envelope.length));
      this.#envelope.copy(larger, 0, 0, this.#envelopeBytes);
      this.#envelope = larger;
    }
    piece.copy(this.#envelope, this.#envelopeBytes, from, to);
    this.#envelopeBytes = bytes;
  }

  #deepen(): void {
    this.#depth += 1;
    if (this.#depth <= limits.jsonDepthMax) return;
    // An item that nests too deep costs its neighbours nothing: the scanner only looks for its end.
    if (this.#mode === 'item') this.#itemIsTooDeep = true;
    else {
      throw new DocumentFault(`more than ${limits.jsonDepthMax} nested arrays and objects`);
    }
  }

  #readEnvelope(piece: Buffer, from: number): number {
    for (let at = from; at < piece.length; at += 1) {
      const byte = piece[at] as number;
      if (this.#inString) {
        this.#stringByte(byte);
        continue;
      }
      switch (MEANING[byte]) {
        case STRING:
          this.#inString = true;
          if (this.#trail.expectsName) this.#name = [];
          break;
        case OPEN:
          this.#deepen();
          this.#open(byte);
          if (this.#mode !== 'envelope') {
            this.#keep(piece, from, at + 1);
            return at + 1;
          }
          break;
        case CLOSE:
          this.#depth -= 1;
          this.#trail.close();
          break;
        case NAME_END:
          this.#trail.expectsName = false;
          break;
        case NEXT:
          this.#trail.next();
          break;
        default:
      }
    }
    this.#keep(piece, from, piece.length);
    return piece.length;
  }

  #stringByte(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) {
      this.#inString = false;
      if (this.#name !== null) this.#trail.name(this.#name);
      this.#name = null;
      return;
    }
    if (this.#name !== null && this.#name.length < NAME_BYTES_MAX) this.#name.push(byte);
  }

  #open(byte: number): void {
    const { opened, pointer } = this.#trail.open(byte === OPEN_OBJECT);
    if (opened === 'level') return;
    if (opened === 'items') {
      this.#list = this.#begin(pointer);
      this.#afterItem = false;
      this.#afterComma = false;
      this.#mode = 'list';
    } else {
      this.#mode = 'deep';
      this.#itemDepth = this.#depth - 1;
    }
  }

  #begin(pointer: string): ItemList {
    const list = this.lists.get(pointer) ?? { pointer, occurrence: 0, count: 0 };
    list.occurrence += 1;
    list.count = 0;
    return list;
  }

  /** Reads to the end of a value of the envelope that holds no items. */
  #readDeep(piece: Buffer, from: number): number {
    const end = this.#skip(piece, from);
    if (this.#depth === this.#itemDepth) this.#mode = 'envelope';
    this.#keep(piece, from, end);
    return end;
  }

  /** Reads the bytes between two items. */
  #readList(piece: Buffer, from: number): number {
    for (let at = from; at < piece.length; at += 1) {
      const byte = piece[at] as number;
      const meaning = MEANING[byte];
      if (meaning === BLANK) continue;
      if (byte === CLOSE_ARRAY && !this.#afterComma) {
        this.#mode = 'envelope';
        this.#depth -= 1;
        this.#list = null;
        this.#keep(piece, at, at + 1);
        return at + 1;
      }
      if (meaning === NEXT && this.#afterItem) {
        this.#afterItem = false;
        this.#afterComma = true;
        continue;
      }
      if (this.#afterItem || meaning === NEXT || meaning === CLOSE || meaning === NAME_END) {
        const wanted = this.#afterItem ? ', or ]' : this.#afterComma ? 'value' : 'value or ]';
        throw new DocumentFault(`expected ${wanted}`);
      }
      this.#afterComma = false;
      this.#itemStart = this.#offset + at;
      this.#itemMembers = 0;
      this.#itemDepth = this.#depth;
      this.#mode = meaning === OPEN ? 'item' : 'scalar';
      return at;
    }
    return piece.length;
  }

  #readItem(piece: Buffer, from: number): number {
    const end = this.#skip(piece, from);
    if (this.#depth === this.#itemDepth) this.#endItem(end);
    return end;
  }

  /** Reads an item that is no object and no list: a number, a word or a string. */
  #readScalar(piece: Buffer, from: number): number {
    let at = from;
    for (; at < piece.length; at += 1) {
      const byte = piece[at] as number;
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === BACKSLASH) this.#escaped = true;
        else if (byte === QUOTE) this.#inString = false;
        continue;
      }
      const meaning = MEANING[byte];
      if (meaning === STRING) this.#inString = true;
      else if (meaning !== OTHER) {
        this.#endItem(at);
        return at;
      }
    }
    return at;
  }

  /** Skips the bytes of a nested value, up to the value's end or the end of the piece. */
  #skip(piece: Buffer, from: number): number {
    const { length } = piece;
    const floor = this.#itemDepth;
    let at = from;
    if (this.#escaped && at < length) {
      this.#escaped = false;
      at += 1;
    }
    while (at < length) {
      if (this.#inString) {
        at = this.#skipString(piece, at);
        continue;
      }
      const meaning = MEANING[piece[at] as number];
      at += 1;
      if (meaning === STRING) this.#inString = true;
      else if (meaning === NAME_END) this.#itemMembers += 1;
      else if (meaning === OPEN) this.#deepen();
      else if (meaning === CLOSE) {
        this.#depth -= 1;
        if (this.#depth === floor) return at;
      }
    }
    return at;
  }

  /** Skips to behind the closing quote, or to the end of the piece. */
  #skipString(piece: Buffer, from: number): number {
    const { length } = piece;
    for (let at = from; at < length; at += 1) {
      const byte = piece[at];
      if (byte === QUOTE) {
        this.#inString = false;
        return at + 1;
      }
      if (byte !== BACKSLASH) continue;
      at += 1;
      this.#escaped = at === length;
    }
    return length;
  }

  /** Ends an item; `end` is the index behind its last byte in the current piece. */
  #endItem(end: number): void {
    const list = this.#list as ItemList;
    if (this.bounds.length === limits.uploadItemsMax) throw new TooManyItems();
    // A log may have millions of runs with empty lists; an empty list takes no memory here.
    if (list.count === 0) this.lists.set(list.pointer, list);
    const members = this.#itemIsTooDeep ? TOO_DEEP : this.#itemMembers;
    this.bounds.add(list, this.#itemStart, this.#offset + end, members);
    this.#itemIsTooDeep = false;
    list.count += 1;
    this.#afterItem = true;
    this.#mode = 'list';
  }
}
