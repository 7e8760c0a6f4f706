// The metrics that Prometheus can read: requests, uploads, presence flushes, the process itself.
// Labels are closed sets: no id, no path, nothing that a caller chooses.

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly text: () => Promise<string>;
  readonly answered: (endpointId: string | null, status: number, seconds: number) => void;
  readonly uploadEnded: (outcome: string, durationMs: number) => void;
  readonly commandsSwept: (lost: number, expired: number) => void;
  readonly credentialRefused: (reason: string) => void;
  readonly presenceFlushed: (
    ok: boolean,
    runners: number,
    rowWrites: { readonly request: number; readonly flush: number },
  ) => void;
  readonly diskLooked: (freeBytes: number, isLow: boolean) => void;
}

const refusalCounter = (registers: Registry[]): Counter<'reason'> =>
  new Counter({
    name: 'muster_credentials_refused_total',
    help: 'Keys and tokens that were refused, by reason.',
    labelNames: ['reason'],
    registers,
  });

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'muster_' });
  const registers = [registry];
  const requests = new Histogram({
    name: 'muster_http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its answer.',
    labelNames: ['endpoint', 'status'],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 30],
    registers,
  });
  const uploads = new Histogram({
    name: 'muster_upload_processing_seconds',
    help: 'Time from the claim of an upload to its end, by outcome.',
    labelNames: ['outcome'],
    buckets: [0.01, 0.05, 0.25, 1, 5, 25, 120],
    registers,
  });
  const lost = new Counter({
    name: 'muster_command_leases_lost_total',
    help: 'Commands whose holder lost its lease.',
    registers,
  });
  const expired = new Counter({
    name: 'muster_commands_expired_total',
    help: 'Commands that nobody claimed in time.',
    registers,
  });
  const presenceFlushed = presenceMetrics(registers);
  const refusals = refusalCounter(registers);
  // A look-up of labels by their object costs more than counting, so one child for each endpoint
  // and status is kept.
  const children = new Map<string, ReturnType<typeof requests.labels>>();
  const childOf = (endpoint: string, status: number): ReturnType<typeof requests.labels> => {
    const name = `${endpoint} ${status}`;
    let child = children.get(name);
    if (child === undefined) {
      child = requests.labels(endpoint, String(status));
      children.set(name, child);
    }
    return child;
  };
  return {
    text: () => registry.metrics(),
    answered: (endpointId, status, seconds) =>
      childOf(endpointId ?? 'none', status).observe(seconds),
    uploadEnded: (outcome, durationMs) => uploads.observe({ outcome }, durationMs / 1000),
    commandsSwept: (lostCount, expiredCount) => {
      lost.inc(lostCount);
      expired.inc(expiredCount);
    },
    credentialRefused: (reason) => refusals.inc({ reason }),
    presenceFlushed,
    diskLooked: diskGauges(registers),
  };
}

function diskGauges(registers: Registry[]): Metrics['diskLooked'] {
  const free = new Gauge({
    name: 'muster_disk_free_bytes',
    help: 'Space left on the disk of the embedded database; 0 on PostgreSQL.',
    registers,
  });
  const low = new Gauge({
    name: 'muster_disk_low',
    help: '1 while uploads are refused because the disk is nearly full.',
    registers,
  });
  return (freeBytes, isLow) => {
    free.set(freeBytes);
    low.set(isLow ? 1 : 0);
  };
}

function presenceMetrics(registers: Registry[]): Metrics['presenceFlushed'] {
  const flushes = new Counter({
    name: 'muster_presence_flushes_total',
    help: 'Flushes of presence, by result.',
    labelNames: ['result'],
    registers,
  });
  const flushed = new Gauge({
    name: 'muster_presence_flushed_runners',
    help: 'Runners that showed a sign of life between the last two flushes.',
    registers,
  });
  const written = new Counter({
    name: 'muster_presence_row_writes_total',
    help: 'Rows written for presence, by what asked for it: a call of a runner, or the flush.',
    labelNames: ['path'],
    registers,
  });
  return (ok, runners, rowWrites) => {
    flushes.inc({ result: ok ? 'ok' : 'failed' });
    written.inc({ path: 'request' }, rowWrites.request);
    written.inc({ path: 'flush' }, rowWrites.flush);
    if (ok) flushed.set(runners);
  };
}
