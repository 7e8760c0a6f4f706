// One run of a SARIF log while its results are read: what its tool is, where its places are, what
// its rules say. Made afresh for each pass over the items, so that a pass depends on nothing but
// the document. Called by sarif.decode.ts; handed to everything that reads results.

import type { Warnings } from '../../../json/warnings.decode.ts';
import {
  entriesIn,
  type JsonObject,
  indexOf,
  listOf,
  objectOf,
  stringsOf,
} from '../../../json/json.decode.ts';
import { RunGraphs } from './run-graphs.decode.ts';
import type { RuleKind } from './identity.decode.ts';
import { Places } from './places.decode.ts';
import { type ColumnUnit, columnUnitOf } from './regions.decode.ts';
import { rankOf, RuleBook, type RuleFacts } from './rules.decode.ts';
import { Sources } from './sources.decode.ts';
import { levelWord } from '../../common/severity.rules.ts';

/** Where a run stands among the analyses and assets of the envelope. */
export interface RunPlace {
  readonly tool: string;
  readonly analysis: number;
  readonly asset: number | null;
  /** The repository in normal form, if the analysis has one. */
  readonly repository: string | null;
}

export class SarifRun {
  readonly raw: JsonObject;
  readonly warnings: Warnings;
  readonly place: RunPlace;
  readonly places: Places;
  readonly sources: Sources;
  readonly rules: RuleBook;
  readonly graphs: RunGraphs;
  readonly columnUnit: ColumnUnit;
  /** §3.14.28: what the producer wrote in the place of something sensitive. */
  readonly redactions: readonly string[];
  readonly logicalLocations: readonly unknown[];
  readonly threadFlowLocations: readonly unknown[];
  /** What kind of finding each rule makes (read/identity.decode.ts). */
  readonly types = new WeakMap<RuleFacts, RuleKind>();
  readonly webRequests: readonly unknown[];
  readonly webResponses: readonly unknown[];
  readonly #overrides: readonly Overrides[];
  readonly #policies: Overrides;

  constructor(raw: JsonObject, place: RunPlace, warnings: Warnings) {
    this.raw = raw;
    this.warnings = warnings;
    this.place = place;
    this.places = new Places(raw, place.repository, warnings);
    this.sources = new Sources(raw);
    this.rules = new RuleBook(raw, warnings);
    this.graphs = new RunGraphs(listOf(raw.graphs));
    this.columnUnit = columnUnitOf(raw);
    this.redactions = stringsOf(raw.redactionTokens);
    this.logicalLocations = listOf(raw.logicalLocations);
    this.threadFlowLocations = listOf(raw.threadFlowLocations);
    this.webRequests = listOf(raw.webRequests);
    this.webResponses = listOf(raw.webResponses);
    this.#overrides = entriesIn(raw.invocations).map((entry) =>
      overridesOf(objectOf(entry)?.ruleConfigurationOverrides, this.rules),
    );
    this.#policies = overridesOf(policyEntries(raw.policies, warnings), this.rules);
  }

  /** What is configured for the rule: by a policy (§3.14.10) before the invocation. */
  configured(result: JsonObject, rule: RuleFacts): Configured | null {
    const policy = overrideOf(this.#policies, rule);
    const invoked = this.#invoked(result, rule);
    if (policy === null || invoked === null) return policy ?? invoked;
    return { level: policy.level ?? invoked.level, rank: policy.rank ?? invoked.rank };
  }

  /**
   * What the invocation configured for the rule (§3.20.5): the invocation of the result's
   * provenance (§3.48.6), or the only one there is.
   */
  #invoked(result: JsonObject, rule: RuleFacts): Configured | null {
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
    overrides.set(key, {
      level: levelWord(configuration.level),
      rank: rankOf(configuration.rank),
    });
  }
  return overrides;
}

/** A run has one policy, if any; rules beyond these keep their level. */
const POLICY_RULES_MAX = 10_000;

/** §3.19.5: the rules of policies, each as an override of the rule of its id in the associated component. */
function policyEntries(policies: unknown, warnings: Warnings): readonly unknown[] {
  const entries: unknown[] = [];
  for (const entry of listOf(policies)) {
    const policy = objectOf(entry);
    for (const member of listOf(policy?.rules)) {
      const rule = objectOf(member);
      if (rule === null) continue;
      const descriptor = {
        id: rule.id,
        guid: rule.guid,
        toolComponent: policy?.associatedComponent,
      };
      entries.push({ descriptor, configuration: rule.defaultConfiguration });
    }
  }
  return warnings.first(entries, POLICY_RULES_MAX);
}

/** What overrides say about a rule: about its refinement before the rule as a whole. */
export function overrideOf(overrides: Overrides, rule: RuleFacts): Configured | null {
  if (overrides.size === 0) return null;
  return overrides.get(rule.id) ?? (rule.raw === null ? null : (overrides.get(rule.raw) ?? null));
}
