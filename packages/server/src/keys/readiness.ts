// Decides whether this process can serve, and if not, says why: for load balancers and people, as
// the answer of GET /readyz. Called by app.ts.

import type { Database } from '../db/db.ts';
import { readMasterKeyCheck } from './installation.queries.ts';

interface ReadinessDeps {
  readonly database: Database;
  /** False while the last flush of presence failed. */
  readonly isPresenceWritten: () => boolean;
  readonly isStopping: () => boolean;
}

/**
 * The reason why no requests should come here now, in a sentence; null: all is well. Asks the
 * database.
 */
export async function unreadyReason(deps: ReadinessDeps): Promise<string | null> {
  if (deps.isStopping()) return 'The server is stopping.';
  if (!deps.isPresenceWritten()) return 'Signs of life can not be stored just now.';
  try {
    await readMasterKeyCheck(deps.database.system());
    return null;
  } catch {
    // Every error of the database gives the same answer; the database's own log has the reason.
    return 'The database does not answer.';
  }
}
