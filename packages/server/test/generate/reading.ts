// The rules that hold for the readers with any document: an outcome for every item or one refusal,
// clean texts, places that exist, and an order that doesn't matter. Used by the property tests and
// by the fuzz run.

import assert from 'node:assert/strict';
import { DocumentRefused } from '../../src/ingest/report/report.rules.ts';
import { evidenceOf } from '../../src/ingest/match/evidence.rules.ts';
import { Warnings } from '../../src/ingest/json/warnings.decode.ts';
import { ItemIndex } from '../../src/ingest/index/item-index.rules.ts';
import {
  decode,
  drafts,
  type Format,
  pointerOf,
  type ReadDraft,
  type ReadItem,
  resolve,
  warningCodes,
} from '../ingest/formats/readers.ts';
import type { Random } from './random.ts';

const SECRET_KEY = Buffer.alloc(32, 2);

/**
 * Asserts the rules for any document. Returns the drafts, or null when the document was refused.
 */
export function assertRead(format: Format, document: unknown): ReadDraft[] | null {
  let items: ReadItem[];
  try {
    const report = decode(format, document);
    items = [...report.items()];
    assert.deepEqual([...report.items()], items);
    JSON.stringify({ ...report, items });
  } catch (error) {
    assert.ok(error instanceof DocumentRefused, String((error as Error).stack));
    assert.ok(error.code !== '' && error.message !== '');
    return null;
  }
  for (const item of items) {
    if (item.outcome !== 'rejected') resolve(document, pointerOf(item));
    if (item.outcome !== 'finding') continue;
    const { draft } = item;
    assert.ok(
      draft.identity.content.some((part) => part !== ''),
      'content says something',
    );
    assert.ok(draft.title !== '' && draft.message !== '', 'a finding can be called something');
    assert.ok(draft.startLine === null || draft.startLine >= 1);
    assert.ok(!(draft.path ?? '').split('/').includes('..'), 'a path stays below its root');
    assertClean(draft);
  }
  return items.flatMap((item) => (item.outcome === 'finding' ? [item.draft] : []));
}

/** No text anywhere, names of members included, has NUL or a lone surrogate. */
function assertClean(value: unknown): void {
  if (typeof value === 'string') {
    assert.ok(value.isWellFormed() && !value.includes('\0'), `not clean: ${JSON.stringify(value)}`);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      assertClean(name);
      assertClean(member);
    }
  }
}

/**
 * Asserts that a readable document gives the same with its items and all members in another order.
 */
export function assertOrderSaysNothing(format: Format, document: unknown, random: Random): void {
  // A cut bag or list loses its last members, so their order matters there.
  const codes = warningCodes(decode(format, document));
  const isCut = codes.includes('text_cut') || codes.includes('list_cut');
  const other: unknown = isCut
    ? JSON.parse(JSON.stringify(document))
    : membersShuffled(random, document);
  for (const list of itemLists(other)) list.splice(0, list.length, ...random.shuffled(list));
  assert.deepEqual(withoutPointers(format, other), withoutPointers(format, document));
  assert.deepEqual(sums(format, other), sums(format, document));
}

/** The same value, with the members of all its objects in another order. */
function membersShuffled(random: Random, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((entry) => membersShuffled(random, entry));
  const members = random.shuffled(Object.entries(value));
  return Object.fromEntries(
    members.map(([name, member]) => [name, membersShuffled(random, member)]),
  );
}

/** As text in which the order of members doesn't matter. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    typeof member !== 'object' || member === null || Array.isArray(member)
      ? member
      : Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))),
  );

function sums(format: Format, document: unknown): unknown {
  const itemIndex = new ItemIndex(new Warnings());
  for (const item of decode(format, document).items()) {
    if (item.outcome !== 'finding') itemIndex.take(item, null);
    else {
      const draft = { ...item.draft, detail: () => item.draft.detail };
      itemIndex.takeFinding(draft, draft.suppressed, evidenceOf(draft, SECRET_KEY), true, 0);
    }
  }
  itemIndex.markRepeats(itemIndex.groups.map((_, group) => group));
  // Which rejections are shown, and where they stand, follows the order.
  const { rejections: _, rejectionsByCode, ...counts } = itemIndex.tally;
  return { ...counts, codes: [...rejectionsByCode].sort(([a], [b]) => (a < b ? -1 : 1)) };
}

/**
 * Asset indexes follow the order in which findings name their targets; the assets themselves don't.
 */
function withoutPointers(format: Format, document: unknown): string[] {
  const report = decode(format, document);
  return drafts(report)
    .map((draft) => {
      const target = draft.asset === null ? null : report.assets.usable[draft.asset]?.value;
      const { producer, content, duplicateKey } = evidenceOf(
        { ...draft, detail: () => draft.detail },
        SECRET_KEY,
      );
      const evidence = [producer, content, duplicateKey].map((hash) => hash?.toString('hex'));
      return canonical({ ...draft, pointer: null, asset: target, evidence });
    })
    .sort();
}

function itemLists(document: unknown): unknown[][] {
  const membersOf = (value: unknown): Record<string, unknown> =>
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const { runs, findings, report } = membersOf(document);
  const results = Array.isArray(runs) ? runs.map((run) => membersOf(run)['results']) : [];
  const lists = [...results, findings, membersOf(report)['findings']];
  return lists.filter((list): list is unknown[] => Array.isArray(list));
}
