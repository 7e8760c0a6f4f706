// The first pass over the dependencies of a report: each entry becomes a row by its identity, or is
// rejected, and its names are remembered. After the pass every name is known, so edges may lead to
// later entries. components.ts reads the entries again and makes the drafts. Filled by reading.ts.

import { ComponentNames } from './component-names.rules.ts';
import type { ComponentEntry } from '../report/report.rules.ts';
import { indexable } from '../report/indexed-text.rules.ts';
import { ListIndex } from '../report/list-index.rules.ts';
import { Warnings } from '../json/warnings.decode.ts';

export class ComponentIndex extends ListIndex {
  /** The warnings about ids of entries; the receipt tells them behind the others. */
  readonly idWarnings = new Warnings();
  readonly names = new ComponentNames();

  /** Takes in the next entry; `pointer` is its place. */
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
