// One run of a SARIF log while its results are read: what its tool is, where its places are, what
// its rules say. Made afresh for each pass over the items, so that a pass depends on nothing but
// the document. Called by sarif.decode.ts; handed to everything that reads results.

import type { FindingType } from '@muster/contract';
import {
  type JsonObject,
  indexOf,
  listOf,
  type Notes,
  numberOf,
  objectOf,
  stringsOf,
} from './report-notes.decode.ts';
import { RunGraphs } from './sarif-graphs.decode.ts';
import { Places } from './sarif-places.decode.ts';
import { type ColumnUnit, columnUnitOf } from './sarif-regions.decode.ts';
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
  readonly graphs: RunGraphs;
  readonly columnUnit: ColumnUnit;
  /** §3.14.28: what the producer wrote in the place of something sensitive. */
  readonly redactions: readonly string[];
  readonly logicalLocations: readonly unknown[];
  readonly threadFlowLocations: readonly unknown[];
  /** What kind of finding each rule makes (sarif-identity.decode.ts). */
  readonly types = new Map<RuleFacts, FindingType>();
  readonly webRequests: readonly unknown[];
  readonly webResponses: readonly unknown[];
  readonly #overrides: readonly Overrides[];

  constructor(raw: JsonObject, place: RunPlace, notes: Notes) {
    this.raw = raw;
    this.notes = notes;
    this.place = place;
    this.places = new Places(raw, place.repository, notes);
    this.rules = new RuleBook(raw, notes);
    this.graphs = new RunGraphs(listOf(raw.graphs));
    this.columnUnit = columnUnitOf(raw);
    this.redactions = stringsOf(raw.redactionTokens);
    this.logicalLocations = listOf(raw.logicalLocations);
    this.threadFlowLocations = listOf(raw.threadFlowLocations);
    this.webRequests = listOf(raw.webRequests);
    this.webResponses = listOf(raw.webResponses);
    this.#overrides = listOf(raw.invocations).map((entry) =>
      overridesOf(objectOf(entry)?.ruleConfigurationOverrides, this.rules),
    );
  }

  /**
   * What the invocation configured for the rule (§3.20.5): the invocation of the result's
   * provenance (§3.48.6), or the only one there is.
   */
  configured(result: JsonObject, rule: RuleFacts): Configured | null {
    if (this.#overrides.length === 0) return null;
    const index = indexOf(objectOf(result.provenance)?.invocationIndex);
    const overrides = this.#overrides[index ?? (this.#overrides.length === 1 ? 0 : -1)];
    return overrides === undefined ? null : overrideOf(overrides, rule);
  }
}

/** §3.50: what a configuration says about a rule; null where it says nothing. */
export interface Configured {
  readonly level: string | null;
  readonly rank: number | null;
}

/**
 * By the rule itself, since two components may have rules of one id; by id where the override names
 * a refinement (`CA1000/1`, §3.52.4) or a rule that isn't described.
 */
export type Overrides = ReadonlyMap<JsonObject | string, Configured>;

/** The overrides of an invocation (§3.51), of rules or of notifications; the first one counts. */
export function overridesOf(list: unknown, book: RuleBook): Overrides {
  const overrides = new Map<JsonObject | string, Configured>();
  for (const entry of listOf(list)) {
    const override = objectOf(entry);
    const descriptor = objectOf(override?.descriptor);
    const configuration = objectOf(override?.configuration);
    if (descriptor === null || configuration === null) continue;
    const facts = book.of({ rule: descriptor });
    const isRefined = facts.raw === null || facts.id !== facts.ownId;
    const key = isRefined ? facts.id : facts.raw;
    if (key === null || key === '' || overrides.has(key)) continue;
    const { level } = configuration;
    const rank = numberOf(configuration.rank);
    overrides.set(key, {
      level: isLevel(level) ? level : null,
      rank: rank !== null && rank >= 0 ? rank : null,
    });
  }
  return overrides;
}

/** What overrides say about a rule: about its refinement before the rule as a whole. */
export function overrideOf(overrides: Overrides, rule: RuleFacts): Configured | null {
  if (overrides.size === 0) return null;
  return overrides.get(rule.id) ?? (rule.raw === null ? null : (overrides.get(rule.raw) ?? null));
}
