// Turns the environment into one frozen Config. Every variable stands in VARIABLES, from which
// `muster serve --help` prints the reference; units are in the names. No other file of the server
// reads the environment.

import { isIP } from 'node:net';
import { type LogLevel, Secret } from './lib/log.ts';

export interface Config {
  readonly host: string;
  readonly port: number;
  readonly dataDirectory: string;
  /** Null: the embedded SQLite database in the data directory. */
  readonly databaseUrl: Secret | null;
  readonly databasePoolMax: number;
  readonly masterKey: Secret | null;
  readonly tlsCertFile: string | null;
  readonly tlsKeyFile: string | null;
  /** Addresses or CIDR blocks whose X-Forwarded-For is believed; empty: none. */
  readonly trustedProxies: readonly string[];
  readonly logLevel: LogLevel;
  readonly metrics: 'loopback' | 'open' | 'off';
  readonly ingestWorkers: number;
  readonly ingestHeapMiBMax: number;
  readonly uploadsWaitingMiBMax: number;
  /** Embedded database only; 0: not watched. */
  readonly diskFreeBytesMin: number;
  readonly uploadKeepDays: number;
  readonly historyKeepDays: number;
  readonly stopSecondsMax: number;
}

interface Variable {
  readonly name: string;
  readonly fallback: string;
  readonly meaning: string;
}

export const VARIABLES: readonly Variable[] = [
  { name: 'MUSTER_HOST', fallback: '127.0.0.1', meaning: 'address to listen on' },
  { name: 'MUSTER_PORT', fallback: '7878', meaning: 'port to listen on; 0 takes a free one' },
  {
    name: 'MUSTER_DATA',
    fallback: './data',
    meaning: 'directory of the embedded database and the master key file',
  },
  {
    name: 'MUSTER_DATABASE_URL',
    fallback: '',
    meaning: 'postgres://… to use PostgreSQL instead of the embedded SQLite database',
  },
  {
    name: 'MUSTER_DATABASE_POOL',
    fallback: '10',
    meaning: 'PostgreSQL connections of this process at most',
  },
  {
    name: 'MUSTER_MASTER_KEY',
    fallback: '',
    meaning:
      '32 bytes as 64 hex digits or base64; required on PostgreSQL, else kept in a 0600 file in the data directory',
  },
  {
    name: 'MUSTER_TLS_CERT',
    fallback: '',
    meaning: 'PEM file of the certificate chain; with MUSTER_TLS_KEY',
  },
  { name: 'MUSTER_TLS_KEY', fallback: '', meaning: 'PEM file of the private key' },
  {
    name: 'MUSTER_TRUSTED_PROXIES',
    fallback: '',
    meaning:
      'comma list of addresses or CIDR blocks whose X-Forwarded-For is believed; by default nobody is',
  },
  {
    name: 'MUSTER_LOG_LEVEL',
    fallback: 'info',
    meaning: 'trace, debug, info, warn, error or silent',
  },
  {
    name: 'MUSTER_METRICS',
    fallback: 'loopback',
    meaning: 'who may read /metrics: loopback (callers on this machine), open, or off',
  },
  { name: 'MUSTER_INGEST_WORKERS', fallback: '1', meaning: 'threads that process uploads' },
  {
    name: 'MUSTER_INGEST_HEAP_MIB',
    fallback: '2048',
    meaning: 'memory of one such thread; an upload that needs more fails, the server goes on',
  },
  {
    name: 'MUSTER_UPLOADS_WAITING_MIB',
    fallback: '8192',
    meaning: 'stored bytes of one tenant that may wait to be processed; more uploads get 429',
  },
  {
    name: 'MUSTER_DISK_FREE_BYTES_MIN',
    fallback: '536870912',
    meaning:
      'with less space left for the embedded database (on its disk and inside its file) uploads get 503; 0 turns this off',
  },
  { name: 'MUSTER_UPLOAD_KEEP_DAYS', fallback: '30', meaning: 'how long raw uploads are kept' },
  {
    name: 'MUSTER_HISTORY_KEEP_DAYS',
    fallback: '180',
    meaning:
      'how long ended commands that no upload belongs to, command logs and ended scan sessions are kept',
  },
  {
    name: 'MUSTER_STOP_SECONDS',
    fallback: '20',
    meaning: 'how long a stop waits for requests and the upload in work',
  },
];

