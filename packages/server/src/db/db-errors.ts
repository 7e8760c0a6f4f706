// The meaning of a failed statement, the same for both databases: a small union instead of two sets
// of codes. Stories ask `uniqueViolation` where a conflict is expected, http/problems.ts asks
// `isUnavailable`, transaction.ts asks `isRetryable`. An error without a kind here is a defect.
// Sources: sqlite.org/rescode.html; PostgreSQL 18 manual, appendix A.

/** Thrown for every request to a database that is closed or whose thread is gone. */
export class DatabaseClosedError extends Error {
  constructor(reason: string) {
    super(`the database is closed: ${reason}`);
    this.name = 'DatabaseClosedError';
  }
}

/** A violated unique constraint has PostgreSQL's name for it, on SQLite too: `tenant_name_key`. */
type DbFailure =
  | { readonly kind: 'unique'; readonly constraint: string }
  | { readonly kind: 'foreign_key' }
  | { readonly kind: 'constraint' } // a check or a missing value
  | { readonly kind: 'busy' } // a lock was not free in time
  | { readonly kind: 'serialization' } // also a deadlock
  | { readonly kind: 'full' } // no space left on its disk
  | { readonly kind: 'disk' } // failing
  | { readonly kind: 'timeout' } // the statement took longer than it may
  | { readonly kind: 'connection' }; // lost, refused, or closed by us

/** What `error` means; null when it isn't an error of the database, or is a defect. */
export function dbFailure(error: unknown): DbFailure | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof DatabaseClosedError) return { kind: 'connection' };
  const { code, errcode } = error as Error & { code?: unknown; errcode?: unknown };
  if (typeof errcode === 'number') return sqliteFailure(error.message, errcode);
  if (typeof code === 'string') return postgresFailure(error, code);
  return CONNECTION_MESSAGE.test(error.message) ? { kind: 'connection' } : null;
}

/**
 * The name of the unique constraint that `error` says was violated, such as `tenant_name_key`;
 * otherwise null.
 */
export function uniqueViolation(error: unknown): string | null {
  const failure = dbFailure(error);
  return failure?.kind === 'unique' ? failure.constraint : null;
}

/** Whether the same transaction can succeed when it simply runs again. */
export function isRetryable(error: unknown): boolean {
  const kind = dbFailure(error)?.kind;
  return kind === 'busy' || kind === 'serialization';
}

/** Whether the database has no space left for the write. */
export function isStorageFull(error: unknown): boolean {
  return dbFailure(error)?.kind === 'full';
}

/** Whether the caller did nothing wrong and may come back later: 503 on the wire. */
export function isUnavailable(error: unknown): boolean {
  const kind = dbFailure(error)?.kind;
  return (
    kind === 'busy' ||
    kind === 'serialization' ||
    kind === 'full' ||
    kind === 'disk' ||
    kind === 'timeout' ||
    kind === 'connection'
  );
}

function sqliteFailure(message: string, errcode: number): DbFailure | null {
  switch (errcode) {
    case 1555: // SQLITE_CONSTRAINT_PRIMARYKEY
      return { kind: 'unique', constraint: `${violatedColumns(message).table}_pkey` };
    case 2067: // SQLITE_CONSTRAINT_UNIQUE
      return { kind: 'unique', constraint: uniqueName(message) };
    case 787: // SQLITE_CONSTRAINT_FOREIGNKEY
      return { kind: 'foreign_key' };
  }
  switch (errcode & 0xff) {
    case 5: // SQLITE_BUSY
    case 6: // SQLITE_LOCKED
      return { kind: 'busy' };
    case 10: // SQLITE_IOERR
      return { kind: 'disk' };
    case 13: // SQLITE_FULL
      return { kind: 'full' };
    case 14: // SQLITE_CANTOPEN
      return { kind: 'connection' };
    case 19: // SQLITE_CONSTRAINT
      return { kind: 'constraint' };
    default:
      return null;
  }
}

/** "UNIQUE constraint failed: tenant.name": SQLite names the columns. */
function violatedColumns(message: string): { table: string; columns: string } {
  const names = message.slice(message.indexOf(':') + 1).split(',');
  const parts = names.map((name) => name.trim().split('.'));
  return { table: parts[0]?.[0] ?? '', columns: parts.map(([, column]) => column).join('_') };
}

// Unique constraints that are indexes with names of their own: table and columns -> name. A test
// compares them with the schema.
const UNIQUE_INDEXES: ReadonlyMap<string, string> = new Map([
  ['runner_tenant_id_enrollment_id', 'runner_by_enrollment'],
  ['asset_tenant_id_kind_class_value', 'asset_by_value'],
  ['asset_ref_tenant_id_asset_id_name', 'asset_ref_by_name'],
]);

function uniqueName(message: string): string {
  const { table, columns } = violatedColumns(message);
  const name = `${table}_${columns}`;
  return UNIQUE_INDEXES.get(name) ?? `${name}_key`;
}

// What pg says without a code when a connection is gone or can't be had.
const CONNECTION_MESSAGE =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout exceeded when trying to connect|timeout expired|Cannot use a pool after)/;

const CONNECTION_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  '53300', // too_many_connections
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '25006', // read_only_sql_transaction: the primary moved
  '25P03', // idle_in_transaction_session_timeout
]);

function postgresFailure(error: Error, code: string): DbFailure | null {
  switch (code) {
    case '23505':
      return { kind: 'unique', constraint: String((error as { constraint?: unknown }).constraint) };
    case '23503':
      return { kind: 'foreign_key' };
    case '40001': // serialization_failure
    case '40P01': // deadlock_detected
      return { kind: 'serialization' };
    case '55P03': // lock_not_available
      return { kind: 'busy' };
    case '57014': // query_canceled: statement_timeout
      return { kind: 'timeout' };
    case '53100': // disk_full
      return { kind: 'full' };
    case '58030': // io_error
      return { kind: 'disk' };
  }
  if (code.startsWith('23')) return { kind: 'constraint' };
  if (code.startsWith('08') || CONNECTION_CODES.has(code)) return { kind: 'connection' };
  return null;
}
