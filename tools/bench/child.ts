// Child processes of the benchmarks (echo, load generator, bare loop), each with a heap and an
// event loop of its own. They speak over the IPC channel and end when it closes, so also when the
// benchmark is killed.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A running child process: one order in, answers out. */
export interface Child<Order, Answer> {
  /** Sends an order. */
  send(order: Order): void;
  /** The next answer. Rejects when the process ends instead. */
  answer(): Promise<Answer>;
  /** Closes the channel and waits for the end. */
  stop(): Promise<void>;
}

/** Starts `file` (beside this one) as a process. */
export function startChild<Order, Answer>(file: string): Child<Order, Answer> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child: ChildProcess = fork(path, [], {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  const answers: Answer[] = [];
  let hear: (() => void) | null = null;
  let failure: Error | null = null;
  child.on('message', (message) => {
    answers.push(message as Answer);
    hear?.();
  });
  child.on('exit', (code, signal) => {
    failure = new Error(`${file} ended with ${code ?? signal}`);
    hear?.();
  });
  return {
    send: (order) => child.send(order as object),
    answer: async () => {
      while (answers.length === 0) {
        if (failure !== null) throw failure;
        await new Promise<void>((resolve) => {
          hear = resolve;
        });
      }
      return answers.shift() as Answer;
    },
    stop: async () => {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

/**
 * Inside a child process: calls `run` for every order and answers with its result. A failure ends
 * the process.
 */
export function serveOrders<Order, Answer>(run: (order: Order) => Promise<Answer>): void {
  process.on('message', (order: Order) => {
    void run(order).then((answer) => process.send?.(answer as object));
  });
  process.on('disconnect', () => process.exit());
}
