// The report to be sent, as something that can be read again: a retry sends the same bytes. Files
// are read where they are. Input that can be read only once (stdin, a pipe) goes through a file
// without a name, which is gone however this ends.

import { createReadStream } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { limits } from '@muster/contract';
import { UsageError } from '../errors.ts';
import { bytes, plain } from '../print/text.ts';
import { detect, type Format, SNIFF_BYTES } from './detect.ts';

export interface Source {
  /** As given; `-` for stdin. */
  readonly name: string;
  readonly format: Format;
  readonly bytes: number;
  /** Reads from the first byte, each time. */
  read(): Readable;
  close(): Promise<void>;
}

/** A name as messages show it. */
export const shownName = (name: string): string => (name === '-' ? 'stdin' : plain(name));

/**
 * Looks at a file without sending anything. UsageError: the file can't be read, is too large, or is
 * no report.
 */
export async function openSource(
  name: string,
  input: Readable,
  format: Format | undefined,
): Promise<Source> {
  try {
    if (name === '-') return await spooled(name, input, format);
    const handle = await open(name, 'r');
    try {
      const stat = await handle.stat();
      if (stat.isDirectory()) throw new UsageError(`${name} is a directory; give its files.`);
      if (!stat.isFile()) return await spooled(name, chunksOf(handle, null), format);
      boundSize(name, stat.size);
      return {
        name,
        format: format ?? (await detected(handle, name)),
        bytes: stat.size,
        read: () => createReadStream(name),
        close: () => Promise.resolve(),
      };
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw unreadable(name, error);
  }
}

/**
 * Reports may hold secrets: the file belongs to the reader alone (0700 folder, 0600), and loses its
 * name while it is open.
 */
async function spooled(
  name: string,
  input: AsyncIterable<Uint8Array>,
  format: Format | undefined,
): Promise<Source> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-'));
  const handle = await open(join(folder, 'report'), 'wx+', 0o600);
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  // Windows keeps the name of an open file; there `close` removes it.
  await remove().catch(() => undefined);
  const close = async (): Promise<void> => {
    await handle.close();
    await remove();
  };
  try {
    let size = 0;
    for await (const chunk of input) {
      size += chunk.byteLength;
      boundSize(name, size);
      await handle.appendFile(chunk);
    }
    return {
      name,
      format: format ?? (await detected(handle, name)),
      bytes: size,
      read: () => Readable.from(chunksOf(handle, 0)),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function boundSize(name: string, size: number): void {
  const most = limits.documentBytesMax;
  if (size <= most) return;
  throw new UsageError(
    `${shownName(name)} is larger than ${bytes(most)}, the most a report may be.`,
  );
}

async function detected(handle: FileHandle, name: string): Promise<Format> {
  const start = Buffer.alloc(SNIFF_BYTES);
  const { bytesRead } = await handle.read(start, 0, SNIFF_BYTES, 0);
  return detect(start.subarray(0, bytesRead), shownName(name));
}

const CHUNK_BYTES = 64 * 1024;

/**
 * Chunks from a place in the file, or from the current position (null). Leaves the file open,
 * unlike a file's own stream.
 */
async function* chunksOf(handle: FileHandle, from: number | null): AsyncGenerator<Uint8Array> {
  for (let at = from; ; ) {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, at);
    if (bytesRead === 0) return;
    if (at !== null) at += bytesRead;
    yield chunk.subarray(0, bytesRead);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'may not be read',
  EPERM: 'may not be read',
  EISDIR: 'is a directory; give its files',
};

/**
 * Explains a fault of the file system in the words of the reader; every other error stays as it is.
 */
export function unreadable(name: string, error: unknown): unknown {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  if (error instanceof UsageError || code === undefined) return error;
  return new UsageError(
    `${shownName(name)} ${REASONS[code] ?? `could not be read (${code})`}.`,
    'upload',
  );
}
