// The driver of a transaction that is sent as a whole: every statement gets the same connection at once, where Kysely's own
// transactions wait for each statement's answer before the next. The end is sent by whoever opened it. Used by both
// backends' `together`.

import type { DatabaseConnection, Driver } from 'kysely';

export class SharingDriver implements Driver {
  readonly #connection: DatabaseConnection;

  constructor(connection: DatabaseConnection) {
    this.#connection = connection;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    throw new Error('this is a transaction already');
  }

  async commitTransaction(): Promise<void> {}

  async rollbackTransaction(): Promise<void> {}

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {}
}
