// The order to the process of waiting runners and its report. The runners themselves are in
// polls.process.ts.

import { type Child, startChild } from './child.ts';

export interface PollsOrder {
  /** Where each runner polls, and with which key. */
  readonly runners: readonly { readonly port: number; readonly key: string }[];
}

export interface Arrival {
  readonly commandId: string;
  /** Milliseconds since the epoch, with fractions, when the last byte of the answer had come. */
  readonly atMs: number;
}

export interface PollsReport {
  /** Arrivals of commands at runners; a command for anybody may arrive at several. */
  readonly arrivals: readonly Arrival[];
  /** Answers that should not have come. */
  readonly refused: number;
  /** Share of one core that the process used since the last report. */
  readonly cpuShare: number;
}

/**
 * The process of waiting runners. Give it a PollsOrder: it answers when all polls were sent.
 * 'report' gives the arrivals since the last report.
 */
export type WaitingRunners = Child<PollsOrder | 'report', PollsReport>;

export const startWaitingRunners = (): WaitingRunners =>
  startChild<PollsOrder | 'report', PollsReport>('./polls.process.ts');

/**
 * The same scale in all processes of one machine: the monotonic clock, moved to the epoch once at
 * the start.
 */
export const epochMs = (): number => performance.timeOrigin + performance.now();
