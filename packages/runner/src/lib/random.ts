// Chance, in one place: keys that make a repeated upload known.

import { randomUUID } from 'node:crypto';

/** A new Idempotency-Key: one for each report, the same for all its retries. */
export const newIdempotencyKey = (): string => randomUUID();
