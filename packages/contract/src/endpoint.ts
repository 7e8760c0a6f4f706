// One value for each endpoint: requests are validated against it, types come from it, OpenAPI is
// printed from it, and the client calls by it.

import type { Static, TObject, TSchema } from 'typebox';
import type { ErrorCode } from './errors.ts';
import type { KeyScope, Role } from './schemas/vocabulary.ts';

/**
 * Who may call. `runner` names the scope that a key needs and the answer to a key without it. Never
 * 403, and 401 only where it costs nothing: deployed clients take both for "key lost" (contract
 * §2). `not_found`: for such a key there are no commands and no renewal, and its client goes on.
 * `unauthorized`, for uploads: a 404 would make clients drop the report; a 401 makes them keep it
 * until somebody gives them a better key.
 */
export type Auth =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'runner';
      readonly scope: KeyScope;
      readonly without: 'unauthorized' | 'not_found';
    }
  | { readonly kind: 'operator'; readonly role: Role }
  | { readonly kind: 'enrolment' };

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/**
 * How the body is taken. `json`: read whole, decompressed and validated against `body`. `lenient`:
 * read whole and handed over as parsed JSON without validation (its reader tolerates and reports).
 * `stream`: handed over as it arrives (uploads). `none`: a body is read and ignored.
 */
export type BodyKind = 'json' | 'lenient' | 'stream' | 'none';

export interface Endpoint {
  readonly id: string;
  readonly method: Method;
  /** With `{name}` for path parameters. */
  readonly path: string;
  readonly auth: Auth;
  readonly summary: string;
  readonly description?: string;
  readonly params?: TObject;
  readonly query?: TObject;
  readonly bodyKind: BodyKind;
  /**
   * A body that is no JSON counts as none, instead of being refused (RP §5.3); for `lenient` only.
   */
  readonly malformedBody?: 'ignored';
  readonly body?: TSchema;
  readonly bodyBytesMax?: number;
  /** For each status, the schema of the answer. */
  readonly replies: Readonly<Record<number, TSchema>>;
  readonly replyType?: string;
  readonly errors: readonly ErrorCode[];
}

/** The reasons for which any body may be refused before its content matters (contract §2). */
export const bodyErrors = [
  'invalid_json',
  'invalid_encoding',
  'incomplete_body',
  'invalid_digest',
  'digest_mismatch',
  'slow_body',
  'body_too_large',
  'unsupported_encoding',
] as const satisfies readonly ErrorCode[];

/** Declares an endpoint, keeping its literal types for the client and the routes. */
export const endpoint = <const E extends Endpoint>(definition: E): E => definition;

type StaticOr<S, Otherwise> = S extends TSchema ? Static<S> : Otherwise;

export type ParamsOf<E extends Endpoint> = StaticOr<E['params'], Record<string, never>>;
export type QueryOf<E extends Endpoint> = StaticOr<E['query'], Record<string, never>>;
export type BodyOf<E extends Endpoint> = StaticOr<E['body'], undefined>;
export type ReplyOf<E extends Endpoint> = {
  [S in keyof E['replies']]: StaticOr<E['replies'][S], unknown>;
}[keyof E['replies']];
