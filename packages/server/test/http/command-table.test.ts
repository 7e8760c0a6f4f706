// The table of contract §4, cell by cell: in every situation of a command each call of one runner gets the answer written
// here. A status means 200 and the command in that state; anything else is the code of a 409, and nothing changed.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { COMMAND_STATUSES } from '@muster/contract';
import { BACKENDS } from '../harness.ts';
import { type Fields, ok, problemOf } from './wire.ts';
import {
  move,
  newCommand,
  newRunner,
  operate,
  type Runner,
  showCommand,
  startWorld,
  type World,
} from './world.ts';

const VERBS = ['acknowledge', 'start', 'complete', 'fail', 'release'] as const;
type Row = readonly [
  acknowledge: string,
  start: string,
  complete: string,
  fail: string,
  release: string,
];

const INVALID = 'invalid_transition';
const CONFLICT = 'transition_conflict';
const CLAIMED = 'command_claimed';
const LOST = 'lease_lost';
const all = (answer: string): Row => [answer, answer, answer, answer, answer];

/** What `said` of complete and fail is, where a situation doesn't say otherwise; a repeat says the same. */
const SAID: Fields = { result: 'said', error_message: 'said' };
/** Longer than any lease of a silent runner. */
const LEASE_OVER_MS = 200_000;

