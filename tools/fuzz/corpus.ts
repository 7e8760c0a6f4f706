// The reports that the fuzz run changes: the project's own fixtures, and the larger corpus beside
// the repository where it exists.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Format } from '../../packages/server/test/ingest/formats/readers.ts';
import type { Sample } from './case.ts';

/** Larger reports take a second for each case, and have nothing that smaller ones lack. */
const TEXT_CHARS_MAX = 150_000;

const FIXTURES = new URL('../../packages/server/test/fixtures/', import.meta.url);
const SHARED = new URL('../../../shared/corpus/', import.meta.url);

let known: readonly Sample[] | null = null;

/** In the same order in every run. */
export function corpus(): readonly Sample[] {
  known ??= (['sarif', 'ctis'] satisfies Format[]).flatMap((format) =>
    [FIXTURES, SHARED].flatMap((place) => samplesIn(new URL(`${format}/`, place), format)),
  );
  return known;
}

function samplesIn(folder: URL, format: Format): Sample[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => /\.(?:sarif|json)$/.test(name))
    .sort()
    .map((name) => ({ name, format, text: readFileSync(new URL(name, folder), 'utf8') }))
    .map((sample) => ({ ...sample, text: sample.text.replace(/^\uFEFF/, '') }))
    .filter(({ text }) => text.length <= TEXT_CHARS_MAX);
}
