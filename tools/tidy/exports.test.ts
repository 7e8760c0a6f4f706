// The rule of exports, shown what it has to refuse and what it has to leave alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lonelyExports } from './exports.ts';

const SERVER = 'packages/server/src/keys/';
const file = (place: string, text: string) => ({ path: place, text });
const refusals = (own: string, ...others: { path: string; text: string }[]) =>
  lonelyExports([file(`${SERVER}a.ts`, own), ...others]).map(({ message }) => message);

test('an export that no other file imports is refused, a type like a value', () => {
  assert.equal(refusals('export const a = 1;').length, 1);
  assert.equal(refusals('export interface A {}\nexport type B = A;').length, 2);
  assert.match(refusals('export function lonely() {}')[0] ?? '', /'lonely'/);
});

test('a test is an importer, and so is a file that passes the name on', () => {
  const own = 'export const a = 1;';
  const imported = file('packages/server/test/a.test.ts', "import { a } from '../src/keys/a.ts';");
  assert.deepEqual(refusals(own, imported), []);
  const passed = file(`${SERVER}main.ts`, "export { a } from './a.ts';");
  assert.deepEqual(refusals(own, passed), []);
});

test('whoever takes everything takes each export', () => {
  const own = 'export const a = 1;\nexport const b = 2;';
  assert.deepEqual(refusals(own, file(`${SERVER}b.ts`, "import * as a from './a.ts';")), []);
  assert.deepEqual(refusals(own, file(`${SERVER}b.ts`, "await import('./a.ts');")), []);
});

test('the entrances of packages are imported by name, and default exports by tools', () => {
  const entrance = file('packages/runner/src/index.ts', 'export const a = 1;');
  assert.deepEqual(lonelyExports([entrance]), []);
  assert.deepEqual(refusals('export default {};'), []);
});
