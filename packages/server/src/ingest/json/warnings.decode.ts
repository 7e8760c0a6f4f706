// Tolerant reading of foreign JSON: field access that never throws and never coerces, texts that
// are cleaned and bounded, and the book in which a reader warnings what it had to tolerate. Warnings
// are capped when shown, but all are counted; what happened to texts and lists becomes one warning
// each a document. Used by both report readers.

import { limits } from '@muster/contract/plain';
import { stringOf } from './json.decode.ts';

/** What a reader had to tolerate, in the order of the document. */
export class Warnings {
  readonly #shown: Located[] = [];
  readonly #counts = new Map<string, number>();
  #repaired = 0;
  readonly #cut = new Cuts();
  readonly #leftOut = new Cuts();
  /** The pointer of what is being read: what is cut is told with the first place where it happened. */
  at = '';
  /** While true nothing is noted: another pass has noted it already. */
  paused = false;

  /** What `body` gives, with nothing noted, whatever it throws. */
  quietly<T>(body: () => T): T {
    const wasPaused = this.paused;
    this.paused = true;
    try {
      return body();
    } finally {
      this.paused = wasPaused;
    }
  }

  /** How much was noted, shown or not. */
  get taken(): number {
    let taken = this.#repaired + this.#cut.count + this.#leftOut.count;
    for (const count of this.#counts.values()) taken += count;
    return taken;
  }

  warn(pointer: string, code: string, detail: string): void {
    if (this.paused) return;
    this.#counts.set(code, (this.#counts.get(code) ?? 0) + 1);
    // Names of members may be hostile or huge; a warning is a sentence.
    if (this.#shown.length < limits.receiptWarningsMax) {
      this.#shown.push({ pointer, code, detail: detail.slice(0, limits.titleCharsMax) });
    }
  }

  /** The text without NUL and lone surrogates, at most `charsMax` long; what is cut ends in `…`. */
  text(value: string, charsMax: number): string {
    let text = value;
    if (!text.isWellFormed() || text.includes('\0')) {
      text = text.toWellFormed().replaceAll('\0', '\uFFFD');
      if (!this.paused) this.#repaired += 1;
    }
    if (text.length <= charsMax) return text;
    this.countCut();
    // toWellFormed would turn a cut pair into U+FFFD; it is left out instead.
    const last = text.charCodeAt(charsMax - 2);
    const end = last >= 0xd800 && last <= 0xdbff ? charsMax - 2 : charsMax - 1;
    return `${text.slice(0, end)}…`;
  }

  /** Like `text`, for members that may be absent: null when nothing is said. */
  textOf(value: unknown, charsMax: number): string | null {
    const text = stringOf(value);
    return text === null ? null : this.text(text, charsMax);
  }

  /** Counts something that was shortened by other means than `text` (a property bag). */
  countCut(): void {
    if (!this.paused) this.#cut.add(1, this.at);
  }

  /** The beginning of a list, at most `max` entries; what is left out is counted. */
  first<T>(list: readonly T[], max: number): readonly T[] {
    if (list.length <= max) return list;
    this.leaveOut(list.length - max);
    return list.slice(0, max);
  }

  /** Counts entries of a list that are left out by other means than `first`. */
  leaveOut(entries: number): void {
    if (!this.paused) this.#leftOut.add(entries, this.at);
  }

  /**
   * The shown warnings; what happened to texts and lists is one warning each, where it happened
   * first, and has its room however many others there are: each stands for many.
   */
  shown(): Located[] {
    const summaries = this.#summaries();
    return [...this.#shown.slice(0, limits.receiptWarningsMax - summaries.length), ...summaries];
  }

  /** All warnings by code, shown or not. */
  counts(): Map<string, number> {
    const counts = new Map(this.#counts);
    for (const { code } of this.#summaries()) counts.set(code, 1);
    return counts;
  }

  /** All warnings, shown or not. */
  get total(): number {
    return [...this.counts().values()].reduce((sum, count) => sum + count, 0);
  }

  /** Several books as one. */
  static all(books: readonly Warnings[]): Warnings {
    const all = new Warnings();
    for (const book of books) all.append(book);
    return all;
  }

  /** Appends what another book says, as if its warnings had been taken here. */
  append(other: Warnings): void {
    for (const note of other.#shown) {
      if (this.#shown.length < limits.receiptWarningsMax) this.#shown.push(note);
    }
    for (const [code, count] of other.#counts) {
      this.#counts.set(code, (this.#counts.get(code) ?? 0) + count);
    }
    this.#repaired += other.#repaired;
    this.#cut.append(other.#cut);
    this.#leftOut.append(other.#leftOut);
  }

  #summaries(): Located[] {
    const summaries: Located[] = [];
    if (this.#repaired > 0) {
      const detail = `${this.#repaired} texts held NUL or lone surrogates; each became U+FFFD.`;
      summaries.push({ pointer: '', code: 'text_repaired', detail });
    }
    if (this.#cut.count > 0) {
      const detail = `${this.#cut.count} texts or objects were beyond their bounds and are cut visibly; the first is here.`;
      summaries.push({ pointer: this.#cut.first, code: 'text_cut', detail });
    }
    if (this.#leftOut.count > 0) {
      const detail = `${this.#leftOut.count} entries of lists beyond their bounds are left out; the first are here.`;
      summaries.push({ pointer: this.#leftOut.first, code: 'list_cut', detail });
    }
    return summaries;
  }
}

/** How much was cut, and where it was so first. */
class Cuts {
  count = 0;
  first = '';

  add(count: number, at: string): void {
    if (this.count === 0) this.first = at;
    this.count += count;
  }

  append(other: Cuts): void {
    if (other.count > 0) this.add(other.count, other.first);
  }
}

/** A place and what is wrong there. `pointer` is an RFC 6901 JSON pointer into the document as sent. */
export interface Located {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}
