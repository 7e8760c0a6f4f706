// Whether this process can serve, and if not, why: for load balancers and people. Called by GET /readyz.

import type { Database } from '../db/db.ts';
import { readMasterKeyCheck } from './installation.queries.ts';

export interface ReadinessDeps {
  readonly database: Database;
  /** False while the last flush of presence failed. */
  readonly isPresenceWritten: () => boolean;
  readonly isStopping: () => boolean;
}

/** Why no requests should come here now, in a sentence; null: all is well. Asks the database. */
export async function unreadyReason(deps: ReadinessDeps): Promise<string | null> {
  if (deps.isStopping()) return 'The server is stopping.';
  if (!deps.isPresenceWritten()) return 'Signs of life can not be stored just now.';
  try {
    await readMasterKeyCheck(deps.database.system());
    return null;
  } catch {
    // Whatever the database says, the answer is the same; its own log has the reason.
    return 'The database does not answer.';
  }
}
