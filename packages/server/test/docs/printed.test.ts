// The checked-in prints are what the code says now; and tables that people keep by hand name
// everything that the code has.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { errors } from '@muster/contract';
import { shortDiff } from '../../../../tools/golden.ts';
import { printedDocuments } from '../../../../tools/print-docs.ts';
import { VARIABLES } from '../../src/config.ts';

const ROOT = new URL('../../../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

for (const { path, text } of printedDocuments()) {
  test(`${path} is what the code prints`, () => {
    const known = read(path);
    if (known !== text) {
      assert.fail(
        `${path} is stale:\n${shortDiff(known, text)}\nBring it up to date: npm run print-docs`,
      );
    }
  });
}

test('the table of settings in README.md names every variable with its default', () => {
  const rows = read('README.md')
    .split('\n')
    .filter((line) => line.startsWith('| `MUSTER_'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, name, fallback]) => [name, fallback]);
  const expected = VARIABLES.map(({ name, fallback }) => [
    `\`${name}\``,
    fallback === '' ? '' : `\`${fallback}\``,
  ]);
  assert.deepEqual(rows, expected);
});

test('every direct dependency of the server is named in a decision', () => {
  const { dependencies } = JSON.parse(read('packages/server/package.json')) as {
    dependencies: Record<string, string>;
  };
  const pages = readdirSync(new URL('docs/adr/', ROOT)).map((name) => read(`docs/adr/${name}`));
  const missing = Object.keys(dependencies).filter(
    (name) => !pages.some((page) => page.includes(`| \`${name}\` |`)),
  );
  assert.deepEqual(missing, []);
});

test('docs/reading-a-receipt.md names every warning and rejection code that the readers give', () => {
  const folder = 'packages/server/src/ingest/';
  const names = readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' });
  const sources = names.filter((name) => name.endsWith('.ts')).map((name) => read(folder + name));
  const patterns = [
    /\.warn\((?:`[^`]*`|'[^']*'|\w+), '([a-z_]+)'/g,
    /\bcode(?:: | = )'([a-z_]+)'/g,
    /rejectionsByCode\.set\('([a-z_]+)'/g,
  ];
  const codes = new Set(
    sources.flatMap((text) =>
      patterns.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1] as string)),
    ),
  );
  // The codes of docs/errors.md are about an upload as a whole; `invalid` is about a header.
  for (const code of [...Object.keys(errors), 'invalid']) codes.delete(code);
  assert.ok(
    codes.size >= 20,
    `only ${codes.size} codes found: do the patterns still fit the sources?`,
  );
  const page = read('docs/reading-a-receipt.md');
  const missing = [...codes].filter((code) => !page.includes(`\`${code}\``));
  assert.deepEqual(missing, []);
  const tables = /^## Rejections$[^]*?(?=^## Absence)/m.exec(page)?.[0] ?? '';
  const firstCells = [...tables.matchAll(/^\| (`[^|]+) \|/gm)].map((match) => match[1] as string);
  const named = firstCells.flatMap((cell) =>
    [...cell.matchAll(/`([a-z_]+)`/g)].map((match) => match[1]),
  );
  assert.deepEqual(
    named.filter((code) => code === undefined || !codes.has(code)),
    [],
  );
});
