// The log of a command, followed while it runs: the server answers when there are new lines, or
// when the command has ended. Only the last lines stay on the page.

import { type CommandLog, endpoints } from '@muster/contract';
import { useEffect, useReducer } from 'react';
import { isTransient, request } from '../../api.ts';
import { countText } from '../../format.ts';
import { Section } from '../facts.tsx';
import { ForeignBlock } from '../foreign.tsx';
import { ProblemBox } from '../problem-box.tsx';

/** A page of more lines is slow to draw, and nobody reads it. */
const LINES_SHOWN_MAX = 2000;

const WAIT_SECONDS = 30;
const PAUSE_MS = 5_000;

interface Tail {
  readonly lines: CommandLog['lines'];
  readonly offset: number;
  /** Lines that were read, but are no longer shown. */
  readonly above: number;
  readonly dropped: number;
  readonly isComplete: boolean;
  readonly error: Error | null;
}

const NOTHING: Tail = {
  lines: [],
  offset: 0,
  above: 0,
  dropped: 0,
  isComplete: false,
  error: null,
};

/** An answer is taken in once, when it begins where the tail ends. */
function taken(
  tail: Tail,
  answer: { readonly from: number; readonly log: CommandLog } | Error,
): Tail {
  if (answer instanceof Error) return { ...tail, error: answer };
  const { from, log } = answer;
  if (from !== tail.offset) return tail;
  const lines = [...tail.lines, ...log.lines];
  const surplus = Math.max(0, lines.length - LINES_SHOWN_MAX);
  return {
    lines: lines.slice(surplus),
    offset: log.next_offset,
    above: tail.above + surplus,
    dropped: log.dropped_lines,
    isComplete: log.is_complete,
    error: null,
  };
}

/** Mount it anew (`key`) for another command. */
export function LogSection({ id }: { readonly id: string }) {
  const tail = useTail(id);
  const { lines, above, dropped, isComplete, error } = tail;
  return (
    <Section title="Log">
      {error === null ? null : <ProblemBox error={error} doing="The log could not be read" />}
      {above === 0 ? null : (
        <p className="quiet">{countText(above, 'earlier line')} not shown here.</p>
      )}
      {lines.length === 0 ? (
        <p className="quiet">
          {isComplete ? 'The runner wrote no line.' : 'The runner has written no line yet.'}
        </p>
      ) : (
        <ForeignBlock text={lines.map(({ text }) => text).join('\n')} />
      )}
      {dropped === 0 ? null : (
        <p className="quiet">The log was full: {countText(dropped, 'line')} not kept.</p>
      )}
    </Section>
  );
}

function useTail(id: string): Tail {
  const [tail, take] = useReducer(taken, NOTHING);
  const { offset, isComplete, error } = tail;
  const isOver = isComplete || (error !== null && !isTransient(error));
  useEffect(() => {
    if (isOver) return;
    const ended = new AbortController();
    const { signal } = ended;
    const ask = async (): Promise<void> => {
      const query = { offset: String(offset), wait: String(WAIT_SECONDS) };
      while (!signal.aborted) {
        try {
          const log = await request(endpoints.commandLog, { params: { id }, query, signal });
          // An unchanged state starts no new effect: ask again here.
          take({ from: offset, log });
          if (log.next_offset !== offset || log.is_complete) return;
        } catch (fault) {
          if (signal.aborted || !(fault instanceof Error)) return;
          take(fault);
          if (!isTransient(fault)) return;
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        }
      }
    };
    void ask();
    return () => ended.abort();
  }, [id, offset, isOver]);
  return tail;
}
