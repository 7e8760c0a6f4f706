// The only source of chance in the runner: the ids by which the server recognises a repeat, and an
// installation.

import { randomBytes, randomUUID } from 'node:crypto';

/**
 * A new Idempotency-Key or enrolment id: one for each report or enrolment, the same for all its
 * repeats.
 */
export const newRepeatKey = (): string => randomUUID();

/** 32 hex digits (RP §4.1), drawn once for an installation. */
export const newInstanceId = (): string => randomBytes(16).toString('hex');
