// Explains why a start failed, in words that say what to do. An unknown error keeps its stack,
// because only the stack helps then.

import { ConfigError } from './config.ts';
import { MigrationError } from './db/migrate.ts';
import { ServerVersionError } from './db/postgres/server-version.ts';
import { DatabaseInUseError } from './db/sqlite/lock.ts';
import { MasterKeyError } from './keys/master-key.ts';

export function explain(error: unknown): string {
  if (error instanceof ConfigError) {
    return `The configuration can not be used:\n${error.faults.map((fault) => `  ${fault}`).join('\n')}\nAll settings: muster serve --help`;
  }
  if (
    error instanceof MigrationError ||
    error instanceof ServerVersionError ||
    error instanceof DatabaseInUseError ||
    error instanceof MasterKeyError
  ) {
    return error.message;
  }
  if (error instanceof Error && 'code' in error) {
    switch (error.code) {
      case 'EADDRINUSE':
        return 'Another process listens on this address. Choose another with MUSTER_PORT.';
      case 'EADDRNOTAVAIL':
        return 'This machine does not have the address in MUSTER_HOST.';
      case 'EACCES':
        return `No permission: ${error.message}`;
      case 'ECONNREFUSED':
        return 'The PostgreSQL server in MUSTER_DATABASE_URL does not accept connections.';
      default:
        return error.stack ?? error.message;
    }
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
