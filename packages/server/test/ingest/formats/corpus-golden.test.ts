// The shared corpus of SARIF files → one line for each file: the number of items with each outcome,
// the warnings, and a digest of the envelope and of all drafts. The corpus is not part of this
// repository, but its lines are, so that a change of the reader shows how many real reports it
// changes.

import { hash } from 'node:crypto';
import { test } from 'node:test';
import { golden } from '../../../../../tools/golden.ts';
import { DocumentRefused } from '../../../src/ingest/report/report.rules.ts';
import { decode, readJson, sharedFiles } from './readers.ts';

/** Enough to show that something changed; a fixture should show the change itself. */
const DIGEST_CHARS = 16;

const FILES = sharedFiles('corpus/sarif');
const skip = FILES === null ? '../shared/corpus/sarif is not there' : false;

test('every file of corpus/sarif is read as its golden line says', { skip }, () => {
  const lines = (FILES ?? []).map(({ name, url }) => `${name}: ${summaryOf(url)}`);
  golden(new URL('golden/corpus-sarif.txt', import.meta.url), `${lines.join('\n')}\n`);
});

function summaryOf(url: URL): string {
  let document: unknown;
  try {
    document = readJson(url);
  } catch {
    return 'not JSON';
  }
  try {
    const report = decode('sarif', document);
    const items = [...report.items()];
    const { reportId, analyses, assets } = report;
    const counts = Map.groupBy(items, ({ outcome }) => outcome);
    const outcomes = [...counts].map(([outcome, some]) => `${some.length} ${outcome}`).sort();
    const warnings = Object.entries(report.warningsByCode)
      .map(([code, count]) => `${code} ${count}`)
      .sort();
    return [
      outcomes.join(', ') || 'no items',
      ...(warnings.length === 0 ? [] : [`warned of ${warnings.join(', ')}`]),
      `envelope ${digest({ reportId, analyses, assets })}`,
      `items ${digest(items)}`,
    ].join('; ');
  } catch (error) {
    if (error instanceof DocumentRefused) return `refused, ${error.code}`;
    throw error;
  }
}

const digest = (value: object): string =>
  hash('sha256', JSON.stringify(value), 'hex').slice(0, DIGEST_CHARS);
