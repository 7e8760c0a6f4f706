// The contract without its schemas: every type, and of the values those that need no TypeBox. What a thread of the
// server loads takes them from here (`@muster/contract/plain`): TypeBox is half of all its modules. A test in tools/tidy
// follows the imports of the threads.

export * from './ctis/members.ts';
export * from './errors.ts';
export type * from './index.ts';
export * from './limits.ts';
export * from './sarif-members.ts';
export * from './schemas/words.ts';
