// The log of a command. Its holder appends lines, and operators read them while they arrive. Each
// line is kept once, whatever is repeated. The log is bounded: lines beyond the bound are dropped,
// and their number is reported. Only the holder writes (contract §4).

import { type CommandLog, limits, type LogAppended, type NewLogLines } from '@muster/contract';
import { Defect } from '../../lib/assert.ts';
import { type CommandId, parseId, type TenantId } from '../../lib/ids.ts';
import { Problem } from '../../lib/problem.ts';
import type { Db } from '../../db/db.ts';
import { RACED, untilWritten } from '../../lib/races.ts';
import { refuseWriting } from '../command.machine.ts';
import { type CommandRow, findCommand, updateAttempt } from '../command.queries.ts';
import { logView } from '../command.view.format.ts';
import { growLog, insertLogLines, readLogLines } from './command-log.queries.ts';
import { type CommandsDeps, type Holder, readForCall, refusalOf, stateOf } from '../commands.ts';
import { planLog } from './log.rules.ts';
import type { Look, Wait } from '../poll/wake.ts';

/**
 * Problems: not_found, command_claimed, lease_lost, invalid_transition (with `state`), log_gap
 * (with `next_offset`).
 */
export async function appendLog(
  deps: CommandsDeps,
  holder: Holder,
  commandIdText: string,
  said: NewLogLines,
): Promise<LogAppended> {
  const commandId = parseId<CommandId>(commandIdText);
  if (commandId === null) throw new Problem('not_found', 'There is no such command.');
  const nowMs = deps.clock.nowMs();
  const judge = async (tx: Db): Promise<LogAppended | typeof RACED> => {
    const { row, own, attempt, eligible } = await readForCall(deps, tx, holder, commandId);
    const call = { runnerId: holder.runnerId, eligible, attempt: said.attempt ?? null };
    const code = refuseWriting(stateOf(row), own, call);
    if (code !== null) throw refusalOf(code, row, nowMs);
    const received = attempt?.log_received ?? 0;
    const state = { received, lines: row.log_lines, bytes: row.log_bytes };
    const plan = planLog(state, row.log_dropped > 0, said.offset, said.lines);
    if (plan === null) throw gap(received);
    const done = {
      next_offset: plan.received,
      kept: plan.kept.length,
      dropped: plan.dropped,
      cancel_requested: row.cancel_requested_at !== null,
    };
    if (plan.received === received) return done;
    const end = row.log_lines + plan.kept.length;
    const dropped = row.log_dropped + plan.dropped;
    if ((await growLog(tx, row, end, plan.bytes, dropped)) === 0) return RACED;
    const key = { tenant_id: row.tenant_id, command_id: row.id, attempt: row.attempt };
    await updateAttempt(tx, key, { log_received: plan.received });
    const at = { ...key, end_line: end, received_at: nowMs };
    if (plan.kept.length > 0) await insertLogLines(tx, { ...at, lines: JSON.stringify(plan.kept) });
    return done;
  };
  const crowded = (): Error => new Defect('a command changed under every attempt to write its log');
  const appended = await deps.database.transaction(holder.tenantId, (tx) =>
    untilWritten(() => judge(tx), crowded),
  );
  if (appended.kept + appended.dropped > 0) deps.wake.told(holder.tenantId, commandId);
  return appended;
}

function gap(nextOffset: number): Problem {
  const detail = `${nextOffset} lines of this attempt have arrived; the next call must not begin beyond them.`;
  return new Problem('log_gap', detail, { pointer: '/offset', nextOffset });
}

const isOver = ({ status }: CommandRow): boolean =>
  status !== 'pending' && status !== 'acknowledged' && status !== 'running';

/**
 * Lines from `offset` on. With a wait, answers as soon as there are lines or the command has ended.
 * Problem: not_found.
 */
export async function readLog(
  deps: CommandsDeps,
  tenantId: TenantId,
  commandIdText: string,
  offset: number,
  wait: Wait,
): Promise<CommandLog> {
  const commandId = parseId<CommandId>(commandIdText);
  if (commandId === null) throw new Problem('not_found', 'There is no such command.');
  return await deps.wake.tail(commandId, wait, async (): Promise<Look<CommandLog>> => {
    const db = deps.database.lists(tenantId);
    const command = await findCommand(db, tenantId, commandId);
    if (command === undefined) throw new Problem('not_found', 'There is no such command.');
    const rows = await readLogLines(db, tenantId, commandId, offset, limits.commandLogPageLines);
    const found = logView(command, rows, offset, isOver(command));
    return { found, takes: rows.length > 0 || isOver(command) ? null : () => true };
  });
}
