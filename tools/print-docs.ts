// Prints what the code says into the documents that repeat it: openapi.json, docs/errors.md, and
// the diagram of command states in ARCHITECTURE.md. Run by `npm run print-docs`;
// test/docs/printed.test.ts of the server proves that the checked-in prints are fresh.

import { readFileSync, writeFileSync } from 'node:fs';
import {
  COMMAND_STATUSES,
  type CommandStatus,
  endpointList,
  type ErrorCode,
  errors,
  printOpenApi,
  RETRY_AFTER_SECONDS,
} from '@muster/contract';
import packageJson from '../packages/server/package.json' with { type: 'json' };
import {
  type CommandState,
  decide,
  decideLoss,
  type OwnAttempt,
  type RunnerEvent,
  TRANSITIONS,
} from '../packages/server/src/commands/command.machine.ts';

const ROOT = new URL('../', import.meta.url);
const REWRITE = 'npm run print-docs';

/** A document and the text that it must hold. */
export interface Printed {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly text: string;
}

/** All printed documents, as they must be now. */
export function printedDocuments(): Printed[] {
  return [
    {
      path: 'openapi.json',
      text: `${JSON.stringify(printOpenApi(packageJson.version), null, 2)}\n`,
    },
    { path: 'docs/errors.md', text: errorsPage() },
    {
      path: 'ARCHITECTURE.md',
      text: withCommandStates(readFileSync(new URL('ARCHITECTURE.md', ROOT), 'utf8')),
    },
  ];
}

// ---- docs/errors.md

function errorsPage(): string {
  const codes = (Object.keys(errors) as ErrorCode[]).sort(
    (a, b) => errors[a].status - errors[b].status || (a < b ? -1 : 1),
  );
  const rows = codes.map(
    (code) => `| [\`${code}\`](#${code}) | ${errors[code].status} | ${errors[code].title} |`,
  );
  return [
    '# Errors',
    '',
    `<!-- Printed from packages/contract/src/errors.ts by \`${REWRITE}\`. Change it there. -->`,
    '',
    'Every refusal is a problem document (RFC 9457, `application/problem+json`). `code` is stable: programs should',
    'look at it and at nothing else. `error` repeats `code`, and `message` repeats `detail`, for older clients.',
    '`request_id` finds the request in the log of the server. `pointer`, or `errors` with several places, says where',
    'in the document the fault is (RFC 6901). Send a request again as it was after 429 and 5xx only.',
    '',
    '| Code | Status | What it means |',
    '|---|---|---|',
    ...rows,
    '',
    ...codes.flatMap(errorSection),
  ].join('\n');
}

function errorSection(code: ErrorCode): string[] {
  const { status, title, action } = errors[code];
  const where = endpointList
    .filter((endpoint) => endpoint.errors.includes(code))
    .map(({ id }) => `\`${id}\``);
  const seconds = RETRY_AFTER_SECONDS[code];
  return [
    `## ${code}`,
    '',
    `**${status}. ${title}.** ${action}`,
    '',
    ...(seconds === undefined
      ? []
      : [
          `The answer has \`Retry-After\`: ${seconds} seconds where nothing more precise is known.`,
          '',
        ]),
    `Endpoints that declare it: ${where.length === 0 ? 'none; any may meet it' : where.join(', ')}.`,
    '',
  ];
}

// ---- The states of a command.

const BEGIN = `<!-- printed from TRANSITIONS and decide() in command.machine.ts by ${REWRITE} -->`;
const END = '<!-- end of print -->';

function withCommandStates(page: string): string {
  const from = page.indexOf(BEGIN);
  const to = page.indexOf(END);
  if (from < 0 || to < from)
    throw new Error(`ARCHITECTURE.md has lost its lines "${BEGIN}" and "${END}"`);
  return `${page.slice(0, from)}${BEGIN}\n${commandStates()}${page.slice(to)}`;
}

const ME = 'this runner';
const RUNNER_EVENTS: readonly RunnerEvent[] = [
  'acknowledge',
  'start',
  'complete',
  'fail',
  'release',
];

/**
 * Every move that the machine really makes: `decide` is asked about all states, and each answer is
 * compared with TRANSITIONS.
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

if (import.meta.main) {
  for (const { path, text } of printedDocuments()) writeFileSync(new URL(path, ROOT), text);
}
