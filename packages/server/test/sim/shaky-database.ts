// A real database as one server of the simulated world sees it: transactions can be interrupted by
// others where the database allows it, and the server can die in them. Sabotage comes in as plugins
// that change statements. A transaction pauses only while it holds no lock (PostgreSQL, nothing but
// plain SELECTs so far): then others really come between its reading and its writing, and nobody
// waits in the database for somebody who sleeps in the world.

import { type KyselyPlugin, type RootOperationNode, TableNode } from 'kysely';
import type { Database, Db } from '../../src/db/db.ts';

export interface Shakes {
  /** Called where others may come between; throws when the server died there, or meanwhile. */
  pause(): Promise<void>;
  /** Called before and after each commit; throws when the server dies there. */
  point(): void;
  /** A statement changed rows of this table. */
  wrote(table: string): void;
  readonly plugins: readonly KyselyPlugin[];
}

export function shakyDatabase(database: Database, shakes: Shakes): Database {
  const plugged = (db: Db, own: KyselyPlugin): Db =>
    [...shakes.plugins, own].reduce((made, one) => made.withPlugin(one), db);
  const noting = observer(shakes, () => {});
  // A scope's instance is always the same one; building another for every statement costs as much
  // as the statement.
  const scopes = new Map<Db, Db>();
  const scope = (db: Db): Db => {
    const known = scopes.get(db) ?? plugged(db, noting);
    scopes.set(db, known);
    return known;
  };
  return {
    kind: database.kind,
    tenant: (id) => scope(database.tenant(id)),
    lists: (id) => scope(database.lists(id)),
    system: () => scope(database.system()),
    systemLists: () => scope(database.systemLists()),
    notify: () => Promise.resolve(),
    listen: () => async () => {},
    workerData: () => database.workerData(),
    close: () => database.close(),
    together: (scope, body) => database.together(scope, body),
    transaction: async (scope, body) => {
      await shakes.pause();
      const result = await database.transaction(scope, async (tx) => {
        const made = await body(plugged(tx, interruptions(database, shakes)));
        shakes.point();
        return made;
      });
      shakes.point();
      await shakes.pause();
      return result;
    },
  };
}

/** Pauses after every statement of a transaction, until one that may hold a lock. */
function interruptions(database: Database, shakes: Shakes): KyselyPlugin {
  let holdsLock = database.kind === 'sqlite';
  return observer(shakes, async (isRead) => {
    // A statement that Kysely didn't build (batches) is not seen before its result: it counts as a
    // write.
    if (!isRead) holdsLock = true;
    if (!holdsLock) await shakes.pause();
  });
}

/**
 * Tells which tables changed, and tells `after` for every statement whether it was a SELECT that
 * locks nothing.
 */
function observer(shakes: Shakes, after: (isRead: boolean) => Promise<void> | void): KyselyPlugin {
  const made = new WeakMap<object, RootOperationNode>();
  return {
    transformQuery: ({ node, queryId }) => {
      made.set(queryId, node);
      return node;
    },
    transformResult: async ({ result, queryId }) => {
      const node = made.get(queryId);
      const table = node === undefined ? '' : tableOf(node);
      if (table !== '' && result.numAffectedRows !== 0n) shakes.wrote(table);
      await after(node !== undefined && isRead(node));
      return result;
    },
  };
}

const isRead = (node: RootOperationNode): boolean =>
  node.kind === 'SelectQueryNode' && (node.endModifiers ?? []).length === 0;

/** The table that an UPDATE or INSERT writes; empty for anything else. */
export function tableOf(node: RootOperationNode): string {
  const isWrite = node.kind === 'UpdateQueryNode' || node.kind === 'InsertQueryNode';
  const target = !isWrite ? undefined : node.kind === 'UpdateQueryNode' ? node.table : node.into;
  return target !== undefined && TableNode.is(target) ? target.table.identifier.name : '';
}
