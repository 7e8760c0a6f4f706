// Shapes that many endpoints share: ids, times, problem documents, pages. Each is declared once, so
// that the wire has one form for each.

import Type, { type TSchema, type TString } from 'typebox';

export const UUID_PATTERN = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$';

/** A UUIDv7 as lower-case text. */
export const Id: TString = Type.String({
  pattern: UUID_PATTERN,
  description: 'UUIDv7, lower case',
});

/** RFC 3339, UTC, milliseconds. */
export const Time: TString = Type.String({ format: 'date-time' });

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** A fault and its place. */
export const Located = Type.Object({
  pointer: Type.String({ description: 'RFC 6901 JSON pointer into the document as sent' }),
  code: Type.String(),
  detail: Type.String(),
});

/** RFC 9457, with `code`, and `error`/`message` for older clients (contract §2). */
export const Problem = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    instance: Type.String(),
    code: Type.String(),
    error: Type.String({ description: 'the same as `code`' }),
    message: Type.String({ description: 'the same as `detail`' }),
    request_id: Type.String(),
    pointer: Type.Optional(Type.String()),
    errors: Type.Optional(Type.Array(Located)),
    state: Type.Optional(Type.String()),
    next_offset: Type.Optional(Type.Integer({ description: 'log_gap: where the log goes on' })),
    upload_id: Type.Optional(Type.String()),
    receipt: Type.Optional(Type.Unknown()),
  },
  { $id: 'Problem' },
);

/** Query members of every list: keyset paging, newest or most urgent first as the list says. */
export const PageQuery = {
  limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,4}$', description: 'items a page' })),
  after: Type.Optional(
    // The longest sort key is an identity of 1 KiB, escaped as JSON, then base64url.
    Type.String({ maxLength: 9000, description: 'the `next` of the page before' }),
  ),
};

export const Page = <T extends TSchema>(item: T) =>
  Type.Object({
    items: Type.Array(item),
    next: Nullable(
      Type.String({ description: 'give it as `after` for the next page; null: the last' }),
    ),
  });
