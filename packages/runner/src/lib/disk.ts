// Small files that must be whole or absent: written beside, synced, and renamed into place. A crash
// or a full disk leaves the previous file as it was. Readable by their owner only, because keys and
// reports are among them.

import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';

export const UNFINISHED = '.unfinished';

/** Makes the folder and its parents; others may not look into it. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}

/**
 * Resolves when the pieces, one after the other, are durably under this name. Rejects with the
 * previous file untouched.
 */
export async function writeWhole(
  file: string,
  pieces: readonly (string | Uint8Array)[],
): Promise<void> {
  const unfinished = `${file}${UNFINISHED}`;
  try {
    // A file that a crash left there may have other rights.
    await rm(unfinished, { force: true });
    const handle = await open(unfinished, 'wx', 0o600);
    try {
      for (const piece of pieces) await handle.writeFile(piece);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  await syncFolder(path.dirname(file));
}

/** A name is durable only when its folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Null: there is no such file. */
export async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
