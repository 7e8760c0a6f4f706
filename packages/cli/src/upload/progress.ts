// One line on a terminal that shows the progress of an upload; nothing at all where stderr is no
// terminal. The line is redrawn when its text changes, never by a timer.

import type { Sink } from '../lib/io.ts';
import { bytes, cut, plain } from '../print/text.ts';
import { shownName } from './source.ts';

const BAR_COLUMNS = 24;

export class Progress {
  readonly #sink: Sink;
  readonly #name: string;
  #shown = '';

  constructor(sink: Sink, name: string) {
    this.#sink = sink;
    this.#name = shownName(name);
  }

  /**
   * Whether anybody watches. If not, a longer wait in one request is cheaper than many short ones.
   */
  get isSeen(): boolean {
    return this.#sink.isTty;
  }

  sent(done: number, total: number): void {
    const share = total === 0 ? 1 : Math.min(1, done / total);
    const full = Math.round(share * BAR_COLUMNS);
    const bar = '█'.repeat(full) + '░'.repeat(BAR_COLUMNS - full);
    const percent = String(Math.floor(share * 100)).padStart(3);
    this.#draw(`${this.#name}  ${bar} ${percent} % of ${bytes(total)}`);
  }

  processing(done: number | null, total: number | null): void {
    const count =
      total === null ? '' : ` ${(done ?? 0).toLocaleString('en')} of ${total.toLocaleString('en')}`;
    this.#draw(`${this.#name}  processing${count}`);
  }

  waiting(reason: string, ms: number): void {
    this.#draw(`${this.#name}  ${plain(reason)}; trying again in ${Math.ceil(ms / 1000)} s`);
  }

  /** Removes the line, before anything else is printed. */
  clear(): void {
    this.#draw('');
  }

  #draw(text: string): void {
    if (!this.#sink.isTty || text === this.#shown) return;
    this.#shown = text;
    // Carriage return, then erase to the end of the line (ECMA-48 §8.3.41).
    this.#sink.write(`\r\u001b[K${cut(text, (this.#sink.columns ?? 80) - 1)}`);
  }
}
