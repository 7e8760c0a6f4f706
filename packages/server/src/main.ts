// argv and environment → configuration → app → drain: what `muster serve` and `muster admin` run.
// The command line loads this file by name (packages/cli). Static imports are loaded before
// anything starts; the rest is loaded while the database's threads start.

import { type Config, ConfigError, configReference, readConfig } from './config.ts';
import type { AdminRequest, AdminResult } from './admin.ts';
import type { Ports, RunningApp } from './app.ts';
import { DatabaseClock } from './db/database-clock.ts';
import { openConfigured } from './configured-database.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { createLogger, type Logger } from './lib/log.ts';
import { explain } from './startup-errors.ts';
import { welcome } from './welcome.format.ts';

export { configReference } from './config.ts';
export type { AdminRequest, AdminResult } from './admin.ts';

/** Serves until SIGTERM or SIGINT. Resolves with the exit code. */
export async function serve(args: { readonly help: boolean }): Promise<number> {
  if (args.help) {
    process.stdout.write(`${configReference()}\n`);
    return 0;
  }
  // Before anything else: a stop that is asked for during the start must not kill half a start.
  const stopAsked = stopSignal();
  let app: RunningApp;
  try {
    const config = readConfig(process.env);
    app = await start(config, systemClock, createLogger(config.logLevel));
    process.stdout.write(welcome(app.url, app.firstRun, config.host));
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    return error instanceof ConfigError ? 2 : 1;
  }
  await stopAsked;
  await app.stop();
  return 0;
}

/**
 * Starts the server that `serve` runs, in the time of its database; `own` is the clock of this
 * machine.
 */
export async function start(
  config: Config,
  own: Clock,
  log: Logger,
  ports: Partial<Ports> = {},
): Promise<RunningApp> {
  const opening = openConfigured(config, log);
  const [database, { startApp }] = await Promise.all([opening, import('./app.ts')]);
  const clock = new DatabaseClock(database, own);
  const alignClock = (): Promise<void> => clock.align();
  return await startApp(config, clock, log, database, { alignClock, ...ports });
}

async function stopSignal(): Promise<void> {
  await new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve());
    process.once('SIGINT', () => resolve());
  });
}

/** Makes a new secret on the database directly, beside a running server or without one. */
export async function admin(request: AdminRequest): Promise<AdminResult> {
  const { administrate } = await import('./admin.ts');
  return await administrate(readConfig(process.env), systemClock, request);
}
