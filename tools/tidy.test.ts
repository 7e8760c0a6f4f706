// The house rules as a test: each rule over every file of the repository, with the place of each
// violation. The rules and their own tests (each is shown a bad sample that it must refuse) are in
// tools/tidy/.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import {
  commentedOutCode,
  emptyNames,
  exclusiveTests,
  invertedSentences,
  openingComment,
  shortHandlers,
  wideComments,
} from './tidy/conventions.ts';
import { clockAndChance, dialectTests, purity } from './tidy/determinism.ts';
import {
  explainedDependencies,
  machineTraces,
  missingFiles,
  resolvedHosts,
} from './tidy/documents.ts';
import { lonelyExports } from './tidy/exports.ts';
import { stateWords } from './tidy/machines.ts';
import { databaseHomes, packagePermissions, suffixPermissions } from './tidy/permissions.ts';
import { circles, crowdedFolders, falseCallers, upwardImports } from './tidy/rooms.ts';
import { describe, type FileRule, listFiles, readTexts, type Violation } from './tidy/source.ts';
import { threadsWithoutSchemas } from './tidy/threads.ts';

const root = path.resolve(import.meta.dirname, '..');
const paths = listFiles(root);
const everyPath = new Set(paths);
const files = readTexts(root, paths);

/** Rules about each file by itself: the title states the rule. */
const FILE_RULES: Record<string, FileRule> = {
  'a suffix is a permission: each file of the server imports what its row of the table allows':
    suffixPermissions,
  'a room imports only rooms below it, and a format no other format': upwardImports,
  'a package imports only the packages below it, and by their names': packagePermissions,
  'node:sqlite and pg stay in db/, Kysely in db/ and the queries': databaseHomes,
  'rules, machines, decoders and formats compute: no async, no process, no event loop': purity,
  'the time and chance have their only sources in lib/': clockAndChance,
  'only db/dialect.ts asks which database it is': dialectTests,
  'a state column is written as its machine says, never as a word of a query': stateWords,
  'a handler has about ten lines': shortHandlers,
  'no file, folder, function or type is named after nothing': emptyNames,
  'every source, tool and migration opens with a comment': openingComment,
  'no comment runs past 100 columns': wideComments,
  'a comment begins its sentences with their subject': invertedSentences,
  'a comment that says who calls a file is right': (file) => falseCallers(file, files),
  'there is no commented-out code': commentedOutCode,
  'no test switches the others off': exclusiveTests,
  'a document names files that are there': (file) => missingFiles(file, everyPath),
  'nothing names a registry host or a folder of one machine': machineTraces,
};

function assertNone(violations: Violation[]): void {
  assert.equal(violations.length, 0, `\n${violations.map(describe).join('\n')}`);
}

function fileAt(place: string) {
  const file = files.find((candidate) => candidate.path === place);
  assert(file !== undefined, `${place} is missing`);
  return file;
}

for (const [title, rule] of Object.entries(FILE_RULES)) {
  test(title, () => assertNone(files.flatMap(rule)));
}

test('no two files import each other in a circle', () => assertNone(circles(files)));

test('every export of a production file has an importer', () => assertNone(lonelyExports(files)));

test('a folder fits in one head', () => assertNone(crowdedFolders(paths)));

test('no thread of the server loads TypeBox', () => assertNone(threadsWithoutSchemas(files)));

test('each direct dependency of the server has its line in docs/adr/, and there are twelve at most', () => {
  const decisions = files.filter((file) => file.path.startsWith('docs/adr/'));
  assertNone(explainedDependencies(fileAt('packages/server/package.json'), decisions));
});

test('the lock file names no host', () => {
  assertNone(resolvedHosts(fileAt('package-lock.json')));
});
