// Finds the upload that a newly arrived one repeats (contract §2): by its Idempotency-Key, or
// because an identical upload is in work, or was processed and its answer never arrived. This file
// only finds; receive.ts decides which of several racing repeats wins.

import { createHash } from 'node:crypto';
import { limits } from '@muster/contract/plain';
import type { Db } from '../db/db.ts';
import type { UploadId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import type { ReceiveDeps } from './receive.ts';
import {
  countNewestAnalyses,
  findIdempotency,
  findUpload,
  forgetIdempotencyKey,
  sameUploads,
  type UploadRow,
} from '../ingest/store/upload.queries.ts';

export interface Received {
  readonly uploadId: UploadId;
  /** The upload was done before: its stored answer comes again. */
  readonly replayed: boolean;
  /** The upload joined one that was already waiting or in work. */
  readonly joined: boolean;
}

/**
 * The upload that this one repeats by its Idempotency-Key; null: it has no key, or the key is new.
 */
export async function findByKey(
  deps: Pick<ReceiveDeps, 'database' | 'clock'>,
  row: UploadRow,
  key: string | null,
  sha256: Buffer,
): Promise<Received | null> {
  if (key === null) return null;
  const db = deps.database.tenant(row.tenant_id);
  const known = await findIdempotency(db, row.tenant_id, row.runner_id, key);
  if (known === undefined) return null;
  const fresh = known.created_at > deps.clock.nowMs() - limits.idempotencyMs;
  const stands = fresh && (await findUpload(db, row.tenant_id, known.upload_id)) !== undefined;
  if (stands) return replayOf(known, digestWithContext(row, sha256));
  await forgetIdempotencyKey(db, row.tenant_id, row.runner_id, key);
  return null;
}

/**
 * The upload that this one repeats without a key: the same bytes, in work or not yet answered.
 * Null: none.
 */
export async function findSame(
  db: Db,
  row: UploadRow,
  sha256: Buffer,
  nowMs: number,
): Promise<Received | null> {
  for (const same of await sameUploads(db, row, sha256, nowMs - limits.idempotencyMs)) {
    const uploadId = same.id as UploadId;
    if (same.state === 'received' || same.state === 'processing') {
      return { uploadId, replayed: false, joined: true };
    }
    const unanswered =
      same.answered_at === null && (same.finished_at ?? 0) > nowMs - limits.lostAnswerMs;
    if (!unanswered) return null;
    const newest = await countNewestAnalyses(db, row.tenant_id, uploadId);
    return newest === (same.analyses ?? 0) ? { uploadId, replayed: true, joined: false } : null;
  }
  return null;
}

/**
 * One Idempotency-Key stands for one body in one context: the same file for another branch is
 * another request.
 */
export const digestWithContext = (row: UploadRow, sha256: Uint8Array): Buffer =>
  createHash('sha256').update(sha256).update(row.context_digest).digest();

export function replayOf(
  known: { upload_id: string; sha256: Uint8Array },
  digest: Buffer,
): Received {
  if (!digest.equals(known.sha256)) throw new Problem('idempotency_key_reused');
  return { uploadId: known.upload_id as UploadId, replayed: true, joined: false };
}
