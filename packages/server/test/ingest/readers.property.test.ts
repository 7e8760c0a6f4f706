// The readers against documents that nobody wrote: real-looking reports with parts swapped,
// dropped, repeated or replaced by hostile values. Whatever comes, there are drafts, located
// rejections, or one DocumentRefused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DocumentRefused } from '../../src/ingest/draft.rules.ts';
import {
  decode,
  drafts,
  type Format,
  fixture,
  fixtureNames,
  pointerOf,
  type ReadItem,
  resolve,
} from './readers.ts';

const RUNS = 300;

const REPORTS = (['sarif', 'ctis'] satisfies Format[]).flatMap((format) =>
  fixtureNames(format).map((name) => ({ format, document: fixture(format, name) })),
);

/** Values that JSON can hold and readers don't expect. */
const hostile = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    1e308,
    '',
    ' ',
    '\0',
    '\ud800',
    '{0}{99}',
    '%E0%A4%A',
  ),
  fc.constantFrom<unknown>(
    '__proto__',
    'constructor',
    '../../..',
    'C:\\',
    'file://',
    'http://[',
    '@',
    '/',
  ),
  fc.constantFrom<unknown>(
    [],
    {},
    [null],
    [[]],
    { text: 5 },
    { id: {} },
    JSON.parse('{"__proto__":{"a":1}}'),
  ),
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

/** Replaces, drops or repeats one member somewhere below the root; `path` picks where. */
function mutated(document: unknown, path: readonly number[], how: number, value: unknown): unknown {
  const copy: unknown = structuredClone(document);
  let here = copy as Record<string, unknown>;
  for (const [depth, pick] of path.entries()) {
    const names = Object.keys(here);
    const name = names[pick % Math.max(1, names.length)];
    if (name === undefined) break;
    const next = here[name];
    const isLast = depth === path.length - 1 || typeof next !== 'object' || next === null;
    if (!isLast) {
      here = next as Record<string, unknown>;
      continue;
    }
    if (how === 0 && !Array.isArray(here)) delete here[name];
    else if (how === 1 && Array.isArray(here)) here.push(next, value);
    else if (how === 2) Object.defineProperty(here, '__proto__', { value, enumerable: true });
    else here[name] = value;
    break;
  }
  return copy;
}

test('a mutated document yields drafts, located rejections or one refusal', () => {
  const mutation = fc.tuple(
    fc.array(fc.nat(40), { minLength: 1, maxLength: 9 }),
    fc.nat(5),
    hostile,
  );
  const mutations = fc.array(mutation, { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(fc.nat(REPORTS.length - 1), mutations, (which, changes) => {
      const { format, document } = REPORTS[which] ?? { format: 'sarif' as const, document: null };
      let changed = document;
      for (const [path, how, value] of changes) changed = mutated(changed, path, how, value);
      expectTotal(format, changed);
    }),
    { numRuns: RUNS },
  );
});

test('any JSON value at all is decoded or refused', () => {
  fc.assert(
    fc.property(fc.constantFrom<Format>('sarif', 'ctis'), fc.jsonValue(), (format, value) => {
      expectTotal(format, value);
      expectTotal(format, { version: '2.1.0', runs: [{ results: [value] }] });
      expectTotal(format, { findings: [value], assets: [value], metadata: value });
    }),
    { numRuns: RUNS },
  );
});

function expectTotal(format: Format, document: unknown): void {
  let items: ReadItem[];
  try {
    const report = decode(format, document);
    items = [...report.items()];
    assert.deepEqual([...report.items()], items);
    JSON.stringify({ ...report, items });
  } catch (error) {
    assert.ok(error instanceof DocumentRefused, String((error as Error).stack));
    assert.ok(error.code !== '' && error.message !== '');
    return;
  }
  for (const item of items) {
    if (item.outcome !== 'rejected') resolve(document, pointerOf(item));
    if (item.outcome !== 'finding') continue;
    const { draft } = item;
    assert.ok(
      draft.identity.content.some((part) => part !== ''),
      'content says something',
    );
    assert.ok(draft.title !== '' && draft.message !== '', 'a finding can be called something');
    assert.ok(draft.startLine === null || draft.startLine >= 1);
    assert.ok(!(draft.path ?? '').split('/').includes('..'), 'a path stays below its root');
    const text = JSON.stringify(draft);
    assert.ok(!text.includes('\\u0000') && !/\\ud[89a-f]/i.test(text), 'texts are clean');
  }
}

test('shuffling the items changes no draft but its pointer', () => {
  fc.assert(
    fc.property(fc.nat(REPORTS.length - 1), fc.infiniteStream(fc.nat()), (which, picks) => {
      const { format, document } = REPORTS[which] ?? { format: 'sarif' as const, document: null };
      const shuffled = structuredClone(document);
      for (const list of itemLists(shuffled)) {
        for (let at = list.length - 1; at > 0; at -= 1) {
          const other = picks.next().value % (at + 1);
          [list[at], list[other]] = [list[other], list[at]];
        }
      }
      assert.deepEqual(withoutPointers(format, shuffled), withoutPointers(format, document));
    }),
    { numRuns: RUNS },
  );
});

/**
 * Asset indexes follow the order in which findings name their targets; the asset itself doesn't.
 */
function withoutPointers(format: Format, document: unknown): string[] {
  const report = decode(format, document);
  return drafts(report)
    .map((draft) => {
      const target = draft.asset === null ? null : report.assets.usable[draft.asset]?.value;
      return JSON.stringify({ ...draft, pointer: null, asset: target });
    })
    .sort();
}

function itemLists(document: unknown): unknown[][] {
  const { runs, findings, report } = document as {
    runs?: { results?: unknown }[];
    findings?: unknown;
    report?: { findings?: unknown };
  };
  const lists = [...(runs ?? []).map((run) => run.results), findings, report?.findings];
  return lists.filter((list): list is unknown[] => Array.isArray(list));
}
