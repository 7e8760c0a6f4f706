// The load generator: raw sockets, prepared bytes, no pipelining, and only so much of an answer
// parsed as tells its end. Cheaper than any HTTP client, so that the server is measured; the
// generator's own share of a core is reported.

import { connect, type Socket } from 'node:net';
import type { LoadOrder, LoadReport } from './load.ts';

interface Connection {
  readonly socket: Socket;
  /** The time at which the request in flight was due; null: there is none. */
  dueAt: number | null;
  pending: Buffer | null;
}

const HEAD_END = Buffer.from('\r\n\r\n');

class Run {
  readonly #order: LoadOrder;
  readonly #requests: readonly Buffer[];
  readonly #latencies: number[] = [];
  readonly #connections: Connection[] = [];
  readonly #idle: Connection[] = [];
  /** Instants at which requests were due while every connection was busy. */
  readonly #late: number[] = [];
  #next = 0;
  #refused = 0;
  stopped = false;

  constructor(order: LoadOrder) {
    this.#order = order;
    this.#requests = order.requests.map((text) => Buffer.from(text));
  }

  async run(): Promise<LoadReport> {
    await this.#open();
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    if (this.#order.perSecond === null) {
      for (const connection of this.#connections) this.#send(connection, performance.now());
      await sleepUntil(startedAt + this.#order.ms);
    } else {
      await this.#pace(startedAt, this.#order.perSecond);
    }
    const ms = performance.now() - startedAt;
    const { user, system } = process.cpuUsage(cpu);
    this.stopped = true;
    for (const { socket } of this.#connections) socket.destroy();
    return {
      answers: this.#latencies.length,
      refused: this.#refused,
      perSecond: (this.#latencies.length / ms) * 1000,
      cpuShare: (user + system) / 1000 / ms,
      latenciesMs: Float64Array.from(this.#latencies),
    };
  }

  async #open(): Promise<void> {
    const { port, connections } = this.#order;
    for (let i = 0; i < connections; i += 1) {
      const socket = connect({ host: '127.0.0.1', port, noDelay: true });
      await new Promise<void>((resolve, reject) => {
        socket.once('connect', resolve);
        socket.once('error', reject);
      });
      const connection: Connection = { socket, dueAt: null, pending: null };
      socket.on('data', (bytes: Buffer) => this.#read(connection, bytes));
      socket.on('close', () => {
        if (!this.stopped) throw new Error('the server closed a connection');
      });
      this.#connections.push(connection);
      this.#idle.push(connection);
    }
  }

  /**
   * Sends at fixed instants; a late server makes later requests wait, and that counts as their
   * latency.
   */
  async #pace(startedAt: number, perSecond: number): Promise<void> {
    const endAt = startedAt + this.#order.ms;
    let due = startedAt;
    while (!this.stopped && due < endAt) {
      await sleepUntil(due);
      for (; due <= performance.now(); due += 1000 / perSecond) {
        const connection = this.#idle.pop();
        if (connection === undefined) this.#late.push(due);
        else this.#send(connection, due);
      }
    }
  }

  #send(connection: Connection, dueAt: number): void {
    connection.dueAt = dueAt;
    connection.socket.write(this.#requests[this.#next] as Buffer);
    this.#next = (this.#next + 1) % this.#requests.length;
  }

  #read(connection: Connection, bytes: Buffer): void {
    const answer = connection.pending === null ? bytes : Buffer.concat([connection.pending, bytes]);
    if (!isWhole(answer)) {
      connection.pending = answer;
      return;
    }
    connection.pending = null;
    if (this.stopped || connection.dueAt === null) return;
    // `HTTP/1.1 200`: the status begins at the tenth byte.
    if (answer.toString('latin1', 9, 12) !== '200') this.#refused += 1;
    const now = performance.now();
    this.#latencies.push(now - connection.dueAt);
    connection.dueAt = null;
    const late = this.#late.shift();
    if (this.#order.perSecond === null) this.#send(connection, now);
    else if (late !== undefined) this.#send(connection, late);
    else this.#idle.push(connection);
  }
}

/** Whether the bytes are one complete answer; the answer says its Content-Length. */
function isWhole(answer: Buffer): boolean {
  const headEnd = answer.indexOf(HEAD_END);
  if (headEnd < 0) return false;
  const head = answer.toString('latin1', 0, headEnd);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error(`an answer without Content-Length:\n${head}`);
  return answer.length >= headEnd + HEAD_END.length + Number(length);
}

async function sleepUntil(instant: number): Promise<void> {
  const ms = instant - performance.now();
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}

let current: Run | null = null;

process.on('message', (order: LoadOrder | 'stop') => {
  if (order === 'stop') {
    if (current !== null) current.stopped = true;
    return;
  }
  current = new Run(order);
  void current.run().then((report) => process.send?.(report));
});
process.on('disconnect', () => process.exit());
