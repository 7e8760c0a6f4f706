// `muster admin`: makes new secrets when the printed ones were lost. It writes to the database
// directly, so it needs no token: whoever may read the data directory (or the database URL) is the
// administrator.

import type { Role } from '@muster/contract';
import type { Config } from './config.ts';
import { DatabaseClock } from './db/database-clock.ts';
import { openDatabase } from './db/db.ts';
import { migrate } from './db/migrate.ts';
import { makeEnrolmentToken, makeOperatorToken, tenantByName } from './keys/first-run.ts';
import { createRunner } from './keys/runners.ts';
import type { Clock } from './lib/clock.ts';

export interface AdminRequest {
  readonly what: 'operator-token' | 'enrolment-token' | 'runner-key';
  readonly tenant: string;
  readonly name?: string;
  readonly role?: string;
  readonly uses?: number;
}

export interface AdminResult {
  /** Shown once. */
  readonly secret: string;
  /** The purpose of the secret, in words for people. */
  readonly text: string;
}

const isRole = (text: string): text is Role => ['viewer', 'analyst', 'admin'].includes(text);

/**
 * Makes what was asked for. `own`: the clock of this machine. Rejects with an Error whose message
 * says what to correct.
 */
export async function administrate(
  config: Config,
  own: Clock,
  request: AdminRequest,
): Promise<AdminResult> {
  const database = await openDatabase({
    url: config.databaseUrl?.expose() ?? null,
    directory: config.dataDirectory,
    lock: false,
  });
  try {
    const clock = new DatabaseClock(database, own);
    await clock.align();
    await migrate(database, clock.nowMs());
    const tenantId = await tenantByName(database, request.tenant);
    if (tenantId === null) {
      throw new Error(
        `There is no tenant ${request.tenant}. Start the server once; it makes the tenant default.`,
      );
    }
    switch (request.what) {
      case 'operator-token': {
        const role = request.role ?? 'admin';
        if (!isRole(role)) throw new Error('The role must be viewer, analyst or admin.');
        const name = request.name ?? 'operator';
        const secret = await makeOperatorToken(database, clock, tenantId, name, role);
        return { secret: secret.expose(), text: `operator token ${name} (${role})` };
      }
      case 'enrolment-token': {
        const uses = request.uses ?? 1;
        const name = request.name ?? 'enrolment token';
        const secret = await makeEnrolmentToken(database, clock, tenantId, name, uses);
        return { secret: secret.expose(), text: `enrolment token for ${uses} runner(s), 7 days` };
      }
      case 'runner-key': {
        const name = request.name ?? 'runner';
        const { key, runner } = await createRunner(
          database,
          clock,
          tenantId,
          { name },
          'administrator',
        );
        return {
          secret: key.secret.expose(),
          text: `key of the new runner ${runner.name} (${runner.id})`,
        };
      }
    }
  } finally {
    await database.close();
  }
}
