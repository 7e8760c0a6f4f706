// Every export of a production file has an importer: an export without one is a promise to nobody,
// and hides that the name may be changed freely. Pure; called by tools/tidy.test.ts.

import path from 'node:path';
import {
  importsOf,
  isScript,
  isSource,
  parsed,
  type SourceFile,
  type Violation,
  violationAt,
} from './source.ts';

/** Files that are entered by the name of their package, or by a process. */
const ENTRANCE = /^packages\/[^/]+\/src\/(index|plain|main)\.ts$/;

/** Exports of production files that no other script of the repository imports. */
export function lonelyExports(files: readonly SourceFile[]): Violation[] {
  const used = new Map<string, Set<string> | 'all'>();
  for (const file of files.filter(isScript)) {
    for (const { specifier, names, isDynamic } of importsOf(file)) {
      const target = fileOf(specifier, file.path);
      if (target === null) continue;
      const known = used.get(target);
      // `* as`, `export *` and dynamic imports take everything.
      if (names.length === 0 || isDynamic) used.set(target, 'all');
      else if (known !== 'all') used.set(target, new Set([...(known ?? []), ...names]));
    }
  }
  return files.filter(isSource).flatMap((file) => {
    const uses = used.get(file.path);
    if (uses === 'all' || ENTRANCE.test(file.path)) return [];
    return ownExports(file)
      .filter(({ name }) => uses?.has(name) !== true)
      .map(({ name, offset }) =>
        violationAt(file, offset, `exports '${name}', which no other file imports`),
      );
  });
}

function fileOf(specifier: string, from: string): string | null {
  return specifier.startsWith('.') ? path.posix.join(path.posix.dirname(from), specifier) : null;
}

/** Names that a file exports of its own; what it passes on from another file is that one's. */
export function ownExports(file: SourceFile): { name: string; offset: number }[] {
  return parsed(file).module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest, exportName, start }) =>
      moduleRequest !== null || exportName.name === null || exportName.name === 'default'
        ? []
        : [{ name: exportName.name, offset: start }],
    ),
  );
}
