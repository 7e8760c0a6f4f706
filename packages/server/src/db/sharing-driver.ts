// The driver of a transaction that is sent as a whole: every statement gets the same connection at once, where Kysely's own
// transactions wait for each statement's answer before the next. The end is sent by whoever opened it. Used by both
// backends' `together`. A statement that is asked for after an answer has come waited for it, and is refused whether or
// not the end is on its way already: what works must not depend on which of the two was faster.

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
