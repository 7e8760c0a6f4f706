// Repeats of uploads (contract §2): by Idempotency-Key, by joining an upload in work, by a lost
// answer; and the limit on waiting uploads. The only worker is held up by an upload of its own, so
// that the next uploads still wait.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { BACKENDS, eventually } from '../harness.ts';
import { holdUntil, POISON_PROBE } from '../http/poison.probe.ts';
import { ctis, ctisFinding, many } from '../http/reports.ts';
import { type Answer, exchange, type Fields, fieldsOf, ok, problemOf } from '../http/wire.ts';
import { look, newRunner, type Runner, runnerCall, startWorld, type World } from '../http/world.ts';

let serial = 0;
const freshReport = (count = 1): Fields => {
  serial += 1;
  return ctis(many(count, ctisFinding), { repository: `github.com/acme/repeats-${serial}` });
};
const ASYNC = { prefer: 'respond-async' };

for (const backend of BACKENDS) {
  let world: World;
  let runner: Runner;
  let folder: string;
  before(async () => {
    world = await startWorld(backend, {}, { ingestProbe: POISON_PROBE });
    runner = await newRunner(world);
    folder = await mkdtemp(join(tmpdir(), 'muster-test-'));
  });
  after(async () => {
    await world.stop();
    await rm(folder, { recursive: true });
  });

  const hand = async (
    body: Fields,
    headers: Record<string, string> = {},
    as = runner,
  ): Promise<Answer> => await runnerCall(world, as.key, '/ingest', body, headers);
  const stateOf = async (id: unknown): Promise<unknown> =>
    (await look(world, world.own.viewer, `/api/v1/uploads/${String(id)}`))['state'];
  /** The worker has something to do until `finish` is called. */
  const busy = async (): Promise<{ id: unknown; finish: () => Promise<void> }> => {
    serial += 1;
    const file = join(folder, `go-on-${serial}`);
    const path = `/ingest?category=${encodeURIComponent(holdUntil(file))}`;
    const { job_id: id } = ok(await runnerCall(world, runner.key, path, freshReport(), ASYNC), 202);
    await eventually(async () => (await stateOf(id)) === 'processing');
    const finish = async (): Promise<void> => {
      await writeFile(file, '');
      await idle(id);
    };
    return { id, finish };
  };
  const idle = async (id: unknown): Promise<void> => {
    await eventually(async () => (await stateOf(id)) === 'processed');
  };

  describe(`repeats on ${backend}`, { concurrency: false }, () => {
    test('with an Idempotency-Key the stored answer comes again; another body is 422', async () => {
      const report = freshReport(3);
      const headers = { 'idempotency-key': `key-${serial}` };
      const first = await hand(report, headers);
      const receipt = ok(first, 201);
      assert.equal(first.headers['idempotent-replayed'], undefined);
      for (let n = 0; n < 2; n += 1) {
        const again = await hand(report, headers);
        assert.equal(again.headers['idempotent-replayed'], 'true');
        assert.deepEqual(ok(again, 201), receipt);
      }
      problemOf(await hand(freshReport(), headers), 'idempotency_key_reused');
      const quoted = await hand(report, { 'idempotency-key': `"key-${serial - 1}"` });
      assert.deepEqual(ok(quoted, 201), receipt, 'a structured-field string is the same key');
      const other = await newRunner(world);
      const theirs = ok(await hand(freshReport(), headers, other), 201);
      assert.notEqual(theirs['upload_id'], receipt['upload_id'], 'keys are the runner’s own');
    });

    test('a refusal is a stored answer like any other', async () => {
      const report = ctis([1, 2, 3] as unknown as Fields[]);
      const headers = { 'idempotency-key': `refused-${backend}` };
      const first = problemOf(await hand(report, headers), 'report_refused');
      const again = await hand(report, headers);
      assert.equal(problemOf(again, 'report_refused')['upload_id'], first['upload_id']);
      assert.equal(again.headers['idempotent-replayed'], 'true');
    });

    test('an Idempotency-Key that is empty or too long is refused', async () => {
      for (const key of ['""', 'x'.repeat(limits.idempotencyKeyCharsMax + 1)]) {
        const answer = await hand(freshReport(), { 'idempotency-key': key });
        problemOf(answer, 'invalid_parameter');
      }
    });

    test('ten equal uploads with one key at once are one upload', async () => {
      const report = freshReport(5);
      const headers = { 'idempotency-key': `race-${serial}` };
      const answers = await Promise.all(Array.from({ length: 10 }, () => hand(report, headers)));
      const ids = answers.map((answer) => {
        assert.ok([201, 202].includes(answer.status), answer.text);
        return fieldsOf(answer)['upload_id'];
      });
      assert.equal(new Set(ids).size, 1);
      assert.equal(
        answers.filter((one) => one.headers['idempotent-replayed'] === undefined).length,
        1,
      );
    });
  });

  describe(`identical uploads on ${backend}`, { concurrency: false }, () => {
    test('an identical upload that was answered is a new sighting, which changes nothing', async () => {
      const report = freshReport(4);
      const first = ok(await hand(report), 201);
      // For a moment the server can't know yet that the first answer arrived, and gives it again.
      const again = await eventually(async () => {
        const answer = await hand(report);
        return answer.headers['idempotent-replayed'] === undefined && answer;
      });
      const receipt = ok(again, 201);
      assert.notEqual(receipt['upload_id'], first['upload_id']);
      assert.equal((receipt['findings'] as Fields)['unchanged'], 4);
      assert.equal(receipt['findings_created'], 0);
    });

    test('an identical upload joins the one that is in work; never 409', async () => {
      const worker = await busy();
      const report = freshReport(2);
      const first = ok(await hand(report, ASYNC), 202);
      assert.equal(first['duplicate'], false);
      const joined = ok(await hand(report, ASYNC), 202);
      assert.equal(joined['job_id'], first['job_id']);
      assert.equal(joined['duplicate'], true);
      const stranger = await newRunner(world);
      const theirs = ok(await hand(report, ASYNC, stranger), 202);
      assert.notEqual(theirs['job_id'], first['job_id'], 'another runner’s upload is its own');
      await worker.finish();
      const waited = await hand(report);
      assert.equal(waited.status, 201);
      await idle(first['job_id']);
    });

    test('identical uploads that arrive at the same time are one, without a key as well', async () => {
      const worker = await busy();
      const report = freshReport(2);
      const handing = Array.from({ length: 6 }, () => hand(report, ASYNC));
      const jobs = (await Promise.all(handing)).map((answer) => ok(answer, 202));
      assert.equal(new Set(jobs.map((job) => job['job_id'])).size, 1);
      assert.equal(jobs.filter((job) => job['duplicate'] === false).length, 1);
      await worker.finish();
      await idle(jobs[0]?.['job_id']);
    });

    test('a repeat after a lost answer gets the answer that could not be written out', async () => {
      const worker = await busy();
      const report = freshReport(3);
      const body = JSON.stringify(report);
      const uploads = async (): Promise<Fields[]> =>
        (await look(world, world.own.viewer, `/api/v1/uploads?runner_id=${runner.id}`))[
          'items'
        ] as Fields[];
      let lost: unknown;
      await exchange(world.url, async (socket) => {
        socket.write(
          `POST /api/v1/agent/ingest HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer ${runner.key}\r\n` +
            `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
        );
        lost = await eventually(async () => {
          const [newest] = await uploads();
          return newest?.['state'] === 'received' && newest['id'] !== worker.id && newest['id'];
        });
        socket.on('close', () => socket.emit('end'));
        socket.destroy();
      });
      await worker.finish();
      await idle(lost);
      const again = ok(await hand(report), 201);
      assert.equal(again['upload_id'], lost);
      assert.equal(again['findings_created'], 3, 'the first answer, not a second sighting');
      const third = ok(await hand(report), 201);
      assert.notEqual(third['upload_id'], lost, 'that answer was written out');
    });
  });

  describe(`a queue that is full, on ${backend}`, { concurrency: false }, () => {
    test('after 24 hours an Idempotency-Key is forgotten', async () => {
      const report = freshReport();
      const headers = { 'idempotency-key': `old-${serial}`, ...ASYNC };
      const first = ok(await hand(report, headers), 202);
      world.server.clock.advance(limits.idempotencyMs - 60_000);
      const replay = fieldsOf(await hand(report, headers));
      assert.equal(replay['upload_id'], first['job_id']);
      world.server.clock.advance(120_000);
      const other = ok(await hand(freshReport(), headers), 202);
      assert.notEqual(other['job_id'], first['job_id']);
    });

    test('more than 200 waiting uploads of a tenant are 429 with Retry-After; another’s are not', async () => {
      // The last test of this world: this upload holds its only worker up.
      ok(await runnerCall(world, runner.key, '/ingest?category=stall', freshReport(), ASYNC), 202);
      let answer = await hand(freshReport(), ASYNC);
      for (let n = 0; answer.status === 202 && n < 2 * limits.uploadsWaitingPerTenantMax; n += 1)
        answer = await hand(freshReport(), ASYNC);
      problemOf(answer, 'rate_limited');
      const theirs = await runnerCall(
        world,
        world.other.runner.key,
        '/ingest',
        freshReport(),
        ASYNC,
      );
      ok(theirs, 202);
    });
  });
}
