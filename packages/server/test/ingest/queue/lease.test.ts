// The claim of an upload lasts as long as its document is read, however long that takes.

import assert from 'node:assert/strict';
import { ITEM_PLACES } from '../../../src/ingest/formats/formats.ts';
import { test } from 'node:test';
import { limits } from '@muster/contract';
import { DocumentSource } from '../../../src/ingest/document/document.ts';
import { LeaseLost, leaseKeeper } from '../../../src/ingest/lease/lease.ts';
import { present } from '../../../src/lib/assert.ts';
import { claim, newCaller, openStage, receive, watchedDeps } from '../crash/scene.ts';

test('every pass over a long document extends the claim and measures the time anew, and ends when somebody else has it', async () => {
  const stage = await openStage();
  const caller = await newCaller(stage);
  // More than is held in memory, so that every pass reads the chunks anew.
  const results = Array.from({ length: 70 }, () => ({ message: { text: 'x'.repeat(300_000) } }));
  const id = await receive(stage, caller, 'sarif', { version: '2.1.0', runs: [{ results }] });
  const upload = present(await claim(stage), 'the upload');
  assert.equal(upload.id, id);
  let measured = 0;
  const alignClock = async (): Promise<void> => void (measured += 1);
  const deps = { ...watchedDeps(stage, () => {}), alignClock };
  const db = stage.database.tenant(caller.tenantId);
  const keep = leaseKeeper(deps, upload);
  let pieces = 0;
  const source = new DocumentSource(db, upload, deps.sealKey, async () => {
    pieces += 1;
    // A slow disk: half the time of a claim between two chunks.
    stage.clock.advance(limits.uploadLeaseMs / 2);
    stage.clock.age(limits.uploadLeaseMs / 2);
    await keep();
    assert.equal(await claim(stage), undefined, `piece ${pieces}: nobody else may claim it`);
  });
  const { document } = await source.scan(ITEM_PLACES);
  for await (const _ of source.items(document, new Set(['/runs/0/results'])));
  assert.ok(pieces > 100, `${pieces} pieces`);
  assert.equal(measured, pieces, 'each came long after the one before');
  stage.clock.advance(limits.uploadLeaseMs + 1);
  stage.clock.age(limits.uploadLeaseMs + 1);
  assert.notEqual(await claim(stage), undefined);
  await assert.rejects(keep(), LeaseLost);
  await stage.close();
});
