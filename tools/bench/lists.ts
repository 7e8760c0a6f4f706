// Row 7: a page of the findings list over HTTP, the first and one in the middle, of 100 000
// findings and of 1 000. The ratio says whether a page costs what it shows or what there is. The
// findings are written to the tables directly. Called by bench.ts.

import { type Insertable, sql } from 'kysely';
import { type Db, openDatabase } from '../../packages/server/src/db/db.ts';
import { insertRows } from '../../packages/server/src/db/dialect.ts';
import type {
  AssetTable,
  FindingRefTable,
  FindingTable,
} from '../../packages/server/src/db/tables.ts';
import { newId } from '../../packages/server/src/lib/ids.ts';
import { type Backend, emptyPlace, type Place } from '../../packages/server/test/harness.ts';
import { ADMIN_URL_VARIABLE, startPostgres } from '../postgres.ts';
import { median, ratios, type Row, type Series } from './figures.ts';
import { type Muster, startMuster } from './muster.ts';

const MANY = 100_000;
const FEW = 1_000;
const ASSETS = 100;
const REPETITIONS = 21;
/** Calls before the first that counts: statements are prepared, pages of the database read. */
const WARM_UP = 5;
/** Twice: what a call costs beside its page is the same. */
const AIM = 2;

/** Rows of each insertion. */
const BATCH = 5_000;

const SEEDED_AT_MS = 1_790_000_000_000;

interface Listing {
  readonly place: Place;
  readonly server: Muster;
  /** The cursor of the page that begins in the middle. */
  readonly middle: string;
}

/** A server that ran once on an empty place, so that its tenant is there, and then the findings. */
async function listingOf(backend: Backend, findings: number): Promise<Listing> {
  const place = await emptyPlace(backend);
  const first = await startMuster(place);
  await first.stop('SIGTERM');
  const middle = await seed(place, findings);
  const server: Muster = { ...(await startMuster(place)), operatorToken: first.operatorToken };
  return { place, server, middle };
}

/** Writes assets with default branches, and findings; returns the cursor of the middle page. */
async function seed(place: Place, count: number): Promise<string> {
  const url = place.env['MUSTER_DATABASE_URL'] ?? null;
  const database = await openDatabase({ url, directory: place.env['MUSTER_DATA'] ?? '' });
  const db = database.system();
  try {
    const { id: tenantId } = await db.selectFrom('tenant').select('id').executeTakeFirstOrThrow();
    const places = Array.from({ length: ASSETS }, () => ({ assetId: idAt(0), refId: idAt(0) }));
    const ids = Array.from({ length: count }, (_, at) => idAt(at));
    await database.transaction('system', async (tx) => {
      await insertPlaces(tx, tenantId, places);
      for (let from = 0; from < count; from += BATCH) {
        const some = ids.slice(from, from + BATCH).map((id, n) => ({ id, at: from + n }));
        await insertFindings(tx, tenantId, places, some);
      }
    });
    if (url !== null) await sql`analyze`.execute(db);
    const at = Math.floor(count / 2);
    return Buffer.from(JSON.stringify([severityOf(at), ids[at]])).toString('base64url');
  } finally {
    await database.close();
  }
}

interface Destination {
  readonly assetId: string;
  readonly refId: string;
}

const idAt = (at: number): string => newId(SEEDED_AT_MS + at);
const severityOf = (at: number): FindingTable['severity'] => (at % 5) as FindingTable['severity'];
const NOBODY = idAt(0);

async function insertPlaces(
  tx: Db,
  tenantId: string,
  places: readonly Destination[],
): Promise<void> {
  const assets = places.map(({ assetId, refId }, at) => ({
    tenant_id: tenantId,
    id: assetId,
    kind: 'repository',
    kind_class: 'repository',
    value: `repository-${at}`,
    name: `repository-${at}`,
    is_fallback: 0 as const,
    default_ref_id: refId,
    attributes_at: SEEDED_AT_MS,
    first_seen_at: SEEDED_AT_MS,
    last_seen_at: SEEDED_AT_MS,
    created_upload_id: NOBODY,
  }));
  const refs = places.map(({ assetId, refId }) => ({
    tenant_id: tenantId,
    id: refId,
    asset_id: assetId,
    name: 'main',
    claimed_default: 1 as const,
    created_at: SEEDED_AT_MS,
  }));
  await insertRows(tx, 'asset', assets as Insertable<AssetTable>[]);
  await insertRows(tx, 'asset_ref', refs);
}

