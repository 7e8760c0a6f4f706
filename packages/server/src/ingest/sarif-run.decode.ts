// One run of a SARIF log while its results are read: what its tool is, where its places are, what
// its rules say. Made afresh for each pass over the items, so that a pass depends on nothing but
// the document. Called by sarif.decode.ts; handed to everything that reads results.

import { type JsonObject, indexOf, listOf, type Notes, objectOf } from './report-notes.decode.ts';
import { Places } from './sarif-places.decode.ts';
import { RuleBook, type RuleFacts } from './sarif-rules.decode.ts';
import { isLevel } from './severity.rules.ts';

/** Where a run stands among the analyses and assets of the frame. */
export interface RunPlace {
  readonly tool: string;
  readonly analysis: number;
  readonly asset: number | null;
  /** The repository in normal form, if the analysis has one. */
  readonly repository: string | null;
}

export class SarifRun {
  readonly raw: JsonObject;
  readonly notes: Notes;
  readonly place: RunPlace;
  readonly places: Places;
  readonly rules: RuleBook;
  readonly logicalLocations: readonly unknown[];
  readonly threadFlowLocations: readonly unknown[];
  readonly #overrides: readonly ReadonlyMap<string, string>[];

  constructor(raw: JsonObject, place: RunPlace, notes: Notes) {
    this.raw = raw;
    this.notes = notes;
    this.place = place;
    this.places = new Places(raw, place.repository, notes);
    this.rules = new RuleBook(raw, notes);
    this.logicalLocations = listOf(raw.logicalLocations);
    this.threadFlowLocations = listOf(raw.threadFlowLocations);
    this.#overrides = listOf(raw.invocations).map((entry) => overridesOf(entry, this.rules));
  }

  /**
   * The level that the invocation configured for the rule (§3.20.5): the invocation of the result's
   * provenance (§3.48.6), or the only one there is.
   */
  configuredLevel(result: JsonObject, rule: RuleFacts): string | null {
    if (this.#overrides.length === 0) return null;
    const index = indexOf(objectOf(result.provenance)?.invocationIndex);
    const overrides = this.#overrides[index ?? (this.#overrides.length === 1 ? 0 : -1)];
    return overrides?.get(rule.id) ?? null;
  }
}

function overridesOf(invocation: unknown, rules: RuleBook): ReadonlyMap<string, string> {
  const levels = new Map<string, string>();
  for (const entry of listOf(objectOf(invocation)?.ruleConfigurationOverrides)) {
    const override = objectOf(entry);
    const descriptor = objectOf(override?.descriptor);
    const level = objectOf(override?.configuration)?.level;
    const id = descriptor === null ? null : rules.idOf(descriptor);
    if (id !== null && isLevel(level) && !levels.has(id)) levels.set(id, level);
  }
  return levels;
}