for (const backend of BACKENDS) {
  describe(`the table of transitions, on ${backend}`, { concurrency: false }, () => {
    let world: World;
    let one: Runner;
    let two: Runner;
    before(async () => {
      world = await startWorld(backend);
      one = await newRunner(world, 'one');
      two = await newRunner(world, 'two');
    });
    after(async () => await world.stop());

    /** Moves by `one`; `two:` before a verb: by the other one. */
    const by = async (id: string, ...verbs: readonly string[]): Promise<void> => {
      for (const text of verbs) {
        const [verb = '', who = 'one'] = text.split(':').toReversed();
        ok(await move(world, who === 'two' ? two.key : one.key, id, verb, SAID));
      }
    };
    const cancel = async (id: string): Promise<void> =>
      void (await operate(
        world,
        world.own.analyst,
        `/api/v1/commands/${id}/cancel`,
        undefined,
        200,
      ));

    const situations: readonly {
      readonly name: string;
      readonly answers: Row;
      readonly more?: () => Fields;
      readonly before?: (id: string) => Promise<unknown>;
      /** Passes between `before` and `afterwards`, once for the five commands of the row. */
      readonly passMs?: number;
      readonly afterwards?: (id: string) => Promise<unknown>;
      /** Says something else than before. */
      readonly says?: Fields;
    }[] = [
      { name: 'pending', answers: ['acknowledged', INVALID, INVALID, INVALID, INVALID] },
      {
        name: 'pending and pinned to it',
        more: () => ({ runner_id: one.id }),
        answers: ['acknowledged', INVALID, INVALID, 'failed', INVALID],
      },
      {
        name: 'acknowledged by it',
        before: (id) => by(id, 'acknowledge'),
        answers: ['acknowledged', 'running', 'completed', 'failed', 'pending'],
      },
      {
        name: 'running by it',
        before: (id) => by(id, 'acknowledge', 'start'),
        answers: ['running', 'running', 'completed', 'failed', 'pending'],
      },
      {
        name: 'running by it, to be tried again when it fails',
        more: () => ({ retry_on_fail: true }),
        before: (id) => by(id, 'acknowledge', 'start'),
        answers: ['running', 'running', 'completed', 'pending', 'pending'],
      },
      {
        name: 'running by it, and to be canceled',
        before: async (id) => {
          await by(id, 'acknowledge', 'start');
          await cancel(id);
        },
        answers: ['running', 'running', 'completed', 'canceled', 'canceled'],
      },
      {
        name: 'held by another',
        before: (id) => by(id, 'two:acknowledge'),
        answers: all(CLAIMED),
      },
      {
        name: 'completed by it, said again',
        before: (id) => by(id, 'acknowledge', 'start', 'complete'),
        answers: ['completed', 'completed', 'completed', CONFLICT, INVALID],
      },
      {
        name: 'completed by it, said otherwise',
        before: (id) => by(id, 'acknowledge', 'complete'),
        says: { result: 'other', error_message: 'other' },
        answers: ['completed', INVALID, CONFLICT, CONFLICT, INVALID],
      },
      {
        name: 'failed by it, said again',
        before: (id) => by(id, 'acknowledge', 'start', 'fail'),
        answers: ['failed', 'failed', CONFLICT, 'failed', INVALID],
      },
      {
        name: 'failed by it, said otherwise',
        before: (id) => by(id, 'acknowledge', 'fail'),
        says: { result: 'other', error_message: 'other' },
        answers: ['failed', INVALID, CONFLICT, CONFLICT, INVALID],
      },
      {
        name: 'refused by it unclaimed',
        more: () => ({ runner_id: one.id }),
        before: (id) => by(id, 'fail'),
        answers: [LOST, LOST, CONFLICT, 'failed', INVALID],
      },
      {
        name: 'released by it',
        before: (id) => by(id, 'acknowledge', 'release'),
        answers: ['acknowledged', INVALID, INVALID, INVALID, 'pending'],
      },
      {
        name: 'released by it and pinned to it',
        more: () => ({ runner_id: one.id }),
        before: (id) => by(id, 'acknowledge', 'release'),
        answers: ['acknowledged', INVALID, INVALID, 'failed', 'pending'],
      },
      {
        name: 'released by it, held by another',
        before: (id) => by(id, 'acknowledge', 'release', 'two:acknowledge'),
        answers: [LOST, LOST, LOST, LOST, 'acknowledged'],
      },
      {
        name: 'lost by it, pending',
        before: (id) => by(id, 'acknowledge'),
        passMs: LEASE_OVER_MS,
        answers: ['acknowledged', LOST, LOST, LOST, LOST],
      },
      {
        name: 'lost by it, held by another',
        before: (id) => by(id, 'acknowledge', 'start'),
        passMs: LEASE_OVER_MS,
        afterwards: (id) => by(id, 'two:acknowledge'),
        answers: all(LOST),
      },
      {
        name: 'lost by it, completed by another',
        before: (id) => by(id, 'acknowledge', 'start'),
        passMs: LEASE_OVER_MS,
        afterwards: (id) => by(id, 'two:acknowledge', 'two:complete'),
        answers: all(LOST),
      },
      {
        name: 'lost by it for the last time',
        more: () => ({ max_attempts: 1 }),
        before: (id) => by(id, 'acknowledge', 'start'),
        passMs: LEASE_OVER_MS,
        answers: all(LOST),
      },
      {
        name: 'completed by another',
        before: (id) => by(id, 'two:acknowledge', 'two:complete'),
        answers: [CLAIMED, INVALID, INVALID, INVALID, INVALID],
      },
      { name: 'canceled before anybody had it', before: cancel, answers: all(INVALID) },
      {
        name: 'released by it and then canceled',
        before: async (id) => {
          await by(id, 'acknowledge', 'release');
          await cancel(id);
        },
        answers: [INVALID, INVALID, INVALID, INVALID, 'canceled'],
      },
      {
        name: 'canceled by its release',
        before: async (id) => {
          await by(id, 'acknowledge');
          await cancel(id);
          await by(id, 'release');
        },
        answers: ['canceled', INVALID, INVALID, INVALID, 'canceled'],
      },
      {
        name: 'expired',
        more: () => ({ expires_in: 60 }),
        passMs: 65_000,
        answers: all(INVALID),
      },
    ];

    for (const { name, answers, more, before, passMs = 0, afterwards, says = SAID } of situations) {
      test(`${name}: ${VERBS.map((verb, at) => `${verb} ${answers[at]}`).join(', ')}`, async () => {
        const ids = [];
        for (const _verb of VERBS) ids.push(await newCommand(world, more?.() ?? {}));
        for (const id of ids) await before?.(id);
        await world.server.pass(passMs);
        for (const id of ids) await afterwards?.(id);
        for (const [at, verb] of VERBS.entries()) {
          const id = String(ids[at]);
          const expected: string = answers[at] ?? '';
          const lookAtIt = async (): Promise<Fields> => {
            const { lease_expires_at: _lease, ...rest } = await showCommand(world, id);
            return rest;
          };
          const was = await lookAtIt();
          const answer = await move(world, one.key, id, verb, says);
          if (COMMAND_STATUSES.some((status) => status === expected)) {
            assert.equal(ok(answer)['status'], expected, verb);
            assert.equal((await lookAtIt())['status'], expected, verb);
          } else {
            const problem = problemOf(answer, expected as 'lease_lost');
            assert.equal(problem['state'], was['status'], verb);
            assert.deepEqual(await lookAtIt(), was, `${verb} changed something`);
          }
        }
      });
    }
  });
}
