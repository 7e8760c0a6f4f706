// The SDK's front door: a runner that beats, takes commands and renews its key (runner.ts), and handing in a report
// (report.ts). Every call may be repeated, so every call is retried.

export { type ReportOptions, sendReport } from './report.ts';
export { retrying, type RetryOptions } from './retry.ts';
export {
  type CommandHandler,
  type RunnerEvents,
  type RunnerOptions,
  startRunner,
} from './runner.ts';
