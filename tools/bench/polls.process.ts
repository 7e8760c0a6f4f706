// Thousands of idle runners in one process: raw sockets, one for each runner, with a long poll on
// every one. A runner notes an arriving command, acknowledges and completes it on the same
// connection, and waits again.

import { connect, type Socket } from 'node:net';
import { type Arrival, epochMs, type PollsOrder, type PollsReport } from './polls.ts';

/**
 * Connections that are opened at once: more would overflow the server's queue of connections not
 * yet accepted.
 */
const OPENING = 100;

const HEAD_END = Buffer.from('\r\n\r\n');

let arrivals: Arrival[] = [];
let refused = 0;
let cpu = process.cpuUsage();
let since = performance.now();

class WaitingRunner {
  readonly #socket: Socket;
  readonly #key: string;
  #pending: Buffer | null = null;
  /** Calls to make before the next poll. */
  #todo: string[] = [];
  #polls = false;

  constructor(port: number, key: string) {
    this.#key = key;
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.#socket.on('data', (bytes: Buffer) => this.#read(bytes));
    this.#socket.on('close', () => {
      throw new Error('the server closed a connection');
    });
  }

  async poll(): Promise<void> {
    if (this.#socket.connecting)
      await new Promise((resolve) => this.#socket.once('connect', resolve));
    this.#next();
  }

  #next(): void {
    const path = this.#todo.shift();
    this.#polls = path === undefined;
    const line = path === undefined ? 'GET /api/v1/agent/commands?wait=60&limit=1' : `POST ${path}`;
    const length = path === undefined ? '' : 'Content-Length: 0\r\n';
    this.#socket.write(
      `${line} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${this.#key}\r\n${length}\r\n`,
    );
  }

  #read(bytes: Buffer): void {
    const answer = this.#pending === null ? bytes : Buffer.concat([this.#pending, bytes]);
    const body = bodyOf(answer);
    this.#pending = body === null ? answer : null;
    if (body === null) return;
    const atMs = epochMs();
    const isOk = answer.toString('latin1', 9, 12) === '200';
    // A command for anybody is offered to several runners; those that come second are refused, as
    // they should be.
    if (!isOk && !(answer.toString('latin1', 9, 12) === '409')) refused += 1;
    if (!isOk) this.#todo = [];
    if (this.#polls && isOk) {
      for (const { id } of JSON.parse(body) as { id: string }[]) {
        arrivals.push({ commandId: id, atMs });
        const path = `/api/v1/agent/commands/${id}`;
        this.#todo.push(`${path}/acknowledge`, `${path}/complete`);
      }
    }
    this.#next();
  }
}

/** The body of a whole answer, which says its Content-Length; null: more is to come. */
function bodyOf(answer: Buffer): string | null {
  const headEnd = answer.indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const length = /\r\ncontent-length: (\d+)/i.exec(answer.toString('latin1', 0, headEnd))?.[1];
  const start = headEnd + HEAD_END.length;
  const end = start + Number(length);
  return answer.length < end ? null : answer.toString('utf8', start, end);
}

function report(): PollsReport {
  const { user, system } = process.cpuUsage(cpu);
  const ms = performance.now() - since;
  const done = { arrivals, refused, cpuShare: (user + system) / 1000 / ms };
  [arrivals, refused, cpu, since] = [[], 0, process.cpuUsage(), performance.now()];
  return done;
}

async function begin({ runners }: PollsOrder): Promise<void> {
  for (let at = 0; at < runners.length; at += OPENING) {
    const some = runners.slice(at, at + OPENING);
    await Promise.all(some.map(({ port, key }) => new WaitingRunner(port, key).poll()));
  }
}

process.on('message', (order: PollsOrder | 'report') => {
  const ready = order === 'report' ? Promise.resolve() : begin(order);
  void ready.then(() => process.send?.(report()));
});
process.on('disconnect', () => process.exit());
