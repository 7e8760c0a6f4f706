// Reports of real tools, handed in over HTTP: accepted with a receipt that adds up, or refused with
// the place. The same report again changes nothing, and neither does another order of its items.
// The project's own fixtures always, the larger corpus beside the repository where it exists.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Receipt } from '@muster/contract';
import { startServer, type TestServer } from '../harness.ts';
import { type Format, type Party, receiptOf, send, sendAgain } from './wire.ts';

const FIXTURES = new URL('../fixtures/', import.meta.url);
/** The folder of the larger corpus, beside the repository and not part of it. */
const SHARED = new URL('../../../../../shared/', import.meta.url);

const FOLDERS: readonly (readonly [folder: URL, format: Format])[] = [
  [new URL('sarif/', FIXTURES), 'sarif'],
  [new URL('ctis/', FIXTURES), 'ctis'],
  [new URL('corpus/sarif/', SHARED), 'sarif'],
  [new URL('corpus/ctis/', SHARED), 'ctis'],
  [new URL('reference/ctis-examples/', SHARED), 'ctis'],
];

let server: TestServer;
let runner: Party;
before(async () => {
  server = await startServer({ env: { MUSTER_INGEST_WORKERS: '1' } });
  runner = { url: server.url, key: server.runnerKey };
});
after(() => server.stop());

for (const [folder, format] of FOLDERS) {
  const shown = folder.pathname.split('/').slice(-3, -1).join('/');
  const skip = existsSync(folder) ? false : `${shown} is not there`;
  test(`reports of ${shown} are accepted or refused with a place, and are the same again in any order`, {
    skip,
  }, async (t) => {
    const files = readdirSync(folder).filter((name) => /\.(?:sarif|json)$/.test(name));
    assert.ok(files.length > 0);
    for (const name of files.sort()) {
      await t.test(`${name} is`, () => tell(name, new URL(name, folder), format));
    }
  });
}

async function tell(name: string, file: URL, format: Format): Promise<void> {
  const text = readFileSync(file, 'utf8');
  const query = { repository_url: `https://github.com/corpus/${encodeURIComponent(name)}` };
  const context = format === 'sarif' ? { ...query, branch: 'main' } : {};
  const first = await send(runner, format, text, context);
  if (first.problem !== null) return assertRefused(first.status, first.problem);
  receiptOf(first);
  const second = receiptOf(await sendAgain(runner, format, text, context));
  const { created, changed, reopened } = second.findings;
  assert.deepEqual(
    { created, changed, reopened },
    { created: 0, changed: 0, reopened: 0 },
    'again',
  );
  assert.equal(second.resolved, 0);
  const turned = receiptOf(await sendAgain(runner, format, reversed(text), context));
  assert.deepEqual([turned.findings.created, turned.findings.changed], [0, 0], 'reversed');
  assert.equal(turned.resolved, 0);
}

/**
 * The sender can mend a refused report: the answer is never a 5xx, and it says where the fault is.
 */
function assertRefused(status: number, problem: Readonly<Record<string, unknown>>): void {
  const said = JSON.stringify(problem);
  assert.ok(status === 400 || status === 422, said);
  assert.match(String(problem['code']), /^[a-z_]+$/);
  const receipt = problem['receipt'] as Receipt | undefined;
  if (receipt === undefined) assert.equal(typeof problem['pointer'], 'string', said);
  else assert.ok(receipt.rejections.length > 0, said);
}

interface Listed {
  results?: unknown;
  findings?: unknown;
}

/** The same document with its items in reverse order. */
function reversed(text: string): unknown {
  const document = JSON.parse(text.replace(/^\uFEFF/, '')) as Listed & {
    runs?: Listed[];
    report?: Listed;
  };
  for (const run of document.runs ?? []) {
    if (Array.isArray(run.results)) run.results.reverse();
  }
  for (const report of [document, document.report]) {
    if (Array.isArray(report?.findings)) report.findings.reverse();
  }
  return document;
}
