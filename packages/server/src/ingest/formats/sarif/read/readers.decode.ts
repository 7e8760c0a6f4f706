// The readers of a log's runs during one pass over its items. Items come list by list, and a reader holds all that was
// looked up in its run, so it is let go when the last list of its run is behind: a log may have ten thousand runs. It is
// kept as long as lists of its run are to come, since what a reader warns of is told once per run. Called by sarif.decode.ts.

import type { ItemCounts } from '../../../report/report.rules.ts';
import type { Warnings } from '../../../json/warnings.decode.ts';
import type { JsonObject } from '../../../json/json.decode.ts';
import { type RunPlace, SarifRun } from './run.decode.ts';

/** The run that a list of results belongs to. */
export interface ResultList {
  readonly run: JsonObject;
  readonly place: RunPlace;
}

export class RunReaders {
  readonly #lists: ReadonlyMap<string, ResultList>;
  readonly #warnings: Warnings;
  readonly #readers = new Map<ResultList, SarifRun>();
  /** How many lists with items each run has that weren't begun. */
  readonly #ahead = new Map<ResultList, number>();
  readonly #begun = new Set<string>();
  #current: {
    readonly list: string;
    readonly owner: ResultList;
    readonly reader: SarifRun;
  } | null = null;

  constructor(lists: ReadonlyMap<string, ResultList>, counts: ItemCounts, warnings: Warnings) {
    this.#lists = lists;
    this.#warnings = warnings;
    for (const [list, owner] of lists) {
      if ((counts.get(list) ?? 0) > 0) this.#ahead.set(owner, (this.#ahead.get(owner) ?? 0) + 1);
    }
  }

  /** How many readers are held. */
  get held(): number {
    return this.#readers.size;
  }

  /** The reader of the run that the list belongs to. */
  of(list: string): SarifRun {
    if (this.#current?.list === list) return this.#current.reader;
    const owner = this.#lists.get(list) as ResultList;
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
