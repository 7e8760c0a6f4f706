// The machines of the server as diagrams (Mermaid), for ARCHITECTURE.md. A move that a machine
// makes without having it in its table is an error here. Called by tools/print-docs.ts.

import {
  COMMAND_STATUSES,
  type CommandStatus,
  KEY_STATES,
  RUNNER_ADMIN_STATES,
  UPLOAD_STATES,
} from '@muster/contract';
import {
  type CommandState,
  decide,
  decideLoss,
  type OwnAttempt,
  type RunnerEvent,
  TRANSITIONS,
} from '../packages/server/src/commands/command.machine.ts';
import { created, FINDING_MOVES } from '../packages/server/src/findings/finding.machine.ts';
import {
  UPLOAD_BEGINNING,
  UPLOAD_MOVES,
} from '../packages/server/src/ingest/store/upload.machine.ts';
import { KEY_BEGINNINGS, KEY_MOVES } from '../packages/server/src/keys/key.machine.ts';
import { RUNNER_BEGINNING, RUNNER_MOVES } from '../packages/server/src/keys/runner.machine.ts';
import {
  SESSION_BEGINNING,
  SESSION_MOVES,
} from '../packages/server/src/scans/scan-session.machine.ts';

/** A table of moves as any machine has one. */
type Moves = Readonly<
  Record<string, { readonly from: readonly string[]; readonly to: string | readonly string[] }>
>;

/** Title of the part that is printed → its diagram. */
export const MACHINES: Readonly<Record<string, () => string>> = {
  'commands/command.machine.ts': commandStates,
  'findings/finding.machine.ts': () => {
    const { decide: _, ...moves } = FINDING_MOVES;
    const begin = [created(false), created(true)].map(({ to }) => `[*] --> ${to} : create`);
    return diagram(begin, moves, [], 'an operator may decide any status, whatever it was');
  },
  'ingest/store/upload.machine.ts': () =>
    diagram([`[*] --> ${UPLOAD_BEGINNING} : begin`], UPLOAD_MOVES, UPLOAD_STATES),
  'keys/key.machine.ts': () =>
    diagram(
      Object.entries(KEY_BEGINNINGS).map(([how, state]) => `[*] --> ${state} : ${how}`),
      withoutLoops(KEY_MOVES),
      KEY_STATES,
    ),
  'keys/runner.machine.ts': () =>
    diagram(
      [`[*] --> ${RUNNER_BEGINNING} : enrol`],
      withoutLoops(RUNNER_MOVES),
      RUNNER_ADMIN_STATES,
    ),
  'scans/scan-session.machine.ts': () =>
    diagram(
      [`[*] --> ${SESSION_BEGINNING} : start`],
      SESSION_MOVES,
      Object.values(SESSION_MOVES).map(({ to }) => to),
    ),
};

/** A repeat changes nothing: an arrow from a state to itself says nothing. */
function withoutLoops(moves: Moves): Moves {
  return Object.fromEntries(
    Object.entries(moves).map(([event, { from, to }]) => [
      event,
      { from: from.filter((state) => state !== to), to },
    ]),
  );
}

/** One line for each pair of states, with the events that lead from one to the other. */
function diagram(
  begin: readonly string[],
  moves: Moves,
  states: readonly string[],
  note: string | null = null,
): string {
  const events = new Map<string, string[]>();
  for (const [event, { from, to }] of Object.entries(moves)) {
    for (const one of from) {
      for (const other of [to].flat()) {
        const key = `${one} --> ${other}`;
        events.set(key, [...(events.get(key) ?? []), event]);
      }
    }
  }
  const ends = states.filter(
    (state) => ![...events.keys()].some((key) => key.startsWith(`${state} `)),
  );
  const lines = [
    ...begin,
    ...[...events].map(([move, names]) => `${move} : ${names.sort().join(', ')}`).sort(),
    ...ends.map((state) => `${state} --> [*]`),
  ];
  const drawn = lines.map((line) => `  ${line}\n`).join('');
  return `\`\`\`mermaid\nstateDiagram-v2\n${note === null ? '' : `  %% ${note}\n`}${drawn}\`\`\`\n`;
}

// ---------------------------------------------------------------- the states of a command

const ME = 'this runner';
const RUNNER_EVENTS: readonly RunnerEvent[] = [
  'acknowledge',
  'start',
  'complete',
  'fail',
  'release',
];

/**
 * Every move that the machine really makes: `decide` asked about all states, each answer held
 * against TRANSITIONS.
 */
function commandStates(): string {
  const moves = new Map<string, Set<string>>();
  const add = (from: CommandStatus, event: keyof typeof TRANSITIONS, to: CommandStatus): void => {
    const { from: froms, to: tos } = TRANSITIONS[event];
    if (!froms.includes(from) || !tos.includes(to)) {
      throw new Error(`TRANSITIONS does not know ${from} --${event}--> ${to}`);
    }
    const key = `${from} --> ${to}`;
    moves.set(key, (moves.get(key) ?? new Set()).add(event));
  };
  for (const state of possibleStates()) {
    for (const [own, event] of RUNNER_EVENTS.flatMap((event) =>
      possibleAttempts(state).map((own) => [own, event] as const),
    )) {
      const call = {
        event,
        runnerId: ME,
        paused: false,
        eligible: true,
        answer: 'a',
        attempt: null,
      };
      const decision = decide(state, own, call, 0);
      if (decision.kind === 'apply') add(state.status, event, decision.to);
    }
    if (TRANSITIONS.lose.from.includes(state.status))
      add(state.status, 'lose', decideLoss(state).to);
  }
  for (const event of ['cancel', 'expire'] as const) {
    for (const from of TRANSITIONS[event].from) {
      for (const to of TRANSITIONS[event].to) add(from, event, to);
    }
  }
  const ends = COMMAND_STATUSES.filter(
    (status) => ![...moves.keys()].some((key) => key.startsWith(`${status} `)),
  );
  const lines = [
    '[*] --> pending : create',
    ...[...moves].map(([move, events]) => `${move} : ${[...events].sort().join(', ')}`).sort(),
    ...ends.map((status) => `${status} --> [*]`),
  ];
  return `\`\`\`mermaid\nstateDiagram-v2\n${lines.map((line) => `  ${line}\n`).join('')}\`\`\`\n`;
}

function possibleStates(): CommandState[] {
  return COMMAND_STATUSES.flatMap((status) =>
    [null, ME].flatMap((runnerId) =>
      [1, 3].flatMap((attempt) =>
        [false, true].flatMap((retryOnFail) =>
          [false, true].map((cancelRequested) => ({
            status,
            runnerId,
            holderId: status === 'acknowledged' || status === 'running' ? ME : null,
            attempt,
            released: 0,
            maxAttempts: 3,
            retryOnFail,
            scheduledAt: null,
            expiresAt: null,
            cancelRequested,
          })),
        ),
      ),
    ),
  );
}

function possibleAttempts({ attempt }: CommandState): (OwnAttempt | null)[] {
  const outcomes = [null, 'completed', 'failed', 'released', 'lost', 'canceled'] as const;
  return [
    null,
    ...outcomes.map((outcome) => ({ attempt, startedAt: null, outcome, answer: null })),
  ];
}
