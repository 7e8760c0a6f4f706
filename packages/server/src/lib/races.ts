// Optimistic writing: read, judge, and write under a guard that fails when somebody else wrote
// meanwhile; then judge again. A guard that keeps failing is either a crowd or a mistake, so the
// number of tries has a bound.

/** Says that the guard failed: what was judged is out of date. */
export const RACED = Symbol('raced');

/**
 * Losing twice in a row is rare; losing five times means a crowd, or a guard that doesn't fit what
 * was judged.
 */
const TRIES_MAX = 5;

/**
 * The first result of `judge` that isn't RACED; after TRIES_MAX of those throws what `crowded`
 * makes.
 */
export async function untilWritten<T>(
  judge: () => Promise<T | typeof RACED>,
  crowded: () => Error,
): Promise<T> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const result = await judge();
    if (result !== RACED) return result;
  }
  throw crowded();
}
