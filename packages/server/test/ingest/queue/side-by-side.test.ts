// Uploads of one tenant that several workers process at the same time, while operators decide and
// upkeep prunes: the same assets, components, refs and scopes, in opposite orders. All of them end,
// the sums hold, and on PostgreSQL no two transactions ever wait for each other in a circle. A
// transaction that does is run again, so only the database's own count tells of it.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { FINDING_OUTCOMES, type FindingStatus, type Receipt } from '@muster/contract';
import pg from 'pg';
import { changeFinding, listFindings, sweepAcceptances } from '../../../src/findings/findings.ts';
import { extendScopes, freeScopes, takeScopes } from '../../../src/ingest/store/scope.queries.ts';
import { pruneUploads } from '../../../src/ingest/store/retention.ts';
import type { RunnerCaller } from '../../../src/keys/authenticate.ts';
import { newId } from '../../../src/lib/ids.ts';
import { setStatus } from '../../../src/findings/findings.queries.ts';
import { BACKENDS } from '../../harness.ts';
import { type Random, randomOf } from '../../generate/random.ts';
import {
  newCaller,
  newRunnerOf,
  openStage,
  receive,
  type Stage,
  workOnce,
} from '../crash/scene.ts';

const ROUNDS = 3;
const WORKERS = 4;
const RUNNERS = 4;
const UPLOADS_A_ROUND = 8;
const ASSETS = 40;
const COMPONENTS = 60;
const BRANCHES = ['main', 'dev', 'release'];
const TOOLS = ['one', 'two', 'three'];

/** The numbers from 0 on, in one of three orders: as they are, reversed, or mixed. */
function ordered(random: Random, count: number): number[] {
  const numbers = Array.from({ length: count }, (_, index) => index);
  if (random.chance(0.3)) return random.shuffled(numbers);
  return random.chance(0.5) ? numbers : numbers.reverse();
}

const some = (random: Random, count: number): number[] =>
  ordered(random, count).filter(() => random.chance(0.7));

/** Findings on many assets, with components, endpoints and relationships, in any order. */
function ctisOf(random: Random): object {
  const numbers = some(random, ASSETS);
  const of = (at: number) => ({
    id: `a${at}`,
    type: 'website',
    value: `https://shop-${at}.acme.test`,
    criticality: random.pick(['low', 'high']),
    technical: { web: { title: `seen ${random.below(1000)}` } },
  });
  const near = numbers.filter((_, index) => index > 0);
  return {
    version: '1.6',
    metadata: { coverage_type: random.pick(['full', 'partial']) },
    tool: { name: random.pick(TOOLS) },
    // The first asset is the same in every report, because it has the components.
    assets: [of(0), ...numbers.filter((at) => at !== 0).map(of)],
    relationships: near.map((at, index) => ({
      from_ref: `a${numbers[index]}`,
      to_ref: `a${at}`,
      type: 'resolves_to',
    })),
    endpoints: numbers.map((at) => ({
      origin: `https://shop-${at}.acme.test`,
      method: 'GET',
      path: `/page-${random.below(3)}`,
    })),
    dependencies: some(random, COMPONENTS).map((at) => ({
      name: `lib-${at}`,
      version: '1',
      ecosystem: 'npm',
    })),
    findings: numbers.map((at) => ({
      type: 'vulnerability',
      title: `Rule ${at} is broken, ${random.below(3)}`,
      severity: random.pick(['low', 'high']),
      rule_id: `rule-${at}`,
      asset_ref: `a${at}`,
    })),
  };
}

/** Runs on several branches of several repositories, in any order. */
function sarifOf(random: Random): object {
  const driver = { name: random.pick(TOOLS) };
  const runs = some(random, 6).flatMap((repository) =>
    random.shuffled(BRANCHES).map((branch) => ({
      tool: { driver },
      automationDetails: { id: `category-${repository % 2}/` },
      versionControlProvenance: [
        { repositoryUri: `https://github.com/acme/side-${repository}`, branch },
      ],
      results: some(random, 20).map((at) => ({
        ruleId: `rule-${at}`,
        message: { text: `Rule ${at} is broken, ${random.below(3)}` },
        locations: [{ physicalLocation: { artifactLocation: { uri: `src/${at}.js` } } }],
      })),
    })),
  );
  return { version: '2.1.0', runs };
}

