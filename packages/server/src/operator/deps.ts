// The database and the clock that app.ts hands to the operator's routes, which hand them on to the
// stories.

import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';

export interface OperatorDeps {
  readonly database: Database;
  readonly clock: Clock;
}
