// The readers on small reports like those that real tools write: their whole result for each report
// is checked in.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FINDING_TYPES } from '@muster/contract';
import { golden } from '../../../../../tools/golden.ts';
import { decode, type Format, fixture, fixtureNames } from './readers.ts';

for (const format of ['sarif', 'ctis', 'gitleaks'] satisfies Format[]) {
  for (const name of fixtureNames(format)) {
    test(`${format} ${name} is read as its golden file says`, () => {
      const report = decode(format, fixture(format, name));
      const items = [...report.items()];
      const text = JSON.stringify({ ...report, items }, null, 2);
      golden(new URL(`golden/${format}-${name}.json`, import.meta.url), `${text}\n`);
    });

    test(`${format} ${name} reads the same a second time, and counts its warnings once`, () => {
      const report = decode(format, fixture(format, name));
      const first = [...report.items()];
      const warnings = report.warnings;
      assert.deepEqual([...report.items()], first);
      assert.deepEqual(report.warnings, warnings);
    });
  }
}

/** A report as data; its pointers are those of the flat document. */
function readings(document: unknown): unknown {
  const report = decode('ctis', document);
  const items = [...report.items()];
  const text = JSON.stringify({ ...report, items });
  return JSON.parse(text.replaceAll('"pointer":"/report', '"pointer":"'));
}

for (const name of fixtureNames('ctis')) {
  const document = fixture('ctis', name) as Record<string, unknown>;
  const flat = (document.report ?? document) as object;
  test(`ctis ${name} reads the same flat and wrapped, but for its pointers`, () => {
    assert.deepEqual(readings({ report: flat }), readings(flat));
  });
}

test('the fixtures have every version of CTIS, and every version every type of finding', () => {
  for (const version of ['1.0', '1.1', '1.2', '1.3', '1.4', '1.5', '1.6']) {
    const found = [...decode('ctis', fixture('ctis', `version-${version}`)).items()].map((item) =>
      item.outcome === 'finding' ? item.draft.type : item.outcome,
    );
    assert.deepEqual(found.toSorted(), FINDING_TYPES.toSorted(), version);
  }
});
