// The table of contract §4, cell by cell: each call, in each state, by each kind of caller, without
// and with the attempt that the call names. A call that doesn't apply changes nothing.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ErrorCode } from '@muster/contract';
import { BACKENDS, eventually } from '../harness.ts';
import { type Fields, ok, problemOf } from '../http/wire.ts';
import {
  move,
  newCommand,
  operate,
  type Runner,
  showCommand,
  startWorld,
  type World,
} from '../http/world.ts';

const CALLS = ['acknowledge', 'start', 'complete', 'fail', 'release'] as const;
type Call = (typeof CALLS)[number];

/** `done`: the call applies; `again`: 200, and nothing changes. */
type Cell = 'done' | 'again' | ErrorCode;
type Row = readonly [Cell, Cell, Cell, Cell, Cell];

/**
 * The holder has, or had, the second claim: it gave a pending or expired command back, and ended a
 * finished one itself, with the body that it repeats here. The former holder lost the first claim.
 */
const WHO = ['holder', 'former holder', 'stranger', 'not eligible', 'other tenant'] as const;
type Who = (typeof WHO)[number];

const all = (cell: Cell): Row => [cell, cell, cell, cell, cell];
const nobody = { 'not eligible': all('not_found'), 'other tenant': all('not_found') };
const lost = { 'former holder': all('lease_lost'), ...nobody };
const out = 'invalid_transition';
const taken: Row = ['command_claimed', out, out, out, out];

const TABLE: Readonly<Record<string, Readonly<Record<Who, Row>>>> = {
  pending: {
    holder: ['done', out, out, out, 'again'],
    stranger: ['done', out, out, out, out],
    ...nobody,
    'former holder': ['done', 'lease_lost', 'lease_lost', 'lease_lost', 'lease_lost'],
  },
  acknowledged: {
    holder: ['again', 'done', 'done', 'done', 'done'],
    stranger: all('command_claimed'),
    ...lost,
  },
  running: {
    holder: ['again', 'again', 'done', 'done', 'done'],
    stranger: all('command_claimed'),
    ...lost,
  },
  completed: {
    holder: ['again', 'again', 'again', 'transition_conflict', out],
    stranger: taken,
    ...lost,
  },
  failed: {
    holder: ['again', 'again', 'transition_conflict', 'again', out],
    stranger: taken,
    ...lost,
  },
  canceled: {
    holder: ['again', 'again', 'transition_conflict', 'again', 'again'],
    stranger: taken,
    ...lost,
  },
  expired: { holder: [out, out, out, out, 'again'], stranger: all(out), ...lost },
};

const LEADS_TO = {
  acknowledge: 'acknowledged',
  start: 'running',
  complete: 'completed',
  fail: 'failed',
  release: 'pending',
} as const;

/**
 * The calls by which the holder brings a command into the state; the operator's cancel comes in
 * between.
 */
const WAYS: Readonly<Record<string, readonly (Call | 'cancel')[]>> = {
  pending: ['acknowledge', 'release'],
  acknowledged: ['acknowledge'],
  running: ['acknowledge', 'start'],
  completed: ['acknowledge', 'start', 'complete'],
  failed: ['acknowledge', 'start', 'fail'],
  canceled: ['acknowledge', 'start', 'cancel', 'fail'],
  expired: ['acknowledge', 'release'],
};

const WORDS = { result: 'words', error_message: 'words' };
const OWN: Readonly<Record<Who, number | null>> = {
  holder: 2,
  'former holder': 1,
  stranger: null,
  'not eligible': null,
  'other tenant': null,
};

type Fence = 'none' | 'own' | 'next' | 'foreign';

const attemptOf = (who: Who, fence: Fence): number | null =>
  ({ none: null, own: OWN[who], next: 3, foreign: 99 })[fence];

/**
 * The effect of the attempt on a cell: a call may touch only the attempt that it names. A repeated
 * claim touches nothing.
 */
function expected(state: string, who: Who, call: Call, fence: Fence): Cell {
  const cell = TABLE[state]?.[who][CALLS.indexOf(call)] ?? assert.fail();
  if (fence === 'none' || cell === 'not_found') return cell;
  if (call === 'acknowledge') return cell === 'done' && fence !== 'next' ? 'lease_lost' : cell;
  return fence === 'own' ? cell : 'lease_lost';
}

