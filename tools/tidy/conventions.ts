// Rules of form: names that mean something, a comment that opens each file, no code in comments, no
// test that silences the others, short handlers. The lengths of files and functions are oxlint's
// (.oxlintrc.json).

import { type Node, parseSync, Visitor } from 'oxc-parser';
import { dottedName } from './determinism.ts';
import {
  type Comment,
  isScript,
  isSource,
  lineAt,
  parsed,
  type SourceFile,
  type Violation,
  violationAt,
} from './source.ts';

/**
 * Words for "I didn't know where to put it". They stand in a list so that this file keeps its own
 * rule.
 */
const EMPTY_WORDS = ['util', 'utils', 'helper', 'helpers', 'manager', 'managers', 'common'];

/** The one room with such a name: the code that several formats share. */
const SHARED_BY_FORMATS = 'ingest/formats/common/';

/** "About ten lines a handler": ten lines of steps, and the lines that open and close it. */
const HANDLER_LINES_MAX = 14;

/** No file, folder or declaration has a name that names nothing. */
export function emptyNames(file: SourceFile): Violation[] {
  if (!/^(packages|tools)\//.test(file.path)) return [];
  const found: Violation[] = [];
  for (const word of file.path.replace(SHARED_BY_FORMATS, '').split(/[/._-]/)) {
    if (EMPTY_WORDS.includes(word)) {
      found.push(violationAt(file, 0, `'${word}' in the path names nothing`));
    }
  }
  if (!isScript(file)) return found;
  const check = (node: { id?: Node | null; start: number }) => {
    if (node.id?.type !== 'Identifier') return;
    const last =
      node.id.name
        .split(/(?=[A-Z])|_/)
        .at(-1)
        ?.toLowerCase() ?? '';
    if (!EMPTY_WORDS.includes(last)) return;
    found.push(violationAt(file, node.start, `'${node.id.name}' names nothing`));
  };
  new Visitor({
    ClassDeclaration: check,
    FunctionDeclaration: check,
    TSInterfaceDeclaration: check,
    TSTypeAliasDeclaration: check,
  }).visit(parsed(file).program);
  return found;
}

/** Sources, tools and migrations open with a comment; tests may let their titles speak. */
export function openingComment(file: SourceFile): Violation[] {
  const isSql = file.path.endsWith('.sql') && file.path.includes('/migrations/');
  const isTool = file.path.startsWith('tools/') && isScript(file);
  if (!isSource(file) && !isTool && !isSql) return [];
  const text = file.text.replace(/^#!.*\n/, '').trimStart();
  if (text.startsWith(isSql ? '--' : '//') || (!isSql && text.startsWith('/*'))) return [];
  return [violationAt(file, 0, 'the file opens without a comment that says what it is for')];
}

/** Code that isn't run isn't kept: git remembers it. */
export function commentedOutCode(file: SourceFile): Violation[] {
  if (!isScript(file)) return [];
  return parsed(file).comments.flatMap((comment) =>
    // Documentation comments may show an example call.
    isDocumentation(comment) ? [] : codeLines(file, comment),
  );
}

function isDocumentation({ type, value }: Comment): boolean {
  return type === 'Block' && value.startsWith('*');
}

function codeLines(file: SourceFile, comment: Comment): Violation[] {
  const first = lineAt(file, comment.start);
  return comment.value.split('\n').flatMap((line, index) => {
    const text = line.replace(/^\s*\*?\s*/, '').trimEnd();
    if (!looksLikeCode(text)) return [];
    return [{ path: file.path, line: first + index, message: `commented-out code: ${text}` }];
  });
}

/**
 * A line of code ends like a statement, has the signs of one, and parses as one. Prose fails the
 * last test; `npm ci;` the second.
 */
function looksLikeCode(text: string): boolean {
  if (!/[;{]$/.test(text)) return false;
  if (!/[=(]|=>|^(return|throw|import|export|break|continue)\b/.test(text)) return false;
  const statement = text.endsWith('{') ? `${text}}` : text;
  return (
    parseSync('comment.ts', `async () => { for (;;) { ${statement} } }`).errors.length === 0 ||
    parseSync('comment.ts', statement).errors.length === 0
  );
}

/** A test marked `only` switches every other test of its file off. */
export function exclusiveTests(file: SourceFile): Violation[] {
  if (!isScript(file) || !/\.(test|cases)\.ts$|\/test\//.test(file.path)) return [];
  const found: Violation[] = [];
  const complain = (offset: number) =>
    found.push(violationAt(file, offset, "'only' switches the other tests off"));
  new Visitor({
    CallExpression(node) {
      const name = dottedName(node.callee);
      if (/^(test|it|describe|suite|t)\.only$/.test(name)) complain(node.start);
      if (/^(test|it|describe|suite|t\.test)$/.test(name)) {
        for (const argument of node.arguments) if (hasOnly(argument)) complain(argument.start);
      }
    },
  }).visit(parsed(file).program);
  return found;
}

function hasOnly(node: Node): boolean {
  return (
    node.type === 'ObjectExpression' &&
    node.properties.some(
      (property) =>
        property.type === 'Property' &&
        property.key.type === 'Identifier' &&
        property.key.name === 'only',
    )
  );
}

/**
 * In `*.routes.ts` the functions inside functions are the handlers: they translate, and ask the
 * story.
 */
export function shortHandlers(file: SourceFile): Violation[] {
  if (!isSource(file) || !file.path.endsWith('.routes.ts')) return [];
  const found: Violation[] = [];
  let depth = 0;
  const enter = (node: { start: number; end: number }) => {
    depth += 1;
    const lines = lineAt(file, node.end) - lineAt(file, node.start) + 1;
    if (depth < 2 || lines <= HANDLER_LINES_MAX) return;
    const message = `a handler of ${lines} lines (at most ${HANDLER_LINES_MAX}): it belongs to the story`;
    found.push(violationAt(file, node.start, message));
  };
  const leave = () => {
    depth -= 1;
  };
  new Visitor({
    ArrowFunctionExpression: enter,
    'ArrowFunctionExpression:exit': leave,
    FunctionExpression: enter,
    'FunctionExpression:exit': leave,
    FunctionDeclaration: enter,
    'FunctionDeclaration:exit': leave,
  }).visit(parsed(file).program);
  return found;
}
