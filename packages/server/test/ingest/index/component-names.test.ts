// The names by which dependencies refer to each other, compared with the rule as it is written
// down: ids before exact names before bare ones, each of them meaning the first dependency of that
// name, in whatever order they come; and the columns that keep the names.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ComponentNames } from '../../../src/ingest/index/component-names.rules.ts';
import { DocumentFault } from '../../../src/ingest/document/scan.decode.ts';
import { GrowingTexts } from '../../../src/lib/growing-texts.ts';

interface Named {
  readonly identity: string;
  readonly id: string | null;
  readonly exact: readonly string[];
  readonly bare: string;
}

const WORDS = ['a', 'b', 'c', 'd', 'e'];
const word = fc.constantFrom(...WORDS);
const entries = fc.array(
  fc.record<Named>({
    identity: word,
    id: fc.option(word),
    exact: fc.array(word, { maxLength: 2 }),
    bare: word,
  }),
  { maxLength: 8 },
);

/**
 * The rule, with all entries at hand: what each name means, and the entries whose id another one
 * has already.
 */
function meanings(all: readonly Named[]): { means: Map<string, string>; repeated: number[] } {
  const means = new Map<string, string>();
  const repeated: number[] = [];
  for (const [at, { id, identity }] of all.entries()) {
    if (id === null) continue;
    if (!means.has(id)) means.set(id, identity);
    else if (means.get(id) !== identity) repeated.push(at);
  }
  for (const { exact, identity } of all) {
    for (const name of exact) if (!means.has(name)) means.set(name, identity);
  }
  for (const name of WORDS) {
    const called = new Set(all.filter(({ bare }) => bare === name).map(({ identity }) => identity));
    const [only] = called;
    if (called.size === 1 && only !== undefined && !means.has(name)) means.set(name, only);
  }
  return { means, repeated };
}

test('a name means what it would with all dependencies at hand, though each is looked at once', () => {
  fc.assert(
    fc.property(entries, (all) => {
      const names = new ComponentNames();
      const repeated: number[] = [];
      for (const [at, { identity, id, exact, bare }] of all.entries()) {
        const row = names.rowOf(identity);
        assert.equal(names.identityOf(row), identity);
        if (id !== null && !names.addId(id, row)) repeated.push(at);
        for (const name of exact) names.addExact(name, row);
        names.addBare(bare, row);
      }
      const expected = meanings(all);
      assert.deepEqual(repeated, expected.repeated);
      for (const name of WORDS) {
        const row = names.find(name);
        assert.equal(row === null ? undefined : names.identityOf(row), expected.means.get(name));
      }
    }),
    { numRuns: 2000 },
  );
});

test('many thousand names are found again, and each identity is one row', () => {
  const names = new ComponentNames();
  const count = 5000;
  for (let turn = 0; turn < 2; turn += 1) {
    for (let at = 0; at < count; at += 1) {
      assert.equal(names.rowOf(`pkg:npm/library-${at}`), at);
      names.addId(`ref-${at}`, at);
      names.addBare('library', at);
    }
  }
  assert.equal(names.length, count);
  for (let at = 0; at < count; at += 1) assert.equal(names.find(`ref-${at}`), at);
  assert.equal(names.find(`ref-${count}`), null);
  assert.equal(names.find('library'), null, 'several have it');
  names.addId('\ud800', 1);
  assert.equal(names.find('\ud801'), null, 'another half of a character');
});

test('identities beyond what may be held are refused for their size', () => {
  const names = new ComponentNames(128 * 1024);
  const add = (): void => {
    for (let at = 0; at < 200; at += 1) names.rowOf(`${at} ${'x'.repeat(1000)}`);
  };
  assert.throws(add, (error) => error instanceof DocumentFault && error.kind === 'size');
  assert.ok(names.length > 120);
});

test('a list of texts gives each of them back, in whatever alphabet', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme', maxLength: 200 }), { maxLength: 50 }),
      (texts) => {
        const list = new GrowingTexts();
        // Often enough that the columns need several segments.
        for (let turn = 0; turn < 20; turn += 1) for (const text of texts) list.push(text);
        assert.equal(list.length, 20 * texts.length);
        for (let at = 0; at < list.length; at += 1) {
          assert.equal(list.at(at), texts[at % texts.length]);
        }
      },
    ),
    { numRuns: 100 },
  );
});
