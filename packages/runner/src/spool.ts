// Results and reports that the server has not answered yet, as files: one file each, whole or
// absent, in the order in which they were made. Entries that are here when a runner starts are
// handed over before anything else. Bounded: when the bound is reached or the disk is full, `put`
// rejects, and its caller goes on from memory.

import { readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { makePrivateFolder, UNFINISHED, writeWhole } from './lib/disk.ts';

/** The body of complete or fail for one attempt at a command. */
export interface ResultEntry {
  readonly kind: 'result';
  readonly commandId: string;
  readonly attempt: number;
  readonly says: { readonly result: unknown } | { readonly error_message: string };
}

/**
 * A report as it is sent. Its headers have the Idempotency-Key, so that no repeat is a second
 * sighting.
 */
export interface UploadEntry {
  readonly kind: 'upload';
  readonly format: 'sarif' | 'ctis';
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

export type Entry = ResultEntry | UploadEntry;

/**
 * More than a runner makes in a day without its server; reports are compressed. Double: a longer
 * replay; half: less of an outage is covered.
 */
const BOUNDS = { files: 1000, bytes: 1024 * 1024 * 1024 };

const SUFFIX = '.spooled';

export class Spool {
  readonly #folder: string;
  readonly #sizes: Map<string, number>;
  readonly #bounds: typeof BOUNDS;
  #serial = 0;

  private constructor(folder: string, sizes: Map<string, number>, bounds: typeof BOUNDS) {
    this.#folder = folder;
    this.#bounds = bounds;
    this.#sizes = sizes;
  }

  /** Makes the folder if needed, and finds the entries that are left there. */
  static async open(folder: string, bounds = BOUNDS): Promise<Spool> {
    await makePrivateFolder(folder);
    const sizes = new Map<string, number>();
    for (const name of (await readdir(folder)).toSorted()) {
      const file = path.join(folder, name);
      if (name.endsWith(UNFINISHED)) await rm(file, { force: true });
      if (name.endsWith(SUFFIX)) sizes.set(name, (await stat(file)).size);
    }
    return new Spool(folder, sizes, bounds);
  }

  /** Oldest first. */
  get names(): readonly string[] {
    return [...this.#sizes.keys()];
  }

  /** The results that are here, by name. Unreadable files are left out. */
  async results(): Promise<ReadonlyMap<string, ResultEntry>> {
    const found = new Map<string, ResultEntry>();
    for (const name of this.names.filter((each) => each.endsWith(`.result${SUFFIX}`))) {
      const { entry } = await this.read(name).catch(() => ({ entry: null }));
      if (entry?.kind === 'result') found.set(name, entry);
    }
    return found;
  }

  /** Resolves with the entry's name when the entry is durable. */
  async put(entry: Entry, body: Uint8Array, nowMs: number): Promise<string> {
    const head = `${JSON.stringify(entry)}\n`;
    const size = Buffer.byteLength(head) + body.length;
    let bytes = size;
    for (const each of this.#sizes.values()) bytes += each;
    if (this.#sizes.size >= this.#bounds.files || bytes > this.#bounds.bytes)
      throw new Error('The spool is full: the server has not been reached for too long.');
    const name = this.#newName(entry.kind, nowMs);
    // Counted before it is written, so that several at once stay within the bounds.
    this.#sizes.set(name, size);
    try {
      await writeWhole(path.join(this.#folder, name), [head, body]);
    } catch (error) {
      this.#sizes.delete(name);
      throw error;
    }
    return name;
  }

  /** A name by time and then by order; a clock that was set back must not give a name twice. */
  #newName(kind: Entry['kind'], nowMs: number): string {
    let name = '';
    do {
      this.#serial += 1;
      const time = String(nowMs).padStart(15, '0');
      name = `${time}-${String(this.#serial).padStart(9, '0')}.${kind}${SUFFIX}`;
    } while (this.#sizes.has(name));
    return name;
  }

  /** Rejects when the file can't be read or is none of ours. */
  async read(name: string): Promise<{ readonly entry: Entry; readonly body: Buffer<ArrayBuffer> }> {
    const bytes = await readFile(path.join(this.#folder, name));
    const end = bytes.indexOf('\n');
    const entry = JSON.parse(bytes.toString('utf8', 0, Math.max(end, 0))) as Entry;
    if (entry.kind !== 'result' && entry.kind !== 'upload')
      throw new Error(`${name} is neither a result nor a report.`);
    return { entry, body: bytes.subarray(end + 1) };
  }

  /**
   * Removes an entry that was answered. Rejects when the file can't be removed; then it will be
   * handed over again.
   */
  async remove(name: string): Promise<void> {
    await rm(path.join(this.#folder, name), { force: true });
    this.#sizes.delete(name);
  }
}
