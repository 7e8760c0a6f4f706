// Prints what the code says into the documents that repeat it: openapi.json, docs/errors.md, and
// the diagram of command states in ARCHITECTURE.md. Run by `npm run print-docs`;
// test/docs/printed.test.ts of the server proves that the checked-in prints are fresh.

import { readFileSync, writeFileSync } from 'node:fs';
import {
  endpointList,
  type ErrorCode,
  errors,
  printOpenApi,
  RETRY_AFTER_SECONDS,
} from '@muster/contract';
import packageJson from '../packages/server/package.json' with { type: 'json' };
import { MACHINES } from './print-machines.ts';
import { drawnRooms } from './print-rooms.ts';

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
    { path: 'ARCHITECTURE.md', text: architecturePage() },
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

const END = '<!-- end of print -->';

/**
 * The page with its printed parts anew, each between a line that names its source and the line END.
 */
function architecturePage(): string {
  let page = readFileSync(new URL('ARCHITECTURE.md', ROOT), 'utf8');
  const parts = { ...MACHINES, 'the imports': drawnRooms };
  for (const [source, print] of Object.entries(parts)) {
    const begin = `<!-- printed from ${source} by ${REWRITE} -->`;
    const from = page.indexOf(begin);
    const to = page.indexOf(END, from);
    if (from < 0 || to < 0) throw new Error(`ARCHITECTURE.md has lost "${begin}" or its "${END}"`);
    page = `${page.slice(0, from)}${begin}\n${print()}${page.slice(to)}`;
  }
  return page;
}

if (import.meta.main) {
  for (const { path, text } of printedDocuments()) writeFileSync(new URL(path, ROOT), text);
}
