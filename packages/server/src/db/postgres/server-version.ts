// Which PostgreSQL servers Muster works with. A server that is older than the oldest one of the
// tests is refused at the start, before anything is written. Called by postgres.ts.

import { sql } from 'kysely';
import type { Db } from '../db.ts';

/** The oldest version that the tests run against (tools/postgres.ts). */
export const POSTGRES_MAJOR_MIN = 15;

/** The server is too old: says so in one sentence, for the operator who starts Muster. */
export class ServerVersionError extends Error {
  constructor(found: string) {
    super(`Muster needs PostgreSQL ${POSTGRES_MAJOR_MIN} or newer, and this server is ${found}.`);
    this.name = 'ServerVersionError';
  }
}

/** Throws ServerVersionError for a server that is too old. */
export async function requireServerVersion(db: Db): Promise<void> {
  const { rows } = await sql<{ number: number; found: string }>`select
    current_setting('server_version_num')::integer as number,
    current_setting('server_version') as found`.execute(db);
  const [version] = rows;
  // 150018 is 15.18 (manual, §20.16, server_version_num).
  if (version !== undefined && version.number < POSTGRES_MAJOR_MIN * 10_000) {
    throw new ServerVersionError(version.found);
  }
}
