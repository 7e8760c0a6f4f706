// The registry of every error a caller can meet: code → status, title, what to do. docs/errors.md
// is printed from it, `type` in a problem document points there, and a test provokes each
// documented error of each endpoint. A code never changes its meaning. A client's mistake is never
// a 5xx, because deployed clients send those again (RP §11.1).

export interface ErrorDefinition {
  readonly status: number;
  readonly title: string;
  /** Tells the caller what to do, in one or two sentences. */
  readonly action: string;
  /** The level at which the server logs it. */
  readonly log: 'debug' | 'info' | 'warn' | 'error';
}

/** What converts a SARIF log of an older version, as far as the SARIF Multitool can. */
export const SARIF_CONVERSION =
  'npx @microsoft/sarif-multitool rewrite old.sarif --output new.sarif';

const define = <const T extends Record<string, ErrorDefinition>>(table: T): T => table;

export const errors = define({
  invalid_json: {
    status: 400,
    title: 'The body is not JSON',
    action: 'Correct the document at the place that `detail` names, and send it again.',
    log: 'info',
  },
  invalid_body: {
    status: 400,
    title: 'The body does not have the expected shape',
    action: 'Correct the members that `errors` points at.',
    log: 'info',
  },
  invalid_parameter: {
    status: 400,
    title: 'A path or query parameter is not valid',
    action: 'Correct the parameters that `errors` names.',
    log: 'info',
  },
  invalid_encoding: {
    status: 400,
    title: 'The body could not be decompressed',
    action: 'Check that the bytes match the `Content-Encoding` header and arrived whole.',
    log: 'info',
  },
  incomplete_body: {
    status: 400,
    title: 'The body ended early',
    action: 'Send the request again.',
    log: 'info',
  },
  invalid_digest: {
    status: 400,
    title: 'The Content-Digest header can not be read',
    action: 'Send `sha-256=:…:` or `sha-512=:…:` (RFC 9530), or leave the header out.',
    log: 'info',
  },
  digest_mismatch: {
    status: 400,
    title: 'The bytes that arrived are not the bytes that were sent',
    action: 'Send the request again; something on the way changed the body.',
    log: 'warn',
  },
  unauthorized: {
    status: 401,
    title: 'A valid key is needed',
    action:
      'Send `Authorization: Bearer <key>`. If you do, the key may be wrong, expired, retired or revoked: ask an operator for a new one.',
    log: 'info',
  },
  forbidden: {
    status: 403,
    title: 'Your role does not allow this',
    action: 'Use an operator token with the role that `detail` names.',
    log: 'info',
  },
  not_found: {
    status: 404,
    title: 'There is nothing here for you',
    action: 'Check the id and the path.',
    log: 'info',
  },
  method_not_allowed: {
    status: 405,
    title: 'This path does not take that method',
    action: 'Use one of the methods in the `Allow` header.',
    log: 'info',
  },
  slow_body: {
    status: 408,
    title: 'The body arrived too slowly',
    action: 'Send it again over a better connection.',
    log: 'info',
  },
  command_claimed: {
    status: 409,
    title: 'Another runner has claimed this command',
    action: 'Drop the command; poll again for other work.',
    log: 'info',
  },
  lease_lost: {
    status: 409,
    title: 'Your lease on this command has ended',
    action:
      'Stop working on it and discard the result: it was returned to the queue or given to another runner.',
    log: 'info',
  },
  invalid_transition: {
    status: 409,
    title: 'The command is not in a state that allows this',
    action: 'Look at `state`; a finished command stays finished.',
    log: 'info',
  },
  transition_conflict: {
    status: 409,
    title: 'The command was already finished with a different answer',
    action: 'The first answer stands. Nothing needs to be sent again.',
    log: 'info',
  },
  log_gap: {
    status: 409,
    title: 'Lines before these have not arrived',
    action: 'Send the lines from `next_offset` on.',
    log: 'info',
  },
  runner_paused: {
    status: 409,
    title: 'This runner is paused or draining',
    action: 'Claim nothing until a heartbeat comes back without the action `pause` or `drain`.',
    log: 'info',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    action: 'Stay within the limit that `detail` names, or split the report.',
    log: 'info',
  },
  unsupported_encoding: {
    status: 415,
    title: 'That Content-Encoding is not understood',
    action: 'Use one of those in the `Accept-Encoding` header of this answer, or none.',
    log: 'info',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'That Idempotency-Key was used for another body',
    action: 'Use a new key for a new body.',
    log: 'info',
  },
  unsupported_sarif_version: {
    status: 422,
    title: 'Only SARIF 2.1.0 is understood',
    action:
      'Let the tool write SARIF 2.1.0. A file in 1.0.0 or in a draft of 2.0.0 can be converted: ' +
      `\`${SARIF_CONVERSION}\`.`,
    log: 'info',
  },
  unsupported_ctis_version: {
    status: 422,
    title: 'Only CTIS 1.x is understood',
    action: 'Let the producer write a 1.x document.',
    log: 'info',
  },
  not_sarif: {
    status: 422,
    title: 'The document is not a SARIF log',
    action: 'Send the log as the tool wrote it: an object with `version` and `runs`.',
    log: 'info',
  },
  not_ctis: {
    status: 422,
    title: 'The document is not a CTIS report',
    action: 'Send an object with `version`, `metadata` and `findings`, flat or inside `report`.',
    log: 'info',
  },
  not_gitleaks: {
    status: 422,
    title: 'The document is not a Gitleaks report',
    action: 'Send the list that `gitleaks` writes with `--report-format json`.',
    log: 'info',
  },
  report_refused: {
    status: 422,
    title: 'Too much of the report could not be used, so nothing of it was applied',
    action: 'Correct what `receipt.rejections` points at and send the report again.',
    log: 'warn',
  },
  too_many_items: {
    status: 422,
    title: 'The list has too many items',
    action: 'Send at most as many as `detail` says.',
    log: 'info',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    action: 'Wait for the seconds in `Retry-After`.',
    log: 'info',
  },
  internal: {
    status: 500,
    title: 'Something went wrong on our side',
    action: 'Try again; if it stays, give the `request_id` to the operator of this server.',
    log: 'error',
  },
  processing_failed: {
    status: 500,
    title: 'The upload could not be processed',
    action:
      'The bytes are kept. Give the `upload_id` to the operator of this server; sending it again will meet the same fault.',
    log: 'error',
  },
  unavailable: {
    status: 503,
    title: 'The server can not answer just now',
    action: 'Try again after the seconds in `Retry-After`.',
    log: 'warn',
  },
  storage_full: {
    status: 503,
    title: 'The server has no space left for uploads',
    action:
      'Keep the report and send it again after the seconds in `Retry-After`. The operator of the server must make room.',
    log: 'warn',
  },
});

export type ErrorCode = keyof typeof errors;

/** Seconds for `Retry-After` where the story that throws the code gives none. */
export const RETRY_AFTER_SECONDS: Partial<Record<ErrorCode, number>> = {
  rate_limited: 5,
  unavailable: 5,
  // An operator has to make room first.
  storage_full: 60,
};
