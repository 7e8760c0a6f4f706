// The oldest PostgreSQL that Muster works with, on a server of its own: the schema is the same one,
// the conformance suite holds, and an upload goes its way through a real server.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { createDatabase, type Postgres, startPostgres } from '../../../../tools/postgres.ts';
import { openDatabase } from '../../src/db/db.ts';
import { readSchema } from '../../src/db/dialect.ts';
import { migrate } from '../../src/db/migrate.ts';
import { POSTGRES_MAJOR_MIN } from '../../src/db/postgres/server-version.ts';
import { CTIS, REPOSITORY, SARIF } from '../e2e/reports.ts';
import { allFindings, receiptOf, send, sendAgain } from '../e2e/wire.ts';
import { emptyPlace, startServer } from '../harness.ts';
import { databaseConformance } from './conformance.ts';
import { NOW_MS, type Opened } from './fixture.ts';

let server: Postgres;
before(async () => {
  server = await startPostgres({ durable: false, oldest: true });
});
after(async () => await server.stop());

async function open(): Promise<Opened> {
  const url = await createDatabase(server.adminUrl);
  const again = () => openDatabase({ url, directory: '', poolMax: 4 });
  const database = await again();
  await migrate(database, NOW_MS);
  return { database, again, dispose: () => database.close() };
}

databaseConformance(`PostgreSQL ${POSTGRES_MAJOR_MIN}`, open);

test('the oldest server is of the oldest version that is not refused, and gets the schema that was reviewed', async () => {
  const { database, dispose } = await open();
  const { rows } = await sql<{ major: number }>`
    select current_setting('server_version_num')::integer / 10000 as major`.execute(
    database.system(),
  );
  assert.deepEqual(rows, [{ major: POSTGRES_MAJOR_MIN }]);
  const golden = new URL('./golden/schema.postgres.txt', import.meta.url);
  assert.equal(await readSchema(database.system()), readFileSync(golden, 'utf8'));
  await dispose();
});

test('reports become findings on the oldest server, and the same again change nothing', async () => {
  const place = await emptyPlace('sqlite');
  const env = {
    MUSTER_DATABASE_URL: await createDatabase(server.adminUrl),
    MUSTER_MASTER_KEY: '7'.repeat(64),
  };
  const muster = await startServer({ place, env });
  try {
    const runner = { url: muster.url, key: muster.runnerKey };
    const query = { repository_url: REPOSITORY, branch: 'main' };
    const first = receiptOf(await send(runner, 'sarif', SARIF, query));
    const second = receiptOf(await send(runner, 'ctis', CTIS));
    assert.deepEqual([first.findings.created, second.findings.created], [3, 2]);
    const again = receiptOf(await sendAgain(runner, 'sarif', SARIF, query));
    assert.equal(again.findings.unchanged, 3);
    const findings = await allFindings({ url: muster.url, key: muster.operatorToken });
    assert.equal(findings.length, 5);
  } finally {
    await muster.stop();
    await place.remove();
  }
});
