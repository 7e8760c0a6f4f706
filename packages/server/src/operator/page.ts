// Keyset pages, the same for all lists: `limit`, `after`, and `next`. The cursor is opaque to
// callers: base64url of the last item's sort key, checked when it comes back.

import { limits } from '@muster/contract';
import { Problem } from '../lib/problem.ts';

export interface PageQuery {
  readonly limit?: string;
  readonly after?: string;
}

export function limitOf(query: PageQuery): number {
  const limit = Number(query.limit ?? limits.pageLimitDefault);
  if (!Number.isInteger(limit) || limit < 1 || limit > limits.pageLimitMax) {
    throw new Problem('invalid_parameter', `limit must be 1 to ${limits.pageLimitMax}.`, {
      pointer: '/limit',
    });
  }
  return limit;
}

/**
 * The sort key in `after`, or null for the first page. `shape` says what type each member must
 * have.
 */
export function cursorOf<const Shape extends readonly ('id' | 'number' | 'rank' | 'text')[]>(
  query: PageQuery,
  shape: Shape,
): (string | number)[] | null {
  if (query.after === undefined) return null;
  const members = decode(query.after);
  const fits =
    members !== null &&
    members.length === shape.length &&
    shape.every((kind, index) => {
      const member = members[index];
      if (kind === 'number') return Number.isSafeInteger(member);
      if (kind === 'rank')
        return Number.isInteger(member) && Number(member) >= 0 && Number(member) < 100;
      return (
        typeof member === 'string' && (kind === 'text' ? isStorable(member) : UUID.test(member))
      );
    });
  if (!fits) {
    throw new Problem(
      'invalid_parameter',
      'after must be the `next` of another page of this list.',
      {
        pointer: '/after',
      },
    );
  }
  return members as (string | number)[];
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Whether a text could be stored: no stored text has NUL or lone surrogates, and a query with one
 * fails on PostgreSQL.
 */
const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\u0000');

function decode(text: string): unknown[] | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return Array.isArray(value) ? value : null;
  } catch {
    // Not base64url of JSON: not one of our cursors.
    return null;
  }
}

/** `rows` has up to `limit` + 1 entries; the last one only shows that there is a next page. */
export function pageOf<Row, View>(
  rows: readonly Row[],
  limit: number,
  view: (row: Row) => View,
  keyOf: (row: Row) => readonly (string | number)[],
): { items: View[]; next: string | null } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const more = rows.length > limit && last !== undefined;
  return {
    items: shown.map(view),
    next: more ? Buffer.from(JSON.stringify(keyOf(last))).toString('base64url') : null,
  };
}
