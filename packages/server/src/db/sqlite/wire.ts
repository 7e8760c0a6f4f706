// The messages between the threads of the SQLite backend: requests with rows of parameters to the
// writer or reader thread, replies with rows of results back. Structured cloning is slow for many
// small values (9 µs for a finding's row, beside 17 µs for its insertion; packed 1 µs). So the
// texts of a message travel as one string and its byte strings as one buffer, and a value that
// repeats from row to row doesn't travel at all.

import type { StoredValue } from '../values.ts';

/**
 * Rows of equal width, row by row. `kinds` gives the kind of each cell (the constants below),
 * `numbers` its value, or the length of its text or bytes, which follow each other in `text` and
 * `bytes`.
 */
export interface PackedRows {
  readonly width: number;
  readonly kinds: Uint8Array<ArrayBuffer>;
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly text: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const NULL = 0;
const NUMBER = 1;
const TEXT = 2;
const BYTES = 3;
const SAME = 4; // as in the row above

/**
 * One request. `tx` is 0 outside transactions, otherwise the sender's number for one; `begin`
 * stands on the first request of a transaction only. `many` runs its statement once for every row
 * of parameters, all or none.
 */
export type Request =
  | {
      readonly op: 'run' | 'many' | 'script';
      readonly id: number;
      readonly tx: number;
      readonly begin: boolean;
      readonly sql: string;
      readonly rows: PackedRows;
    }
  | { readonly op: 'commit' | 'rollback'; readonly id: number; readonly tx: number }
  | { readonly op: 'close'; readonly id: number };

/** The answer to a statement: no columns when it returns no rows; `changes` counts rows written. */
export interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly changes: number;
}

/** An error as it crosses threads: SQLite's own result code stays with it for db-errors.ts. */
interface WireError {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
  readonly errcode: number | undefined;
}

// Moving a buffer costs some microseconds of bookkeeping, copying 16 KiB about one.
const TRANSFER_MIN_BYTES = 16_384;

export type Reply =
  | {
      readonly id: number;
      readonly columns: readonly string[];
      /** Null: no rows, which costs nothing to send. */
      readonly rows: PackedRows | null;
      readonly changes: number;
    }
  | { readonly id: number; readonly error: WireError };

/** An error of SQLite, in whichever thread it arose; `errcode` is the extended result code. */
export class SqliteError extends Error {
  readonly code: string | undefined;
  readonly errcode: number | undefined;

  constructor(wire: WireError) {
    super(wire.message);
    this.name = wire.name;
    this.code = wire.code;
    this.errcode = wire.errcode;
  }
}

/** No rows at all: for commit, rollback, scripts and statements without results. */
export const NO_ROWS: PackedRows = {
  width: 0,
  kinds: new Uint8Array(0),
  numbers: new Float64Array(0),
  text: '',
  bytes: new Uint8Array(0),
};

/**
 * Packs rows of equal width: parameters that were asserted to be storable, or results. A byte
 * string repeats when it is the same object as the one above it.
 */
export function packRows(rows: readonly (readonly unknown[])[]): PackedRows {
  const width = rows[0]?.length ?? 0;
  if (width === 0) return NO_ROWS;
  const kinds = new Uint8Array(rows.length * width);
  const numbers = new Float64Array(rows.length * width);
  const texts: string[] = [];
  const chunks: Uint8Array[] = [];
  let size = 0;
  let cell = 0;
  let above: readonly unknown[] = [];
  for (const row of rows) {
    for (let column = 0; column < width; column++, cell++) {
      const value = row[column] as StoredValue;
      if (value === null) continue; // kinds begins as NULL everywhere
      if (value === above[column]) {
        kinds[cell] = SAME;
      } else if (typeof value === 'number') {
        kinds[cell] = NUMBER;
        numbers[cell] = value;
      } else if (typeof value === 'string') {
        kinds[cell] = TEXT;
        numbers[cell] = value.length;
        texts.push(value);
      } else {
        kinds[cell] = BYTES;
        numbers[cell] = value.length;
        chunks.push(value);
        size += value.length;
      }
    }
    above = row;
  }
  return { width, kinds, numbers, text: texts.join(''), bytes: concatenated(chunks, size) };
}

function concatenated(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

/** The rows of an answer; most writes have none. */
export const packAnswer = (rows: readonly (readonly unknown[])[]): PackedRows | null =>
  rows.length === 0 ? null : packRows(rows);

/**
 * Unpacks the rows. Byte strings are views on the message's one buffer unless `copied`: views are
 * right for parameters, copies for results that the caller keeps.
 */
export function unpackRows(packed: PackedRows, copied: boolean): StoredValue[][] {
  const { width, kinds, numbers, text, bytes } = packed;
  const rows: StoredValue[][] = [];
  let textAt = 0;
  let bytesAt = 0;
  let above: StoredValue[] = [];
  for (let first = 0; first < kinds.length; first += width) {
    const row: StoredValue[] = [];
    for (let column = 0; column < width; column++) {
      const number = numbers[first + column] as number;
      let value: StoredValue = null;
      switch (kinds[first + column] as number) {
        case NULL:
          break;
        case NUMBER:
          value = number;
          break;
        case TEXT:
          value = text.slice(textAt, textAt + number);
          textAt += number;
          break;
        case BYTES:
          value = copied
            ? bytes.slice(bytesAt, bytesAt + number)
            : bytes.subarray(bytesAt, bytesAt + number);
          bytesAt += number;
          break;
        case SAME:
          value = above[column] as StoredValue;
          break;
      }
      row.push(value);
    }
    rows.push(row);
    above = row;
  }
  return rows;
}

/**
 * The buffers of a message that move to the other thread instead of being copied: only where moving
 * is cheaper.
 */
export function transferOf({ bytes }: PackedRows): ArrayBuffer[] {
  return bytes.length < TRANSFER_MIN_BYTES ? [] : [bytes.buffer];
}

/** An error as a message carries it. */
export function toWireError(error: unknown): WireError {
  if (!(error instanceof Error)) {
    return { name: 'Error', message: String(error), code: undefined, errcode: undefined };
  }
  const { code, errcode } = error as Error & { code?: unknown; errcode?: unknown };
  return {
    name: error.name,
    message: error.message,
    code: typeof code === 'string' ? code : undefined,
    errcode: typeof errcode === 'number' ? errcode : undefined,
  };
}
