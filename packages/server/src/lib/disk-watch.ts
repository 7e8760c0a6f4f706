// Watches how much space is left for the embedded database: upkeep looks now and then, and the last
// answer is known at any time. Below the watermark uploads are refused, while the database can
// still write what must go on: presence, commands, keys.

import { statfs } from 'node:fs/promises';
import type { Logger } from './log.ts';

/** Bytes that this process may still use on the filesystem of a directory. */
export type FreeBytes = (directory: string) => Promise<number>;

/** statfs(2): blocks that are free to unprivileged processes. */
export const freeBytesOf: FreeBytes = async (directory) => {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
};

/** The two ways to ask how many bytes may still be written. */
interface Looks {
  readonly onDisk: () => Promise<number>;
  /**
   * Free bytes inside the database's file: deleted rows leave room there, and the file doesn't
   * shrink.
   */
  readonly inFile: () => Promise<number>;
}

/**
 * Free space inside the file can't hold the log beside it (SQLite's WAL), so this much must be free
 * on the disk itself.
 */
const LOG_BYTES = 64 * 1024 * 1024;

/** See the head of this file. Nothing counts as low before the first look. */
export class DiskWatch {
  readonly #looks: Looks;
  readonly #freeBytesMin: number;
  #room: { readonly onDisk: number; readonly inFile: number } | null = null;

  /** `freeBytesMin` 0: never low. */
  constructor(looks: Looks, freeBytesMin: number) {
    this.#looks = looks;
    this.#freeBytesMin = freeBytesMin;
  }

  /**
   * Looks anew. Rejects when the filesystem or the database can't be asked; then the previous
   * answer stays.
   */
  async look(): Promise<void> {
    const { onDisk, inFile } = this.#looks;
    this.#room = { onDisk: await onDisk(), inFile: await inFile() };
  }

  /** The same at the start of the server, which must not fail because of it. */
  async lookFirst(log: Logger): Promise<void> {
    try {
      await this.look();
    } catch (error) {
      log.warn({ err: error }, 'the free space of the data folder is not known');
    }
  }

  /** Free bytes on the disk and inside the file together; null: not known yet. */
  get freeBytes(): number | null {
    return this.#room === null ? null : this.#room.onDisk + this.#room.inFile;
  }

  get isLow(): boolean {
    if (this.#room === null) return false;
    const { onDisk, inFile } = this.#room;
    const min = this.#freeBytesMin;
    return onDisk + inFile < min || onDisk < Math.min(min, LOG_BYTES);
  }
}
