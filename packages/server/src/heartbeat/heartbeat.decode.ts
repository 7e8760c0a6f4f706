// Turns a heartbeat's JSON into the members that are kept, leniently for both eras of the protocol
// (RP §4.1). A member of the wrong type is left out and named in `ignored`, so that the operator
// sees it; it never makes the call fail.

import { limits } from '@muster/contract';

type Check = (value: unknown) => boolean;

const text =
  (max: number): Check =>
  (value) =>
    typeof value === 'string' && value.length <= max;
const number: Check = (value) => typeof value === 'number' && Number.isFinite(value);
const integer: Check = (value) => Number.isSafeInteger(value);
const percent: Check = (value) =>
  number(value) && (value as number) >= 0 && (value as number) <= 100;
const texts =
  (items: number, chars: number): Check =>
  (value) =>
    Array.isArray(value) && value.length <= items && value.every(text(chars));
const object: Check = (value) =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const array =
  (items: number): Check =>
  (value) =>
    Array.isArray(value) && value.length <= items;

/** RFC 3339 with a zone: without one, nobody knows which time is meant. */
const time: Check = (value) =>
  typeof value === 'string' &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(value) &&
  Number.isFinite(Date.parse(value));

const MEMBERS: ReadonlyMap<string, Check> = new Map(
  Object.entries({
    name: text(255),
    status: text(64),
    version: text(255),
    hostname: text(255),
    message: text(4096),
    sent_at: time,
    region: text(255),
    scanners: texts(200, 255),
    collectors: texts(200, 255),
    capabilities: texts(64, 255),
    uptime_seconds: number,
    total_scans: integer,
    errors: integer,
    cpu_percent: percent,
    memory_percent: percent,
    active_jobs: integer,
    max_concurrent_jobs: integer,
    os: text(64),
    arch: text(64),
    instance_id: text(128),
    running: texts(1000, 64),
    queue: object,
    capacity: object,
    resources: object,
    tools: array(64),
    outbox: object,
    sdk: object,
    sensor: object,
    disk_read_mbps: number,
    disk_write_mbps: number,
    network_rx_mbps: number,
    network_tx_mbps: number,
    control: object,
    content: array(256),
    manifest_digest: text(256),
    local_policy: object,
    config_report: object,
  }),
);

export interface HeartbeatReport {
  /** The members that could be read, as sent. */
  readonly members: Readonly<Record<string, unknown>>;
  readonly ignored: readonly string[];
  readonly isProbe: boolean;
  readonly saysStopped: boolean;
  /** The time at which the heartbeat was sent, by the runner's own clock. */
  readonly sentAtMs: number | null;
  /** The ids of the commands that the runner executes; null: it doesn't list them. */
  readonly running: readonly string[] | null;
}

const EMPTY: HeartbeatReport = {
  members: {},
  ignored: [],
  isProbe: false,
  saysStopped: false,
  sentAtMs: null,
  running: null,
};

/**
 * Reads a heartbeat. `null` (an empty body) is a bare sign of life. Returns null when the body is
 * no object.
 */
export function decodeHeartbeat(body: unknown): HeartbeatReport | null {
  if (body === null || body === undefined) return EMPTY;
  if (typeof body !== 'object' || Array.isArray(body)) return null;
  const members: Record<string, unknown> = {};
  const ignored: string[] = [];
  for (const name of Object.keys(body)) {
    const value = (body as Readonly<Record<string, unknown>>)[name];
    if (value === null) continue;
    if (MEMBERS.get(name)?.(value) === true) members[name] = value;
    else if (ignored.length < 50) ignored.push(name.slice(0, 64));
  }
  const isProbe = members['name'] === 'connection-test';
  const running = members['running'];
  return {
    members: isProbe ? {} : members,
    ignored,
    isProbe,
    saysStopped: !isProbe && members['status'] === 'stopped',
    sentAtMs: typeof members['sent_at'] === 'string' ? Date.parse(members['sent_at']) : null,
    running: Array.isArray(running) ? (running as string[]) : null,
  };
}

/**
 * Puts the members of a heartbeat into `reported`. Absent members overwrite nothing (contract §3).
 * Names are those of MEMBERS only. `reported` is changed in place, because every heartbeat does
 * this.
 */
export function mergeReported(reported: Record<string, unknown>, now: HeartbeatReport): void {
  // The message goes with the status: of an error that is over nothing is said any more.
  if ('status' in now.members && 'message' in reported) delete reported['message'];
  Object.assign(reported, now.members);
  if (now.ignored.length > 0) reported['ignored_members'] = now.ignored;
  else if ('ignored_members' in reported) delete reported['ignored_members'];
  if ('too_large' in reported) delete reported['too_large'];
}

/**
 * The members that are dropped first when a report is too large: none of them decides who may take
 * a command.
 */
const BULKY = ['content', 'config_report', 'local_policy', 'control', 'outbox', 'queue', 'sensor'];

/**
 * The report as it is stored. A report of more than limits.heartbeatReportedBytesMax of JSON loses
 * its bulky members, one after the other, and then everything but its core.
 */
export function storedReport(reported: Readonly<Record<string, unknown>>): {
  readonly kept: Record<string, unknown>;
  readonly text: string;
} {
  const text = JSON.stringify(reported);
  if (Buffer.byteLength(text) <= limits.heartbeatReportedBytesMax) return { kept: reported, text };
  const slim: Record<string, unknown> = { ...reported, too_large: true };
  for (const bulky of BULKY) {
    delete slim[bulky];
    const rest = JSON.stringify(slim);
    if (Buffer.byteLength(rest) <= limits.heartbeatReportedBytesMax)
      return { kept: slim, text: rest };
  }
  const { name, status, version, hostname, message } = reported;
  const kept = { name, status, version, hostname, message, too_large: true };
  return { kept, text: JSON.stringify(kept) };
}
