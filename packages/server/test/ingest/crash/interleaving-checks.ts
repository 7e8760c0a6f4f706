// What must hold whenever one of several uploads of an analysis has ended, whatever was interrupted
// before and whichever uploads came between. The tables and the receipt are compared with what the
// scans found. Called by interleaving.ts.

import assert from 'node:assert/strict';
import { FINDING_OUTCOMES, type Receipt, SEVERITIES } from '@muster/contract';
import type { Database } from '../../../src/db/db.ts';
import { present } from '../../../src/lib/assert.ts';
import type { TenantId } from '../../../src/lib/ids.ts';
import { type Branch, BRANCHES, EQUAL, type Item, type Scan } from './interleaved-scans.ts';
import { receiptOf } from './scene.ts';

/** An upload as its sender knows it. */
export interface HandedIn {
  readonly id: string;
  readonly scan: Scan;
  /** The upload has been claimed and may have written something. */
  readonly isBegun: boolean;
  /** How often a worker of the upload died. */
  readonly crashes: number;
  /**
   * The words of the receipt without an interruption; null: unknown, or other uploads came
   * between.
   */
  readonly foreseen: Conclusions | null;
  readonly state: 'waiting' | 'processed' | 'failed';
}

/** The part of a receipt that depends on what was stored before. */
export type Conclusions = Pick<Receipt, 'findings' | 'resolved' | 'held' | 'suppressed'>;

export const conclusionsOf = ({ findings, resolved, held, suppressed }: Receipt): Conclusions => ({
  findings,
  resolved,
  held,
  suppressed,
});

/** The tenant that all of this happens in. */
export interface Ground {
  readonly database: Database;
  readonly tenantId: TenantId;
}

/** A finding as it was seen on a branch. */
type Sighting = Awaited<ReturnType<typeof sightingsOn>>[number];

/**
 * Asserts all rules. `ended` has just been processed; `all` are the uploads of the tenant, with
 * `ended`.
 */
export async function assertHolds(
  ground: Ground,
  ended: HandedIn,
  all: readonly HandedIn[],
): Promise<void> {
  const receipt = await receiptOf(ground, ground, ended.id);
  assertAddsUp(receipt, ended.scan);
  const { foreseen } = ended;
  if (foreseen !== null) assert.deepEqual(conclusionsOf(receipt), foreseen, 'other than at once');
  assertLateConcludesNothing(ended, all, receipt);
  await assertDidAsItSays(ground, ended, receipt);
  await assertNothingDoubled(ground);
  const sightings = new Map<Branch, readonly Sighting[]>();
  for (const branch of BRANCHES) sightings.set(branch, await sightingsOn(ground, branch));
  for (const [branch, items] of ended.scan) {
    assertNothingLost(present(sightings.get(branch), branch), ended, receipt, branch, items);
  }
  assertNewestIsShown(sightings, all);
  if (all.every(({ id }) => id <= ended.id)) assertOthersAreHeld(sightings, ended, receipt);
}

/** Every item has one outcome. No item of a scan repeats another, and all can be used. */
function assertAddsUp({ findings, suppressed }: Receipt, scan: Scan): void {
  const items = [...scan.values()].flat();
  const outcomes = FINDING_OUTCOMES.map((outcome) => findings[outcome]);
  const sum = outcomes.reduce((total, count) => total + count, 0);
  assert.equal(sum, items.length, 'the outcomes of a receipt');
  const { received, duplicate, not_problem, rejected } = findings;
  assert.deepEqual(
    { received, duplicate, not_problem, rejected },
    { received: items.length, duplicate: 0, not_problem: 0, rejected: 0 },
  );
  assert.equal(suppressed, items.filter(({ isSuppressed }) => isSuppressed).length, 'suppressed');
}

/**
 * Where a newer upload was processed before, a late one says so, and resolves or holds back
 * nothing.
 */
