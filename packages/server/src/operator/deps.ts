// The stories and stores that app.ts hands to the operator's routes.

import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';

export interface OperatorDeps {
  readonly database: Database;
  readonly clock: Clock;
}
