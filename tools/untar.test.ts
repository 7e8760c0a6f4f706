// The unpacker against archives written by hand: it writes what the archive holds, and refuses what
// it must.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, readlink, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { untar } from './untar.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'muster-untar-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function entry(name: string, type: string, content = '', linkTarget = ''): Buffer {
  const block = Buffer.alloc(512 + Math.ceil(content.length / 512) * 512);
  block.write(name, 0);
  block.write('0000755\0', 100);
  block.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
  block.write(type, 156);
  block.write(linkTarget, 157);
  block.write('ustar\0', 257);
  block.write(content, 512);
  return block;
}

test('files, folders and links are unpacked with their mode', async () => {
  const long = 'x'.repeat(700);
  const archive = [
    entry('lib/', '5'),
    entry('lib/a', '0', long),
    entry('lib/b', '2', '', 'a'),
    entry('deep/er/c', '0', 'c'),
    Buffer.alloc(1024),
  ];
  await untar(Buffer.concat(archive), folder);
  assert.equal(await readFile(path.join(folder, 'lib/b'), 'utf8'), long);
  assert.equal(await readlink(path.join(folder, 'lib/b')), 'a');
  assert.equal(await readFile(path.join(folder, 'deep/er/c'), 'utf8'), 'c');
  assert.equal((await stat(path.join(folder, 'lib/a'))).mode & 0o100, 0o100);
});

test('a name that leaves the folder is refused', async () => {
  await assert.rejects(untar(entry('../evil', '0', 'x'), folder), /leaves/);
});

test('an entry of another type is refused, not skipped', async () => {
  await assert.rejects(untar(entry('device', '3'), folder), /unknown type 3/);
});