function assertLateConcludesNothing(
  { id, scan, crashes }: HandedIn,
  all: readonly HandedIn[],
  { warnings, resolved, held }: Receipt,
): void {
  const newer = all.filter((other) => other.state === 'processed' && other.id > id);
  const late = [...scan.keys()].filter((branch) => newer.some((other) => other.scan.has(branch)));
  if (late.length === 0) return;
  const codes = warnings.map(({ code }) => code);
  assert.ok(codes.includes('later_upload_applied'), 'late, and it does not say so');
  // An earlier try may have begun to resolve findings before the newer upload came.
  if (crashes > 0) return;
  if (late.includes('main')) assert.equal(resolved, 0, 'closed by a late one');
  if (late.length === scan.size) assert.equal(held, 0, 'held back by a late one');
}

/**
 * The receipt counts what the upload did in all its tries together, and the upload resolved nothing
 * that its scan has.
 */
async function assertDidAsItSays(
  { database, tenantId }: Ground,
  { id, scan }: HandedIn,
  { findings, resolved }: Receipt,
): Promise<void> {
  const db = database.tenant(tenantId);
  const created = await db
    .selectFrom('finding')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('created_upload_id', '=', id)
    .execute();
  const events = await db
    .selectFrom('finding_event')
    .innerJoin('finding', (join) =>
      join
        .onRef('finding.tenant_id', '=', 'finding_event.tenant_id')
        .onRef('finding.id', '=', 'finding_event.finding_id'),
    )
    .select(['finding_event.kind', 'finding.rule_id'])
    .where('finding_event.tenant_id', '=', tenantId)
    .where('finding_event.by_whom', '=', `upload:${id}`)
    .execute();
  const closed = events.filter(({ kind }) => kind === 'resolved');
  const reopened = events.filter(({ kind }) => kind === 'reopened');
  assert.deepEqual(
    { created: findings.created, reopened: findings.reopened, resolved },
    { created: created.length, reopened: reopened.length, resolved: closed.length },
    'what the receipt counts',
  );
  const gone = new Set(closed.map(({ rule_id }) => rule_id));
  const has = (scan.get('main') ?? []).filter(({ rule }) => rule !== EQUAL && gone.has(rule));
  assertSame(rulesOf(has), [], 'closed by the upload that has it');
}

/** A rule of one item has one finding, whichever upload found it first and on whatever branch. */
async function assertNothingDoubled({ database, tenantId }: Ground): Promise<void> {
  const doubled = await database
    .tenant(tenantId)
    .selectFrom('finding')
    .select('rule_id')
    .where('tenant_id', '=', tenantId)
    .where('rule_id', '!=', EQUAL)
    .groupBy('rule_id')
    .having((eb) => eb.fn.countAll(), '>', 1)
    .execute();
  assert.deepEqual(doubled, [], 'doubled');
}

/**
 * The upload, or a later one, has seen everything there that its scan found; there are at least as
 * many equal items as the scan found.
 */
function assertNothingLost(
  sightings: readonly Sighting[],
  { id }: HandedIn,
  { warnings }: Receipt,
  branch: Branch,
  items: readonly Item[],
): void {
  const seen = new Set(
    sightings.filter((row) => row.last_upload_id >= id).map(({ rule_id }) => rule_id),
  );
  const lost = items.filter(({ rule }) => !seen.has(rule));
  assertSame(rulesOf(lost), [], `lost on ${branch}`);
  // A late upload brings nothing back.
  if (warnings.some(({ code }) => code === 'later_upload_applied')) return;
  const isEqual = ({ rule }: { readonly rule: string }): boolean => rule === EQUAL;
  const there = sightings.filter((row) => isPresent(row) && isEqual(ruleOf(row))).length;
  const found = items.filter(isEqual).length;
  assert.ok(there >= found, `${there} of ${found} equal items on ${branch}`);
}

