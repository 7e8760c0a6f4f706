// Has the effects of a poisonous document on the thread that reads it, without such a document: the
// category of an upload decides what happens to its thread. Loaded into real ingest threads by
// tests (Ports.ingestProbe).

import { existsSync } from 'node:fs';
import type { Probe } from '../../src/ingest/queue/worker-messages.ts';

export const POISON_PROBE = import.meta.url;

/** The category of an upload that is held in work until there is a file of this name. */
export const holdUntil = (file: string): string => `${HOLD}${file}`;
const HOLD = 'hold until ';

/** How often a held thread looks for its file. */
const LOOK_MS = 20;

export const probe: Probe = (upload) => {
  const { category = '' } = JSON.parse(upload.context) as { category?: string };
  if (category.startsWith(HOLD)) {
    while (!existsSync(category.slice(HOLD.length))) waitInThread(LOOK_MS);
    return;
  }
  switch (category) {
    case 'crash':
      process.exit(3); // in a thread: the end of the thread
      break;
    case 'stall':
      waitInThread();
      break;
    case 'exhaust':
      exhaust();
      break;
    case 'throw':
      throw new Error('a defect that a test made');
  }
};

/** Blocks this thread; without an end, for ever. */
function waitInThread(ms = Infinity): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Holds on to more and more until the heap of this thread is full. */
function exhaust(): void {
  const block = Array.from<number>({ length: 1e6 }).fill(0.5);
  const held: unknown[] = [];
  while (held.length < 1e9) held.push(block.slice());
}
