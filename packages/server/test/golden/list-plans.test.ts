// The plan of every page of every list, on both databases: a page comes from an index in the order
// of the list. A plan that sorts everything first is refused. Lists and pages stand in lists.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpoints } from '@muster/contract';
import pg from 'pg';
import { golden } from '../../../../tools/golden.ts';
import { testDatabaseUrl } from '../../../../tools/postgres.ts';
import { openDatabase } from '../../src/db/db.ts';
import { migrate } from '../../src/db/migrate.ts';
import { copiedMigrations, NOW_MS } from '../db/fixture.ts';
import type { Backend } from '../harness.ts';
import { fill, ROWS } from './filled-postgres.ts';
import { LISTS, type Pages, SORTED } from './lists.ts';
import { recorded, withSqlitePlans } from './plans.ts';

/** A plan as text, a step a line, and how much of it is a sort of everything. */
interface Plan {
  readonly lines: readonly string[];
  readonly sorts: boolean;
}

type Explain = (text: string, parameters: readonly unknown[]) => Promise<Plan> | Plan;

interface Judged {
  /** What is checked in. */
  readonly text: string;
  /** Pages that sort everything, by endpoint and parameters. */
  readonly sorting: readonly string[];
}

async function judge(
  backend: Backend,
  lists: Readonly<Record<string, Pages>>,
  explain: Explain,
): Promise<Judged> {
  const parts: string[] = [];
  const sorting: string[] = [];
  for (const [endpoint, pages] of Object.entries(lists)) {
    for (const [parameters, run] of Object.entries(pages)) {
      const title = `${endpoint} ${parameters}`.trim();
      const plans: Plan[] = [];
      for (const { sql: text, parameters: values } of await recorded(backend, run)) {
        plans.push(await explain(text, values));
      }
      if (plans.some((plan) => plan.sorts)) sorting.push(title);
      const lines = plans.map((plan) => plan.lines.map((line) => `  ${line}\n`).join(''));
      parts.push(`-- ${title}\n${lines.join('  and then\n')}`);
    }
  }
  return { text: parts.join('\n'), sorting };
}

const file = (name: string): URL => new URL(`./${name}`, import.meta.url);

test('every endpoint with pages is here, with a page for each of its parameters', () => {
  const paged = Object.values(endpoints).flatMap((endpoint) => {
    const query = 'query' in endpoint ? Object.keys(endpoint.query.properties) : [];
    return query.includes('after') ? [{ id: endpoint.id, query }] : [];
  });
  assert.ok(paged.length > 10);
  for (const { id, query } of paged) {
    const pages = Object.keys(LISTS[id] ?? {});
    assert.ok(pages.includes(''), `${id} has no first page in lists.ts`);
    const named = new Set(pages.flatMap((parameters) => parameters.split(' ')));
    const missing = query.filter((name) => name !== 'limit' && !named.has(name));
    assert.deepEqual(missing, [], `${id}: parameters without a page in lists.ts`);
  }
});

const sqliteExplain =
  (stepsOf: (text: string) => string[]): Explain =>
  (text) => {
    const lines = stepsOf(text);
    return { lines, sorts: lines.some((line) => /USE TEMP B-TREE FOR .*ORDER BY/.test(line)) };
  };

test('on SQLite no page of a list sorts everything, and every plan is the checked-in one', async () => {
  await withSqlitePlans(async (stepsOf) => {
    const { text, sorting } = await judge('sqlite', LISTS, sqliteExplain(stepsOf));
    assert.deepEqual(sorting, Object.keys(SORTED));
    golden(file('sqlite-list-plans.txt'), text);
  });
});

test('on SQLite a list without its index is refused: findings and keys as they were in 0.1.0', async () => {
  const lists = { listFindings: LISTS['listFindings'] ?? {}, listKeys: LISTS['listKeys'] ?? {} };
  await withSqlitePlans(async (stepsOf) => {
    const { sorting } = await judge('sqlite', lists, sqliteExplain(stepsOf));
    for (const page of ['listFindings', 'listFindings status', 'listKeys', 'listKeys after']) {
      assert.ok(sorting.includes(page), `${page}: ${sorting.join()}`);
    }
  }, 1);
});

interface Node {
  readonly 'Node Type': string;
  readonly 'Join Type'?: string;
  readonly 'Index Name'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Subplan Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly Node[];
}

/**
 * A page has 11 rows here and one asset or runner 20; a tenant has ROWS, a severity a fifth of
 * them.
 */
const SORTED_ROWS_MAX = ROWS / 20;

/**
 * Whether a sort got more rows than it may: rows that came count, whatever the planner expected.
 */
const sortsTooMuch = (node: Node): boolean => {
  const below = node.Plans ?? [];
  const isSort = node['Node Type'] === 'Sort' || node['Node Type'] === 'Incremental Sort';
  const rows = below.reduce((sum, { 'Actual Rows': n, 'Actual Loops': m }) => sum + n * m, 0);
  return (isSort && rows > SORTED_ROWS_MAX) || below.some(sortsTooMuch);
};

/** A step a line, without what row-level security asks once before everything else. */
const linesOf = (node: Node): string[] => {
  if (node['Subplan Name']?.startsWith('InitPlan')) return [];
  const { 'Node Type': type, 'Join Type': join, 'Index Name': index } = node;
  const words = [join, type, index, node['Relation Name']];
  const below = (node.Plans ?? []).flatMap(linesOf).map((line) => `  ${line}`);
  return [words.filter((word) => word !== undefined).join(' '), ...below];
};

/** Runs the statement, with the plan that PostgreSQL has for these values. */
const postgresExplain =
  (client: pg.Client): Explain =>
  async (text, parameters) => {
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
      `explain (analyze, timing off, format json) ${text}`,
      [...parameters],
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    assert.ok(plan !== undefined);
    return { lines: linesOf(plan), sorts: sortsTooMuch(plan) };
  };

test('on PostgreSQL the lists of 0.1.0 sort everything, those of today nothing, by the checked-in plans', async () => {
  const url = await testDatabaseUrl();
  const database = await openDatabase({ url, directory: '' });
  const first = await copiedMigrations(1);
  await migrate(database, NOW_MS, first.from);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await fill(client);
    await client.query('vacuum (analyze)');
    const { sorting: before } = await judge('postgres', LISTS, postgresExplain(client));
    for (const page of ['listFindings', 'listFindings status', 'listKeys', 'listKeys after']) {
      assert.ok(before.includes(page), `${page}: ${before.join()}`);
    }
    await migrate(database, NOW_MS);
    await client.query('vacuum (analyze)');
    const { text, sorting } = await judge('postgres', LISTS, postgresExplain(client));
    assert.deepEqual(sorting, []);
    golden(file('postgres-list-plans.txt'), text);
  } finally {
    await client.end();
    await database.close();
    await first.remove();
  }
});
