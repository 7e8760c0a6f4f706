// The folder of one installation: its key, its enrolment, its name for itself, and the spool. One
// runner uses it at a time. No file in it is overwritten before its replacement is safely there.

import path from 'node:path';
import { makePrivateFolder, readIfThere, writeWhole } from './lib/disk.ts';
import { newInstanceId, newRepeatKey } from './lib/random.ts';
import { Spool } from './spool.ts';

export class State {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(folder: string): Promise<State> {
    await makePrivateFolder(folder);
    return new State(folder);
  }

  /** Null: none was stored. */
  async key(): Promise<string | null> {
    return (await readIfThere(this.#file('key')))?.trim() || null;
  }

  async saveKey(key: string): Promise<void> {
    await writeWhole(this.#file('key'), [`${key}\n`]);
  }

  /** The same id for ever, stored before its first use. */
  async enrollmentId(): Promise<string> {
    return await this.#once('enrollment-id', newRepeatKey);
  }

  /** An id that tells apart two installations which use one key. */
  async instanceId(): Promise<string> {
    return await this.#once('instance-id', newInstanceId);
  }

  async spool(): Promise<Spool> {
    return await Spool.open(this.#file('spool'));
  }

  async #once(name: string, make: () => string): Promise<string> {
    const known = (await readIfThere(this.#file(name)))?.trim();
    if (known !== undefined && known !== '') return known;
    const made = make();
    await writeWhole(this.#file(name), [`${made}\n`]);
    return made;
  }

  #file(name: string): string {
    return path.join(this.#folder, name);
  }
}
