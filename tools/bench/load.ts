// The order to the load generator and its report. The generator itself is load.process.ts, a
// process of its own.

import { type Child, startChild } from './child.ts';

export interface LoadOrder {
  readonly port: number;
  /** Whole HTTP/1.1 requests, sent in turn; the connections share them. */
  readonly requests: readonly string[];
  readonly connections: number;
  /**
   * Requests per second at fixed instants, whatever the answers do; null: each connection asks as
   * fast as it is answered.
   */
  readonly perSecond: number | null;
  /** Ends after this long; with `perSecond` also on the order 'stop'. */
  readonly ms: number;
}

export interface LoadReport {
  readonly answers: number;
  /** Answers with a status other than 200. */
  readonly refused: number;
  readonly perSecond: number;
  /**
   * Share of one core that the generator used: near 1 the generator was the bottleneck, and the
   * figures are its own.
   */
  readonly cpuShare: number;
  /** Milliseconds from the time each request was due to its answer's last byte. */
  readonly latenciesMs: Float64Array;
}

export type LoadGenerator = Child<LoadOrder | 'stop', LoadReport>;

export const startLoadGenerator = (): LoadGenerator =>
  startChild<LoadOrder | 'stop', LoadReport>('./load.process.ts');

/** One POST of a JSON body as it goes over the wire. */
export function postRequest(path: string, key: string, body: object): string {
  const text = JSON.stringify(body);
  return [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'User-Agent: muster-bench/1',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
    '',
    text,
  ].join('\r\n');
}
