// A real process that is killed and started again on the data it left behind. Used by kill.test.ts
// and `npm run soak`.

import assert from 'node:assert/strict';
import { openDatabase } from '../../src/db/db.ts';
import {
  type Backend,
  emptyPlace,
  type Place,
  type SpawnedServer,
  spawnServer,
} from '../harness.ts';
import type { Party } from './wire.ts';

/** An installation whose process comes and goes. */
export interface Scene {
  readonly backend: Backend;
  readonly place: Place;
  server: SpawnedServer;
  readonly runnerKey: string;
  readonly operatorToken: string;
}

/** The first start, on an empty place. */
export async function open(backend: Backend): Promise<Scene> {
  const place = await emptyPlace(backend);
  const server = await spawnServer(place);
  const { runnerKey, operatorToken } = server;
  return { backend, place, server, runnerKey, operatorToken };
}

export async function close({ server, place }: Scene): Promise<void> {
  await server.stop('SIGKILL');
  await place.remove();
}

export const runner = ({ server, runnerKey }: Scene): Party => ({
  url: server.url,
  key: runnerKey,
});
export const operator = ({ server, operatorToken }: Scene): Party => ({
  url: server.url,
  key: operatorToken,
});

/** kill -9, and the next start on the same place. */
export async function killAndStart(scene: Scene): Promise<void> {
  assert.equal(await scene.server.stop('SIGKILL'), null);
  if (scene.backend === 'postgres') await endLeases(scene.place);
  scene.server = await spawnServer(scene.place);
}

/**
 * On PostgreSQL another node could hold the upload, so that a start waits for the lease: this ends
 * the lease.
 */
async function endLeases(place: Place): Promise<void> {
  const url = place.env['MUSTER_DATABASE_URL'] as string;
  const database = await openDatabase({ url, directory: '' });
  const ended = { lease_until: 0 };
  await database
    .system()
    .updateTable('upload')
    .set(ended)
    .where('state', '=', 'processing')
    .execute();
  await database.system().updateTable('scope').set(ended).execute();
  await database.close();
}
