// The thread of the fuzz run that tries one case after the other: reading as a stream against
// reading as a whole, then the invariants of both readers. Gets a seed, answers with its counts so
// far and how the case failed.

import assert from 'node:assert/strict';
import { parentPort } from 'node:worker_threads';
import { randomOf } from '../../packages/server/test/generate/random.ts';
import { assertOrderSaysNothing, assertRead } from '../../packages/server/test/generate/reading.ts';
import { assertScannedAlike, cut } from '../../packages/server/test/generate/scanning.ts';
import type { Format, ReadDraft } from '../../packages/server/test/ingest/formats/readers.ts';
import { type Case, caseOf } from './case.ts';
import { corpus } from './corpus.ts';

export interface Counts {
  cases: number;
  documents: number;
  faults: number;
  reports: number;
  refused: number;
  findings: number;
}

export interface Message {
  readonly counts: Counts;
  readonly failure: string | null;
}

const FORMATS: readonly Format[] = ['sarif', 'ctis'];
const counts: Counts = { cases: 0, documents: 0, faults: 0, reports: 0, refused: 0, findings: 0 };

function tryCase(seed: number): void {
  const tried = caseOf(seed, corpus());
  const { bytes, sizes } = tried;
  counts.cases += 1;
  if (assertScannedAlike(bytes, cut(bytes, sizes)) === 'fault') {
    counts.faults += 1;
    return;
  }
  counts.documents += 1;
  const document: unknown = JSON.parse(bytes.toString('utf8'));
  for (const format of FORMATS) {
    const drafts = assertRead(format, document);
    if (drafts === null) counts.refused += 1;
    else {
      counts.reports += 1;
      counts.findings += drafts.length;
      assertKeptSecret(drafts, tried);
      assertOrderSaysNothing(format, document, randomOf(seed));
    }
  }
}

/**
 * The value of a secret finding is part of the finding's identity, which is hashed with a key and
 * stored nowhere. Everything else of the draft may be shown.
 */
function assertKeptSecret(drafts: readonly ReadDraft[], { canary }: Case): void {
  for (const draft of drafts) {
    if (draft.type !== 'secret' || !draft.identity.content.includes(canary)) continue;
    const text = JSON.stringify({ ...draft, identity: null });
    assert.ok(!text.includes(canary), `the secret ${canary} is shown: ${text.slice(0, 4000)}`);
  }
}

parentPort?.on('message', (seed: number) => {
  let failure: string | null = null;
  try {
    tryCase(seed);
  } catch (error) {
    failure = error instanceof Error ? String(error.stack) : String(error);
  }
  parentPort?.postMessage({ counts, failure } satisfies Message);
});
