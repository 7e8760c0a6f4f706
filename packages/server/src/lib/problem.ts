// Problem: an expected refusal that the caller can act on. Stories throw it; http/problems.ts turns
// it into RFC 9457.

import { type ErrorCode, errors } from '@muster/contract/plain';

export interface ProblemPlace {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

interface ProblemExtras {
  readonly pointer?: string;
  readonly errors?: readonly ProblemPlace[];
  /** The command's state (409). */
  readonly state?: string;
  /** The line at which a log goes on (409 log_gap). */
  readonly nextOffset?: number;
  readonly uploadId?: string;
  readonly receipt?: unknown;
  readonly retryAfterSeconds?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** For the operator's log only, never for the caller. */
  readonly cause?: string;
}

export class Problem extends Error {
  readonly code: ErrorCode;
  readonly extras: ProblemExtras;
  constructor(code: ErrorCode, detail?: string, extras: ProblemExtras = {}) {
    super(detail ?? errors[code].title);
    this.name = 'Problem';
    this.code = code;
    this.extras = extras;
  }
}
