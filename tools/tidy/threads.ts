// No thread of the server loads TypeBox, as its imports show. Schemas are for the edge, and TypeBox
// has as many modules as all of a thread's own code: every start of an ingest thread, and its heap,
// would pay for them. Pure.

import path from 'node:path';
import {
  type Import,
  importsOf,
  isSource,
  type SourceFile,
  type Violation,
  violationAt,
} from './source.ts';

/** The part of the contract that needs no TypeBox, by the name under which it is imported. */
const PLAIN = '@muster/contract/plain';
const PLAIN_FILE = 'packages/contract/src/plain.ts';

/** The imports that bring TypeBox: the library, and the contract as a whole. */
const BRINGS_SCHEMAS = /^(typebox(\/|$)|@muster\/contract$)/;

/**
 * The imports by which a thread (`*.worker.ts`) would load TypeBox, in whichever file they stand.
 */
export function threadsWithoutSchemas(files: readonly SourceFile[]): Violation[] {
  const sources = new Map(files.filter(isSource).map((file) => [file.path, file]));
  const waiting = [...sources.keys()].filter((place) => place.endsWith('.worker.ts'));
  const loaded = new Set(waiting);
  const violations: Violation[] = [];
  for (const place of waiting) {
    const file = sources.get(place);
    if (file === undefined) continue;
    for (const entry of importsOf(file).filter((candidate) => isLoaded(candidate, file))) {
      if (BRINGS_SCHEMAS.test(entry.specifier)) {
        const message = `a thread loads this file: '${entry.specifier}' brings TypeBox, '${PLAIN}' doesn't`;
        violations.push(violationAt(file, entry.offset, message));
      }
      const target = targetOf(entry, place);
      if (target === undefined || loaded.has(target)) continue;
      loaded.add(target);
      waiting.push(target);
    }
  }
  return violations;
}

/**
 * Only the statements `import type` and `export type` vanish; `import { type X }` still loads the
 * module.
 */
function isLoaded({ offset }: Import, { text }: SourceFile): boolean {
  return !/^(import|export) type\b/.test(text.slice(offset, offset + 12));
}

/** The file of ours that an import names, or undefined: a library, or another package. */
function targetOf({ specifier }: Import, from: string): string | undefined {
  if (specifier === PLAIN) return PLAIN_FILE;
  if (!specifier.startsWith('.')) return undefined;
  return path.posix.join(path.posix.dirname(from), specifier);
}
