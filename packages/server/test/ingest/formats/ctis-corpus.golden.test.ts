// The CTIS reports of the reference and of the corpus (../shared beside the repository) → a short
// account of each: the number of items with each outcome, the envelope, the warnings, and a digest
// of everything. A changed digest is a changed draft: the reason has to be known before the golden
// file is written anew.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { golden } from '../../../../../tools/golden.ts';
import { DocumentRefused } from '../../../src/ingest/report/report.rules.ts';
import { decodeCtis, readJson, sharedFiles } from './readers.ts';

const FOLDERS = ['corpus/ctis', 'reference/ctis-examples'];

for (const folder of FOLDERS) {
  const files = sharedFiles(folder);
  const skip = files === null ? `../shared/${folder} is not there` : false;
  test(`the reports of ${folder} are read as the golden file says`, { skip }, () => {
    const summaries = Object.fromEntries(
      (files ?? []).map(({ name, url }) => [name, summary(url)]),
    );
    assert.ok(Object.keys(summaries).length >= 6);
    const file = `golden/shared-${folder.replaceAll('/', '-')}.json`;
    golden(new URL(file, import.meta.url), `${JSON.stringify(summaries, null, 2)}\n`);
  });
}

function summary(url: URL): object {
  try {
    const report = decodeCtis(readJson(url), {});
    const items = [...report.items()];
    const outcomes: Record<string, number> = {};
    for (const { outcome } of items) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    const { assets, components, relationships, endpoints } = report;
    const lists = Object.entries({ assets, components, relationships, endpoints });
    const counts = lists.map(
      ([name, { usable, rejections }]) =>
        `${name} ${usable.length} of ${usable.length + rejections.length}`,
    );
    const text = JSON.stringify({ ...report, items });
    return {
      outcomes,
      usable: counts.join(', '),
      edges: components.usable.reduce((sum, { dependsOn }) => sum + dependsOn.length, 0),
      warnings: report.warningsByCode,
      digest: hash('sha256', text, 'hex'),
    };
  } catch (error) {
    if (error instanceof DocumentRefused) return { refused: error.code };
    throw error;
  }
}
