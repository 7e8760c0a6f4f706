// A real database as one server of the simulated world sees it: transactions can be interrupted by others where the
// database allows it, and the server can die in them. Sabotage comes in as plugins that change statements.
// A transaction pauses only while it holds no lock (PostgreSQL, nothing but plain SELECTs so far): then others really
// come between its reading and its writing, and nobody waits in the database for somebody who sleeps in the world.

import { type KyselyPlugin, type RootOperationNode, TableNode } from 'kysely';
import type { Database, Db } from '../../src/db/db.ts';

export interface Shakes {
  /** Called where others may come between; throws when the server died there, or meanwhile. */
  pause(): Promise<void>;
  /** Called before and after each commit; throws when the server dies there. */
  point(): void;
  /** A statement that writes this table was made. */
  wrote(table: string): void;
  readonly plugins: readonly KyselyPlugin[];
}

export function shakyDatabase(database: Database, shakes: Shakes): Database {
  const noting = plugin(({ table, isRead }) => {
    if (!isRead) shakes.wrote(table);
  });
  const plugged = (db: Db, ...more: KyselyPlugin[]): Db =>
    [...shakes.plugins, noting, ...more].reduce((made, one) => made.withPlugin(one), db);
  return {
    kind: database.kind,
    tenant: (id) => plugged(database.tenant(id)),
    lists: (id) => plugged(database.lists(id)),
    system: () => plugged(database.system()),
    systemLists: () => plugged(database.systemLists()),
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

function interruptions(database: Database, shakes: Shakes): KyselyPlugin {
  let holdsLock = database.kind === 'sqlite';
  const reads = new WeakSet<object>();
  return {
    transformQuery: ({ node, queryId }) => {
      if (isRead(node)) reads.add(queryId);
      else holdsLock = true;
      return node;
    },
    transformResult: async ({ result, queryId }) => {
      // What was not built by Kysely (batches) is not seen before its result: it writes.
      if (!reads.has(queryId)) holdsLock = true;
      if (!holdsLock) await shakes.pause();
      return result;
    },
  };
}

interface Seen {
  readonly table: string;
  /** A SELECT that locks nothing. */
  readonly isRead: boolean;
}

function plugin(see: (seen: Seen) => void): KyselyPlugin {
  return {
    transformQuery: ({ node }) => {
      see({ table: tableOf(node), isRead: isRead(node) });
      return node;
    },
    transformResult: async ({ result }) => result,
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
