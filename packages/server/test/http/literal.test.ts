// A caller's text is taken literally, alike on both databases: parts of names with wildcards and
// capitals, texts that only look like times, cursors with characters that no text has.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BACKENDS } from '../harness.ts';
import { type Fields, problemOf, send } from './wire.ts';
import { look, newRunner, operate, startWorld, type World } from './world.ts';

for (const backend of BACKENDS) {
  describe(`what callers write, on ${backend}`, { concurrency: false }, () => {
    let world: World;
    before(async () => {
      world = await startWorld(backend);
      for (const name of ['First', 'first-2', 'a_b', 'axb', '100%', '100 !', 'ÄRGER']) {
        await newRunner(world, name);
      }
    });
    after(async () => await world.stop());

    const named = async (part: string): Promise<string[]> => {
      const path = `/api/v1/runners?name=${encodeURIComponent(part)}`;
      const page = await look(world, world.own.viewer, path);
      return (page['items'] as Fields[]).map(({ name }) => String(name)).sort();
    };

    test('a part of a name: ASCII letters in any case, wildcards literally', async () => {
      assert.deepEqual(await named('FIRST'), ['First', 'first-2', 'first-runner']);
      assert.deepEqual(await named('irs'), ['First', 'first-2', 'first-runner']);
      assert.deepEqual(await named('a_b'), ['a_b']);
      assert.deepEqual(await named('0%'), ['100%']);
      assert.deepEqual(await named('!'), ['100 !']);
      assert.deepEqual(await named('ärger'), [], 'only ASCII letters are folded');
      assert.deepEqual(await named('Ärger'), ['ÄRGER']);
      const assets = await look(world, world.own.viewer, '/api/v1/assets?value=%25_');
      assert.deepEqual(assets['items'], []);
    });

    test('a time that is none is invalid_body, with its place', async () => {
      for (const time of [
        '2026-01-01T23:59:60Z',
        '2026-02-31T00:00:00Z',
        '2026-01-01T00:00:00+99:00',
      ]) {
        const answer = await send(world.url, {
          method: 'POST',
          path: '/api/v1/commands',
          key: world.own.admin,
          body: { type: 'scan', payload: { scanner: 'semgrep' }, scheduled_at: time },
        });
        assert.equal(problemOf(answer, 'invalid_body')['pointer'], '/scheduled_at', time);
      }
      const body = {
        type: 'scan',
        payload: { scanner: 'semgrep' },
        scheduled_at: '2028-02-29T23:59:59.5+02:00',
      };
      await operate(world, world.own.admin, '/api/v1/commands', body, 201);
    });

    test('a cursor with NUL, half a surrogate or a number that is no integer is invalid_parameter', async () => {
      const cursors: readonly [string, unknown[]][] = [
        ['/api/v1/keys', [1, 'a\u0000b']],
        ['/api/v1/keys', [1, '\ud800']],
        ['/api/v1/findings', [1e300, '01a1fc23-b6cf-7067-93f1-625de03b92e4']],
        ['/api/v1/runners', ['\u0000']],
      ];
      for (const [path, cursor] of cursors) {
        const after = Buffer.from(JSON.stringify(cursor)).toString('base64url');
        const answer = await send(world.url, {
          path: `${path}?after=${after}`,
          key: world.own.admin,
        });
        assert.equal(problemOf(answer, 'invalid_parameter')['pointer'], '/after');
      }
    });
  });
}
