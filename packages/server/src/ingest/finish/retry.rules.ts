// When an upload that could not be processed is tried again, and what is said of one that was tried
// too often. Pure. Called by retry.ts and fail.ts.

import { limits, type UploadFault } from '@muster/contract/plain';

/**
 * After the first try an upload waits for 2 s, then 4 s, 8 s: others get their turn, and what was
 * short may pass.
 */
const RETRY_BASE_MS = 1000;

/** The longest wait. Tries may go on for long while each makes progress. */
const RETRY_MS_MAX = 60_000;

export const retryAfterMs = (attempt: number): number =>
  Math.min(RETRY_BASE_MS * 2 ** Math.min(attempt, 10), RETRY_MS_MAX);

/**
 * True when the attempt that just ended was the last one: as many in a row as
 * limits.uploadAttemptsMax made no progress.
 */
export const isExhausted = (upload: { attempt: number; progress_attempt: number }): boolean =>
  upload.attempt - upload.progress_attempt >= limits.uploadAttemptsMax;

const LAST_TIME: Readonly<Record<UploadFault, string>> = {
  crashed: 'its worker crashed',
  out_of_memory: 'its worker ran out of memory',
  stalled: `its worker made no progress for ${limits.uploadStallMs / 60_000} minutes`,
  error: 'it met a defect, which the log of the server describes',
  unavailable: 'the database could not answer',
  process_ended: 'the server ended while it was in work',
};

/** Why the upload failed, for the sender and for operators; no word of the document. */
export function failureDetail(fault: UploadFault | null): string {
  const last = LAST_TIME[fault ?? 'process_ended'];
  return `Processing was tried ${limits.uploadAttemptsMax} times without progress; the last time ${last}.`;
}
