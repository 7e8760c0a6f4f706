// Documents read as a stream against the same documents read as a whole, for any document, any way
// of writing it and any way of cutting its bytes. Bytes that are no document give a fault exactly
// where JSON.parse refuses, at the place where the text stops being JSON.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { limits } from '@muster/contract';
import { ItemBounds } from '../../src/ingest/document/items.decode.ts';
import {
  DocumentFault,
  DocumentScanner,
  TooManyItems,
} from '../../src/ingest/document/scan.decode.ts';
import { assertScannedAlike, cut, itemsOf, PLACES, takenByScanner } from '../generate/scanning.ts';

const RUNS = 800;

const blank = fc.constantFrom('', '', '', '', ' ', '\n', '\r\n\t ');

/** A name as JSON may write it: as it is, or with some of its characters as escapes. */
const written = (name: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(name, fc.constantFrom(0, 0, 0, 1, 0x55, 0xffff)).map(([text, mask]) => {
    const escaped = (char: string): string =>
      `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
    const units = Array.from({ length: text.length }, (_, index) => text.charAt(index));
    return `"${units
      .map((char, index) =>
        (mask >> index) & 1 ? escaped(char) : JSON.stringify(char).slice(1, -1),
      )
      .join('')}"`;
  });

const BESIDE = ['assets', 'dependencies', 'relationships', 'endpoints'];
const LISTS = ['runs', 'results', 'findings', ...BESIDE, 'report', 'inlineExternalProperties'];
const anyName = written(
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...LISTS, '__proto__', 'a', 'a', '') },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
  ),
);
const scalar = fc.oneof(
  fc.constantFrom('null', 'true', 'false', '0', '-0', '1.5e-7', '1E+20', '12345678901234567890'),
  fc.constantFrom('""', '"]},{["', '"\\""', '"\\\\"', '"\\\\\\""', '":,"', '"\\u0000\\ud800"'),
  fc.constantFrom('"é😀"', '"runs"', `"${'\\\\'.repeat(9)}"`),
  written(fc.string({ unit: 'binary', maxLength: 12 })),
);

const listOf = (entry: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(fc.array(entry, { maxLength: 5 }), blank, blank)
    .map(([texts, a, b]) => `[${a}${texts.join(`${b},${a}`)}${b}]`);

const objectOf = (
  member: fc.Arbitrary<readonly [name: string, value: string]>,
): fc.Arbitrary<string> =>
  fc.tuple(fc.array(member, { maxLength: 5 }), blank, blank).map(([members, a, b]) => {
    const texts = members.map(([name, value]) => `${name}${b}:${a}${value}`);
    return `{${a}${texts.join(`${a},${b}`)}${b}}`;
  });

const anyValue = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    listOf(tie('value')),
    objectOf(fc.tuple(anyName, tie('value'))),
  ),
})).value;

const mostly = (usual: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof({ weight: 4, arbitrary: usual }, { weight: 1, arbitrary: anyValue });
const named = (
  name: string,
  value: fc.Arbitrary<string>,
): fc.Arbitrary<readonly [string, string]> => fc.tuple(written(fc.constant(name)), mostly(value));

const anyMember = fc.tuple(anyName, anyValue);
const run = objectOf(fc.oneof(named('results', listOf(anyValue)), anyMember));
const finding = fc.oneof(
  named('findings', listOf(anyValue)),
  ...BESIDE.map((name) => named(name, listOf(anyValue))),
);
const anyDocument = fc
  .tuple(
    blank,
    mostly(
      objectOf(
        fc.oneof(
          named('runs', listOf(mostly(run))),
          named('inlineExternalProperties', listOf(mostly(run))),
          finding,
          named('report', objectOf(fc.oneof(finding, anyMember))),
          anyMember,
        ),
      ),
    ),
    blank,
  )
  .map((parts) => Buffer.from(parts.join('')));

/** One byte at a time, all at once, or anything between. */
const sizes = fc.oneof(
  fc.constant([1]),
  fc.constant([]),
  fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 }),
);

test('a document gives the same envelope and items as when it is parsed as a whole, however it is cut', () => {
  fc.assert(
    fc.property(anyDocument, sizes, (bytes, pieces) => {
      assert.equal(assertScannedAlike(bytes, cut(bytes, pieces)), 'document');
    }),
    { numRuns: RUNS },
  );
});

/** The ways of damaging bytes: some are left out, inserted or changed, or the rest is missing. */
const damages = fc.array(
  fc.tuple(
    fc.constantFrom('delete', 'insert', 'change', 'end'),
    fc.nat(),
    fc.oneof(fc.constantFrom(...Buffer.from('{}[]",:\\0-.etn \n')), fc.nat(255)),
  ),
  { minLength: 1, maxLength: 3 },
);

function damaged(bytes: Buffer, [how, where, byte]: [string, number, number]): Buffer {
  const at = where % (bytes.length + 1);
  if (how === 'end') return bytes.subarray(0, at);
  const middle = how === 'delete' ? [] : [byte];
  return Buffer.concat([
    bytes.subarray(0, at),
    Buffer.from(middle),
    bytes.subarray(how === 'insert' ? at : at + 1),
  ]);
}

