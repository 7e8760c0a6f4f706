// The first pass over the dependencies of a report: each is usable, and then a row by its identity, or rejected; what they
// are called is known to all of them afterwards. A second pass makes the drafts (components.ts). Filled by reading.ts.

import { ComponentNames } from './component-names.rules.ts';
import type { ComponentEntry } from '../report/report.rules.ts';
import { indexable } from '../report/indexed-text.rules.ts';
import { ListIndex } from '../report/list-index.rules.ts';
import { Warnings } from '../json/warnings.decode.ts';

export class ComponentIndex extends ListIndex {
  /** What the entries' ids had to be tolerated for, which is told behind the rest. */
  readonly idWarnings = new Warnings();
  readonly names = new ComponentNames();

  /** Takes in the next entry; `pointer` is where it stands. */
  take(entry: ComponentEntry, pointer: string): void {
    const { names } = this;
    const row = names.rowOf(indexable(entry.identity));
    this.accept(row);
    if (entry.id !== null && !names.addId(entry.id, row)) {
      const detail = 'The id names two components; edges to it mean the first.';
      this.idWarnings.warn(`${pointer}/id`, 'dependency_id_repeated', detail);
    }
    for (const exact of entry.exactNames) names.addExact(exact, row);
    for (const bare of entry.bareNames) names.addBare(bare, row);
  }
}