/** A configuration that can't be used: holds every fault, so that one start shows them all. */
export class ConfigError extends Error {
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

/**
 * Reads the configuration. Throws ConfigError, also for MUSTER_ variables that don't exist (a
 * misspelt name).
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const faults: string[] = [];
  const read = reader(env, faults);
  for (const name of Object.keys(env)) {
    const known = VARIABLES.some((variable) => variable.name === name) || FOREIGN.has(name);
    if (name.startsWith('MUSTER_') && !known) faults.push(`${name} is not a setting of Muster.`);
  }
  const url = read.text('MUSTER_DATABASE_URL');
  if (url !== '' && !/^postgres(ql)?:\/\//.test(url)) {
    faults.push(
      'MUSTER_DATABASE_URL must begin with postgres:// (or be empty for the embedded database).',
    );
  }
  const masterKey = read.text('MUSTER_MASTER_KEY');
  const config: Config = {
    host: read.text('MUSTER_HOST'),
    port: read.integer('MUSTER_PORT', 0, 65_535),
    dataDirectory: read.text('MUSTER_DATA'),
    databaseUrl: url === '' ? null : new Secret(url),
    databasePoolMax: read.integer('MUSTER_DATABASE_POOL', 2, 1000),
    masterKey: masterKey === '' ? null : new Secret(masterKey),
    tlsCertFile: read.text('MUSTER_TLS_CERT') || null,
    tlsKeyFile: read.text('MUSTER_TLS_KEY') || null,
    trustedProxies: read.list('MUSTER_TRUSTED_PROXIES'),
    logLevel: read.word('MUSTER_LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'silent']),
    metrics: read.word('MUSTER_METRICS', ['loopback', 'open', 'off']),
    ingestWorkers: read.integer('MUSTER_INGEST_WORKERS', 1, 64),
    ingestHeapMiBMax: read.integer('MUSTER_INGEST_HEAP_MIB', 64, 1_048_576),
    uploadsWaitingMiBMax: read.integer('MUSTER_UPLOADS_WAITING_MIB', 1, 1_048_576),
    diskFreeBytesMin: read.integer('MUSTER_DISK_FREE_BYTES_MIN', 0, Number.MAX_SAFE_INTEGER),
    uploadKeepDays: read.integer('MUSTER_UPLOAD_KEEP_DAYS', 1, 3650),
    historyKeepDays: read.integer('MUSTER_HISTORY_KEEP_DAYS', 1, 3650),
    stopSecondsMax: read.integer('MUSTER_STOP_SECONDS', 1, 600),
  };
  if ((config.tlsCertFile === null) !== (config.tlsKeyFile === null)) {
    faults.push('MUSTER_TLS_CERT and MUSTER_TLS_KEY go together.');
  }
  for (const proxy of config.trustedProxies) {
    if (isIP(proxy.split('/', 1)[0] ?? '') === 0) {
      faults.push(`MUSTER_TRUSTED_PROXIES: ${proxy} is no address or CIDR block.`);
    }
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.freeze(config);
}

/** Variables of the command line and the tests, which share the environment with the server. */
const FOREIGN = new Set([
  'MUSTER_URL',
  'MUSTER_KEY',
  'MUSTER_TOKEN',
  'MUSTER_TEST_POSTGRES',
  'MUSTER_CHROMIUM',
  'MUSTER_GOLDEN',
]);

function reader(env: Readonly<Record<string, string | undefined>>, faults: string[]) {
  const text = (name: string): string => {
    const given = env[name]?.trim();
    if (given !== undefined && given !== '') return given;
    return VARIABLES.find((variable) => variable.name === name)?.fallback ?? '';
  };
  const integer = (name: string, min: number, max: number): number => {
    const value = Number(text(name));
    if (!Number.isInteger(value) || value < min || value > max) {
      faults.push(`${name} must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };
  const word = <W extends string>(name: string, words: readonly W[]): W => {
    const value = text(name);
    const known = words.find((candidate) => candidate === value);
    if (known === undefined) faults.push(`${name} must be one of ${words.join(', ')}.`);
    return known ?? (words[0] as W);
  };
  const list = (name: string): string[] =>
    text(name)
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
  return { text, integer, word, list };
}

/** The reference that `muster serve --help` prints. */
export function configReference(): string {
  return VARIABLES.map(
    ({ name, fallback, meaning }) =>
      `  ${name}\n      ${meaning}${fallback === '' ? '' : ` (default ${fallback})`}`,
  ).join('\n');
}
