// The lists of results of a SARIF log → a reader for the run of each list, during one pass over the
// items. A reader holds everything that was looked up in its run, so it is let go after the last
// list of its run: a log may have ten thousand runs. It is kept until then, because it tells each
// warning once per run. Called by sarif.decode.ts.

import type { ItemCounts } from '../../../report/report.rules.ts';
import type { Warnings } from '../../../json/warnings.decode.ts';
import type { JsonObject } from '../../../json/json.decode.ts';
import { type RunPlace, SarifRun } from './run.decode.ts';

/** The owner of a list of results: its run, and the run's place in the envelope. */
export interface ListOwner {
  readonly run: JsonObject;
  readonly place: RunPlace;
}

export class RunReaders {
  readonly #lists: ReadonlyMap<string, ListOwner>;
  readonly #warnings: Warnings;
  readonly #readers = new Map<ListOwner, SarifRun>();
  /** For each run, the number of its lists with items that weren't begun yet. */
  readonly #ahead = new Map<ListOwner, number>();
  readonly #begun = new Set<string>();
  #current: {
    readonly list: string;
    readonly owner: ListOwner;
    readonly reader: SarifRun;
  } | null = null;

  constructor(lists: ReadonlyMap<string, ListOwner>, counts: ItemCounts, warnings: Warnings) {
    this.#lists = lists;
    this.#warnings = warnings;
    for (const [list, owner] of lists) {
      if ((counts.get(list) ?? 0) > 0) this.#ahead.set(owner, (this.#ahead.get(owner) ?? 0) + 1);
    }
  }

  /** The number of readers that are held. */
  get held(): number {
    return this.#readers.size;
  }

  /** The reader of the run that the list belongs to. */
  of(list: string): SarifRun {
    if (this.#current?.list === list) return this.#current.reader;
    const owner = this.#lists.get(list) as ListOwner;
    const last = this.#current?.owner;
    if (last !== undefined && last !== owner && (this.#ahead.get(last) ?? 0) <= 0) {
      this.#readers.delete(last);
    }
    const reader = this.#readers.get(owner) ?? new SarifRun(owner.run, owner.place, this.#warnings);
    this.#readers.set(owner, reader);
    this.#current = { list, owner, reader };
    if (!this.#begun.has(list)) {
      this.#begun.add(list);
      this.#ahead.set(owner, (this.#ahead.get(owner) ?? 0) - 1);
    }
    return reader;
  }
}