interface Try {
  readonly state: string;
  readonly who: Who;
  readonly call: Call;
  readonly fence: Fence;
  readonly cell: Cell;
}

const TRIES: readonly Try[] = Object.keys(TABLE).flatMap((state) =>
  WHO.flatMap((who) =>
    CALLS.flatMap((call) =>
      (['none', 'own', 'next', 'foreign'] as const)
        .filter((fence) => fence !== 'own' || OWN[who] !== null)
        .map((fence) => ({ state, who, call, fence, cell: expected(state, who, call, fence) })),
    ),
  ),
);

/** Longer than any lease here. */
const LEASE_OVER_MS = 200_000;

for (const backend of BACKENDS) {
  describe(`the table of transitions on ${backend}`, { concurrency: false }, () => {
    let world: World;
    const callers = new Map<Who, Runner>();
    /**
     * One command for each state in which nothing changes; one of its own for each try that
     * applies.
     */
    const commands = new Map<string | Try, string>();

    const callerOf = (who: Who): Runner => callers.get(who) ?? assert.fail(who);
    const call = async (who: Who, id: string, verb: string, body: Fields = WORDS) =>
      await move(world, callerOf(who).key, id, verb, body);
    const bring = async (id: string, state: string): Promise<void> => {
      for (const step of WAYS[state] ?? []) {
        const path = `/api/v1/commands/${id}/cancel`;
        if (step === 'cancel') await operate(world, world.own.analyst, path, undefined, 200);
        else ok(await call('holder', id, step));
      }
    };
    const becomes = async (id: string, state: string): Promise<void> =>
      void (await eventually(async () => (await showCommand(world, id))['status'] === state));

    before(async () => {
      world = await startWorld(backend);
      for (const who of WHO) {
        const labels = who === 'not eligible' ? {} : { pool: 'table' };
        const body = { name: who, labels };
        const made = await operate(world, world.own.admin, '/api/v1/runners', body, 201);
        const id = String((made['runner'] as Fields)['id']);
        callers.set(who, { id, key: String(made['api_key']) });
      }
      callers.set('other tenant', world.other.runner);
      const target = { labels: { pool: 'table' } };
      const keys = [...Object.keys(TABLE), ...TRIES.filter(({ cell }) => cell === 'done')];
      for (const key of keys) {
        const more = key === 'expired' ? { expires_in: 300 } : {};
        const id = await newCommand(world, { type: 'test', target, max_attempts: 9, ...more });
        ok(await call('former holder', id, 'acknowledge'));
        commands.set(key, id);
      }
      await world.server.pass(LEASE_OVER_MS);
      for (const id of commands.values()) await becomes(id, 'pending');
      const expired = commands.get('expired') ?? '';
      await bring(expired, 'expired');
      await world.server.pass(LEASE_OVER_MS);
      await becomes(expired, 'expired');
      for (const [key, id] of commands) {
        const state = typeof key === 'string' ? key : key.state;
        if (state !== 'expired') await bring(id, state);
        await becomes(id, state);
      }
    });
    after(async () => await world.stop());

    /** A sign of life may extend the lease at any time; nothing else may move. */
    const seen = async (id: string): Promise<Fields> => {
      const { lease_expires_at: _lease, ...rest } = await showCommand(world, id);
      lastSeen.set(id, rest);
      return rest;
    };
    const lastSeen = new Map<string, Fields>();

    for (const one of TRIES) {
      const { state, who, call: verb, fence, cell } = one;
      const said = fence === 'none' ? '' : `, naming ${fence} attempt`;
      test(`${verb} of a command that is ${state}, by ${who}${said}: ${cell}`, async () => {
        const id = commands.get(cell === 'done' ? one : state) ?? assert.fail();
        const earlier = lastSeen.get(id) ?? (await seen(id));
        const attempt = attemptOf(who, fence);
        const answer = await call(who, id, verb, attempt === null ? WORDS : { ...WORDS, attempt });
        if (cell === 'done') {
          const { status, attempt: now } = ok(answer);
          const claims = verb === 'acknowledge' ? 1 : 0;
          assert.deepEqual([status, now], [LEADS_TO[verb], Number(earlier['attempt']) + claims]);
        } else {
          if (cell === 'again') assert.equal(ok(answer)['status'], state);
          else problemOf(answer, cell);
          assert.deepEqual(await seen(id), earlier);
        }
      });
    }
  });
}
