// The contract without its schemas: every type, and those values that need no TypeBox. The threads
// of the server import from here (`@muster/contract/plain`), because TypeBox is half of all their
// modules. A test in tools/tidy follows the imports of the threads.

export * from './ctis/members.ts';
export * from './errors.ts';
export type * from './index.ts';
export * from './limits.ts';
export * from './sarif-members.ts';
export * from './schemas/words.ts';
