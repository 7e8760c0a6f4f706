// The server package, when it is installed beside this one: loaded by name at run time, so that the
// command line can be installed without it. The shapes below are the whole agreement between the
// two packages.

import { FailedError } from './errors.ts';

export interface AdminRequest {
  readonly what: 'operator-token' | 'enrolment-token' | 'runner-key';
  readonly name?: string;
  readonly tenant: string;
  readonly role?: string;
  readonly uses?: number;
}

interface ServerPackage {
  /** Runs until it is told to stop; resolves with the exit code. */
  serve(args: { readonly help: boolean }): Promise<number>;
  /** Makes a secret directly in the database; `text` describes it without repeating it. */
  admin(args: AdminRequest): Promise<{ readonly secret: string; readonly text: string }>;
  configReference(): string;
}

/** FailedError: the package isn't installed, or has another version. */
export async function loadServer(): Promise<ServerPackage> {
  const loaded: unknown = await import(whereIsServer());
  if (!isServerPackage(loaded)) {
    throw new FailedError(
      'The installed @muster/server does not fit this command line. Install both in the same version.',
    );
  }
  return loaded;
}

function whereIsServer(): string {
  try {
    return import.meta.resolve('@muster/server');
  } catch {
    throw new FailedError(
      'The server is not installed here. Install it beside the command line (npm install @muster/server), or use ' +
        'the command on the machine that has it.',
    );
  }
}

const isServerPackage = (module: unknown): module is ServerPackage =>
  typeof module === 'object' &&
  module !== null &&
  ['serve', 'admin', 'configReference'].every(
    (name) => typeof (module as Record<string, unknown>)[name] === 'function',
  );
