// A text that rows are looked up by becomes the text that is stored: bounded, because the index of
// a database is. Different texts stay different.

import { hash } from 'node:crypto';
import { cut } from '../../lib/text.ts';

/** Bytes of a value that is looked up: an index entry of PostgreSQL holds about 2700. */
const INDEXED_BYTES_MAX = 1024;

/**
 * The text itself; of a longer one the beginning, and a digest of the whole, which keeps it
 * distinct.
 */
export function indexable(text: string): string {
  if (Buffer.byteLength(text) <= INDEXED_BYTES_MAX) return text;
  return `${cut(text, 200)}…${hash('sha256', text, 'hex')}`;
}