async function insertFindings(
  tx: Db,
  tenantId: string,
  places: readonly Destination[],
  some: readonly { readonly id: string; readonly at: number }[],
): Promise<void> {
  const placeOf = (at: number): Destination => places[at % ASSETS] as Destination;
  const findings = some.map(({ id, at }) => ({
    tenant_id: tenantId,
    id,
    asset_id: placeOf(at).assetId,
    tool: 'seeded',
    category: '',
    type: 'vulnerability',
    rule_id: `rule-${at % 300}`,
    title: `Seeded finding ${at}`,
    severity: severityOf(at),
    status: 'open' as const,
    status_by: 'report',
    status_at: SEEDED_AT_MS,
    path: `src/file-${at % 2500}.ts`,
    start_line: 1 + (at % 900),
    evidence: new Uint8Array(52),
    matched_by: 'new',
    first_seen_at: SEEDED_AT_MS,
    created_upload_id: NOBODY,
  }));
  const sightings = some.map(({ id, at }) => ({
    tenant_id: tenantId,
    finding_id: id,
    ref_id: placeOf(at).refId,
    present: 1 as const,
    first_seen_at: SEEDED_AT_MS,
    last_seen_at: SEEDED_AT_MS,
    last_upload_id: NOBODY,
  }));
  await insertRows(tx, 'finding', findings as Insertable<FindingTable>[]);
  await insertRows(tx, 'finding_ref', sightings as Insertable<FindingRefTable>[]);
}

async function millisecondsOf({ server }: Listing, query: string): Promise<number> {
  const startedAt = performance.now();
  const answer = await fetch(`${server.url}/api/v1/findings${query}`, {
    headers: { authorization: `Bearer ${server.operatorToken}` },
  });
  const page = (await answer.json()) as { items: readonly unknown[] };
  const ms = performance.now() - startedAt;
  if (page.items.length !== 50) throw new Error(`${answer.status}: ${JSON.stringify(page)}`);
  return ms;
}

async function measure(backend: Backend): Promise<Row> {
  const listings: Listing[] = [];
  try {
    for (const count of [MANY, FEW]) listings.push(await listingOf(backend, count));
    const [many, few] = listings as [Listing, Listing];
    const times: { first: number[]; middle: number[]; few: number[] } = {
      first: [],
      middle: [],
      few: [],
    };
    for (let turn = -WARM_UP; turn < REPETITIONS; turn += 1) {
      const first = await millisecondsOf(many, '');
      const middle = await millisecondsOf(many, `?after=${many.middle}`);
      const small = await millisecondsOf(few, '');
      if (turn < 0) continue;
      times.first.push(first);
      times.middle.push(middle);
      times.few.push(small);
    }
    const series = (name: string, values: readonly number[]): Series => {
      return { name, unit: 'ms', values };
    };
    const first = series(`first page of ${MANY}`, times.first);
    const middle = series(`page in the middle of ${MANY}`, times.middle);
    const small = series(`first page of ${FEW}`, times.few);
    const slower = median(times.first) > median(times.middle) ? first : middle;
    const judged = ratios('the slower one : of few', slower, small);
    return {
      id: backend === 'sqlite' ? '7a' : '7b',
      what: `a page of 50 findings, worst first, over HTTP, ${backend}`,
      series: [first, middle, small],
      judged,
      rule: `aim ≤ ${AIM}`,
      verdict: median(judged.values) <= AIM ? 'aim met' : 'MISSED',
      notes: [],
    };
  } finally {
    for (const { server, place } of listings) {
      await server.stop('SIGTERM');
      await place.remove();
    }
  }
}

/** See the head of this file. */
export async function listRow(backend: Backend): Promise<Row> {
  if (backend === 'sqlite') return await measure(backend);
  const postgres = await startPostgres({ durable: true });
  try {
    process.env[ADMIN_URL_VARIABLE] = postgres.adminUrl;
    return await measure(backend);
  } finally {
    await postgres.stop();
  }
}
