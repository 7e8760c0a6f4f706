// Removes commands that ended long ago: first their logs, then the commands with their attempts. A
// command for which an upload was handed in is kept for ever. So each round looks at a bounded
// number of commands, the next round goes on where the last one stopped, and after the last command
// the rounds begin again. Losing the place, or two nodes at the same place, costs work only.

import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import {
  deleteCommands,
  deleteSomeLogLines,
  type EndedCommand,
  endedCommands,
  forgetLog,
} from './command-history.queries.ts';

/**
 * Commands that one round of a minute looks at: more than a server of this size ends in a minute.
 */
export const COMMANDS_PER_ROUND = 2000;

/** Commands that one transaction deletes: a few milliseconds of the writer. */
const COMMANDS_PER_STEP = 100;

/**
 * Log lines that one step deletes: about 1 MiB at 100 bytes a line. A round takes
 * LOG_STEPS_PER_ROUND steps at most.
 */
export const LINES_PER_STEP = 10_000;
export const LOG_STEPS_PER_ROUND = 500;

export class CommandHistory {
  readonly #database: Database;
  readonly #clock: Clock;
  #after: EndedCommand | null = null;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Runs one round. Returns the number of deleted commands. */
  async prune(keepMs: number): Promise<number> {
    const beforeMs = this.#clock.nowMs() - keepMs;
    const db = this.#database.systemLists();
    const rows = await endedCommands(db, beforeMs, this.#after, COMMANDS_PER_ROUND);
    let logSteps = LOG_STEPS_PER_ROUND;
    let gone = 0;
    for (let from = 0; from < rows.length; from += COMMANDS_PER_STEP) {
      const step = rows.slice(from, from + COMMANDS_PER_STEP);
      for (const row of step) {
        logSteps -= await this.#removeLog(row, logSteps);
        if (logSteps <= 0) return gone;
      }
      gone += await this.#remove(step);
      this.#after = step.at(-1) ?? null;
    }
    if (rows.length < COMMANDS_PER_ROUND) this.#after = null;
    return gone;
  }

  /** Deletes the log in at most `steps` steps. Returns the number of steps taken. */
  async #removeLog({ tenant_id: tenantId, id, log_lines: lines }: EndedCommand, steps: number) {
    if (lines === 0) return 0;
    const db = this.#database.tenant(tenantId);
    for (let step = 1; step <= steps; step += 1) {
      if ((await deleteSomeLogLines(db, tenantId, id, LINES_PER_STEP)) > 0) continue;
      await forgetLog(db, tenantId, id);
      return step;
    }
    return steps;
  }

  async #remove(rows: readonly EndedCommand[]): Promise<number> {
    let gone = 0;
    for (const [tenantId, items] of Map.groupBy(rows, (row) => row.tenant_id)) {
      const ids = items.map(({ id }) => id);
      gone += await this.#database.transaction(tenantId, async (tx) =>
        deleteCommands(tx, tenantId, ids),
      );
    }
    return gone;
  }
}
