// Memory of byte strings given back at once (lib/release.ts): the right memory, and nobody else's.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { release } from '../../../src/lib/release.ts';
import { present } from '../../../src/lib/assert.ts';
import { sarif, sarifResult } from '../../http/reports.ts';
import { newCaller, openStageInMemory, receive, workOnce } from '../crash/scene.ts';

test('a buffer is freed with its last part, and not before', () => {
  const whole = Buffer.alloc(1000, 'x');
  release(whole.subarray(0, 400), 1000);
  assert.equal(whole.length, 1000);
  release(whole.subarray(400), 1000);
  assert.equal(whole.length, 0);
});

test('a buffer that others have bytes in stays', () => {
  const pool = Buffer.alloc(65_536, 'x');
  const last = pool.subarray(65_000);
  release(last, last.length);
  release(last, 256 * 1024);
  assert.equal(pool.length, 65_536);
});

test('the chunks of a body are freed while it arrives, and what is stored is what came', async () => {
  const stage = await openStageInMemory();
  try {
    const caller = await newCaller(stage);
    const results = Array.from({ length: 3000 }, (_, at) => sarifResult({ path: `${at}.js` }));
    const bytes = Buffer.from(JSON.stringify(sarif(results)));
    const left: number[] = [];
    async function* arriving(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += 50_000) {
        const chunk = new Uint8Array(bytes.subarray(at, at + 50_000));
        yield chunk;
        left.push(chunk.length);
      }
    }
    await receive(stage, caller, 'sarif', arriving());
    assert.ok(left.length > 5 && left.every((length) => length === 0), String(left));
    const worked = present(await workOnce(stage, () => {}), 'an upload');
    assert.equal(worked.outcome, 'processed');
    assert.equal(worked.upload.wire_bytes, bytes.length);
  } finally {
    await stage.close();
  }
});
