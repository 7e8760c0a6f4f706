#!/usr/bin/env node
// The entrance of the `muster` command. Plain JavaScript that any Node >= 20 can read: under a Node
// that can't run the sources it hands over to the pinned runtime (the npm package `node`), or says
// what to do. Nothing else is decided here.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The first Node that has all features that the sources use, and that strips types unasked. */
const NODE_MAJOR_MIN = 24;
const here = dirname(fileURLToPath(import.meta.url));

// A checkout has the sources; a published package has the files built from them, and no `src`.
const source = join(here, '../src/index.ts');
const needsTypeStripping = existsSync(source);

const isNewEnough = Number.parseInt(process.versions.node, 10) >= NODE_MAJOR_MIN;
if (isNewEnough && (!needsTypeStripping || process.features.typescript)) await run();
else handOver();

async function run() {
  followParent();
  shareCompileCache();
  const { main, processIo } = await import(
    needsTypeStripping ? '../src/index.ts' : '../dist/index.js'
  );
  process.exitCode = await main(process.argv.slice(2), processIo());
}

/**
 * Keeps compiled code for the next start: for this thread, and by the environment for the threads
 * it starts.
 */
function shareCompileCache() {
  module.enableCompileCache?.();
  const directory = module.getCompileCacheDir?.();
  // Node itself adds the part that names its version.
  if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= dirname(directory);
}

/**
 * A process that `handOver` below started holds one end of a channel to its parent. When the parent
 * is killed so hard that it can't pass the signal on, the channel closes, and this process ends in
 * order instead of living on as an orphan.
 */
function followParent() {
  if (process.channel === undefined) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}

function handOver() {
  const pinned = findPinned();
  if (pinned === null) {
    process.stderr.write(
      `muster: this is Node ${process.versions.node}, and muster needs Node ${NODE_MAJOR_MIN} or newer with type ` +
        'stripping. Run `npm ci` where muster is installed (it brings the pinned runtime), or install a newer Node.\n',
    );
    process.exitCode = 2;
    return;
  }
  const child = spawn(pinned, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  const forward = (signal) => child.kill(signal);
  // A terminal sends Ctrl-C to the child, too: if it were passed on as well, it would arrive twice.
  const forwardInterrupt = (signal) => process.stdin.isTTY || child.kill(signal);
  process.on('SIGTERM', forward);
  process.on('SIGINT', forwardInterrupt);
  child.on('error', (error) => {
    process.stderr.write(`muster: ${pinned} could not be started: ${error.message}\n`);
    process.exitCode = 2;
  });
  child.on('exit', (code, signal) => {
    process.off('SIGTERM', forward);
    process.off('SIGINT', forwardInterrupt);
    // Ends as the child ended, so that a shell sees the same; shells write the end by a signal as
    // 128 + n (POSIX 2.8.2).
    process.exitCode = signal === null ? code : 128 + constants.signals[signal];
    if (signal !== null) process.kill(process.pid, signal);
  });
}

/**
 * The executable of the npm package `node`, in the nearest node_modules upward; null: there is
 * none.
 */
function findPinned() {
  const names = process.platform === 'win32' ? ['node.exe', 'node'] : ['node'];
  for (let folder = here; ; folder = dirname(folder)) {
    for (const name of names) {
      const file = join(folder, 'node_modules/node/bin', name);
      if (existsSync(file)) return file;
    }
    if (folder === dirname(folder)) return null;
  }
}
