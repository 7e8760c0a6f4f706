// A rehearsal leaves nothing behind: not a row of what reports are stored in, not a byte of the report itself.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { newCaller, openStage, receive, type Stage, workOnce } from '../ingest-crash/scene.ts';
import { sarif } from './readers.ts';

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

test('a rehearsed report leaves no row and no byte, whatever it would have done', async () => {
  const caller = await newCaller(stage);
  const document = (...rules: string[]): unknown =>
    sarif(rules.map((ruleId) => ({ ruleId, message: { text: `about ${ruleId}` } })));
  const context = { repositoryUrl: 'https://example.org/a/b' };
  await receive(stage, caller, 'sarif', document('R1', 'R2', 'R3'), context);
  assert.equal((await workOnce(stage, () => {}))?.outcome, 'processed');
  const before = await rowsByTable();
  const asked = document('R2', 'R4');
  const id = await receive(stage, caller, 'sarif', asked, { ...context, rehearsal: true });
  const done = await workOnce(stage, () => {});
  assert.equal(done?.upload.id, id);
  assert.equal(done?.outcome, 'processed');
  assert.deepEqual(await rowsByTable(), before);
});
