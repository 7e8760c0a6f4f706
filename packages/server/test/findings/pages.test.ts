// The pages of lists whose order has two terms, on both databases: whatever their length, together
// they are the list in its order, without gap or repetition, also where a page ends among ties.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Severity } from '../../src/db/table-words.ts';
import { type FindingPageQuery, pageFindings } from '../../src/findings/findings.queries.ts';
import { type KeyRow, pageKeys } from '../../src/keys/keys.queries.ts';
import { newId } from '../../src/lib/ids.ts';
import { findingRow } from '../db/fixture.ts';
import { BACKENDS } from '../harness.ts';
import { openStage, type Stage } from '../stories.ts';

const LIMITS = [1, 2, 5, 12, 100];

/** All rows of a list, page by page; one row more than `limit` says that there is another page. */
async function pageByPage<Row>(
  limit: number,
  read: (last: Row | null) => Promise<Row[]>,
): Promise<Row[]> {
  const all: Row[] = [];
  for (;;) {
    const rows = await read(all.at(-1) ?? null);
    assert.ok(rows.length <= limit + 1);
    all.push(...rows.slice(0, limit));
    if (rows.length <= limit) return all;
  }
}

/** 24 findings: eight of each of three severities by turns, every second one confirmed. */
async function insertFindings({ database, clock, tenantId }: Stage): Promise<void> {
  for (let at = 0; at < 24; at += 1) {
    const row = findingRow(tenantId, {
      id: newId(clock.nowMs() + at),
      severity: (1 + ((2 * at) % 3)) as Severity,
      status: at % 2 === 0 ? 'open' : 'confirmed',
    });
    await database.tenant(tenantId).insertInto('finding').values(row).execute();
  }
}

for (const backend of BACKENDS) {
  describe(`pages of lists on ${backend}`, () => {
    test('findings come worst first, then newest, each on one page', async () => {
      const stage = await openStage(backend);
      const { database, tenantId } = stage;
      await insertFindings(stage);
      const filters: readonly [Partial<FindingPageQuery>, number][] = [
        [{}, 24],
        [{ statuses: [{ status: 'open' }] }, 12],
        [{ severity: 2 }, 8],
      ];
      const no = { severity: null, tool: null, ruleId: null };
      for (const [filter, count] of filters) {
        for (const limit of LIMITS) {
          const found = await pageByPage(limit, (after: { severity: number; id: string } | null) =>
            pageFindings(database.lists(tenantId), tenantId, {
              ...no,
              statuses: null,
              branch: null,
              assetIds: null,
              pathStart: null,
              ...filter,
              after,
              limit,
            }),
          );
          const listed = found.map(({ severity, id }) => `${severity} ${id}`);
          const expected = found
            .toSorted((a, b) => a.severity - b.severity || (a.id < b.id ? 1 : -1))
            .map(({ severity, id }) => `${severity} ${id}`);
          assert.deepEqual(listed, expected);
          assert.equal(new Set(listed).size, count, `${JSON.stringify(filter)}, ${limit} a page`);
        }
      }
      await stage.dispose();
    });

    test('keys come newest first, those of one moment by their id, each on one page', async () => {
      const stage = await openStage(backend);
      const { database, tenantId } = stage;
      const key = {
        tenant_id: tenantId,
        kind: 'operator',
        name: 'x',
        secret_hash: new Uint8Array(32),
        state: 'proven',
        created_by: 'test',
      } as const;
      for (let at = 0; at < 12; at += 1) {
        const row = { ...key, key_id: `key-${(at * 5) % 12}`, created_at: 1000 + (at % 3) };
        await database.tenant(tenantId).insertInto('api_key').values(row).execute();
      }
      for (const limit of LIMITS) {
        const found = await pageByPage(limit, (last: KeyRow | null) =>
          pageKeys(database.lists(tenantId), tenantId, {
            kinds: ['operator'],
            runnerId: null,
            after: last === null ? null : { createdAt: last.created_at, keyId: last.key_id },
            limit,
          }),
        );
        const listed = found.map((row) => [row.created_at, row.key_id]);
        const expected = found
          .toSorted((a, b) => b.created_at - a.created_at || (a.key_id < b.key_id ? 1 : -1))
          .map((row) => [row.created_at, row.key_id]);
        assert.deepEqual(listed, expected);
        assert.equal(new Set(found.map((row) => row.key_id)).size, 12, `${limit} a page`);
      }
      await stage.dispose();
    });
  });
}
