// The reports of runners about a command that they hold (progress, log lines) and for it (uploads);
// payloads of known types, judged when the command is created; scan sessions.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { BACKENDS } from '../harness.ts';
import { ctis, ctisFinding } from '../http/reports.ts';
import { type Answer, type Fields, ok, problemOf, send } from '../http/wire.ts';
import {
  look,
  move,
  newCommand,
  newRunner,
  operate,
  type Runner,
  runnerCall,
  showCommand,
  startWorld,
  type World,
} from '../http/world.ts';

for (const backend of BACKENDS) {
  let world: World;
  let one: Runner;
  let two: Runner;
  before(async () => {
    world = await startWorld(backend);
    one = await newRunner(world, 'one');
    two = await newRunner(world, 'two');
  });
  after(async () => await world.stop());

  const held = async (runner: Runner = one): Promise<string> => {
    const id = await newCommand(world);
    ok(await move(world, runner.key, id, 'acknowledge'));
    return id;
  };
  const append = async (id: string, offset: number, lines: string[], more: Fields = {}) =>
    await move(world, one.key, id, 'logs', { offset, lines, ...more });
  const log = async (id: string, query = ''): Promise<Fields> =>
    await look(world, world.own.viewer, `/api/v1/commands/${id}/logs${query}`);
  const texts = (page: Fields): unknown[] => (page['lines'] as Fields[]).map(({ text }) => text);

  describe(`progress on ${backend}`, { concurrency: false }, () => {
    test('the last word of the holder counts, up or down; it moves nothing', async () => {
      const id = await held();
      for (const percent of [10, 90.7, 40])
        ok(await move(world, one.key, id, 'progress', { percent, message: `at ${percent}` }));
      const shown = await showCommand(world, id);
      const { at, ...progress } = shown['progress'] as Fields;
      assert.deepEqual(progress, { percent: 40, message: 'at 40' });
      assert.equal(typeof at, 'string');
      assert.equal(shown['status'], 'acknowledged');
    });

    test('its answer tells that an operator wants the command stopped', async () => {
      const id = await held();
      await operate(world, world.own.analyst, `/api/v1/commands/${id}/cancel`, undefined, 200);
      const answer = ok(await move(world, one.key, id, 'progress', {}));
      assert.equal(typeof answer['cancel_requested_at'], 'string');
      assert.equal(ok(await append(id, 0, []))['cancel_requested'], true);
    });

    test('only the holder writes, of this attempt, and not after the end', async () => {
      const id = await held();
      for (const [verb, body] of [
        ['progress', { percent: 1 }],
        ['logs', { offset: 0, lines: ['x'] }],
      ] as const) {
        problemOf(await move(world, two.key, id, verb, body), 'command_claimed');
        problemOf(await move(world, one.key, id, verb, { ...body, attempt: 2 }), 'lease_lost');
        problemOf(await move(world, world.other.runner.key, id, verb, body), 'not_found');
      }
      ok(await move(world, one.key, id, 'complete', {}));
      problemOf(await move(world, one.key, id, 'progress', {}), 'invalid_transition');
      problemOf(await append(id, 0, ['late']), 'invalid_transition');
      assert.deepEqual(texts(await log(id)), []);
    });
  });

  describe(`logs on ${backend}`, { concurrency: false }, () => {
    test('lines are kept once, whatever is repeated or overlaps, and read from any offset', async () => {
      const id = await held();
      assert.equal(ok(await append(id, 0, ['a', 'b']))['next_offset'], 2);
      assert.deepEqual(ok(await append(id, 0, ['a', 'b'])), {
        next_offset: 2,
        kept: 0,
        dropped: 0,
        cancel_requested: false,
      });
      assert.equal(ok(await append(id, 1, ['b', 'c', 'ü\u0000']))['kept'], 2);
      assert.deepEqual(texts(await log(id)), ['a', 'b', 'c', 'ü\ufffd']);
      const later = await log(id, '?offset=2');
      assert.deepEqual([texts(later), later['next_offset']], [['c', 'ü\ufffd'], 4]);
      assert.deepEqual(
        (later['lines'] as Fields[]).map(({ line, attempt }) => [line, attempt]),
        [
          [2, 1],
          [3, 1],
        ],
      );
      assert.equal(later['is_complete'], false);
      ok(await move(world, one.key, id, 'complete', {}));
      assert.equal((await log(id, '?offset=4'))['is_complete'], true);
    });

    test('a gap is refused with the offset to go on from, and keeps nothing', async () => {
      const id = await held();
      ok(await append(id, 0, ['a']));
      const problem = problemOf(await append(id, 3, ['d']), 'log_gap');
      assert.equal(problem['next_offset'], 1);
      assert.deepEqual(texts(await log(id)), ['a']);
    });

    test('ten equal calls at once are one', async () => {
      const id = await held();
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => append(id, 0, ['a', 'b'])),
      );
      for (const answer of answers) assert.equal(ok(answer)['next_offset'], 2);
      assert.deepEqual(texts(await log(id)), ['a', 'b']);
    });

    test('each attempt counts its own lines; the log shows them all with their attempt', async () => {
      const id = await held();
      ok(await append(id, 0, ['first']));
      ok(await move(world, one.key, id, 'release'));
      ok(await move(world, one.key, id, 'acknowledge'));
      assert.equal(ok(await append(id, 0, ['second'], { attempt: 2 }))['next_offset'], 1);
      const { lines } = await log(id);
      assert.deepEqual(
        (lines as Fields[]).map(({ attempt, text }) => [attempt, text]),
        [
          [1, 'first'],
          [2, 'second'],
        ],
      );
    });

    test('a full log keeps what it has; what comes later is counted and said', async () => {
      const id = await held();
      const line = 'x'.repeat(limits.commandLogLineBytesMax + 100);
      const perCall = 200;
      const lines = Array.from({ length: perCall }, () => line);
      let dropped = 0;
      let sent = 0;
      while (dropped === 0) {
        const answer = ok(await append(id, sent, lines));
        sent += perCall;
        assert.equal(answer['next_offset'], sent);
        dropped = Number(answer['dropped']);
      }
      const kept = sent - dropped;
      assert.ok(kept * limits.commandLogLineBytesMax <= limits.commandLogBytesMax);
      assert.equal(ok(await append(id, sent, ['short']))['dropped'], 1, 'no holes');
      const shown = (await showCommand(world, id))['log'] as Fields;
      assert.deepEqual([shown['lines'], shown['dropped_lines']], [kept, dropped + 1]);
      const page = await log(id, `?offset=${kept - 1}`);
      assert.match(String(texts(page)[0]), /^x+…$/, 'cut visibly');
      assert.equal(page['dropped_lines'], dropped + 1);
    });

    test('a tail is answered by the next line, and by the end of the command', async () => {
      const id = await held();
      const line = log(id, '?wait=60');
      ok(await append(id, 0, ['hello']));
      assert.deepEqual(texts(await line), ['hello']);
      const end = log(id, '?offset=1&wait=60');
      ok(await move(world, one.key, id, 'complete', {}));
      assert.deepEqual([texts(await end), (await end)['is_complete']], [[], true]);
    });
  });

  describe(`uploads for a command on ${backend}`, { concurrency: false }, () => {
    const upload = async (runner: Runner, command: string): Promise<string> => {
      const report = ctis([ctisFinding()], { repository: `github.com/acme/${command}` });
      const headers = { 'x-openctem-command-id': command };
      return String(
        ok(await runnerCall(world, runner.key, '/ingest', report, headers), 201)['upload_id'],
      );
    };

    test('the command shows the receipt of what its holder handed in, and nobody else’s', async () => {
      const id = await held();
      const mine = await upload(one, id);
      await upload(two, id);
      const uploads = (await showCommand(world, id))['uploads'] as Fields[];
      assert.deepEqual(
        uploads.map((each) => [each['id'], each['runner_id'], each['state']]),
        [[mine, one.id, 'processed']],
      );
      const receipt = uploads[0]?.['receipt'] as Fields;
      assert.equal(receipt['outcome'], 'complete');
      assert.equal((receipt['findings'] as Fields)['received'], 1);
    });
  });

  describe(`uploads that change nothing, on ${backend}`, { concurrency: false }, () => {
    const shown = async (id: string): Promise<unknown[][]> =>
      ((await showCommand(world, id))['uploads'] as Fields[]).map(({ id: upload, state }) => [
        upload,
        state,
      ]);

    test('a refused report is shown with the scan that it can only belong to', async () => {
      const runner = await newRunner(world);
      const payload = { scanner: 'semgrep', target: 'https://github.com/acme/refused' };
      const id = await newCommand(world, { type: 'scan', payload, runner_id: runner.id });
      ok(await move(world, runner.key, id, 'acknowledge'));
      const log = {
        version: '2.1.0',
        runs: [{ tool: { driver: { name: 'semgrep' } }, results: [7] }],
      };
      const answer = await runnerCall(world, runner.key, '/ingest/sarif', log);
      const refusal = problemOf(answer, 'report_refused');
      assert.deepEqual(await shown(id), [[refusal['upload_id'], 'refused']]);
    });

    test('a dry run is no upload of the command that it names', async () => {
      const id = await held();
      const headers = { 'x-openctem-command-id': id };
      const report = ctis([ctisFinding()], { repository: `github.com/acme/${id}` });
      const answer = await runnerCall(world, one.key, '/ingest/validate', report, headers);
      assert.ok(answer.status < 300, answer.text);
      assert.deepEqual(await shown(id), []);
    });
  });

  describe(`payloads on ${backend}`, { concurrency: false }, () => {
    const create = async (body: Fields): Promise<Answer> =>
      await send(world.url, {
        method: 'POST',
        path: '/api/v1/commands',
        key: world.own.analyst,
        body,
      });
    const BAD: readonly (readonly [string, unknown, string])[] = [
      ['scan', undefined, '/payload'],
      ['scan', {}, '/payload/scanner'],
      ['scan', { scanner: '' }, '/payload/scanner'],
      ['scan', { scanner: 'semgrep', targets: 'a' }, '/payload/targets'],
      ['scan', { scanner: 'semgrep', timeout_seconds: 'soon' }, '/payload/timeout_seconds'],
      [
        'scan',
        { scanner: 's', custom_templates: [{ id: 'a' }] },
        '/payload/custom_templates/0/name',
      ],
      ['scan', 'semgrep', '/payload'],
      ['collect', {}, '/payload/collector'],
      ['health_check', [], '/payload'],
      ['validate', { target: {} }, '/payload/target/address'],
      ['cancel', { command_id: 'x' }, '/payload/command_id'],
    ];
    for (const [type, payload, pointer] of BAD) {
      test(`${type} with ${JSON.stringify(payload)} is refused at ${pointer}`, async () => {
        const problem = problemOf(await create({ type, payload }), 'invalid_body');
        const places = problem['errors'] as Fields[];
        assert.deepEqual(
          places.map((place) => place['pointer']),
          [pointer],
        );
      });
    }

    test('what agents read passes, with members that nobody knows; other types pass as they are', async () => {
      const good: readonly (readonly [string, unknown])[] = [
        [
          'scan',
          { scanner: 'trivy-fs', target: '/srv', config: { exclude: ['a'], more: 1 }, x: 1 },
        ],
        ['collect', { collector: 'github', source_config: { org: 'acme' } }],
        ['health_check', undefined],
        ['health_check', {}],
        ['validate', { target: { address: 'db.example:5432' }, timeout_seconds: 30 }],
        ['config_update', { config_data: { a: 1 } }],
        ['retest', 'anything'],
      ];
      for (const [type, payload] of good) {
        const made = ok(await create({ type, payload, runner_id: one.id }), 201);
        assert.deepEqual(made['payload'], payload ?? null);
      }
    });
  });

  describe(`scan sessions on ${backend}`, { concurrency: false }, () => {
    const session = (commit: string, branch = 'main'): Fields => ({
      scanner_name: 'semgrep',
      asset_type: 'repository',
      asset_value: 'github.com/acme/sessions',
      commit_sha: commit,
      branch,
    });
    const open = async (runner: Runner, body: Fields): Promise<Fields> =>
      ok(await runnerCall(world, runner.key, '/scans', body), 201);
    const end = async (runner: Runner, id: unknown, body: Fields): Promise<Answer> =>
      await send(world.url, {
        method: 'PATCH',
        path: `/api/v1/agent/scans/${String(id)}`,
        key: runner.key,
        body,
      });

    test('a session is opened once, ended once, and knows the commit before it', async () => {
      const first = await open(one, session('c1'));
      assert.deepEqual(await open(one, session('c1')), first, 'a repeat');
      assert.equal(first['base_commit_sha'], undefined);
      const body = { status: 'completed', findings_total: 3, findings_by_severity: { high: 3 } };
      for (let n = 0; n < 2; n += 1)
        assert.deepEqual(ok(await end(one, first['scan_id'], body)), { status: 'updated' });
      problemOf(await end(one, first['scan_id'], { status: 'failed' }), 'transition_conflict');
      assert.equal((await open(two, session('c2')))['base_commit_sha'], 'c1');
      assert.equal((await open(two, session('c2', 'other')))['base_commit_sha'], undefined);
      const shown = await look(
        world,
        world.own.viewer,
        `/api/v1/scans/${String(first['scan_id'])}`,
      );
      assert.equal(shown['agent_id'], one.id);
      assert.equal(shown['findings_total'], 3);
    });

    test('a session belongs to its runner; operators see all of their tenant', async () => {
      const { scan_id: id } = await open(one, session('c3'));
      problemOf(await end(two, id, { status: 'completed' }), 'not_found');
      const path = `/api/v1/agent/scans/${String(id)}`;
      problemOf(await send(world.url, { path, key: two.key }), 'not_found');
      assert.equal(ok(await send(world.url, { path, key: one.key }))['status'], 'running');
      const page = await look(
        world,
        world.own.viewer,
        `/api/v1/scans?runner_id=${one.id}&status=running`,
      );
      assert.deepEqual(
        (page['items'] as Fields[]).map((each) => each['id']),
        [id],
      );
    });

    test('a session that nobody ends has timed out after a day', async () => {
      const { scan_id: id } = await open(one, session('c4'));
      world.server.clock.advance(limits.scanSessionMs + 1000);
      await world.server.round();
      const shown = await look(world, world.own.viewer, `/api/v1/scans/${String(id)}`);
      assert.equal(shown['status'], 'timeout');
    });
  });
}
