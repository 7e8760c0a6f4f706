// The messages between the main thread and an ingest thread: what a thread gets at its start, what
// it is told later, and what it tells of the uploads that it processes. Types only.

import type { WorkerData } from '../../db/db.ts';
import type { ReaderDefect } from '../lease/lease.ts';
import type { UploadRow } from '../store/upload.queries.ts';

export interface IngestWorkerData {
  readonly database: WorkerData['data'];
  readonly holder: string;
  readonly sealKey: Uint8Array;
  readonly secretKey: Uint8Array;
  /**
   * For tests: a module whose `probe` is called in this thread with every claimed upload; it may
   * crash or stall.
   */
  readonly probe: string | null;
  /** Whose upload ended the thread before this one: the uploads of others come first now. */
  readonly servedLast: Served | null;
}

export type Served = Pick<UploadRow, 'tenant_id' | 'runner_id'>;

export type Probe = (upload: UploadRow) => void;

export type ToWorker = 'wake' | 'stop';

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'claimed'; readonly from: Served }
  /** The upload in work here goes on. */
  | { readonly kind: 'progress' }
  | {
      readonly kind: 'ended';
      readonly tenantId: string;
      readonly uploadId: string;
      readonly outcome: string;
      readonly attempt: number;
      readonly durationMs: number;
    }
  | ({ readonly kind: 'defect' } & ReaderDefect)
  | {
      readonly kind: 'fault';
      readonly uploadId: string | null;
      readonly message: string;
      readonly stack: string;
    };
