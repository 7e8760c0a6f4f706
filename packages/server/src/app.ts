// The composition root, the only file that wires: turns a configuration into a server that listens,
// and stops that server in order: stop accepting, finish requests and the upload in work, flush
// presence, close the database.

import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { agentCommandRoutes } from './commands/agent-commands.routes.ts';
import type { CommandsDeps } from './commands/commands.ts';
import { OfferCounts } from './commands/commands.rules.ts';
import { scansUnderWay } from './commands/scans-under-way.ts';
import { Wake } from './commands/poll/wake.ts';
import { PendingSummary } from './commands/pending-summary.ts';
import type { Config } from './config.ts';
import { ALIGN_EVERY_MS } from './db/database-clock.ts';
import type { Database } from './db/db.ts';
import { reusableBytes } from './db/dialect.ts';
import { migrate } from './db/migrate.ts';
import type { HeartbeatDeps } from './heartbeat/heartbeat.ts';
import { heartbeatRoutes } from './heartbeat/heartbeat.routes.ts';
import { MetricBook } from './heartbeat/metrics.ts';
import { Pace } from './heartbeat/pace.ts';
import { PresenceBook } from './heartbeat/presence.ts';
import { loadFactor } from './heartbeat/presence.rules.ts';
import { readConsole } from './http/console-files.ts';
import { createMetrics, type Metrics } from './http/metrics.ts';
import { createServer } from './http/server.ts';
import { serviceRoutes } from './http/service.routes.ts';
import { type IngestRoutesDeps, ingestRoutes } from './uploads/ingest.routes.ts';
import { IngestWorkers, releaseAll, type WorkersDeps } from './ingest/queue/workers.ts';
import { agentKeyRoutes } from './keys/agent-keys.routes.ts';
import { Authenticator } from './keys/authenticate.ts';
import { CallerGate } from './keys/authenticated.ts';
import { type FirstRun, firstRun } from './keys/first-run.ts';
import { unreadyReason } from './keys/readiness.ts';
import { loadMasterKey, type MasterKey, verifyMasterKey } from './keys/master-key.ts';
import type { Clock } from './lib/clock.ts';
import { DiskWatch, type FreeBytes, freeBytesOf } from './lib/disk-watch.ts';
import { newId } from './lib/ids.ts';
import type { Logger } from './lib/log.ts';
import { LoopLag } from './lib/loop-lag.ts';
import { commandRoutes } from './operator/commands.routes.ts';
import { findingRoutes, inventoryRoutes } from './operator/findings.routes.ts';
import { keyRoutes } from './operator/keys.routes.ts';
import { runnerRoutes } from './operator/runners.routes.ts';
import { scanListRoutes } from './operator/scans.routes.ts';
import { uploadRoutes } from './operator/uploads.routes.ts';
import { scanRoutes } from './scans/scans.routes.ts';
import { presenceJob } from './upkeep/presence-job.ts';
import { pruneJob } from './upkeep/prune.ts';
import { type Job, Upkeep } from './upkeep/upkeep.ts';
import { watchJobs } from './upkeep/watch-jobs.ts';
import { VERSION } from './version.ts';

export interface RunningApp {
  /** The address at which the server listens, for people and clients. */
  readonly url: string;
  /** Set on the first run only. */
  readonly firstRun: FirstRun | null;
  /** Runs one round of upkeep now, beside its own pace; for tests that own the clock. */
  readonly round: () => Promise<void>;
  /** Stops gracefully; safe to call twice. */
  readonly stop: () => Promise<void>;
}

/** The parts of the machine that tests replace. */
export interface Ports {
  readonly freeBytes: FreeBytes;
  /** Free bytes inside the file of the database. */
  readonly reusableBytes: (database: Database) => Promise<number>;
  /** A module that is told of every upload in its thread (ingest.worker.ts). */
  readonly ingestProbe: string | null;
  /** How long the threads of ingest wait for a first upload before they are started without one. */
  readonly ingestStartMs: number;
  /** Makes the clock agree with the clocks of other nodes (db/database-clock.ts). */
  readonly alignClock: () => Promise<void>;
  /**
   * The factor by which runners should slow down after a flush of presence that took so many
   * milliseconds.
   */
  readonly loadOf: (flushMs: number) => number;
}

function machine(): Ports {
  const lag = new LoopLag();
  return {
    freeBytes: freeBytesOf,
    reusableBytes: (database) => reusableBytes(database.system()),
    ingestProbe: null,
    ingestStartMs: 1000,
    alignClock: async () => {},
    loadOf: (flushMs) => loadFactor(flushMs, lag.takeP99Ms()),
  };
}

/**
 * Migrates the opened database, wires and listens. Rejects with an error that the operator can act
 * on; then nothing is left running, and the database is closed.
 */
