// The readers on small reports like those that real tools write: everything they make of each is
// checked in.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { golden } from '../../../../tools/golden.ts';
import { decode, type Format, fixture, fixtureNames } from './readers.ts';

for (const format of ['sarif', 'ctis'] satisfies Format[]) {
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
