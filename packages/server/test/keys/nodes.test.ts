// An operator's change to a key on one node holds on all nodes within a second (contract §7). Nodes
// send each other no messages about keys: each believes its last read for limits.keyCacheMs, so no
// message can be lost.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { changeKey, renewKey, revokeKey } from '../../src/keys/keys.ts';
import { administerRunner } from '../../src/keys/runners.ts';
import { newRunner, openStage, ServerNode, type Stage } from '../stories.ts';

const keyIdOf = (key: string): string => key.slice(key.length - 50, key.length - 38);

interface Victim {
  readonly id: string;
  readonly key: string;
}

describe('of three nodes on one PostgreSQL', () => {
  let stage: Stage;
  let nodes: readonly ServerNode[];
  before(async () => {
    stage = await openStage('postgres');
    nodes = [1, 2, 3].map(() => new ServerNode(stage.database, stage.clock));
  });
  after(async () => await stage.dispose());

  const accepted = async (key: string): Promise<boolean[]> =>
    await Promise.all(nodes.map(async (node) => (await node.call(key)) !== null));

  const changes: Readonly<Record<string, (victim: Victim) => Promise<unknown>>> = {
    'a revoked key': async ({ key }) =>
      await revokeKey(stage.database, stage.tenantId, keyIdOf(key)),
    'a key that is to expire now': async ({ key }) =>
      await changeKey(stage.database, stage.clock, stage.tenantId, keyIdOf(key), { expires_in: 0 }),
    'a key that is bound to other addresses': async ({ key }) =>
      await changeKey(stage.database, stage.clock, stage.tenantId, keyIdOf(key), {
        allow_from: ['198.51.100.0/24'],
      }),
    'every key of a revoked runner': async ({ id }) =>
      await administerRunner(stage.database, stage.tenantId, id, 'revoked'),
  };
  for (const [what, change] of Object.entries(changes)) {
    test(`${what} is refused by each within a second, although each has just believed it`, async () => {
      const victim = await newRunner(stage);
      assert.deepEqual(await accepted(victim.key), [true, true, true]);
      await change(victim);
      stage.clock.advance(1000);
      assert.deepEqual(await accepted(victim.key), [false, false, false]);
    });
  }

  test('a paused runner is paused for each within a second', async () => {
    const { id, key } = await newRunner(stage);
    await accepted(key);
    await administerRunner(stage.database, stage.tenantId, id, 'paused');
    stage.clock.advance(1000);
    for (const node of nodes) assert.equal((await node.call(key))?.paused, true);
  });

  test('a candidate that is proven at one node ends its line at the others within a second', async () => {
    const { key } = await newRunner(stage);
    const [one] = nodes;
    const caller = await one?.call(key);
    assert.ok(caller !== null && caller !== undefined);
    const [lost, kept] = [
      (await renewKey(stage.database, stage.clock, caller)).secret.expose(),
      (await renewKey(stage.database, stage.clock, caller)).secret.expose(),
    ];
    assert.deepEqual(await accepted(kept), [true, true, true]);
    stage.clock.advance(1000);
    assert.deepEqual(await accepted(lost), [false, false, false]);
    assert.deepEqual(await accepted(key), [true, true, true], 'in its grace');
  });
});