export async function startApp(
  config: Config,
  clock: Clock,
  log: Logger,
  database: Database,
  ports: Partial<Ports> = {},
): Promise<RunningApp> {
  try {
    await ports.alignClock?.();
    await migrate(database, clock.nowMs());
    const embedded = config.databaseUrl === null;
    const masterKey = loadMasterKey(config.masterKey, config.dataDirectory, embedded);
    await verifyMasterKey(database, masterKey, clock.nowMs());
    // Nobody else writes to an embedded database: an upload that was in work when the process ended
    // is free again.
    if (embedded) await releaseAll(database, clock);
    return await wire(config, clock, log, { ...machine(), ...ports }, database, masterKey);
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function wire(
  config: Config,
  clock: Clock,
  log: Logger,
  ports: Ports,
  database: Database,
  masterKey: MasterKey,
): Promise<RunningApp> {
  const metrics = createMetrics();
  const keys = {
    sealKey: masterKey.derive('sealed uploads'),
    secretKey: masterKey.derive('secret findings'),
  };
  const presence = new PresenceBook(database, clock, ports.loadOf);
  const pace = new Pace(clock, () => presence.load);
  const series = new MetricBook(database, clock);
  const authenticator = new Authenticator(database, clock, log, metrics.credentialRefused);
  const gate = new CallerGate(authenticator, presence, clock);
  const threads = { database, clock, log, ...keys, onEnded: metrics.uploadEnded };
  const workers = ingestWorkers(config, ports, threads);
  const uploads = { sealKey: keys.sealKey, hasUpload: () => workers.wake() };
  const commands = commandsOf(database, clock, log, presence, uploads);
  const { pendingSummary, wake } = commands;
  const disk = await watchDisk(config, log, ports, database);
  const state = { stopping: false };
  const app = httpServer(config, clock, log, metrics);
  const isPresenceWritten = (): boolean => presence.healthy;
  const readiness = { database, isPresenceWritten, isStopping: () => state.stopping };
  const heartbeat = {
    presence,
    pendingSummary,
    pace,
    metrics: series,
    configVersion: CONFIG_VERSION,
  };
  const isStorageLow = (): boolean => disk?.isLow === true;
  const receive = { sealKey: keys.sealKey, database, clock, workers, isStorageLow };
  agentRoutes(app, gate, commands, heartbeat, ingestDeps(config, receive));
  operatorRoutes(app, gate, authenticator, series, commands);
  serviceRoutes(app, gate, {
    version: VERSION,
    databaseKind: database.kind,
    unready: async () => await unreadyReason(readiness),
    isStorageLow,
    metricsText: metrics.text,
    metrics: config.metrics,
    console: readConsole(),
  });
  const upkeepJobs = [
    presenceJob({ presence, series, authenticator, commands, metrics }),
    pruneJob(database, clock, config),
    ...watching(workers, disk, metrics, ports),
  ];
  const upkeep = new Upkeep(upkeepJobs, clock, log);
  const url = await listen(app, config);
  const made = await firstRunOrClose(app, database, clock);
  workers.start();
  wake.start();
  upkeep.start();
  const stop = async (): Promise<void> => {
    if (state.stopping) return;
    state.stopping = true;
    // Waiting polls are answered at once, because closing the server waits for them.
    await wake.stop();
    const parts = { app, workers, upkeep, presence, series, authenticator, database };
    await stopAll(config, clock, log, parts);
  };
  return { url, firstRun: made, round: () => upkeep.round(), stop };
}

function ingestDeps(
  { uploadsWaitingMiBMax }: Config,
  deps: Pick<IngestRoutesDeps, 'database' | 'clock' | 'workers' | 'sealKey' | 'isStorageLow'>,
): IngestRoutesDeps {
  return {
    ...deps,
    waitingBytesMax: uploadsWaitingMiBMax * 2 ** 20,
    paceMs: () => deps.workers.paceMs,
    scansUnderWay: (...of) => scansUnderWay(deps.database, ...of),
  };
}

function watching(
  workers: IngestWorkers,
  disk: DiskWatch | null,
  { diskLooked: onDiskLooked }: Metrics,
  { alignClock }: Ports,
): Job[] {
  const watchThreads = (): void => workers.watch();
  return watchJobs({ watchThreads, alignClock, alignEveryMs: ALIGN_EVERY_MS, disk, onDiskLooked });
}

function agentRoutes(
  app: FastifyInstance,
  gate: CallerGate,
  commands: CommandsDeps,
  heartbeat: HeartbeatDeps,
  ingest: IngestRoutesDeps,
): void {
  const { database, clock } = commands;
  heartbeatRoutes(app, gate, heartbeat);
  agentCommandRoutes(app, gate, commands);
  scanRoutes(app, gate, { database, clock });
  agentKeyRoutes(app, gate, { database, clock });
  ingestRoutes(app, gate, ingest);
}

function operatorRoutes(
  app: FastifyInstance,
  gate: CallerGate,
  authenticator: Authenticator,
  series: MetricBook,
  commands: CommandsDeps,
): void {
  const { database, clock, wake } = commands;
  const operator = { database, clock };
  runnerRoutes(app, gate, operator, authenticator, series, (...who) => wake.runner(...who));
  keyRoutes(app, gate, operator, authenticator);
  commandRoutes(app, gate, commands);
  scanListRoutes(app, gate, operator);
  uploadRoutes(app, gate, operator);
  findingRoutes(app, gate, operator);
  inventoryRoutes(app, gate, operator);
}

function commandsOf(
  database: Database,
  clock: Clock,
  log: Logger,
  presence: PresenceBook,
  uploads: Pick<CommandsDeps, 'sealKey' | 'hasUpload'>,
): CommandsDeps {
  const unwritten = (runnerId: string) => presence.unwritten(runnerId);
  const offers = new OfferCounts();
  const pendingSummary = new PendingSummary(database, clock, unwritten, offers);
  const wake = new Wake({ database, clock, log, pendingSummary });
  return { database, clock, pendingSummary, wake, offers, unwritten, ...uploads };
}

function ingestWorkers(
  { ingestWorkers: count, ingestHeapMiBMax: heapMiBMax }: Config,
  { ingestProbe: probe, ingestStartMs: startAfterMs }: Ports,
  deps: Omit<WorkersDeps, 'count' | 'heapMiBMax' | 'probe' | 'startAfterMs'>,
): IngestWorkers {
  return new IngestWorkers({ ...deps, count, heapMiBMax, probe, startAfterMs });
}

/**
 * The watch of the embedded database's disk, which has looked once before the first upload; null:
 * the database has its own disk.
 */
async function watchDisk(
  { databaseUrl, dataDirectory, diskFreeBytesMin }: Config,
  log: Logger,
  { freeBytes, reusableBytes }: Ports,
  database: Database,
): Promise<DiskWatch | null> {
  if (databaseUrl !== null) return null;
  const looks = { onDisk: () => freeBytes(dataDirectory), inFile: () => reusableBytes(database) };
  const disk = new DiskWatch(looks, diskFreeBytesMin);
  await disk.lookFirst(log);
  return disk;
}

/**
 * After the server has its address: a start that fails must not use up secrets that are shown once.
 */
async function firstRunOrClose(
  app: FastifyInstance,
  database: Database,
  clock: Clock,
): Promise<FirstRun | null> {
  try {
    return await firstRun(database, clock);
  } catch (error) {
    await app.close();
    throw error;
  }
}

function httpServer(config: Config, clock: Clock, log: Logger, metrics: Metrics): FastifyInstance {
  return createServer({
    log,
    trustedProxies: config.trustedProxies,
    tls: tlsOf(config),
    newRequestId: () => newId<string>(clock.nowMs()),
    onAnswer: metrics.answered,
  });
}

function tlsOf(config: Config): { certFile: string; keyFile: string } | null {
  const { tlsCertFile: certFile, tlsKeyFile: keyFile } = config;
  return certFile === null || keyFile === null ? null : { certFile, keyFile };
}

/** The server governs no setting of a single runner yet: this is the digest of "nothing". */
const CONFIG_VERSION = '0000000000000000';

async function listen(app: FastifyInstance, config: Config): Promise<string> {
  await app.listen({ host: config.host, port: config.port });
  const { port, address, family } = app.server.address() as AddressInfo;
  const host = family === 'IPv6' ? `[${address}]` : address;
  return `${config.tlsCertFile === null ? 'http' : 'https'}://${host}:${port}`;
}

/** How long answers that are being written may take after everything else has stopped. */
const ANSWER_MS = 2000;

interface Parts {
  readonly app: FastifyInstance;
  readonly workers: IngestWorkers;
  readonly upkeep: Upkeep;
  readonly presence: PresenceBook;
  readonly series: MetricBook;
  readonly authenticator: Authenticator;
  readonly database: Database;
}

async function stopAll(config: Config, clock: Clock, log: Logger, parts: Parts): Promise<void> {
  const { app, workers, upkeep, presence, series, authenticator, database } = parts;
  log.info('stopping: no new requests; finishing what is under way');
  // Requests that wait for a receipt are answered 202 as soon as the workers have stopped.
  const closed = app.close();
  await workers.stop(config.stopSecondsMax * 1000);
  // The workers have stopped, so waiting requests are being answered; bodies that still arrive have
  // had their time.
  const patience = new AbortController();
  await Promise.race([closed, clock.sleep(ANSWER_MS, patience.signal)]);
  patience.abort();
  app.server.closeAllConnections();
  await closed;
  await upkeep.stop();
  try {
    await presence.flush(authenticator.takeLastUsed());
    await series.flush(true);
  } catch (error) {
    log.warn({ err: error }, 'the last signs of life could not be written');
  }
  await database.close();
  log.info('stopped');
}
