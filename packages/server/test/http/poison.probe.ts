// What a poisonous document does to the thread that reads it, without a document that does: the category of an upload
// says what becomes of its thread. Loaded into real ingest threads by tests (Ports.ingestProbe).

import type { Probe } from '../../src/ingest/ingest.worker.ts';

export const POISON_PROBE = import.meta.url;

export const probe: Probe = (upload) => {
  const { category = '' } = JSON.parse(upload.context) as { category?: string };
  switch (category) {
    case 'crash':
      process.exit(3); // in a thread: the end of the thread
      break;
    case 'stall':
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      break;
    case 'exhaust':
      exhaust();
      break;
    case 'throw':
      throw new Error('a defect that a test made');
  }
};

/** Holds on to more and more until the heap of this thread is full. */
function exhaust(): void {
  const held: unknown[] = [];
  while (held.length < 1e9) held.push(Array.from<number>({ length: 1e6 }).fill(0.5));
}
