// The driver of a transaction that is sent as a whole: every statement gets the same connection at
// once, where Kysely's own transactions wait for each statement's answer before the next. Whoever
// opened the transaction sends its end. A statement that is asked for after an answer has come has
// waited for that answer, and is refused whether or not the end is already on its way: success must
// not depend on which of the two was faster. Called by postgres.ts and sqlite.ts.

import type { DatabaseConnection, Driver } from 'kysely';

export class SharingDriver implements Driver {
  readonly #connection: DatabaseConnection;
  #answered = false;

  constructor(connection: DatabaseConnection) {
    this.#connection = connection;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#answered) throw new Error('the transaction was ended before');
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    throw new Error('this is a transaction already');
  }

  async commitTransaction(): Promise<void> {}

  async rollbackTransaction(): Promise<void> {}

  async releaseConnection(): Promise<void> {
    this.#answered = true;
  }

  async destroy(): Promise<void> {}
}
