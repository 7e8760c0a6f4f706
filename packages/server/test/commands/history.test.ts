// Removing commands that ended long ago: which rows go, and how many in one round. Commands that
// stay don't hold the others up, and a long log takes several rounds.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { CommandRow } from '../../src/commands/command.queries.ts';
import {
  COMMANDS_PER_ROUND,
  CommandHistory,
  LINES_PER_STEP,
  LOG_STEPS_PER_ROUND,
} from '../../src/commands/command-history.ts';
import { createCommand } from '../../src/commands/operator-commands.ts';
import { insertRows } from '../../src/db/dialect.ts';
import type { UploadRow } from '../../src/ingest/store/upload.queries.ts';
import { newId } from '../../src/lib/ids.ts';
import { TestClock } from '../harness.ts';
import { copiesOf, DATABASES, newRunnerId, nodeOn, type Stage, stageOn } from './stage.ts';

const KEEP_MS = 3_600_000;
const TABLES = ['command', 'command_attempt', 'command_log'] as const;

for (const [name, urlOf] of DATABASES) {
  describe(`commands that ended long ago, on ${name}`, { concurrency: false }, () => {
    let stage: Stage;
    let model: CommandRow;
    const clock = new TestClock();
    before(async () => {
      stage = await stageOn(await urlOf());
      const node = nodeOn(stage, clock);
      const runner_id = await newRunnerId(stage);
      model = await createCommand(node, stage.tenantId, { type: 'test', runner_id }, 'test');
      await node.wake.stop();
    });
    after(async () => await stage.close());

    const history = () => new CommandHistory(stage.database, clock);
    /** The n-th command ended n milliseconds after the first. */
    const ended = async (count: number, change: Partial<CommandRow> = {}): Promise<string[]> => {
      const firstMs = clock.nowMs() - 2 * KEEP_MS;
      return await copiesOf(stage, model, count, (n) => ({
        status: 'completed',
        completed_at: firstMs + n,
        ...change,
      }));
    };
    const attempted = async (id: string): Promise<void> => {
      const attempt = {
        tenant_id: stage.tenantId,
        command_id: id,
        attempt: 1,
        runner_id: String(model.runner_id),
        acknowledged_at: 1,
        started_at: null,
        ended_at: 2,
        outcome: 'completed',
        answer_digest: null,
        log_received: 0,
      } as const;
      await insertRows(stage.database.tenant(stage.tenantId), 'command_attempt', [attempt]);
    };
    /** So many rows, each with as many lines as one step deletes. */
    const logged = async (id: string, count: number): Promise<void> => {
      const rows = Array.from({ length: count }, (_, n) => ({
        tenant_id: stage.tenantId,
        command_id: id,
        end_line: (n + 1) * LINES_PER_STEP,
        attempt: 1,
        received_at: 1,
        lines: '["x"]',
      }));
      await insertRows(stage.database.tenant(stage.tenantId), 'command_log', rows);
    };
    const handedInFor = async (ids: readonly string[]): Promise<void> => {
      const upload: Partial<UploadRow> = {
        tenant_id: stage.tenantId,
        runner_id: String(model.runner_id),
        key_id: 'key',
        format: 'sarif',
        encoding: 'identity',
        wire_bytes: 1,
        stored_bytes: 1,
        context: '{}',
        context_digest: Buffer.alloc(32),
        state: 'processed',
        attempt: 1,
        progress_attempt: 1,
        not_before: 1,
        received_at: 1,
        rehearsal: 0,
        clean_scan: 0,
      };
      const rows = ids.map((command_id) => ({ ...upload, id: newId<string>(1), command_id }));
      await insertRows(stage.database.tenant(stage.tenantId), 'upload', rows as UploadRow[]);
    };
    const rowsOf = async (id: string): Promise<number[]> => {
      const db = stage.database.tenant(stage.tenantId);
      const counts = TABLES.map(async (table) => {
        const column = table === 'command' ? 'id' : 'command_id';
        const rows = await db
          .selectFrom(table)
          .select('tenant_id')
          .where(db.dynamic.ref<string>(column), '=', id)
          .execute();
        return rows.length;
      });
      return await Promise.all(counts);
    };

    test('one goes with its attempts and its log, and leaves those of others', async () => {
      const [gone = ''] = await ended(1, { log_lines: 2 * LINES_PER_STEP });
      const [young = ''] = await ended(1, { completed_at: clock.nowMs(), log_lines: 1 });
      for (const id of [gone, young]) {
        await attempted(id);
        await logged(id, 2);
      }
      assert.deepEqual(await rowsOf(gone), [1, 1, 2]);
      assert.equal(await history().prune(KEEP_MS), 1);
      assert.deepEqual(await rowsOf(gone), [0, 0, 0]);
      assert.deepEqual(await rowsOf(young), [1, 1, 2]);
      assert.deepEqual(await rowsOf(model.id), [1, 0, 0], 'it waits');
    });

    test('a round deletes so many pieces of logs at most, and the next goes on with the same log', async () => {
      const left = 5;
      const [id = ''] = await ended(1, { log_lines: 1 });
      await logged(id, LOG_STEPS_PER_ROUND + left);
      const rounds = history();
      assert.equal(await rounds.prune(KEEP_MS), 0);
      assert.deepEqual(await rowsOf(id), [1, 0, left]);
      assert.equal(await rounds.prune(KEEP_MS), 1);
      assert.deepEqual(await rowsOf(id), [0, 0, 0]);
    });

    test('those that stay don’t hide what comes after them, and what comes before is found again', async () => {
      const ids = await ended(COMMANDS_PER_ROUND + 1);
      const last = ids.at(-1) ?? '';
      await handedInFor(ids.slice(0, -1));
      const rounds = history();
      assert.equal(await rounds.prune(KEEP_MS), 0, 'all that it looked at stay');
      assert.deepEqual(await rowsOf(last), [1, 0, 0]);
      assert.equal(await rounds.prune(KEEP_MS), 1);
      assert.deepEqual(await rowsOf(last), [0, 0, 0]);
      const [earlier = ''] = await ended(1, { completed_at: 1 });
      assert.equal(await rounds.prune(KEEP_MS), 1, 'after the last it begins again');
      assert.deepEqual(await rowsOf(earlier), [0, 0, 0]);
      assert.deepEqual(await rowsOf(ids[0] ?? ''), [1, 0, 0]);
    });
  });
}
