// One server process for each SQLite file: an exclusive transaction on a small file beside the
// database, held for as long as the process lives. The operating system frees it on any end, kill
// -9 included, so that no stale lock has to be guessed at. openSqlite takes it for servers, not for
// short administrative commands.
//
// POSIX drops all of a process's locks on a file when the process closes any handle on it. So
// nothing in this process may open or read these files except through SQLite (createPrivateFile
// therefore never opens one that exists).

import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const SQLITE_BUSY = 5;

/** Thrown when another process already serves this directory. */
export class DatabaseInUseError extends Error {
  constructor(directory: string) {
    super(
      `another Muster server already uses the database in ${directory}. ` +
        'One SQLite file serves one process: stop the other one, or use PostgreSQL for several.',
    );
    this.name = 'DatabaseInUseError';
  }
}

/** Creates the data directory, for its owner only, when it isn't there. */
export function createPrivateDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
}

/** Creates an empty file for its owner only; leaves an existing one unopened. */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/**
 * Takes the lock of `directory` and returns the function that gives it back.
 * Throws DatabaseInUseError at once when another process, or this one, holds it.
 */
export function lockDirectory(directory: string): () => void {
  const path = join(directory, 'muster.lock');
  createPrivateFile(path);
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    const { errcode } = error as { errcode?: number };
    if (errcode !== undefined && (errcode & 0xff) === SQLITE_BUSY) {
      throw new DatabaseInUseError(directory);
    }
    throw error;
  }
  return () => lock.close();
}
