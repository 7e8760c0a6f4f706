// Texts that rows are looked up by, as they are stored: bounded, because an index of a database is. Called by envelope.ts and
// for components.

import { hash } from 'node:crypto';
import { cut } from '../../lib/text.ts';

/** Bytes of a value that is looked up: an index entry of PostgreSQL holds about 2700. */
const INDEXED_BYTES_MAX = 1024;

/** A text that is too long to be indexed keeps its beginning; a digest of the whole keeps it distinct. */
export function indexable(text: string): string {
  if (Buffer.byteLength(text) <= INDEXED_BYTES_MAX) return text;
  return `${cut(text, 200)}…${hash('sha256', text, 'hex')}`;
}
