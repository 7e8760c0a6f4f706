// Unpacks a tar archive held in memory into a folder: regular files, folders and symbolic links of
// the ustar format (POSIX.1-1988, `pax` §ustar), which is all that our unpacked packages contain.
// Any other entry is refused, as is a name that would leave the folder. Called by browser.ts.

import fs from 'node:fs/promises';
import path from 'node:path';

/** The format's record length: headers and contents are padded to it. */
const BLOCK_BYTES = 512;

/** Field → [offset, length] in the header block (POSIX.1-1988, ustar). */
const FIELDS = {
  name: [0, 100],
  mode: [100, 8],
  size: [124, 12],
  type: [156, 1],
  linkTarget: [157, 100],
  prefix: [345, 155],
} as const;

/** Unpacks `archive` into `folder`, which is created; throws on an entry that it doesn't know. */
export async function untar(archive: Buffer, folder: string): Promise<void> {
  for (let offset = 0; offset + BLOCK_BYTES <= archive.length; ) {
    const header = archive.subarray(offset, offset + BLOCK_BYTES);
    // Two zero blocks end the archive; one is enough to know.
    if (header[0] === 0) return;
    const sizeBytes = Number.parseInt(field(header, 'size') || '0', 8);
    const start = offset + BLOCK_BYTES;
    await unpackEntry(header, archive.subarray(start, start + sizeBytes), folder);
    offset = start + Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES;
  }
}

async function unpackEntry(header: Buffer, content: Buffer, folder: string): Promise<void> {
  const type = field(header, 'type');
  const place = placeInside(folder, path.posix.join(entryPrefix(header), field(header, 'name')));
  await fs.mkdir(path.dirname(place), { recursive: true });
  switch (type) {
    case '':
    case '0':
      await fs.writeFile(place, content, { mode: Number.parseInt(field(header, 'mode'), 8) });
      return;
    case '2':
      await fs.symlink(field(header, 'linkTarget'), place);
      return;
    case '5':
      await fs.mkdir(place, { recursive: true });
      return;
    default:
      throw new Error(`tar entry ${field(header, 'name')} has the unknown type ${type}`);
  }
}

/** GNU tar writes `ustar ` and keeps other data where POSIX keeps the prefix. */
function entryPrefix(header: Buffer): string {
  return header.toString('latin1', 257, 263) === 'ustar\0' ? field(header, 'prefix') : '';
}

function field(header: Buffer, name: keyof typeof FIELDS): string {
  const [offset, length] = FIELDS[name];
  const text = header.toString('utf8', offset, offset + length);
  return (text.split('\0')[0] ?? '').trim();
}

function placeInside(folder: string, name: string): string {
  const place = path.resolve(folder, name);
  if (path.relative(folder, place).startsWith('..'))
    throw new Error(`tar entry ${name} leaves ${folder}`);
  return place;
}
