// The readers on reports of real tools (../shared beside the repository): nothing throws but
// DocumentRefused, every item of a file has exactly one outcome, and every pointer leads to a
// value.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DocumentRefused } from '../../../src/ingest/report/report.rules.ts';
import { decode, type Format, pointerOf, readJson, resolve, sharedFiles } from './readers.ts';

/** Files that differ from what their folder says, and the code with which they are refused. */
const REFUSED: Readonly<Record<string, string>> = {
  'binskim--v1.0.0-OLD-VERSION.sarif': 'unsupported_sarif_version',
  'checkov--version-2.2.0-INVALID.sarif': 'unsupported_sarif_version',
  'fortify-fpr--duplicate-json-keys-OLD-VERSION.sarif': 'unsupported_sarif_version',
  'sarif-sdk--inline-external-properties-OLD-VERSION.sarif': 'unsupported_sarif_version',
  'openctem-fingerprint-check--ingest-api-24.json': 'not_ctis',
  'openctem-recon--ingest-api-15.json': 'not_ctis',
  'openctem-recon--ingest-api-17.json': 'not_ctis',
  'openctem-sarif--ingest-api-12.json': 'not_ctis',
};

const FOLDERS: readonly (readonly [string, Format])[] = [
  ['corpus/sarif', 'sarif'],
  ['corpus/ctis', 'ctis'],
  ['reference/ctis-examples', 'ctis'],
];

for (const [folder, format] of FOLDERS) {
  const files = sharedFiles(folder);
  const skip = files === null ? `../shared/${folder} is not there` : false;
  test(`every file of ${folder} is decoded item by item, or refused with a place`, { skip }, () => {
    for (const { name, url } of files ?? []) check(name, url, format);
  });
}

function check(name: string, url: URL, format: Format): void {
  let document: unknown;
  try {
    document = readJson(url);
  } catch (error) {
    // One file of the corpus isn't JSON on purpose; the caller parses.
    assert.ok(error instanceof SyntaxError && name.includes('INVALID'), name);
    return;
  }
  try {
    const report = decode(format, document);
    const items = [...report.items()];
    assert.equal(items.length, countOf(document, format), `${name}: one outcome an item`);
    assert.equal(REFUSED[name], undefined, `${name} ought to be refused`);
    for (const item of items) resolve(document, pointerOf(item));
    for (const { pointer, code } of report.warnings) {
      if (!code.endsWith('_missing')) resolve(document, pointer);
    }
  } catch (error) {
    assert.ok(error instanceof DocumentRefused, `${name}: ${String(error)}`);
    assert.equal(error.code, REFUSED[name], name);
    resolve(document, error.pointer);
  }
}

function countOf(document: unknown, format: Format): number {
  const { runs, findings } = document as {
    runs?: { results?: unknown[] | null }[];
    findings?: unknown[] | null;
  };
  if (format === 'ctis') return findings?.length ?? 0;
  return (runs ?? []).reduce((sum, run) => sum + (run.results?.length ?? 0), 0);
}
