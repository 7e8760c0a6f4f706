// The progress of a command, as its holder reports it: the last report counts (contract §1). A
// report moves nothing, but it is guarded like a move: a runner that lost the command can't write
// to it.

import { limits, type NewProgress } from '@muster/contract';
import { Defect } from '../lib/assert.ts';
import { type CommandId, parseId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import { refuseWriting } from './command.machine.ts';
import { type CommandRow, moveCommand } from './command.queries.ts';
import { type CommandsDeps, type Holder, readForCall, refusalOf, stateOf } from './commands.ts';
import { truncateUtf8 } from './commands.rules.ts';

/** A lost race is judged again this many times at most. */
const RACES_MAX = 5;

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
  const row = await deps.database.transaction(holder.tenantId, async (tx) => {
    for (let race = 0; race < RACES_MAX; race += 1) {
      const { row, own, eligible } = await readForCall(deps, tx, holder, commandId);
      const call = { runnerId: holder.runnerId, eligible, attempt: said.attempt ?? null };
      const code = refuseWriting(stateOf(row), own, call);
      if (code !== null) throw refusalOf(code, row, nowMs);
      if ((await moveCommand(tx, row, set)) > 0) return { ...row, ...set };
    }
    throw new Defect('a command changed under every attempt to write its progress');
  });
  deps.wake.told(holder.tenantId, commandId);
  return row;
}
