// One run of a SARIF log → the readers of its places, rules, sources, graphs and configurations,
// which its results share. They are made anew for each pass over the items, so that a pass depends
// on nothing but the document.

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

/** The place of a run among the analyses and assets of the envelope. */
export interface RunPlace {
  readonly tool: string;
  readonly analysis: number;
  readonly asset: number | null;
  /** The repository in normal form; null when the analysis has none. */
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
  /** §3.14.28: the texts that the producer wrote in place of something sensitive. */
  readonly redactions: readonly string[];
  readonly logicalLocations: readonly unknown[];
  readonly threadFlowLocations: readonly unknown[];
  /** The kind of finding that each rule makes (read/identity.decode.ts). */
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

  /** The configuration of the rule: a policy's (§3.14.10) before the invocation's. */
  configured(result: JsonObject, rule: RuleFacts): Configured | null {
    const policy = overrideOf(this.#policies, rule);
    const invoked = this.#invoked(result, rule);
    if (policy === null || invoked === null) return policy ?? invoked;
    return { level: policy.level ?? invoked.level, rank: policy.rank ?? invoked.rank };
  }

  /**
   * The configuration of the rule by an invocation (§3.20.5): by the one in the result's provenance
   * (§3.48.6), or by the only one there is.
   */
  #invoked(result: JsonObject, rule: RuleFacts): Configured | null {
    if (this.#overrides.length === 0) return null;
    const index = indexOf(objectOf(result.provenance)?.invocationIndex);
    const overrides = this.#overrides[index ?? (this.#overrides.length === 1 ? 0 : -1)];
    return overrides === undefined ? null : overrideOf(overrides, rule);
  }
}

/** §3.50: the level and rank that a configuration gives a rule; null for a missing one. */
interface Configured {
  readonly level: string | null;
  readonly rank: number | null;
}

/**
 * By the rule itself, because two components may have rules with one id. By id, where the override
 * names a refinement (`CA1000/1`, §3.52.4) or a rule that isn't described.
 */
type Overrides = ReadonlyMap<JsonObject | string, Configured>;

/**
 * The overrides of an invocation (§3.51), for rules or for notifications; the first for a rule
 * counts.
 */
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

/** A run has one policy, if any; rules beyond this number keep their level. */
const POLICY_RULES_MAX = 10_000;

/**
 * §3.19.5: the rules of policies, each as an override of the rule with its id in the associated
 * component.
 */
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

/** The override for a rule: one for its refinement comes before one for the whole rule. */
export function overrideOf(overrides: Overrides, rule: RuleFacts): Configured | null {
  if (overrides.size === 0) return null;
  return overrides.get(rule.id) ?? (rule.raw === null ? null : (overrides.get(rule.raw) ?? null));
}
