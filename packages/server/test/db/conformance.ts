// The rules that both databases keep, written once against the Database interface. Each backend's
// test file opens its database and calls this; features of one backend only are tested beside it
// (sqlite-threads, write-queue, row-security, schema).

import { describe, test } from 'node:test';
import type { Opened } from './fixture.ts';
import { idCases } from './ids.cases.ts';
import { migrationCases } from './migrations.cases.ts';
import { rowCases } from './rows.cases.ts';
import { transactionCases } from './transactions.cases.ts';
import { valueCases } from './values.cases.ts';
import { workerCases } from './workers.cases.ts';

const ALL = [valueCases, idCases, transactionCases, rowCases, workerCases, migrationCases];

/** Declares the whole suite for one backend. `open` gives a fresh, migrated database every time. */
export function databaseConformance(name: string, open: () => Promise<Opened>): void {
  describe(`database on ${name}`, () => {
    for (const [title, body] of ALL.flatMap((cases) => Object.entries(cases))) {
      test(title, async () => {
        const opened = await open();
        try {
          await body(opened.database, opened);
        } finally {
          await opened.dispose();
        }
      });
    }
  });
}
