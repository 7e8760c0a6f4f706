// Rules by which the same input gives the same output: time and chance come through lib/, pure
// files only compute, and one file knows that there are two databases. Checked on the syntax tree,
// so that a comment or a string about `Date.now()` is no violation.

import { type Node, Visitor } from 'oxc-parser';
import {
  importsOf,
  isSource,
  parsed,
  type SourceFile,
  type Violation,
  violationAt,
} from './source.ts';

/** Calls that read a clock or roll dice, as they are written. */
const CLOCK_OR_CHANCE = new Set([
  'Date.now',
  'Math.random',
  'performance.now',
  'process.hrtime',
  'process.hrtime.bigint',
  'crypto.randomUUID',
  'crypto.randomBytes',
  'crypto.randomInt',
  'crypto.getRandomValues',
  'Temporal.Now.instant',
]);

/** Names that node:crypto and node:perf_hooks export for the same purpose. */
const CLOCK_OR_CHANCE_IMPORTS =
  /^(random(UUID|UUIDv7|Bytes|Int|Fill|FillSync)|getRandomValues|performance)$/;

/** Globals that a pure file doesn't touch: the process, the world, the event loop. */
const IMPURE_GLOBALS = new Set([
  'console',
  'fetch',
  'process',
  'queueMicrotask',
  'setImmediate',
  'setInterval',
  'setTimeout',
]);

/**
 * The only sources of time and chance: each package's lib/, and the console's one component that
 * ticks.
 */
const SOURCES = /^packages\/([^/]+\/src\/lib\/|console\/src\/components\/time\.tsx$)/;

const DIALECTS = ['sqlite', 'postgres'];
const COMPARISONS = ['===', '!==', '==', '!='];

/** Time and chance are arguments everywhere except in their sources. */
export function clockAndChance(file: SourceFile): Violation[] {
  if (!isSource(file) || SOURCES.test(file.path)) return [];
  const found: Violation[] = [];
  const complain = (offset: number, what: string) =>
    found.push(violationAt(file, offset, `${what}: time and chance come from lib/`));
  for (const { specifier, names, offset, isType } of importsOf(file)) {
    if (isType || !/^(node:)?(crypto|perf_hooks)$/.test(specifier)) continue;
    for (const name of names) if (CLOCK_OR_CHANCE_IMPORTS.test(name)) complain(offset, name);
  }
  new Visitor({
    CallExpression(node) {
      const name = dottedName(node.callee);
      if (name === 'Date') complain(node.start, 'Date()');
      if (CLOCK_OR_CHANCE.has(name.replace(/^globalThis\./, ''))) complain(node.start, `${name}()`);
    },
    NewExpression(node) {
      const isNow = dottedName(node.callee) === 'Date' && node.arguments.length === 0;
      if (isNow) complain(node.start, 'new Date()');
    },
  }).visit(parsed(file).program);
  return found;
}

/** Rules, machines, decoders and formats compute and nothing else. */
export function purity(file: SourceFile): Violation[] {
  if (!isSource(file) || !/\.(rules|machine|decode|format)\.ts$/.test(file.path)) return [];
  const found: Violation[] = [];
  const complain = (offset: number, message: string) =>
    found.push(violationAt(file, offset, `a pure file has no ${message}`));
  const checkFunction = (node: { async: boolean; start: number }) => {
    if (node.async) complain(node.start, 'async function');
  };
  const checkGlobal = (node: Node) => {
    if (node.type === 'Identifier' && IMPURE_GLOBALS.has(node.name))
      complain(node.start, node.name);
  };
  new Visitor({
    ArrowFunctionExpression: checkFunction,
    FunctionDeclaration: checkFunction,
    FunctionExpression: checkFunction,
    AwaitExpression: (node) => complain(node.start, 'await'),
    ForOfStatement: (node) => {
      if (node.await) complain(node.start, 'for await');
    },
    CallExpression: (node) => checkGlobal(node.callee),
    MemberExpression: (node) => checkGlobal(node.object),
  }).visit(parsed(file).program);
  return found;
}

/** db/dialect.ts is the complete list of differences between the databases. */
export function dialectTests(file: SourceFile): Violation[] {
  if (!isSource(file) || file.path === 'packages/server/src/db/dialect.ts') return [];
  const found: Violation[] = [];
  const check = (node: Node | null) => {
    if (node?.type !== 'Literal' || typeof node.value !== 'string') return;
    if (!DIALECTS.includes(node.value)) return;
    const message = `a test for '${node.value}': differences belong to db/dialect.ts`;
    found.push(violationAt(file, node.start, message));
  };
  new Visitor({
    BinaryExpression(node) {
      if (!COMPARISONS.includes(node.operator)) return;
      check(node.left);
      check(node.right);
    },
    SwitchCase: (node) => check(node.test),
  }).visit(parsed(file).program);
  return found;
}

/** `a.b.c` for a plain chain of names, otherwise an empty string. */
export function dottedName(node: Node): string {
  if (node.type === 'Identifier') return node.name;
  if (node.type !== 'MemberExpression' || node.computed) return '';
  const owner = dottedName(node.object);
  return owner === '' || node.property.type !== 'Identifier'
    ? ''
    : `${owner}.${node.property.name}`;
}
