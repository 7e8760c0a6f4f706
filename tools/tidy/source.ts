// The repository as the house rules see it: files as {path, text}, parsed on demand, and violations
// with a place. The rules in this folder are pure functions from such files to violations; only
// `listFiles` and `readTexts` touch the disk.

import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Comment, type ParseResult, parseSync } from 'oxc-parser';

export interface SourceFile {
  /** Relative to the root of the repository, with `/`. */
  path: string;
  text: string;
}

export interface Violation {
  path: string;
  /** From 1. */
  line: number;
  message: string;
}

/** A rule about each file by itself. */
export type FileRule = (file: SourceFile) => Violation[];

/** Folders that stand beside our own: never read, never ours. */
const FOREIGN_FOLDERS = ['.git', 'node_modules', 'dist', 'data'];

const TEXT_EXTENSIONS = /\.(ts|tsx|mjs|js|json|md|sql|css|html|svg|sh|yml|yaml|sarif|txt)$/;
const TEXT_NAMES = new Set(['run', '.npmrc', '.gitignore', '.editorconfig', 'Dockerfile']);

/** The paths of all files of the repository, without those that .gitignore leaves out. */
export function listFiles(root: string): string[] {
  const entries = globSync('**/*', {
    cwd: root,
    withFileTypes: true,
    exclude: (entry) => FOREIGN_FOLDERS.includes(entry.name),
  });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .map((place) => place.replaceAll(path.sep, '/'))
    .toSorted();
}

/** Reads the text files among the paths. */
export function readTexts(root: string, paths: string[]): SourceFile[] {
  return paths
    .filter((place) => TEXT_EXTENSIONS.test(place) || TEXT_NAMES.has(path.basename(place)))
    .map((place) => ({ path: place, text: readFileSync(path.join(root, place), 'utf8') }));
}

/** `path:line: message`, which editors and terminals turn into a link. */
export function describe({ path: place, line, message }: Violation): string {
  return `${place}:${line}: ${message}`;
}

/** A violation at a character offset of the file. */
export function violationAt(file: SourceFile, offset: number, message: string): Violation {
  return { path: file.path, line: lineAt(file, offset), message };
}

/** The line, from 1, of a character offset. */
export function lineAt({ text }: SourceFile, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) {
    line += 1;
  }
  return line;
}

/** Violations for every match of a global expression; the message is made from the match. */
export function violationsOf(
  file: SourceFile,
  expression: RegExp,
  message: (match: RegExpMatchArray) => string,
): Violation[] {
  return [...file.text.matchAll(expression)].map((match) =>
    violationAt(file, match.index, message(match)),
  );
}

const parses = new WeakMap<SourceFile, ParseResult>();

/**
 * The syntax tree, imports and comments of a script; throws on a syntax error, which the compiler
 * reports too.
 */
export function parsed(file: SourceFile): ParseResult {
  const known = parses.get(file);
  if (known !== undefined) return known;
  const result = parseSync(file.path, file.text);
  const [error] = result.errors;
  if (error !== undefined) throw new Error(`${file.path}: ${error.message}`);
  parses.set(file, result);
  return result;
}

export type { Comment };

/** A comment as a reader sees it: line comments that follow each other are one. */
export interface CommentBlock {
  /** Without its signs, each line trimmed, the lines joined by a blank. */
  text: string;
  /** The offset at which the comment begins. */
  offset: number;
}

/** The comments of a script in their order. */
export function commentBlocks(file: SourceFile): CommentBlock[] {
  const blocks: (CommentBlock & { end: number; isLine: boolean })[] = [];
  for (const { type, value, start, end } of parsed(file).comments) {
    const text = value
      .split('\n')
      .map((line) => line.replace(/^\s*\*?\s*/, '').trimEnd())
      .join(' ')
      .trim();
    const last = blocks.at(-1);
    const isLine = type === 'Line';
    if (isLine && last?.isLine === true && /^\n[ \t]*$/.test(file.text.slice(last.end, start))) {
      last.text += ` ${text}`;
      last.end = end;
    } else blocks.push({ text, offset: start, end, isLine });
  }
  return blocks.map(({ text, offset }) => ({ text, offset }));
}

/** One way in which a file names another module. */
export interface Import {
  specifier: string;
  /** Names taken from it; empty for `import 'x'`, `* as`, `export *` and dynamic imports. */
  names: string[];
  /** Erased when the program runs. */
  isType: boolean;
  isDynamic: boolean;
  offset: number;
}

/** All imports of a file: static, re-exports, and dynamic ones whose specifier is a literal. */
export function importsOf(file: SourceFile): Import[] {
  const { module } = parsed(file);
  const imports = module.staticImports.map((entry): Import => {
    const isWholeType = file.text.startsWith('import type', entry.start);
    const isEachType = entry.entries.length > 0 && entry.entries.every((name) => name.isType);
    return {
      specifier: entry.moduleRequest.value,
      names: entry.entries.flatMap(({ importName }) => importName.name ?? []),
      isType: isWholeType || isEachType,
      isDynamic: false,
      offset: entry.start,
    };
  });
  const exports = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap((entry): Import[] => {
      if (entry.moduleRequest === null) return [];
      const { value } = entry.moduleRequest;
      const names = entry.importName.name === null ? [] : [entry.importName.name];
      const { isType, start } = entry;
      return [{ specifier: value, names, isType, isDynamic: false, offset: start }];
    }),
  );
  const dynamic = module.dynamicImports.flatMap(({ moduleRequest, start }): Import[] => {
    const literal = file.text.slice(moduleRequest.start, moduleRequest.end);
    const specifier = /^(['"`])([^'"`$]*)\1$/.exec(literal)?.[2];
    if (specifier === undefined) return [];
    return [{ specifier, names: [], isType: false, isDynamic: true, offset: start }];
  });
  return [...imports, ...exports, ...dynamic];
}

const SCRIPT = /\.(ts|tsx|mjs)$/;

/** A script of ours that runs in production. */
export function isSource({ path: place }: SourceFile): boolean {
  return /^packages\/[^/]+\/(src|bin)\//.test(place) && SCRIPT.test(place);
}

/** Any script of ours: sources, tests and tools. */
export function isScript({ path: place }: SourceFile): boolean {
  return /^(packages|tools)\//.test(place) && SCRIPT.test(place);
}
