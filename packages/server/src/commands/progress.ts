// The progress of a command, as its holder reports it: the last report counts (contract §1). A
// report moves nothing, but it is guarded like a move: a runner that lost the command can't write
// to it.

import { limits, type NewProgress } from '@muster/contract';
import { Defect } from '../lib/assert.ts';
import { type CommandId, parseId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import type { Db } from '../db/db.ts';
import { RACED, untilWritten } from '../lib/races.ts';
import { refuseWriting } from './command.machine.ts';
import { type CommandRow, moveCommand } from './command.queries.ts';
import { type CommandsDeps, type Holder, readForCall, refusalOf, stateOf } from './commands.ts';
import { truncateUtf8 } from './commands.rules.ts';

/** Problems: not_found, command_claimed, lease_lost, invalid_transition (with `state`). */
export async function reportProgress(
  deps: CommandsDeps,
  holder: Holder,
  commandIdText: string,
  said: NewProgress,
): Promise<CommandRow> {
  const commandId = parseId<CommandId>(commandIdText);
  if (commandId === null) throw new Problem('not_found', 'There is no such command.');
  const nowMs = deps.clock.nowMs();
  const { percent, message } = said;
  const set = {
    progress_percent: percent === undefined ? null : Math.floor(percent),
    progress_message:
      message === undefined ? null : truncateUtf8(message, limits.commandErrorBytesMax),
    progress_at: nowMs,
  };
  const judge = async (tx: Db): Promise<CommandRow | typeof RACED> => {
    const { row, own, eligible } = await readForCall(deps, tx, holder, commandId);
    const call = { runnerId: holder.runnerId, eligible, attempt: said.attempt ?? null };
    const code = refuseWriting(stateOf(row), own, call);
    if (code !== null) throw refusalOf(code, row, nowMs);
    return (await moveCommand(tx, row, set)) > 0 ? { ...row, ...set } : RACED;
  };
  const crowded = (): Error =>
    new Defect('a command changed under every attempt to write its progress');
  const row = await deps.database.transaction(holder.tenantId, (tx) =>
    untilWritten(() => judge(tx), crowded),
  );
  deps.wake.told(holder.tenantId, commandId);
  return row;
}
