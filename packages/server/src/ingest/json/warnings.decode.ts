// The flaws that a reader tolerates in a document → warnings with their places. The first
// limits.receiptWarningsMax are shown, and all are counted. Cutting and cleaning texts and lists is
// counted here, too: each kind becomes one warning per document.

import { limits } from '@muster/contract/plain';
import { stringOf } from './json.decode.ts';

/** The warnings of a reader, in the order of the document. */
export class Warnings {
  readonly #shown: Located[] = [];
  readonly #counts = new Map<string, number>();
  #repaired = 0;
  readonly #cut = new Cuts();
  readonly #leftOut = new Cuts();
  /**
   * The pointer of the value that is being read. The warning about cut texts names the first place
   * with a cut.
   */
  at = '';
  /** While true nothing is recorded: another pass has recorded it already. */
  paused = false;

  /** The result of `body`, with nothing recorded meanwhile, even if `body` throws. */
  quietly<T>(body: () => T): T {
    const wasPaused = this.paused;
    this.paused = true;
    try {
      return body();
    } finally {
      this.paused = wasPaused;
    }
  }

  /** The number of flaws recorded, shown or not. */
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

  /** The text without NUL and lone surrogates, at most `charsMax` long; a cut text ends in `…`. */
  text(value: string, charsMax: number): string {
    let text = value;
    if (!text.isWellFormed() || text.includes('\0')) {
      text = text.toWellFormed().replaceAll('\0', '\uFFFD');
      if (!this.paused) this.#repaired += 1;
    }
    if (text.length <= charsMax) return text;
    this.countCut();
    // toWellFormed would turn half a surrogate pair into U+FFFD; such a pair is left out instead.
    const last = text.charCodeAt(charsMax - 2);
    const end = last >= 0xd800 && last <= 0xdbff ? charsMax - 2 : charsMax - 1;
    return `${text.slice(0, end)}…`;
  }

  /** Like `text`, for members that may be absent: null for a missing or blank text. */
  textOf(value: unknown, charsMax: number): string | null {
    const text = stringOf(value);
    return text === null ? null : this.text(text, charsMax);
  }

  /** Counts a part that was shortened by other means than `text` (a property bag). */
  countCut(): void {
    if (!this.paused) this.#cut.add(1, this.at);
  }

  /** The first `max` entries of a list; the others are counted as left out. */
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
   * The warnings to show. The one warning for each kind of cut always has room, because it stands
   * for many flaws; it names the first place.
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

  /** Several collections of warnings as one. */
  static all(books: readonly Warnings[]): Warnings {
    const all = new Warnings();
    for (const book of books) all.append(book);
    return all;
  }

  /** Appends the warnings of another collection, as if they had been recorded here. */
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

/** The number of cuts, and the place of the first. */
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

/** A place and its flaw. `pointer` is an RFC 6901 JSON pointer into the document as sent. */
export interface Located {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}
