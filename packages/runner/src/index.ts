// The SDK's front door: a runner that sends heartbeats, works and renews its key (runner.ts),
// enrolment (enrol.ts), and handing in a report without a runner (report.ts). Every call may be
// repeated, and failed calls are.

export { enrol, type EnrolOptions } from './enrol.ts';
export type { Announced, Tool } from './heart.ts';
export { type CommandHandler, Declined, type JobContext } from './jobs.ts';
export { systemTiming, type Timing } from './lib/timing.ts';
export { type ReportAbout, type ReportOptions, sendReport } from './report.ts';
export { retrying, type RetryOptions } from './retry.ts';
export { type RunnerOptions, type RunningRunner, startRunner } from './runner.ts';
