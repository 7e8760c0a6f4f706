// A report with more new findings than matching looks at for moves; they differ only in their
// lines. They are told apart at once, and the receipt says that no moves were looked for.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UploadContext } from '../../../src/ingest/report/report.rules.ts';
import { MOVED_MAX } from '../../../src/ingest/reconcile/match-plan.ts';
import { present } from '../../../src/lib/assert.ts';
import { sarif, sarifResult } from '../../http/reports.ts';
import { newCaller, openStageInMemory, receiptOf, receive, workOnce } from '../crash/scene.ts';

test('beyond its bound nothing is looked for, and the receipt says so', async () => {
  const stage = await openStageInMemory();
  const caller = await newCaller(stage);
  const tell = async (document: unknown, more: UploadContext) => {
    const context = { repositoryUrl: 'https://github.com/acme/bound', ...more };
    const id = await receive(stage, caller, 'sarif', document, context);
    assert.equal(present(await workOnce(stage, () => {}), 'an upload').outcome, 'processed');
    return await receiptOf(stage, caller, id);
  };
  await tell(sarif([sarifResult({ path: 'a.ts' })]), {});
  const lines = Array.from({ length: MOVED_MAX + 1 }, (_, at) => at + 1);
  const moved = lines.map((line) => sarifResult({ path: 'b.ts', line }));
  // Only a dry run, because to write as many findings would take long. To compare each with each
  // would take minutes.
  const { findings, warnings } = await tell(sarif(moved), { dryRun: true });
  assert.equal(findings.created, moved.length);
  assert.deepEqual(
    warnings.map(({ code }) => code),
    ['moved_not_matched'],
  );
  await stage.close();
});
