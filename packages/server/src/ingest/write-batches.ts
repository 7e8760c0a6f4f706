// The second pass: the entries of one site are matched with what is stored and written in batches, one small transaction
// each, which also stores what the batch counted. Committed batches are passed over after a crash.

import { limits } from '@muster/contract';
import { present } from '../lib/assert.ts';
import { newId } from '../lib/ids.ts';
import { unpackEvidence } from './evidence.format.ts';
import {
  changeFindings,
  changeStatuses,
  findingsOfScope,
  insertFindingEvents,
  insertFindings,
  savePresence,
  sightingsOnRef,
  type StoredFinding,
  touchFindings,
} from './finding.queries.ts';
import { type BatchPlace, batchRows, type Matched } from './finding-rows.rules.ts';
import { type Hold, holdLease, type IngestDeps } from './lease.ts';
import { match } from './match.rules.ts';
import type { Site } from './sites.ts';
import type { Entry } from './survey.rules.ts';
import { type UploadRow } from './upload.queries.ts';
import { insertBatch } from './upload-work.queries.ts';

/** Matches one site and writes its entries in batches; committed batches are passed over. Returns the next batch. */
export async function writeSite(
  deps: IngestDeps,
  hold: Hold,
  site: Site,
  firstBatch: number,
  committed: ReadonlyMap<number, string>,
): Promise<number> {
  const { place } = site;
  const size = limits.ingestBatchItems;
  const batches = Math.ceil(site.group.entries.length / size);
  const todo: { batch: number; entries: readonly Entry[] }[] = [];
  for (let index = 0; index < batches; index += 1) {
    if (committed.has(firstBatch + index)) continue;
    const entries = site.group.entries.slice(index * size, (index + 1) * size);
    todo.push({ batch: firstBatch + index, entries });
  }
  const entries = todo.flatMap((part) => part.entries);
  const matched = await matchSite(deps, hold.upload, place, entries);
  const inFlight = new Set<Promise<void>>();
  let at = 0;
  for (const part of todo) {
    const slice = matched.slice(at, at + part.entries.length);
    const rows = batchRows(slice, place, () => newId(place.nowMs));
    at += part.entries.length;
    if (inFlight.size >= BATCHES_IN_FLIGHT) await Promise.race(inFlight);
    const writing = writeBatch(deps, hold, place, part.batch, rows, part.batch * size);
    inFlight.add(writing);
    // A failure is thrown by the next race or by the last wait; this only keeps the set small.
    writing.then(
      () => inFlight.delete(writing),
      () => {},
    );
    await nextTurn();
  }
  await Promise.all(inFlight);
  return firstBatch + batches;
}

/**
 * Batches under way at once: one that is written, one that waits at the writer, one whose commit is on its way back.
 * They commit one after the other; a gap that a failure leaves is found by the next claim.
 */
const BATCHES_IN_FLIGHT = 3;

/** Lets the messages of the writer through before the next batch takes the thread. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function matchSite(
  deps: IngestDeps,
  upload: UploadRow,
  place: BatchPlace,
  entries: readonly Entry[],
): Promise<Matched[]> {
  if (entries.length === 0) return [];
  const db = deps.database.tenant(upload.tenant_id);
  const rows = await findingsOfScope(db, upload.tenant_id, place);
  const sightings = await sightingsOnRef(db, upload.tenant_id, place.refId);
  // What this upload wrote before it was interrupted is settled and takes no part.
  const open = rows.filter((row) => sightings.get(row.id)?.lastUploadId !== upload.id);
  const stored = open.map((row) => {
    const evidence = unpackEvidence(row.evidence);
    return { id: row.id, evidence, line: row.start_line, sameness: evidence.sameness };
  });
  const drafts = entries.map((entry) => ({
    evidence: entry.evidence,
    line: entry.draft.startLine,
    sameness: entry.sameness,
  }));
  const byId = new Map<string, StoredFinding>(open.map((row) => [row.id, row]));
  return match(drafts, stored).pairs.map((pair, index) => ({
    entry: present(entries[index], 'the entry of a pair'),
    stored: pair.storedId === null ? null : present(byId.get(pair.storedId), 'a matched finding'),
    by: pair.by,
  }));
}

async function writeBatch(
  deps: IngestDeps,
  hold: Hold,
  place: BatchPlace,
  batch: number,
  rows: ReturnType<typeof batchRows>,
  itemsDone: number,
): Promise<void> {
  const { upload } = hold;
  const { tenantId } = place;
  await deps.database.transaction(tenantId, async (tx) => {
    // Sent together and awaited once: the writer works through them without waiting for this thread.
    await Promise.all([
      holdLease(deps, tx, hold, { items_done: itemsDone, progress_attempt: upload.attempt }),
      insertFindings(tx, rows.created, rows.createdDetails),
      touchFindings(tx, tenantId, rows.touched, upload.id, place.nowMs),
      changeFindings(tx, rows.changed, rows.changedDetails),
      changeStatuses(tx, tenantId, rows.statuses, place.nowMs),
      savePresence(tx, rows.refs),
      insertFindingEvents(tx, rows.events),
      insertBatch(tx, tenantId, upload.id, batch, JSON.stringify(rows.counts)),
    ]);
  });
  deps.checkpoint?.(`batch ${batch}`);
}
