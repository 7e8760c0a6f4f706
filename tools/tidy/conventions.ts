// Rules of form: names that mean something, a comment that opens each file, narrow comments in
// plain word order, no code in comments, no test that silences the others, short handlers. The
// lengths of files and functions are oxlint's (.oxlintrc.json).

import { type Node, parseSync, Visitor } from 'oxc-parser';
import { dottedName } from './determinism.ts';
import {
  type Comment,
  commentBlocks,
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

/** The width to which the formatter breaks code; the formatter leaves comments as they are. */
const COMMENT_COLUMNS_MAX = 100;

/** The beginning of a sentence that puts the object, or a clause, before the subject. */
const OBJECT_FIRST =
  /(?<=^|[.!?] )(?:Of|What) (?:each|every|all|the|a|an|many|several|is|was|has|stays) \S+/g;

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

/** A comment is no wider than code: a line that runs past the edge is read by nobody. */
export function wideComments(file: SourceFile): Violation[] {
  if (!isScript(file)) return [];
  const found = new Map<number, Violation>();
  for (const { start, end } of parsed(file).comments) {
    const lineStart = file.text.lastIndexOf('\n', start - 1) + 1;
    const first = lineAt(file, start);
    for (const [at, text] of file.text.slice(lineStart, end).split('\n').entries()) {
      if (text.length <= COMMENT_COLUMNS_MAX) continue;
      const message = `a comment of ${text.length} columns (at most ${COMMENT_COLUMNS_MAX})`;
      found.set(first + at, { path: file.path, line: first + at, message });
    }
  }
  return [...found.values()];
}

/**
 * A comment is written subject, verb, object: "the rank of each row", not "of each row its rank".
 */
export function invertedSentences(file: SourceFile): Violation[] {
  if (!isScript(file)) return [];
  return commentBlocks(file).flatMap(({ text, offset }) =>
    [...text.matchAll(OBJECT_FIRST)].map(([words]) =>
      violationAt(file, offset, `"${words} …": begin the sentence with its subject`),
    ),
  );
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
