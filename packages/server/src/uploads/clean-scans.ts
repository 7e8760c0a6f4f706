// A scan that ended without findings and without a report (contract §6) becomes an upload with an
// empty list, in the transaction that ends the scan's command. From there the upload goes the way
// of every upload: the same rules of absence, and a receipt that names the command. This file only
// finds out what such a scan is about.

import type { Db } from '../db/db.ts';
import type { RunnerCaller } from '../keys/authenticate.ts';
import type { Clock } from '../lib/clock.ts';
import { hash } from 'node:crypto';
import { randomBytes } from '../lib/random.ts';
import { type CleanScan, emptyLog } from '../ingest/formats/common/clean-scan.rules.ts';
import { newUploadRow } from './receive.ts';
import { scanContextOf } from '../ingest/formats/common/scan-context.rules.ts';
import { seal } from '../ingest/store/seal.format.ts';
import { insertChunk, insertUpload, markReceived } from '../ingest/store/upload.queries.ts';

interface CleanScanDeps {
  readonly clock: Clock;
  readonly sealKey: Buffer;
}

/** The command that was completed, who completed it, and with what result. */
interface EndedScan {
  readonly caller: Pick<RunnerCaller, 'tenantId' | 'runnerId' | 'keyId'>;
  readonly commandId: string;
  readonly payload: string | null;
  readonly clean: CleanScan;
}

/**
 * Stores the upload without items that stands for a clean scan. Runs inside the transaction that
 * completes the scan's command.
 */
export async function receiveCleanScan(deps: CleanScanDeps, tx: Db, ended: EndedScan) {
  const { caller, commandId, payload, clean } = ended;
  const scan = scanContextOf(commandId, payloadOf(payload), true);
  const log = Buffer.from(emptyLog(scan.scanner, clean));
  const incoming = {
    encoding: 'identity',
    format: 'sarif',
    context: { cleanScan: true },
    commandId,
  } as const;
  const row = newUploadRow(deps.clock, caller, incoming, [scan]);
  const { tenant_id: tenantId, id: uploadId } = row;
  await insertUpload(tx, row);
  const sealed = seal(deps.sealKey, { uploadId, seq: 0 }, randomBytes(12), log);
  await insertChunk(tx, tenantId, uploadId, 0, sealed);
  await markReceived(tx, {
    tenantId,
    uploadId,
    sha256: hash('sha256', log, 'buffer'),
    encoding: 'identity',
    wireBytes: log.length,
    storedBytes: log.length,
    nowMs: row.received_at,
  });
}

const payloadOf = (payload: string | null): Record<string, unknown> =>
  JSON.parse(payload ?? '{}') as Record<string, unknown>;
