// A dry run leaves nothing behind: no row in the tables of reports, and no byte of the report
// itself. Its receipt is the one that the report then gets.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Receipt } from '@muster/contract';
import { sql } from 'kysely';
import { SLICE_ROWS } from '../../src/ingest/lease/slices.ts';
import { newCaller, openStage, receive, receiptOf, type Stage, workOnce } from './crash/scene.ts';
import { sarif } from './formats/readers.ts';

let stage: Stage;
before(async () => {
  stage = await openStage();
});
after(async () => await stage.close());

const TABLES =
  `asset asset_ref scope analysis component relationship finding finding_detail finding_ref finding_event
  event upload_batch upload_chunk`.split(/\s+/);

async function rowsByTable(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of TABLES) {
    const { rows } = await sql<{
      n: number;
    }>`select count(*) as n from ${sql.table(table)}`.execute(stage.database.system());
    counts[table] = Number(rows[0]?.n);
  }
  return counts;
}

test('a report in a dry run leaves no row and no byte, whatever it would have done', async () => {
  const caller = await newCaller(stage);
  const document = (...rules: string[]): unknown =>
    sarif(rules.map((ruleId) => ({ ruleId, message: { text: `about ${ruleId}` } })));
  const context = { repositoryUrl: 'https://example.org/a/b' };
  await receive(stage, caller, 'sarif', document('R1', 'R2', 'R3'), context);
  assert.equal((await workOnce(stage, () => {}))?.outcome, 'processed');
  const before = await rowsByTable();
  const asked = document('R2', 'R4');
  const id = await receive(stage, caller, 'sarif', asked, { ...context, dryRun: true });
  const done = await workOnce(stage, () => {});
  assert.equal(done?.upload.id, id);
  assert.equal(done?.outcome, 'processed');
  assert.deepEqual(await rowsByTable(), before);
});

test('which of two branches stays the default one is the same in a dry run, however many assets come between', async () => {
  const caller = await newCaller(stage);
  const run = (repository: number, branch: string) => ({
    tool: { driver: { name: 't' } },
    versionControlProvenance: [
      { repositoryUri: `https://github.com/acme/r-${repository}`, branch },
    ],
    results: [{ ruleId: 'r', message: { text: 'x' } }],
  });
  // The second branch of the last asset is in a slice of its own.
  const mains = Array.from({ length: SLICE_ROWS }, (_, n) => run(n, 'main'));
  const log = { version: '2.1.0', runs: [...mains, run(SLICE_ROWS - 1, 'dev')] };
  const warnings = async (dryRun: boolean): Promise<Receipt['warnings']> => {
    const context = { defaultBranch: true, ...(dryRun ? { dryRun } : {}) };
    const id = await receive(stage, caller, 'sarif', log, context);
    assert.equal((await workOnce(stage, () => {}))?.outcome, 'processed');
    return (await receiptOf(stage, caller, id)).warnings;
  };
  const foreseen = await warnings(true);
  const happened = await warnings(false);
  const codes = happened.map(({ code }) => code);
  assert.ok(codes.includes('default_branch_taken'), codes.join());
  assert.deepEqual(foreseen, happened);
});
