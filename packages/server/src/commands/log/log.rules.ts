// Decides which lines of a call are new and which of the new lines are kept. Pure, so that every
// order of repeats and overlaps can be tried. The offset counts the lines of one attempt; the
// bounds apply to the whole command.

import { limits } from '@muster/contract';
import { truncateUtf8 } from '../commands.rules.ts';

interface LogState {
  /** Lines of this attempt received so far, kept or not. */
  readonly received: number;
  /** Lines and bytes of the command that are kept. */
  readonly lines: number;
  readonly bytes: number;
}

interface LogPlan {
  readonly received: number;
  /** The new lines that are kept, cut to size. */
  readonly kept: readonly string[];
  readonly bytes: number;
  readonly dropped: number;
}

/**
 * Null: lines before these are missing. A log that was once full stays full, so the kept lines have
 * no holes.
 */
export function planLog(
  state: LogState,
  isFull: boolean,
  offset: number,
  lines: readonly string[],
): LogPlan | null {
  if (offset > state.received) return null;
  const fresh = lines.slice(state.received - offset);
  const kept: string[] = [];
  let bytes = state.bytes;
  for (const line of isFull ? [] : fresh) {
    const text = truncateUtf8(line, limits.commandLogLineBytesMax);
    const size = Buffer.byteLength(text) + 1;
    if (state.lines + kept.length >= limits.commandLogLinesMax) break;
    if (bytes + size > limits.commandLogBytesMax) break;
    kept.push(text);
    bytes += size;
  }
  const received = state.received + fresh.length;
  return { received, kept, bytes, dropped: fresh.length - kept.length };
}
