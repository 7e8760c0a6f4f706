// Everything of its process that the command line uses, as one value: environment, streams,
// network, time and chance. Tests hand in their own; no other file reads them. `main` gets the
// value and passes it down.

import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** Where text goes. */
export interface Sink {
  write(text: string): void;
  readonly isTty: boolean;
  /** Characters in a line; null: not a terminal, lines are never cut. */
  readonly columns: number | null;
}

export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: Sink;
  readonly err: Sink;
  readonly input: Readable;
  readonly fetch: typeof fetch;
  nowMs(): number;
  /** A random UUID. */
  newId(): string;
  /** Waits between two attempts. */
  pause(ms: number): Promise<void>;
}

export function processIo(): Io {
  // `muster findings list | head`: the reader has seen enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  return {
    env: process.env,
    out: sink(process.stdout),
    err: sink(process.stderr),
    input: process.stdin,
    fetch,
    nowMs: () => Date.now(),
    newId: () => randomUUID(),
    pause: async (ms) => {
      await sleep(ms);
    },
  };
}

function sink(stream: NodeJS.WriteStream): Sink {
  return {
    write: (text) => {
      stream.write(text);
    },
    isTty: stream.isTTY === true,
    get columns() {
      return stream.isTTY ? stream.columns : null;
    },
  };
}
