// Loaded by every test process before its test file (--import in check.ts). Node's test runner
// follows every promise, only to name the test to which an unawaited error belongs; in tests that
// do much at once this costs a third of their processor time. This file switches that off: such an
// error ends its file at once, which fails, and is printed with its stack.

import hooks, { type AsyncHook, type HookCallbacks } from 'node:async_hooks';
import process from 'node:process';

const { createHook } = hooks;

/**
 * The hook that the test runner makes, when a test file first imports it; later hooks are the
 * file's own.
 */
function createRunnersHook(callbacks: HookCallbacks): AsyncHook {
  Object.assign(hooks, { createHook });
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    // Before the runner's own listener.
    process.on(event, (error: unknown) => {
      process.stderr.write(`${event}: ${error instanceof Error ? error.stack : String(error)}\n`);
      process.exit(1);
    });
  }
  return createHook({ ...callbacks, trackPromises: false });
}

Object.assign(hooks, { createHook: createRunnersHook });
