// Makes what every test run needs once, before the first test process: a PostgreSQL cluster, and a
// folder for what test files share (the unpacked browser). Node runs this file in the test runner's
// own process and spawns the test processes later with its environment, through which they learn
// the addresses. A failed start fails the run. check.ts names this file with --test-global-setup.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { RUN_FOLDER_VARIABLE } from './browser.ts';
import { ADMIN_URL_VARIABLE, type Postgres, startPostgres } from './postgres.ts';

let postgres: Postgres | undefined;
let runFolder: string | undefined;

/** Run by `node --test` before any test file. */
export async function globalSetup(): Promise<void> {
  runFolder = await mkdtemp(path.join(tmpdir(), 'muster-test-run-'));
  process.env[RUN_FOLDER_VARIABLE] = runFolder;
  // A hundred test processes and the servers they start load the same modules: types are stripped
  // once.
  process.env['NODE_COMPILE_CACHE'] = path.join(runFolder, 'compile-cache');
  postgres = await startPostgres({ durable: false });
  process.env[ADMIN_URL_VARIABLE] = postgres.adminUrl;
}

/**
 * Run by `node --test` after the last test file; after a killed run the cluster's keeper cleans up.
 */
export async function globalTeardown(): Promise<void> {
  await postgres?.stop();
  if (runFolder !== undefined) await rm(runFolder, { recursive: true, force: true });
}