test('damaged bytes are a document or a fault exactly as JSON.parse says, and the place is where they break', () => {
  fc.assert(
    fc.property(anyDocument, damages, sizes, (document, changes, pieces) => {
      const bytes = changes.reduce<Buffer>(damaged, document);
      assertScannedAlike(bytes, cut(bytes, pieces));
    }),
    { numRuns: 2 * RUNS },
  );
});

test('nesting is allowed up to the limit: beyond it an envelope is a fault, and an item isn’t read', () => {
  const { jsonDepthMax: max } = limits;
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  const places: readonly (readonly [around: number, write: (text: string) => string])[] = [
    [0, (text) => text],
    [1, (text) => `{"x":${text},"findings":[{}]}`],
    [2, (text) => `{"findings":[${text}]}`],
    ...BESIDE.map((name) => [3, (text: string) => `{"report":{"${name}":[${text},{}]}}`] as const),
    [3, (text) => `{"findings":[{},{"a":${text}}]}`],
    [4, (text) => `{"runs":[{"results":[${text},{}]}]}`],
    [3, (text) => `{"runs":[{"x":${text}}]}`],
  ];
  for (const [around, write] of places) {
    for (const size of [[], [1], [7]]) {
      const within = Buffer.from(write(nested(max - around)));
      assert.equal(assertScannedAlike(within, cut(within, size)), 'document');
      const beyond = Buffer.from(write(nested(max - around + 1)));
      const pieces = cut(beyond, size);
      if (around < 2 || write('1').includes('"x"')) {
        assert.equal(assertScannedAlike(beyond, pieces), 'fault');
        continue;
      }
      const items = itemsOf(pieces);
      const [deep] = items.filter(({ excess }) => excess === 'depth');
      assert.ok(deep?.bytes === null);
      assert.equal(items.filter(({ bytes }) => bytes !== null).length, items.length - 1);
    }
  }
});

test('of a list that comes twice the last one counts, and items are parsed alone', () => {
  const text =
    '{"findings":[1,{"a":1,"a":2}],"runs":[{"results":[1]},{"results":[2]}],' +
    '"runs":[{"results":[3],"res\\u0075lts":[4,5]}],"findings":[6]}';
  const { envelope, lists, occurs } = takenByScanner([Buffer.from(text)]);
  assert.deepEqual(envelope, { findings: [], runs: [{ results: [] }] });
  assert.deepEqual(lists.get('/findings'), [6]);
  assert.deepEqual(lists.get('/runs/0/results'), [4, 5]);
  const times = occurs.map(({ pointer, occurrence }) => [pointer, occurrence]);
  assert.deepEqual(times, [
    ['/findings', 2],
    ['/runs/0/results', 3],
    ['/runs/1/results', 1],
  ]);
});

test('an item over the bound comes without its bytes, its neighbours with theirs', () => {
  const large = `"${'x'.repeat(limits.itemBytesMax)}"`;
  const exact = `"${'x'.repeat(limits.itemBytesMax - 2)}"`;
  const bytes = Buffer.from(`{"findings":[1,${large},{"a":1},${exact},2]}`);
  for (const pieces of [[bytes], cut(bytes, [65536])]) {
    const lengths = itemsOf(pieces).map((item) => item.bytes?.length ?? null);
    assert.deepEqual(lengths, [1, null, 7, limits.itemBytesMax, 1]);
  }
});

test('entries of all lists together are as many as one upload may have', () => {
  const half = limits.uploadItemsMax / 2;
  const of = (count: number): string => Array.from({ length: count }, () => '1').join();
  const scanned = (last: number): void =>
    new DocumentScanner(PLACES).push(
      Buffer.from(`{"assets":[${of(half)}],"endpoints":[${of(last)}]}`),
    );
  scanned(half);
  assert.throws(() => scanned(half + 1), TooManyItems);
});

test('an envelope over the bound is refused for its size before it is held', () => {
  const scanner = new DocumentScanner(PLACES);
  const piece = Buffer.alloc(1024 * 1024, ' ');
  const push = (): void => {
    scanner.push(Buffer.from('{"x":['));
    for (let sent = 0; sent <= limits.envelopeBytesMax; sent += piece.length) scanner.push(piece);
  };
  assert.throws(push, (error) => error instanceof DocumentFault && error.kind === 'size');
});

test('bounds beyond two gigabytes are kept as they are, for documents of up to four', () => {
  const bounds = new ItemBounds();
  const list = { pointer: '/findings', occurrence: 1, count: 0 };
  const GiB = 1024 ** 3;
  bounds.add(list, 1, 3 * GiB, 0);
  bounds.add(list, 4 * GiB - 9, 4 * GiB - 2, 1);
  bounds.add(list, 4 * GiB - 1, 4 * GiB, 0);
  assert.deepEqual([bounds.gap(0), bounds.bytes(0)], [1, 3 * GiB - 1]);
  assert.deepEqual([bounds.gap(1), bounds.bytes(1)], [GiB - 9, 7]);
  assert.deepEqual([bounds.gap(2), bounds.bytes(2)], [1, 1]);
  const late = new ItemBounds();
  late.add(list, 3 * GiB, 3 * GiB + 5, 0);
  assert.equal(late.gap(0), 3 * GiB);
});
