// Enrolment (contract §7): a token becomes a runner and its key, once for each enrollment_id
// however often it is asked; and the bounds of a token: uses, time, labels, scopes, addresses.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BACKENDS } from '../harness.ts';
import { type Answer, type Fields, ok, placeOf, problemOf, send } from '../http/wire.ts';
import {
  forgiveFailures,
  keyIdOf,
  look,
  operate,
  revokeKey,
  runnerCall,
  startWorld,
  type World,
} from '../http/world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

for (const backend of BACKENDS) {
  let world: World;
  before(async () => {
    world = await startWorld(backend);
  });
  after(async () => await world.stop());

  const beat = async (key: string): Promise<Answer> => await runnerCall(world, key, '/heartbeat');
  const good = async (key: string): Promise<Fields> => ok(await beat(key));
  const dead = async (key: string): Promise<Fields> => problemOf(await beat(key), 'unauthorized');
  const pass = (ms: number): void => {
    world.server.clock.advance(ms);
    forgiveFailures(world);
  };
  const renew = async (key: string): Promise<string> =>
    String(ok(await runnerCall(world, key, '/renew'))['api_key']);
  const keyOf = (answer: Answer): string => String((JSON.parse(answer.text) as Fields)['api_key']);

  const token = async (more: Fields = {}): Promise<string> => {
    const made = await operate(world, world.own.admin, '/api/v1/enrolment-tokens', more, 201);
    return String(made['api_key']);
  };

  const enrol = async (key: string, body: Fields = {}): Promise<Answer> =>
    await send(world.url, { method: 'POST', path: '/api/v1/agent/enroll', key, body });

  describe(`enrolment on ${backend}`, { concurrency: false }, () => {
    test('a token makes as many runners as it has uses, even when all come at once', async () => {
      const key = await token({ uses: 3, labels: { team: 'red' } });
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          enrol(key, { name: `n${n}`, labels: { team: 'blue' } }),
        ),
      );
      const made = answers.filter(({ status }) => status === 201);
      assert.equal(made.length, 3);
      for (const answer of answers) if (answer.status !== 201) problemOf(answer, 'unauthorized');
      const ids = new Set(made.map((answer) => ok(answer, 201)['agent_id']));
      assert.equal(ids.size, 3);
      const [id] = ids;
      const runner = await look(world, world.own.viewer, `/api/v1/runners/${String(id)}`);
      assert.deepEqual(runner['labels'], { team: 'red' }, 'the token’s labels win');
      forgiveFailures(world);
    });

    test('with enrollment_id a repeat finds the same runner and uses nothing up', async () => {
      const key = await token({ uses: 1 });
      const body = { name: 'ci', enrollment_id: `machine-${backend}-1` };
      const first = ok(await enrol(key, body), 201);
      const again = ok(await enrol(key, body), 200);
      assert.equal(again['agent_id'], first['agent_id']);
      assert.notEqual(again['api_key'], first['api_key']);
      await good(String(again['api_key']));
      await dead(String(first['api_key']));
      const other = { ...body, enrollment_id: `machine-${backend}-2` };
      problemOf(await enrol(key, other), 'unauthorized');
    });

    test('five equal enrolments at once are one runner', async () => {
      const key = await token({ uses: 5 });
      const body = { enrollment_id: `race-${backend}-1` };
      const answers = await Promise.all(Array.from({ length: 5 }, () => enrol(key, body)));
      const ids = answers.map((answer) => {
        assert.ok([200, 201].includes(answer.status), answer.text);
        return (JSON.parse(answer.text) as Fields)['agent_id'];
      });
      assert.equal(new Set(ids).size, 1);
      const page = await look(world, world.own.admin, '/api/v1/enrolment-tokens');
      const shown = (page['items'] as Fields[]).find(({ key_id: id }) => id === keyIdOf(key));
      assert.equal(shown?.['uses_left'], 4);
    });
  });

  describe(`what enrolment refuses, on ${backend}`, { concurrency: false }, () => {
    test('an enrollment_id belongs to its token: another token can’t take the runner over', async () => {
      const [mine, theirs] = [await token({ uses: 2 }), await token({ uses: 2 })];
      const body = { enrollment_id: `mine-${backend}-1` };
      ok(await enrol(mine, body), 201);
      problemOf(await enrol(theirs, body), 'unauthorized');
      const path = '/api/v1/enrolment-tokens';
      const made = await operate(world, world.other.admin, path, {}, 201);
      const elsewhere = ok(await enrol(String(made['api_key']), body), 201);
      assert.equal(elsewhere['tenant_id'], world.other.id);
    });

    test('a revoked runner can’t come back by its enrollment_id', async () => {
      const key = await token({ uses: 2 });
      const body = { enrollment_id: `gone-${backend}-1` };
      const id = String(ok(await enrol(key, body), 201)['agent_id']);
      await operate(world, world.own.admin, `/api/v1/runners/${id}/revoke`, undefined, 200);
      problemOf(await enrol(key, body), 'unauthorized');
    });

    test('tokens live seven days unless asked otherwise, and die at once when revoked', async () => {
      const [week, short, revoked] = [
        await token({ uses: 9 }),
        await token({ uses: 9, expires_in: 3600 }),
        await token({ uses: 9 }),
      ];
      ok(await enrol(revoked), 201);
      await revokeKey(world, revoked);
      problemOf(await enrol(revoked), 'unauthorized');
      pass(HOUR_MS);
      problemOf(await enrol(short), 'unauthorized');
      pass(7 * DAY_MS - 2 * HOUR_MS);
      ok(await enrol(week), 201);
      pass(HOUR_MS);
      problemOf(await enrol(week), 'unauthorized');
    });

    test('an enrolled key lives 90 days', async () => {
      const key = await token();
      const reply = ok(await enrol(key), 201);
      const lifeMs = Date.parse(String(reply['expires_at'])) - world.server.clock.nowMs();
      assert.ok(Math.abs(lifeMs - 90 * DAY_MS) < MINUTE_MS);
    });
  });

  describe(`a repeated enrolment on ${backend}`, { concurrency: false }, () => {
    test('each answer’s key is good until one of them is used: the first one too', async () => {
      const key = await token({ uses: 1 });
      const body = { enrollment_id: `lost-${backend}-1` };
      const keys = [keyOf(await enrol(key, body))];
      for (let n = 0; n < 3; n += 1) keys.push(String(ok(await enrol(key, body), 200)['api_key']));
      const [first = '', ...others] = keys;
      await good(first);
      for (const other of others) await dead(other);
      await good(first);
    });

    test('works when others have used the token up meanwhile', async () => {
      const key = await token({ uses: 2 });
      const body = { enrollment_id: `full-${backend}-1` };
      const id = ok(await enrol(key, body), 201)['agent_id'];
      ok(await enrol(key), 201);
      problemOf(await enrol(key), 'unauthorized');
      const again = ok(await enrol(key, body), 200);
      assert.equal(again['agent_id'], id);
      await good(String(again['api_key']));
    });

    test('of a runner that works goes on as a renewal: its key lives 15 minutes more', async () => {
      const key = await token({ uses: 1 });
      const body = { enrollment_id: `late-${backend}-1` };
      const first = keyOf(await enrol(key, body));
      await good(first);
      const renewed = await renew(first);
      await good(renewed);
      const second = String(ok(await enrol(key, body), 200)['api_key']);
      await good(renewed);
      await good(second);
      await dead(first);
      await good(renewed);
      pass(15 * MINUTE_MS);
      await dead(renewed);
      await good(second);
    });

    test('with one enrollment_id and two tokens at once makes one runner; the other token is refused', async () => {
      const tokens = await Promise.all([token({ uses: 5 }), token({ uses: 5 })]);
      const body = { enrollment_id: `two-tokens-${backend}` };
      const answers = await Promise.all(
        [...tokens, ...tokens].map(async (key) => await enrol(key, body)),
      );
      const made = answers.filter(({ status }) => status < 300);
      assert.equal(made.length, 2, JSON.stringify(answers.map(({ status }) => status)));
      assert.equal(
        new Set(made.map((answer) => (JSON.parse(answer.text) as Fields)['agent_id'])).size,
        1,
      );
      for (const answer of answers) if (answer.status >= 300) problemOf(answer, 'unauthorized');
      forgiveFailures(world);
    });
  });

  describe(`what a token allows, on ${backend}`, { concurrency: false }, () => {
    const labelsOf = async (answer: Answer): Promise<unknown> => {
      const path = `/api/v1/runners/${String(ok(answer, 201)['agent_id'])}`;
      return (await look(world, world.own.viewer, path))['labels'];
    };

    test('a runner gets the token’s labels, and may ask for those that the token allows', async () => {
      const allowed = { labels: { team: 'red' }, allowed_labels: ['host', 'region=eu'], uses: 2 };
      const key = await token(allowed);
      const asked = { team: 'red', host: 'a=b', region: 'eu' };
      assert.deepEqual(await labelsOf(await enrol(key, { labels: asked })), asked);
      assert.deepEqual(await labelsOf(await enrol(key)), { team: 'red' });
      const page = await look(world, world.own.admin, '/api/v1/enrolment-tokens');
      const shown = (page['items'] as Fields[]).find(({ key_id: id }) => id === keyIdOf(key));
      assert.deepEqual(
        [shown?.['labels'], shown?.['allowed_labels']],
        [allowed.labels, allowed.allowed_labels],
      );
    });

    test('other labels, other values, and other values of the token’s own are refused by name; no use is lost', async () => {
      const key = await token({ labels: { team: 'red' }, allowed_labels: ['region=eu'], uses: 1 });
      const wrong = [{ prod: 'yes' }, { region: 'us' }, { team: 'blue' }, { 'a/b~c': 'x' }];
      for (const labels of wrong) {
        const problem = problemOf(await enrol(key, { labels }), 'invalid_body');
        const [name = ''] = Object.keys(labels);
        assert.ok(String(problem['detail']).includes(name), String(problem['detail']));
        const pointer = name === 'a/b~c' ? '/labels/a~1b~0c' : `/labels/${name}`;
        assert.equal(problem['pointer'], pointer);
        placeOf(problem);
      }
      ok(await enrol(key, { labels: { region: 'eu' } }), 201);
    });

    test('with an empty list of allowed labels a runner may ask for none', async () => {
      const key = await token({ allowed_labels: [] });
      problemOf(await enrol(key, { labels: { team: 'x' } }), 'invalid_body');
      assert.deepEqual(await labelsOf(await enrol(key)), {});
    });

    test('keys made with it have its scopes and allow-list, and so have keys renewed from them', async () => {
      const key = await token({
        scopes: ['ingest', 'renew'],
        allow_from: ['127.0.0.0/8'],
        uses: 1,
      });
      const body = { enrollment_id: `narrow-${backend}` };
      const reply = ok(await enrol(key, body), 201);
      const again = String(ok(await enrol(key, body), 200)['api_key']);
      await good(again);
      await good(await renew(again));
      const path = `/api/v1/keys?runner_id=${String(reply['agent_id'])}`;
      const keys = (await look(world, world.own.admin, path))['items'] as Fields[];
      assert.equal(keys.length, 3);
      for (const shown of keys) {
        assert.deepEqual(shown['scopes'], ['heartbeat', 'ingest', 'renew']);
        assert.deepEqual(shown['allow_from'], ['127.0.0.0/8']);
      }
    });

    test('a token with an allow-list enrols nobody from elsewhere', async () => {
      const key = await token({ allow_from: ['192.0.2.0/24'] });
      problemOf(await enrol(key), 'unauthorized');
    });
  });
}
