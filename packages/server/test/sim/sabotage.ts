// Servers that break the contract on purpose, one rule each: the proof that the checks of the
// simulator can fail. Each is made by wrapping a part of a simulated server (a story, a clock, the
// statements it sends), never by changing sources.

import {
  AndNode,
  BinaryOperationNode,
  ColumnNode,
  type KyselyPlugin,
  type OperationNode,
  ReferenceNode,
  sql,
  type UpdateQueryNode,
  ValueNode,
  WhereNode,
} from 'kysely';
import type { Database } from '../../src/db/db.ts';
import { transition } from '../../src/commands/commands.ts';
import { enrol } from '../../src/keys/enrolment.ts';
import { renewKey, rollKey } from '../../src/keys/keys.ts';
import { Problem } from '../../src/lib/problem.ts';
import { BACKENDS } from '../harness.ts';
import { type Parts, REAL } from './node.ts';
import { tableOf } from './shaky-database.ts';

export interface Sabotage {
  readonly title: string;
  /** The invariant that notices. */
  readonly noticedBy: string;
  readonly backend: 'sqlite' | 'postgres';
  readonly parts: Parts;
  /** Whether only a fierce world notices. */
  readonly fierce: boolean;
  /** A seed that is known to notice, where the first few don't: it is played first. */
  readonly knownSeed: number;
}

const columnOf = (node: OperationNode): string =>
  ColumnNode.is(node)
    ? node.column.name
    : ReferenceNode.is(node) && ColumnNode.is(node.column)
      ? node.column.column.name
      : '';

/** UPDATEs of `table` that set `column` (to `value`, if given), changed by `change`. */
function changing(
  table: string,
  column: string,
  value: string | null,
  change: (where: OperationNode) => OperationNode,
): KyselyPlugin {
  const concerns = (node: UpdateQueryNode): boolean =>
    (node.updates ?? []).some(
      (update) =>
        columnOf(update.column) === column &&
        (value === null || (ValueNode.is(update.value) && update.value.value === value)),
    );
  return {
    transformQuery: ({ node }) => {
      if (node.kind !== 'UpdateQueryNode' || tableOf(node) !== table || !concerns(node))
        return node;
      const where = node.where?.where;
      return where === undefined ? node : { ...node, where: WhereNode.create(change(where)) };
    },
    transformResult: async ({ result }) => result,
  };
}

/** The UPDATE finds no row. */
const findNothing = (where: OperationNode): OperationNode =>
  AndNode.create(where, sql`1 = 0`.toOperationNode());

/** The UPDATE no longer checks the state on which it was decided. */
function withoutGuard(where: OperationNode): OperationNode {
  const guards = ['status', 'attempt', 'holder_id'];
  const isGuard = (node: OperationNode): boolean =>
    BinaryOperationNode.is(node) && guards.includes(columnOf(node.leftOperand));
  if (!AndNode.is(where)) return where;
  if (isGuard(where.right)) return withoutGuard(where.left);
  return isGuard(where.left) ? where.right : AndNode.create(withoutGuard(where.left), where.right);
}

/** A flush that says that it wrote, and did not. */
const forgetfulFlush = (database: Database): Database => ({
  ...database,
  tenant: (id) => database.tenant(id),
  system: () => database.system(),
  systemLists: () => database.systemLists(),
  transaction: async <T>() => undefined as T,
});

const sabotage = (
  noticedBy: string,
  title: string,
  parts: Partial<Parts>,
  more: Partial<Pick<Sabotage, 'backend' | 'fierce' | 'knownSeed'>> = {},
): Sabotage => ({
  title,
  noticedBy,
  backend: 'sqlite',
  fierce: false,
  knownSeed: 1,
  ...more,
  parts: { ...REAL, ...parts },
});

/** Sabotages of enrolment and of operators' work with keys: shown on both databases. */
const KEY_SABOTAGES: readonly Sabotage[] = BACKENDS.flatMap((backend) => [
  sabotage(
    'one runner each',
    `an enrolment that knows no machine again, on ${backend}`,
    {
      enrol: async (database, clock, caller, { enrollment_id: _id, ...request }) =>
        await enrol(database, clock, caller, request),
    },
    { backend },
  ),
  sabotage(
    'nobody turned away',
    `a token whose uses are needed for repeats, too, on ${backend}`,
    {
      enrol: async (database, clock, caller, request) => {
        if (caller.usesLeft === 0) throw new Problem('unauthorized');
        return await enrol(database, clock, caller, request);
      },
    },
    { backend },
  ),
  sabotage(
    'no key ends unasked',
    `a roll that shortens the life of the old key, on ${backend}`,
    {
      roll: async (database, clock, tenantId, keyId, seconds, by) => {
        const rolled = await rollKey(database, clock, tenantId, keyId, seconds, by);
        await database
          .tenant(tenantId)
          .updateTable('api_key')
          .set({ expires_at: clock.nowMs() + 60_000 })
          .where('tenant_id', '=', tenantId)
          .where('key_id', '=', keyId)
          .execute();
        return rolled;
      },
    },
    { backend },
  ),
]);

export const SABOTAGES: readonly Sabotage[] = [
  ...KEY_SABOTAGES,
  sabotage(
    'one lease',
    'a lost attempt that is not closed',
    { plugins: [changing('command_attempt', 'outcome', 'lost', findNothing)] },
    { fierce: true },
  ),
  // The second wall: two claims of one attempt meet at its primary key.
  sabotage(
    'no 5xx',
    'a claim without its guard, where others come between',
    { plugins: [changing('command', 'status', 'acknowledged', withoutGuard)] },
    { backend: 'postgres', fierce: true },
  ),
  sabotage(
    'no stale result',
    'a server that is deaf to the attempt that a call names',
    {
      transition: async (deps, holder, commandId, event, { attempt: _attempt, ...input }) =>
        await transition(deps, holder, commandId, event, input),
    },
    { fierce: true, knownSeed: 19 },
  ),
  sabotage('every command ends', 'a sweep that never comes', {
    sweep: async () => ({ lost: 0, expired: 0 }),
  }),
  sabotage('never locked out', 'a renewal that ends the presented key at once', {
    renew: async (database, clock, caller) => {
      const made = await renewKey(database, clock, caller);
      await database
        .tenant(caller.tenantId)
        .updateTable('api_key')
        .set({ state: 'retired' })
        .where('tenant_id', '=', caller.tenantId)
        .where('key_id', '=', caller.keyId)
        .execute();
      return made;
    },
  }),
  sabotage(
    'revoked within a second',
    'a server that believes a key for ever',
    { authenticatorClock: (clock) => ({ ...clock, nowMs: () => 0 }) },
    { backend: 'postgres', knownSeed: 9 },
  ),
  sabotage('line of keys', 'a proof that leaves the presented key without an end', {
    plugins: [changing('api_key', 'retires_at', null, findNothing)],
  }),
  sabotage(
    'line of keys',
    'a proof that retires nothing of its line',
    { plugins: [changing('api_key', 'state', 'retired', findNothing)] },
    { fierce: true },
  ),
  // Where one server hears everything, its memory makes up for the write that it forgot.
  sabotage(
    'alive is not offline',
    'a flush of presence that forgets',
    { presenceDatabase: forgetfulFlush },
    { backend: 'postgres', knownSeed: 9 },
  ),
];
