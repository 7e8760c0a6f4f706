// POST /ingest/check: a list of fingerprints becomes two lists, the known and the unknown ones. A
// fingerprint is known when a finding of the tenant has it as its producer's base fingerprint.
// Every fingerprint is compared; a list that is too long is refused, never cut (RP W-22).

import { limits } from '@muster/contract';
import type { Database } from '../db/db.ts';
import { Problem } from '../lib/problem.ts';
import { knownFingerprints } from '../ingest/store/finding.queries.ts';

/** Fingerprints in one statement. */
const ASK_MAX = 1000;

/**
 * Both lists keep the order of the question, and name each fingerprint once. Problem:
 * too_many_items.
 */
export async function checkFingerprints(
  database: Database,
  tenantId: string,
  fingerprints: readonly string[],
): Promise<{ existing: string[]; missing: string[] }> {
  if (fingerprints.length > limits.fingerprintsCheckMax) {
    throw new Problem(
      'too_many_items',
      `At most ${limits.fingerprintsCheckMax} fingerprints in one call.`,
      {
        pointer: '/fingerprints',
      },
    );
  }
  const asked = [...new Set(fingerprints)];
  const existing: string[] = [];
  const missing: string[] = [];
  for (let at = 0; at < asked.length; at += ASK_MAX) {
    const slice = asked.slice(at, at + ASK_MAX);
    const known = await knownFingerprints(database.lists(tenantId), tenantId, slice);
    for (const fingerprint of slice)
      (known.has(fingerprint) ? existing : missing).push(fingerprint);
  }
  return { existing, missing };
}
