// test-hooks.ts keeps its promises: promises are not followed, and an error that no test awaits
// fails its file and is told.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

const HOOKS = path.join(import.meta.dirname, 'test-hooks.ts');

/** How a test file ends whose one test has this body. */
async function runBody(body: string): Promise<{ code: unknown; written: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-hooks-'));
  const file = path.join(folder, 'one.test.mjs');
  try {
    await writeFile(file, `import { test } from 'node:test';\ntest('one', async () => {${body}});`);
    const child = spawn(process.execPath, ['--import', HOOKS, file]);
    let written = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (written += text));
    const [code] = (await once(child, 'close')) as unknown[];
    return { code, written };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const LOST = "throw new Error('nobody awaits this');";

test('a rejection that no test awaits fails the file and is told with its place', async () => {
  const { code, written } = await runBody(
    `void (async () => { await 1; ${LOST} })(); await new Promise(() => undefined);`,
  );
  assert.equal(code, 1);
  assert.match(written, /^unhandledRejection: Error: nobody awaits this\n.*one\.test\.mjs:2/);
});

test('an exception outside of every test fails the file and is told with its place', async () => {
  const { code, written } = await runBody(
    `setTimeout(() => { ${LOST} }, 1); await new Promise(() => undefined);`,
  );
  assert.equal(code, 1);
  assert.match(written, /^uncaughtException: Error: nobody awaits this\n.*one\.test\.mjs:2/);
});

test('promises are not followed: what comes after an await runs under no id of its own', async () => {
  const { written } = await runBody(
    `const { executionAsyncId } = await import('node:async_hooks');
     const ids = new Set();
     for (let n = 0; n < 3; n += 1) { await n; ids.add(executionAsyncId()); }
     process.stderr.write(String(ids.size));`,
  );
  assert.equal(written, '1');
});

test('a file whose tests are well ends well, with nothing told', async () => {
  assert.deepEqual(await runBody('await 1;'), { code: 0, written: '' });
});
