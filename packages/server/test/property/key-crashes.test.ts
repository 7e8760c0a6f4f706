// Renewal with a fault at every point (contract §7): before each statement (a full disk), before
// the commit, and after it (the answer is lost). Whatever happens, the runner's last good key
// works, and after the next proof two keys live.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Authenticator, type RunnerCaller } from '../../src/keys/authenticate.ts';
import { insertTenant } from '../../src/keys/installation.queries.ts';
import { renewKey } from '../../src/keys/keys.ts';
import { runnerKeys } from '../../src/keys/keys.queries.ts';
import { refusal } from '../../src/keys/keys.rules.ts';
import { createRunner } from '../../src/keys/runners.ts';
import { type Database, type Db, openDatabase } from '../../src/db/db.ts';
import { migrate } from '../../src/db/migrate.ts';
import { newId, type TenantId } from '../../src/lib/ids.ts';
import { createLogger } from '../../src/lib/log.ts';
import { temporaryDirectory } from '../db/fixture.ts';
import { TestClock } from '../harness.ts';

class Fault extends Error {}

let database: Database;
let dispose: () => Promise<void>;
before(async () => {
  const { path: directory, remove } = await temporaryDirectory();
  database = await openDatabase({ url: null, directory });
  await migrate(database, Date.now());
  dispose = async () => {
    await database.close();
    await remove();
  };
});
after(() => dispose());

/** The methods that begin a statement. */
const STARTS: ReadonlySet<string | symbol> = new Set(['selectFrom', 'insertInto', 'updateTable']);

/**
 * A database whose transactions pass `point` before each statement, before their commit and after
 * it.
 */
function watched(point: () => void): Database {
  const watch = (tx: Db): Db =>
    new Proxy(tx, {
      get: (target, name) => {
        if (STARTS.has(name)) point();
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  const transaction: Database['transaction'] = async (scope, body) => {
    const made = await database.transaction(scope, async (tx) => {
      const result = await body(watch(tx));
      point();
      return result;
    });
    point();
    return made;
  };
  return new Proxy(database, {
    get: (target, name) => {
      if (name === 'transaction') return transaction;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/**
 * A runner renews and uses its new key, as its client would: it keeps the old key until the new one
 * has worked. The `faultAt`-th point fails. Returns the number of points passed.
 */
async function life(faultAt: number): Promise<number> {
  const clock = new TestClock();
  const tenantId = newId<TenantId>(Date.now());
  await insertTenant(database.system(), { id: tenantId, name: tenantId, created_at: 1 });
  const { runner, key } = await createRunner(database, clock, tenantId, { name: 'r' }, 'test');
  let passed = 0;
  const faulty = watched(() => {
    passed += 1;
    if (passed === faultAt) throw new Fault();
  });
  const callOn = async (where: Database, text: string): Promise<RunnerCaller> => {
    // Every call comes to a node that remembers nothing, as after a crash.
    const node = new Authenticator(where, clock, createLogger('silent'));
    const caller = await node.authenticate(text, 'runner', '127.0.0.1');
    assert.ok(caller?.kind === 'runner', `the last good key was refused (fault ${faultAt})`);
    return caller;
  };
  let good = key.secret.expose();
  const client = async (where: Database): Promise<void> => {
    const next = (await renewKey(where, clock, await callOn(where, good))).secret.expose();
    // From here on the client has both keys; an answer that failed leaves it with the old one,
    // which must work.
    await callOn(where, next);
    good = next;
  };
  let faults = 0;
  for (let round = 0; round < 2; round += 1) {
    await client(faulty).catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error;
      faults += 1;
    });
    await callOn(database, good);
  }
  const planned = faultAt <= passed ? 1 : 0;
  assert.equal(faults, planned);
  await client(database);
  const rows = await runnerKeys(database.tenant(tenantId), tenantId, runner.id);
  const live = rows.filter((row) => {
    const facts = { state: row.state, expiresAt: row.expires_at, retiresAt: row.retires_at };
    return refusal(facts, clock.nowMs()) === null;
  });
  assert.ok(live.length <= 2, `${live.length} keys live after fault ${faultAt}`);
  return passed;
}

test('a fault at any statement or commit of two renewals costs no runner its key, and leaves two keys at most', async () => {
  const points = await life(Number.MAX_SAFE_INTEGER);
  assert.ok(points > 20, `only ${points} points`);
  for (let at = 1; at <= points; at += 1) await life(at);
});
