// How much space is left on a disk: looked at now and then by upkeep, known at any time. Below the watermark uploads are
// refused while the database can still write what must go on: presence, commands, keys. Wired by app.ts.

import { statfs } from 'node:fs/promises';

/** Bytes that this process may still use on the filesystem of a directory. */
export type FreeBytes = (directory: string) => Promise<number>;

/** statfs(2): blocks that are free to unprivileged processes. */
export const freeBytesOf: FreeBytes = async (directory) => {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
};

/** See the head of this file. Nothing is low before the first look. */
export class DiskWatch {
  readonly #look: () => Promise<number>;
  readonly #freeBytesMin: number;
  #freeBytes: number | null = null;

  /** `freeBytesMin` 0: never low. */
  constructor(look: () => Promise<number>, freeBytesMin: number) {
    this.#look = look;
    this.#freeBytesMin = freeBytesMin;
  }

  /** Rejects when the filesystem can't be asked; then what was known before stands. */
  async look(): Promise<void> {
    this.#freeBytes = await this.#look();
  }

  get freeBytes(): number | null {
    return this.#freeBytes;
  }

  get isLow(): boolean {
    return this.#freeBytes !== null && this.#freeBytes < this.#freeBytesMin;
  }
}
