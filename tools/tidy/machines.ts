// Every state column has its machine: the one table from which UPDATEs take the states that they
// write and that they guard by. A word of a state that stands in a query would be a second opinion.
// Pure; called by tools/tidy.test.ts.

import { type Node, Visitor } from 'oxc-parser';
import { isSource, parsed, type SourceFile, type Violation, violationAt } from './source.ts';

/** Columns that a machine governs. */
const STATE_COLUMNS = ['state', 'status', 'admin'];

/** Calls of a query builder that write columns. */
const WRITES = ['set', 'values', 'doUpdateSet'];

/** A query writes a state only as a machine, or its caller, says; never as a word of its own. */
export function stateWords(file: SourceFile): Violation[] {
  if (!isSource(file) || !file.path.endsWith('.queries.ts')) return [];
  const found: Violation[] = [];
  new Visitor({
    CallExpression({ callee, arguments: given }) {
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return;
      if (!WRITES.includes(callee.property.name)) return;
      for (const argument of given) found.push(...wordsIn(file, argument));
    },
  }).visit(parsed(file).program);
  return found;
}

function wordsIn(file: SourceFile, node: Node): Violation[] {
  const value = written(node);
  if (value?.type !== 'ObjectExpression') return [];
  return value.properties.flatMap((property) => {
    if (property.type !== 'Property' || property.key.type !== 'Identifier') return [];
    const { name } = property.key;
    if (!STATE_COLUMNS.includes(name) || !isWord(property.value)) return [];
    const message = `writes a word to \`${name}\`: a state is written as its machine says`;
    return [violationAt(file, property.start, message)];
  });
}

/** The value that a call writes: an object, or a function that makes one. */
function written(node: Node): Node | null {
  if (node.type === 'ArrowFunctionExpression') {
    return node.body.type === 'ParenthesizedExpression' ? node.body.expression : node.body;
  }
  return node;
}

function isWord(node: Node): boolean {
  if (node.type === 'TSAsExpression') return isWord(node.expression);
  return node.type === 'Literal' && typeof node.value === 'string';
}
