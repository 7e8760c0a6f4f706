// The output of a handler while it works: its progress, and lines for the command's log. Output
// never holds the work up and never fails it: lines are kept here, bounded, and sent in order. Each
// line arrives once, because the server knows by the offset which lines it has.

import { ApiError, endpoints, limits, type RunnerCommand } from '@muster/contract';
import type { Connection } from './connection.ts';
import type { Timing } from './lib/timing.ts';
import { isKeyRefused, isTransient, pauseMs } from './retry.ts';

interface OutputDeps {
  readonly connection: Connection;
  readonly timing: Timing;
  readonly onFault: (what: string, error: unknown) => void;
  /** Called when the work should stop, or belongs to another runner now. */
  readonly onCancel: () => void;
}

/**
 * The time between two calls for one command: a person can read along, and a chatty tool costs
 * little.
 */
const PACE_MS = 500;
/** Well within a body (limits.bodyBytesMax), however JSON escapes the characters. */
const CALL_CHARS_MAX = 256 * 1024;
/**
 * Lines that wait for the server: what a tool writes in minutes. Lines beyond it are left out, and
 * counted.
 */
const WAITING_CHARS_MAX = 4 * 1024 * 1024;
/** The failed calls for which the log may hold up the result when the work is done. */
const LAST_TRIES = 4;

export class JobOutput {
  readonly #deps: OutputDeps;
  readonly #command: Pick<RunnerCommand, 'id' | 'attempt'>;
  readonly #ending = new AbortController();
  readonly #lines: string[] = [];
  #chars = 0;
  #missing = 0;
  #offset = 0;
  #progress: { percent?: number; message?: string } | null = null;
  #failures = 0;
  #isDeaf = false;
  #telling: Promise<void> | null = null;

  constructor(command: Pick<RunnerCommand, 'id' | 'attempt'>, deps: OutputDeps) {
    this.#command = command;
    this.#deps = deps;
  }

  /** Only the latest progress counts. */
  progress(percent: number | null, message?: string): void {
    this.#progress = {
      ...(percent === null ? {} : { percent: Math.min(Math.max(percent, 0), 100) }),
      ...(message === undefined ? {} : { message }),
    };
    this.#tell();
  }

  /** One line or several, with or without a last line break. */
  log(text: string): void {
    for (const line of text.replace(/\r?\n$/, '').split(/\r?\n/)) {
      // One character more than fits, so that the server shows the cut.
      const cut = line.slice(0, limits.commandLogLineBytesMax + 1);
      if (this.#chars + cut.length > WAITING_CHARS_MAX) {
        this.#missing += 1;
        continue;
      }
      this.#sayWhatIsMissing();
      this.#add(cut);
    }
    this.#tell();
  }

  #add(line: string): void {
    this.#lines.push(line);
    this.#chars += line.length + 1;
  }

  #sayWhatIsMissing(): void {
    if (this.#missing === 0) return;
    this.#add(`… ${this.#missing} lines are missing here: the server could not be reached.`);
    this.#missing = 0;
  }

  /**
   * Sends the rest, with a bounded number of tries: after the result the server takes no more
   * lines.
   */
  async end(): Promise<void> {
    this.#ending.abort();
    this.#failures = 0;
    this.#sayWhatIsMissing();
    if (this.#lines.length > 0) this.#tell();
    await this.#telling;
  }

  #tell(): void {
    if (!this.#isDeaf) this.#telling ??= this.#tellAll();
  }

  async #tellAll(): Promise<void> {
    const { timing, onFault } = this.#deps;
    const { signal } = this.#ending;
    while (
      !this.#isDeaf &&
      (this.#lines.length > 0 || (this.#progress !== null && !signal.aborted))
    ) {
      try {
        await this.#tellProgress();
        await this.#tellLines();
        this.#failures = 0;
        await timing.sleep(PACE_MS, signal);
      } catch (error) {
        onFault(`the log of command ${this.#command.id}`, error);
        this.#failures += 1;
        const isOver = signal.aborted && this.#failures >= LAST_TRIES;
        if (isOver || !(isTransient(error) || isKeyRefused(error))) this.#isDeaf = true;
        // While the work goes on, its end cuts this pause short; after it, the pauses give the
        // server time.
        else
          await timing.sleep(
            pauseMs(error, this.#failures, timing),
            signal.aborted ? undefined : signal,
          );
      }
    }
    this.#telling = null;
  }

  async #tellProgress(): Promise<void> {
    const said = this.#progress;
    if (said === null || this.#ending.signal.aborted) return;
    const { id, attempt } = this.#command;
    const input = { params: { id }, body: { ...said, attempt } };
    const { body } = await this.#heard(this.#deps.connection.call(endpoints.reportProgress, input));
    if (this.#progress === said) this.#progress = null;
    if (body.cancel_requested_at !== undefined) this.#deps.onCancel();
  }

  async #tellLines(): Promise<void> {
    const lines = this.#nextLines();
    if (lines.length === 0) return;
    const { id, attempt } = this.#command;
    const input = { params: { id }, body: { offset: this.#offset, lines, attempt } };
    try {
      const { body } = await this.#heard(this.#deps.connection.call(endpoints.appendLog, input));
      this.#offset = body.next_offset;
      for (const line of this.#lines.splice(0, lines.length)) this.#chars -= line.length + 1;
      if (body.cancel_requested) this.#deps.onCancel();
    } catch (error) {
      const next = error instanceof ApiError ? error.problem['next_offset'] : undefined;
      if (typeof next !== 'number' || next === this.#offset) throw error;
      // Lines that the server has lost are no longer here; the others continue at the offset that
      // it wants.
      this.#offset = next;
    }
  }

  #nextLines(): string[] {
    let chars = 0;
    const lines = this.#lines.slice(0, limits.commandLogLinesPerCallMax);
    const tooMany = lines.findIndex((line) => {
      chars += line.length + 1;
      return chars > CALL_CHARS_MAX;
    });
    return tooMany < 0 ? lines : lines.slice(0, tooMany);
  }

  /** A lost lease ends the work, because its result would be refused. */
  async #heard<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'lease_lost') this.#deps.onCancel();
      throw error;
    }
  }
}