const STATUSES: readonly FindingStatus[] = ['accepted', 'accepted', 'open', 'false_positive'];

for (const backend of BACKENDS) {
  describe(`uploads side by side on ${backend}`, { concurrency: false }, () => {
    let stage: Stage;
    let callers: RunnerCaller[];
    before(async () => {
      stage = await openStage(backend);
      if (stage.url !== null) await dawdle(stage.url);
      const first = await newCaller(stage);
      callers = [first];
      while (callers.length < RUNNERS) callers.push(await newRunnerOf(stage, first.tenantId));
    });

    const tenant = () => callers[0]?.tenantId as RunnerCaller['tenantId'];
    const rows = async (table: 'asset' | 'component' | 'endpoint' | 'relationship' | 'finding') => {
      const { count } = await stage.database
        .tenant(tenant())
        .selectFrom(table)
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('tenant_id', '=', tenant())
        .executeTakeFirstOrThrow();
      return Number(count);
    };

    /** Works until no upload is due. */
    const work = async (): Promise<void> => {
      while ((await workOnce(stage, () => {})) !== null);
    };
    /** An operator and upkeep, for as long as the workers work. */
    const meddle = async (random: Random, isDone: () => boolean): Promise<void> => {
      const { database, clock } = stage;
      while (!isDone()) {
        for (const { id } of random
          .shuffled(await listFindings(database, tenant(), {}, null, 250))
          .slice(0, 60)) {
          const status = random.pick(STATUSES);
          const until = new Date(clock.nowMs() + random.below(50)).toISOString();
          const change = status === 'accepted' ? { status, accepted_until: until } : { status };
          await changeFinding(database, clock, tenant(), id, change, 'ada');
        }
        await sweepAcceptances(database, clock);
        await pruneUploads(database, clock, 0);
      }
    };
    const waiting = async (): Promise<number> => {
      const { count } = await stage.database
        .tenant(tenant())
        .selectFrom('upload')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('tenant_id', '=', tenant())
        .where('state', 'in', ['received', 'processing'])
        .executeTakeFirstOrThrow();
      return Number(count);
    };

    test('all of them end, whoever decides and prunes meanwhile', async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const random = randomOf(round + 1);
        await Promise.all(
          Array.from({ length: UPLOADS_A_ROUND }, async (_, index) => {
            const caller = callers[index % RUNNERS] as RunnerCaller;
            const isSarif = random.chance(0.4);
            const document = isSarif ? sarifOf(random) : ctisOf(random);
            await receive(stage, caller, isSarif ? 'sarif' : 'ctis', document);
          }),
        );
        let isDone = false;
        const meddling = meddle(random, () => isDone);
        while ((await waiting()) > 0) {
          await Promise.all(Array.from({ length: WORKERS }, work));
          // Uploads that met a busy scope wait for a while.
          stage.clock.advance(2000);
        }
        isDone = true;
        await meddling;
      }
      const ended = await stage.database
        .tenant(tenant())
        .selectFrom('upload')
        .select(['state', 'receipt', 'problem'])
        .where('tenant_id', '=', tenant())
        .execute();
      assert.equal(ended.length, ROUNDS * UPLOADS_A_ROUND);
      for (const { state, problem } of ended) assert.equal(state, 'processed', problem ?? '');
      const receipts = ended.map(({ receipt }) => JSON.parse(receipt ?? '') as Receipt);
      const sum = (of: (receipt: Receipt) => number) =>
        receipts.reduce((total, receipt) => total + of(receipt), 0);
      for (const { findings } of receipts) {
        const outcomes = FINDING_OUTCOMES.reduce((total, name) => total + findings[name], 0);
        assert.equal(outcomes, findings.received);
      }
      // Everything that is stored was counted as created, once.
      assert.equal(
        sum((receipt) => receipt.findings.created),
        await rows('finding'),
      );
      assert.equal(
        sum((receipt) => receipt.assets.created),
        await rows('asset'),
      );
      assert.equal(
        sum((receipt) => receipt.dependencies.created),
        await rows('component'),
      );
      assert.equal(
        sum((receipt) => receipt.relationships.created),
        await rows('relationship'),
      );
      assert.equal(
        sum((receipt) => receipt.endpoints.created),
        await rows('endpoint'),
      );
      assert.ok((await rows('relationship')) > 0 && (await rows('endpoint')) > 0);
    });

    test('an upload that gives its scopes back meets one that wants them, and neither waits for the other', async () => {
      const { database, clock } = stage;
      const nowMs = clock.nowMs();
      const until = nowMs + 60_000;
      const uploadOf = () => ({ tenant_id: tenant(), id: newId<string>(nowMs) });
      const [holder, other] = [uploadOf(), uploadOf()];
      const keys = Array.from({ length: 40 }, (_, index) => ({
        assetId: newId<string>(nowMs + index),
        tool: 'one',
        category: '',
      }));
      const db = database.tenant(tenant());
      // Stored in an order in which nobody asks for them.
      for (const key of keys.toReversed()) await takeScopes(db, holder, [key], nowMs, until);
      const [taken] = await Promise.all([
        database.transaction(tenant(), (tx) => takeScopes(tx, other, keys, nowMs, until)),
        database.transaction(tenant(), (tx) =>
          extendScopes(tx, tenant(), holder.id, until + 1, until),
        ),
      ]);
      assert.equal(taken, 0);
      await Promise.all([
        database.transaction(tenant(), (tx) => takeScopes(tx, other, keys, nowMs, until)),
        database.transaction(tenant(), (tx) => freeScopes(tx, tenant(), holder.id)),
      ]);
      assert.equal(await takeScopes(db, other, keys, nowMs, until), keys.length);
    });

    test('the end of acceptances waits for nobody who is at the same findings in another order', async () => {
      const { database, clock } = stage;
      const found = await listFindings(database, tenant(), {}, null, 60);
      const set = (accepted: boolean) => ({
        status: accepted ? ('accepted' as const) : ('confirmed' as const),
        resolution: null,
        status_by: 'ada',
        status_at: clock.nowMs(),
        accepted_until: accepted ? clock.nowMs() : null,
      });
      const rows = found.map((row) => ({ ...row, status: 'accepted' as const }));
      const db = database.tenant(tenant());
      for (const row of found) await setStatus(db, row, set(true));
      await Promise.all([
        database.transaction(tenant(), async (tx) => {
          for (const row of rows.toReversed()) await setStatus(tx, row, set(false));
        }),
        sweepAcceptances(database, clock),
      ]);
      await sweepAcceptances(database, clock);
      const left = await listFindings(database, tenant(), { status: 'accepted' }, null, 1);
      assert.deepEqual(left, []);
    });

    test('no two transactions ever wait for each other', async () => {
      await stage.close();
      if (stage.url !== null) assert.equal(await deadlocksOf(stage.url), 0);
    });
  });
}

const CONTENDED = 'asset component scope finding';

/**
 * Every row takes a moment to be written: long enough for a transaction from the other side to meet
 * it.
 */
async function dawdle(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(
      `create function dawdle() returns trigger language plpgsql as
        'begin perform pg_sleep(0.0003); return new; end'`,
    );
    for (const table of CONTENDED.split(' ')) {
      await client.query(
        `create trigger dawdle before insert or update on ${table}
          for each row execute function dawdle()`,
      );
    }
  } finally {
    await client.end();
  }
}

/**
 * How many deadlocks a database has had. Sessions report them at their end, so this waits for the
 * end of the sessions.
 */
async function deadlocksOf(url: string): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const here = 'datname = current_database() and pid <> pg_backend_pid()';
    const others = `select count(*)::int as others from pg_stat_activity where ${here}`;
    while ((await client.query(others)).rows[0].others > 0);
    const counted =
      'select deadlocks::int from pg_stat_database where datname = current_database()';
    return (await client.query(counted)).rows[0].deadlocks;
  } finally {
    await client.end();
  }
}
