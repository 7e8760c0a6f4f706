// The rules about documents and traces: each refuses its bad samples and leaves the good ones
// alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusedLines } from './bad-sample.ts';
import {
  explainedDependencies,
  machineTraces,
  missingFiles,
  resolvedHosts,
  SERVER_DEPENDENCIES_MAX,
} from './documents.ts';
import type { SourceFile } from './source.ts';

const PATHS = new Set(['README.md', 'docs/adr/0001-a.md', 'packages/server/src/db/dialect.ts']);
const inRepository = (file: SourceFile) => missingFiles(file, PATHS);

test('a link or a name in backticks that leads nowhere is refused', () => {
  const text = [
    'See [gone](adr/0009-gone.md), [here](adr/0001-a.md) and [up](../README.md#top).',
    'The list is `db/gone.ts`; the other one `db/dialect.ts` or `dialect.ts`.',
    '[folder](adr/), [elsewhere](https://example.org/a.md), `gone.sql`',
  ].join('\n');
  assert.deepEqual(refusedLines(inRepository, 'docs/a.md', text), [1, 2, 3]);
});

test('placeholders, patterns, code blocks and the changelog are left alone', () => {
  const text = '`*.rules.ts` `<noun>.routes.ts` `a/{b,c}.sql`\n```\ncat `no/such.ts`\n```\n';
  assert.deepEqual(refusedLines(inRepository, 'docs/a.md', text), []);
  assert.deepEqual(refusedLines(inRepository, 'CHANGELOG.md', '`was/here.ts`'), []);
});

test('a dependency of the server that no decision explains is refused', () => {
  const manifest = {
    path: 'packages/server/package.json',
    text: '{\n"dependencies": {\n"@muster/contract": "1",\n"fastify": "5",\n"left-pad": "1"\n}}',
  };
  const decisions = [{ path: 'docs/adr/0001-a.md', text: 'We take `fastify` for HTTP.' }];
  const [violation, ...others] = explainedDependencies(manifest, decisions);
  assert.equal(violation?.line, 5);
  assert.match(violation?.message ?? '', /`left-pad` has no line/);
  assert.deepEqual(others, []);
});

test('one dependency more than the limit is refused, explained or not', () => {
  const names = Array.from(
    { length: SERVER_DEPENDENCIES_MAX + 1 },
    (_, index) => `library-${index}`,
  );
  const dependencies = Object.fromEntries(names.map((name) => [name, '1']));
  const manifest = { path: 'package.json', text: JSON.stringify({ dependencies }) };
  const text = names.map((name) => `\`${name}\``).join();
  assert.equal(explainedDependencies(manifest, [{ path: 'docs/adr/a.md', text }]).length, 1);
});

test('registry hosts and folders of one machine are refused', () => {
  const text = [
    `https://registry.${'npmjs'}.org/pg`,
    "open('/home/eve/muster')",
    `see /${'work'}/main`,
    `/${'root'}/x`,
  ].join('\n');
  assert.deepEqual(refusedLines(machineTraces, 'README.md', text), [1, 2, 3, 4]);
});

test('URIs, relative folders and the invented user of the samples are left alone', () => {
  const text = 'file:///home/eve/a.ts https://example.org/work/a ./home/a ${x}/work/a /home/ada/a';
  assert.deepEqual(refusedLines(machineTraces, 'docs/a.md', text), []);
});

test('a lock file that names hosts is refused; links between workspaces are not', () => {
  const text = '"resolved": "packages/cli",\n"resolved": "https://example.org/pg.tgz",';
  assert.deepEqual(refusedLines(resolvedHosts, 'package-lock.json', text), [2]);
});
