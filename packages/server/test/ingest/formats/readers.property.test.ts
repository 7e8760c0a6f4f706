// The readers on documents that nobody wrote: reports that look real, with parts swapped, dropped,
// repeated or replaced by hostile values. Every document gives drafts and located rejections, or
// one DocumentRefused.

import { test } from 'node:test';
import fc from 'fast-check';
import { randomOf } from '../../generate/random.ts';
import { assertOrderSaysNothing, assertRead } from '../../generate/reading.ts';
import { type Format, fixture, fixtureNames } from './readers.ts';

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

/** Replaces, drops or repeats one member below the root; `path` chooses the member. */
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
      assertRead(format, changed);
    }),
    { numRuns: RUNS },
  );
});

test('any JSON value at all is decoded or refused', () => {
  fc.assert(
    fc.property(fc.constantFrom<Format>('sarif', 'ctis'), fc.jsonValue(), (format, value) => {
      assertRead(format, value);
      assertRead(format, { version: '2.1.0', runs: [{ results: [value] }] });
      assertRead(format, { findings: [value], assets: [value], metadata: value });
    }),
    { numRuns: RUNS },
  );
});

test('in any order of items and of members, drafts, evidence and sums are the same', () => {
  fc.assert(
    fc.property(fc.nat(REPORTS.length - 1), fc.nat(), (which, seed) => {
      const { format, document } = REPORTS[which] ?? { format: 'sarif' as const, document: null };
      assertOrderSaysNothing(format, document, randomOf(seed));
    }),
    { numRuns: RUNS },
  );
});