/**
 * Each branch has what its newest upload found, whatever older uploads were processed since; the
 * default branch shows it in the words of that upload. A branch where a newer upload has begun
 * isn't checked.
 */
function assertNewestIsShown(
  sightings: ReadonlyMap<Branch, readonly Sighting[]>,
  all: readonly HandedIn[],
): void {
  for (const [branch, rows] of sightings) {
    const newest = all.filter(({ scan, isBegun }) => isBegun && scan.has(branch)).at(-1);
    if (newest?.state !== 'processed') continue;
    const items = present(newest.scan.get(branch), branch);
    const its = rows.filter((row) => isPresent(row) && row.last_upload_id === newest.id);
    assertSame(rulesOf(its.map(ruleOf)), rulesOf(items), `what ${branch} has`);
    if (branch === 'main') assertSame(its.map(shown), items.map(said), `the words of ${branch}`);
  }
}

/**
 * After the newest upload only those findings are left that it found or held back. The number held
 * back is that of its receipt, unless the other branch, or uploads that came between, resolved some
 * of them.
 */
function assertOthersAreHeld(
  sightings: ReadonlyMap<Branch, readonly Sighting[]>,
  { id, scan, crashes }: HandedIn,
  { held }: Receipt,
): void {
  const others = [...scan.keys()].flatMap((branch) =>
    present(sightings.get(branch), branch).filter(
      (row) => isPresent(row) && row.last_upload_id !== id,
    ),
  );
  const open = others.filter(({ status }) => status === 'open').length;
  if (held === 0) assertSame(others.map(shown), [], 'neither closed nor held back');
  else if (scan.size === 1 && crashes === 0) assert.equal(open, held, 'held back');
}

/** The same texts, in any order; the message names the first that differ. */
function assertSame(actual: readonly string[], expected: readonly string[], what: string): void {
  const less = (some: readonly string[], others: readonly string[]): string[] => {
    const left = Map.groupBy(others, (text) => text);
    return some.filter((text) => left.get(text)?.pop() === undefined);
  };
  const extra = less(actual, expected);
  const missing = less(expected, actual);
  const some = (texts: readonly string[]): string =>
    `${texts.length} (${texts.slice(0, 3).join(', ')})`;
  const detail = `${what}: missing ${some(missing)}, extra ${some(extra)}`;
  assert.ok(missing.length + extra.length === 0, detail);
}

const isPresent = ({ present: isThere }: Sighting): boolean => isThere === 1;

const ruleOf = ({ rule_id }: Sighting) => ({ rule: rule_id ?? '' });
const rulesOf = (items: readonly { readonly rule: string }[]): string[] =>
  items.map(({ rule }) => rule);

const SEVERITY = { error: SEVERITIES.indexOf('high'), note: SEVERITIES.indexOf('low') };

const said = ({ rule, line, severity, isSuppressed }: Item): string =>
  [rule, line, SEVERITY[severity], isSuppressed ? 'suppressed' : 'open'].join(' ');
const shown = ({ rule_id, start_line, severity, status }: Sighting): string =>
  [rule_id, start_line, severity, status].join(' ');

const sightingsOn = ({ database, tenantId }: Ground, branch: Branch) =>
  database
    .tenant(tenantId)
    .selectFrom('finding_ref')
    .innerJoin('finding', (join) =>
      join
        .onRef('finding.tenant_id', '=', 'finding_ref.tenant_id')
        .onRef('finding.id', '=', 'finding_ref.finding_id'),
    )
    .innerJoin('asset_ref', (join) =>
      join
        .onRef('asset_ref.tenant_id', '=', 'finding_ref.tenant_id')
        .onRef('asset_ref.id', '=', 'finding_ref.ref_id'),
    )
    .select(['rule_id', 'start_line', 'severity', 'status', 'present'])
    .select('finding_ref.last_upload_id')
    .where('finding_ref.tenant_id', '=', tenantId)
    .where('asset_ref.name', '=', branch)
    .execute();
