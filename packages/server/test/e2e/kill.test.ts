// kill -9 of the real process, in the middle of its work on a large upload: after the next start
// the upload is finished by itself, exactly as if nothing had happened.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { largeSarif } from '../generate/reports.ts';
import { type Backend, BACKENDS, eventually } from '../harness.ts';
import { close, killAndStart, open, operator, runner, type Scene } from './killing.ts';
import { REPOSITORY, SARIF } from './reports.ts';
import {
  allFindings,
  allUploads,
  finished,
  jobOf,
  receiptOf,
  send,
  sendAgain,
  sendHalf,
} from './wire.ts';

const ITEMS = 6000;
/** Fewer items where each batch takes longer. */
const ITEMS_ON: Record<Backend, number> = { sqlite: ITEMS, postgres: 3000 };
const QUERY = { repository_url: REPOSITORY, branch: 'main' };
const ASYNC = { prefer: 'respond-async' };

/** Hands a report in without waiting for the receipt; returns the job. */
async function hand(scene: Scene, document: unknown): Promise<string> {
  const sent = await send(runner(scene), 'sarif', document, QUERY, ASYNC);
  assert.equal(sent.status, 202, JSON.stringify(sent.problem));
  return sent.jobId as string;
}

/** Waits until some batches of the upload are committed and others are not. */
async function inTheMiddle(scene: Scene, job: string, attempt: number): Promise<void> {
  await eventually(async () => {
    const { status, attempts, items_done, items_total } = await jobOf(runner(scene), job);
    assert.ok(status === 'pending' || status === 'processing', `too late to kill: ${status}`);
    const done = items_done ?? 0;
    return attempts === attempt && done > 0 && done < (items_total ?? 0);
  });
}

async function assertFindings(scene: Scene, open: number, resolved: number): Promise<void> {
  const findings = await allFindings(operator(scene));
  const count = (status: string): number =>
    findings.filter((finding) => finding.status === status).length;
  assert.deepEqual([count('open'), count('resolved')], [open, resolved]);
  assert.equal(findings.length, open + resolved);
  const isAlike = findings.map(({ path, start_line, rule_id, tool }) =>
    JSON.stringify([path, start_line, rule_id, tool]),
  );
  assert.equal(new Set(isAlike).size, findings.length, 'no finding is there twice');
  assert.ok(findings.every((finding) => !finding.unfinished));
}

for (const backend of BACKENDS) {
  test(`an upload survives kill -9 in its middle on ${backend}`, async () => {
    const scene = await open(backend);
    const items = ITEMS_ON[backend];
    try {
      const job = await hand(scene, largeSarif(items));
      // Acknowledged, and not looked at before the process dies: the only worker is busy.
      const waiting = await hand(scene, SARIF);
      await inTheMiddle(scene, job, 1);
      assert.equal((await jobOf(runner(scene), waiting)).status, 'pending');
      await killAndStart(scene);
      if (backend === 'sqlite') {
        await inTheMiddle(scene, job, 2);
        await killAndStart(scene);
      }
      const { findings } = await finished(runner(scene), job);
      assert.deepEqual([findings.received, findings.created], [items, items]);
      const small = await finished(runner(scene), waiting);
      assert.equal(small.findings.received, 3);
      const again = receiptOf(await sendAgain(runner(scene), 'sarif', largeSarif(items), QUERY));
      assert.equal(again.findings.unchanged, items);
    } finally {
      await close(scene);
    }
  });
}

test('an upload that changes, removes and adds survives kill -9 in its middle', async () => {
  const scene = await open('sqlite');
  try {
    receiptOf(await send(runner(scene), 'sarif', largeSarif(ITEMS), QUERY));
    // Everything moved by a line, the last thousand gone, three hundred new ones.
    const moved = largeSarif(ITEMS - 1000, 'Semgrep', 0, 1) as { runs: [{ results: unknown[] }] };
    const fresh = largeSarif(20_300, 'Semgrep', 20_000) as { runs: [{ results: unknown[] }] };
    for (const result of fresh.runs[0].results) moved.runs[0].results.push(onItsOwn(result));
    const job = await hand(scene, moved);
    await inTheMiddle(scene, job, 1);
    await killAndStart(scene);
    const receipt = await finished(runner(scene), job);
    const { created, changed, unchanged } = receipt.findings;
    assert.deepEqual(
      { created, changed, unchanged },
      { created: 300, changed: 5000, unchanged: 0 },
    );
    assert.equal(receipt.resolved, 1000);
    await assertFindings(scene, ITEMS - 700, 1000);
    const again = receiptOf(await sendAgain(runner(scene), 'sarif', moved, QUERY));
    assert.equal(again.findings.unchanged, 5300);
    assert.equal(again.resolved, 0);
  } finally {
    await close(scene);
  }
});

/** A result of a rule that no other result has, so that it is no other's moved form. */
const onItsOwn = (result: unknown): unknown => ({ ...(result as object), ruleId: 'fresh-rule' });

test('a body that kill -9 cut off leaves nothing to see, and sent again it is complete', async () => {
  const scene = await open('sqlite');
  try {
    const half = await sendHalf(runner(scene), operator(scene), largeSarif(ITEMS));
    await killAndStart(scene);
    half.request.destroy();
    assert.deepEqual(await allFindings(operator(scene)), []);
    const sent = receiptOf(await send(runner(scene), 'sarif', largeSarif(ITEMS), QUERY));
    assert.equal(sent.findings.created, ITEMS);
    await assertFindings(scene, ITEMS, 0);
    const uploads = await allUploads(operator(scene));
    assert.deepEqual(
      uploads.map((upload) => upload.state),
      ['processed'],
      'what was cut off is not shown as if it were still coming',
    );
  } finally {
    await close(scene);
  }
});
