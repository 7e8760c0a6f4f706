// What the operator's routes are wired with (app.ts).

import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';

export interface OperatorDeps {
  readonly database: Database;
  readonly clock: Clock;
}
