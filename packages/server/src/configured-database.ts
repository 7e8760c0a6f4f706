// Opens the database that the configuration names. A file of its own, so that main.ts can start it
// before the rest is loaded.

import type { Config } from './config.ts';
import { type Database, openDatabase } from './db/db.ts';
import type { Logger } from './lib/log.ts';

/**
 * Opens the database for a server, locked against a second one. Rejects with an error that
 * `explain` has words for.
 */
export async function openConfigured(config: Config, log: Logger): Promise<Database> {
  return await openDatabase({
    url: config.databaseUrl?.expose() ?? null,
    directory: config.dataDirectory,
    poolMax: config.databasePoolMax,
    onEvent: (event) => log.warn(event, 'database'),
  });
}
