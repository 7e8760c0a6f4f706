// A SARIF result → its rule, and the facts in the rule's metadata. The rule is looked for in the
// driver and its extensions by ruleId, rule.id, guid, hierarchical id and index (SARIF 2.1.0
// §3.27.5-7, §3.52). An id always beats an index, because real producers write wrong indexes. Each
// rule is read once per run.

import { type DetailRule, limits } from '@muster/contract/plain';
import { maskSaid } from '../../../redact/masking.rules.ts';
import type { Warnings } from '../../../json/warnings.decode.ts';
import {
  indexOf,
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  preview,
  stringOf,
  stringsOf,
} from '../../../json/json.decode.ts';
import { tagsOf } from './bags.decode.ts';
import { rawSeverity, readSaid, type SaidSeverity, SILENT } from './severity.decode.ts';
import { levelWord } from '../../common/severity.rules.ts';
import { TaxonBook, type TaxonNames } from './taxa.decode.ts';
import {
  type Translated,
  type Translation,
  translated,
  translationsOf,
  UNTRANSLATED,
} from './translations.decode.ts';
import { vulnerabilityIdsIn } from '../../common/weakness.rules.ts';
import { withoutCredentials } from '../../common/web.rules.ts';

/** A rule as results need it; `raw` is null when the run doesn't describe the rule. */
export interface RuleFacts {
  readonly id: string;
  readonly raw: JsonObject | null;
  /** The id in the rule's own description: for `CA1000/1` it is `CA1000`. */
  readonly ownId: string | null;
  readonly name: string | null;
  /** One line that says what is wrong; null when the metadata only repeats the id. */
  readonly title: string | null;
  /** Level and rank of the default configuration (§3.50). */
  readonly level: string | null;
  readonly rank: number | null;
  readonly said: SaidSeverity;
  /** The severities that the rule states, by source; one object for all its results. */
  readonly severityRaw: Readonly<Record<string, string | number>> | null;
  readonly tags: readonly string[];
  readonly weaknesses: TaxonNames;
  readonly vulnerabilityIds: readonly string[];
  readonly confidence: number | null;
  readonly detail: DetailRule | null;
  /** The tool component whose message strings apply (§3.11.7). */
  readonly component: JsonObject | null;
  /** Strings of translations, for ids that neither the rule nor its component has. */
  readonly translated: readonly unknown[];
}

interface Component {
  readonly raw: JsonObject;
  readonly rules: readonly unknown[];
  readonly byId: ReadonlyMap<string, JsonObject>;
  readonly byGuid: ReadonlyMap<string, JsonObject>;
  /** Ids that several rules of the component have; an index tells which rule is meant. */
  readonly repeated: ReadonlySet<string>;
}

interface Found {
  readonly rule: JsonObject;
  readonly component: Component;
}

/**
 * §3.49 has no precision; these are CodeQL's words, with their confidence from 0 to 100 (CTIS
 * §4.2).
 */
const PRECISION: ReadonlyMap<string, number> = new Map([
  ['very-high', 95],
  ['high', 85],
  ['medium', 70],
  ['low', 50],
]);

/**
 * The number of rules that are remembered. Some tools give every result a rule of its own:
 * remembering serves nobody then, and all are dropped each time there are so many.
 */
const REMEMBERED_MAX = 10_000;

/** Longer references are read anew each time. */
const KEY_CHARS_MAX = 1024;

/** CodeQL has some thirty query packs; each unknown rule id is looked for in all of them. */
const EXTENSIONS_MAX = 500;

/**
 * §3.27.5: the levels of an id that are searched for a description. An id longer than
 * limits.ruleIdCharsMax is searched as a whole only.
 */
const LEVELS_MAX = 16;

export class RuleBook {
  /** The taxonomies that classify rules and results. */
  readonly taxa: TaxonBook;
  readonly #components: readonly Component[];
  readonly #translations: readonly Translation[];
  readonly #warnings: Warnings;
  readonly #byId = new Map<string, RuleFacts>();
  readonly #byReference = new Map<string, RuleFacts>();

  /** `member`: which descriptions of the components the book holds (§3.19.23, §3.19.24). */
  constructor(run: JsonObject, warnings: Warnings, member: 'rules' | 'notifications' = 'rules') {
    this.taxa = new TaxonBook(run, warnings);
    this.#warnings = warnings;
    const tool = objectOf(run.tool);
    const raw = [tool?.driver, ...warnings.first(listOf(tool?.extensions), EXTENSIONS_MAX)];
    this.#components = raw.map((component) => componentOf(objectOf(component) ?? {}, member));
    this.#translations = translationsOf(run, warnings);
  }

  /** The rule of a result; its id is empty when the result names none. */
  of(result: JsonObject): RuleFacts {
    const reference = objectOf(result.rule);
    const id = stringOf(result.ruleId)?.trim() ?? stringOf(reference?.id)?.trim() ?? null;
    if (id !== null) {
      const known = this.#byId.get(id);
      if (known !== undefined && objectOf(reference?.toolComponent) === null) return known;
    }
    const index = indexOf(reference?.index) ?? indexOf(result.ruleIndex);
    const component = objectOf(reference?.toolComponent);
    const guid = stringOf(reference?.guid);
    const key = JSON.stringify([id, guid, index, component]);
    let facts = this.#byReference.get(key);
    if (facts === undefined) {
      const target = component === null ? null : this.#componentNamed(component);
      // An index into a missing component leads nowhere, least of all into the driver.
      const usable = component !== null && target === null ? null : index;
      const found = this.#locate(id, guid, usable, target);
      facts = this.#factsOf(id, found, found?.component ?? target ?? this.#components[0]);
      if (key.length > KEY_CHARS_MAX) return facts;
      if (this.#byReference.size >= REMEMBERED_MAX) {
        this.#byReference.clear();
        this.#byId.clear();
      }
      this.#byReference.set(key, facts);
      const isById = id !== null && stringOf(found?.rule.id)?.trim() === id;
      // A rule that an index may still decide isn't remembered by the id alone.
      const isOne = isById && found?.component.repeated.has(id) === false;
      if (isOne && component === null) this.#byId.set(id, facts);
    }
    return facts;
  }

  #locate(
    id: string | null,
    guid: string | null,
    index: number | null,
    target: Component | null,
  ): Found | null {
    const places = target === null ? this.#components : [target, ...this.#components];
    const pick = (get: (component: Component) => JsonObject | undefined): Found | null => {
      for (const component of places) {
        const rule = get(component);
        if (rule !== undefined) return { rule, component };
      }
      return null;
    };
    let found = id === null ? null : pick((component) => component.byId.get(id));
    if (id !== null && found?.component.repeated.has(id) === true) {
      return oneOfSeveral(found, id, guid, index);
    }
    if (found === null && guid !== null) found = pick((component) => component.byGuid.get(guid));
    // §3.27.5: `CA1000/1` is a refinement of `CA1000`.
    let part = id !== null && id.length <= limits.ruleIdCharsMax ? id : null;
    for (let level = 0; found === null && part?.includes('/'); level += 1) {
      if (level === LEVELS_MAX) {
        const detail = `The rule's id has many levels; it was looked for under the nearest ${LEVELS_MAX} only.`;
        const { at } = this.#warnings;
        this.#warnings.warn(at, 'rule_levels_cut', detail);
        break;
      }
      const parent: string = part.slice(0, part.lastIndexOf('/'));
      found = pick((component) => component.byId.get(parent));
      if (found?.component.repeated.has(parent) === true) {
        found = oneOfSeveral(found, parent, guid, index);
      }
      part = parent;
    }
    if (found !== null || index === null) return found;
    const component = target ?? this.#components[0];
    const rule = objectOf(component?.rules[index]);
    if (rule === null || component === undefined) return null;
    const ownId = stringOf(rule.id);
    return id === null || ownId === null ? { rule, component } : null;
  }

  /**
   * §3.54: the component by guid, by name, or by index into the extensions; without any it is the
   * driver.
   */
  #componentNamed(reference: JsonObject): Component | null {
    const index = indexOf(reference.index);
    const indexed = index === null ? undefined : this.#components[index + 1];
    let isNamed = false;
    for (const member of ['guid', 'name']) {
      const value = stringOf(reference[member]);
      if (value === null) continue;
      isNamed = true;
      // As with rules, a wrong index never beats a name.
      if (indexed?.raw[member] === value) return indexed;
      const found = this.#components.find((one) => one.raw[member] === value);
      if (found !== undefined) return found;
    }
    if (index !== null) return indexed ?? null;
    return isNamed ? null : (this.#components[0] ?? null);
  }

  /** The rule's texts in the translations of its component. */
  #translated(id: string | null, found: Found | null, component?: Component): Translated {
    if (this.#translations.length === 0) return UNTRANSLATED;
    const those = this.#translations.filter((one) => {
      const named = one.of === null ? this.#components[0] : this.#componentNamed(one.of);
      return named === component;
    });
    return translated(those, stringOf(found?.rule.id)?.trim() ?? id, stringOf(found?.rule.guid));
  }

  /** `component`: the component of the rule, whether it describes the rule or not. */
  #factsOf(id: string | null, found: Found | null, component?: Component): RuleFacts {
    const raw = found?.rule ?? null;
    const warnings = this.#warnings;
    const ruleId = warnings.text(id ?? stringOf(raw?.id)?.trim() ?? '', limits.ruleIdCharsMax);
    const properties = objectOf(raw?.properties);
    const written = tagsOf(properties);
    const tags = written.map((tag) => warnings.text(tag, limits.nameCharsMax));
    const configuration = objectOf(raw?.defaultConfiguration);
    const precision = stringOf(properties?.precision);
    const name = warnings.textOf(raw?.name, limits.nameCharsMax);
    const other = this.#translated(id, found, component);
    const textOf = (member: 'shortDescription' | 'fullDescription' | 'help'): string | null => {
      for (const one of [raw, ...other.rules]) {
        const text = textOfMultiformat(one?.[member]);
        if (text !== null) return maskSaid(text);
      }
      return null;
    };
    const short = textOf('shortDescription');
    const said = readSaid(properties, written);
    const full = textOf('fullDescription');
    return {
      id: ruleId,
      raw,
      ownId: stringOf(raw?.id)?.trim() ?? null,
      name,
      title: titleOf(ruleId, short, name),
      level: levelWord(configuration?.level),
      rank: rankOf(configuration?.rank),
      said,
      severityRaw: rawSeverity(said, SILENT),
      tags,
      weaknesses: this.taxa.of(raw, properties, tags),
      vulnerabilityIds: idsOfRule(ruleId, raw, tags),
      confidence: PRECISION.get(precision ?? '') ?? null,
      detail: detailOf(
        name,
        full ?? short ?? textOf('help'),
        stringOf(raw?.helpUri),
        precision,
        warnings,
      ),
      component: component?.raw ?? null,
      translated: other.strings,
    };
  }
}

/**
 * §3.27.6, §3.52: the rule among several with one id. A guid or an index that agrees with the id
 * tells which.
 */
function oneOfSeveral(first: Found, id: string, guid: string | null, index: number | null): Found {
  const { component } = first;
  const named = guid === null ? null : (component.byGuid.get(guid) ?? null);
  const indexed = index === null ? null : objectOf(component.rules[index]);
  const meant = [named, indexed].find((rule) => stringOf(rule?.id)?.trim() === id);
  return { rule: meant ?? first.rule, component };
}

function componentOf(raw: JsonObject, member: 'rules' | 'notifications'): Component {
  const rules = listOf(raw[member]);
  const byId = new Map<string, JsonObject>();
  const byGuid = new Map<string, JsonObject>();
  const repeated = new Set<string>();
  for (const entry of rules) {
    const rule = objectOf(entry);
    const id = stringOf(rule?.id)?.trim();
    const guid = stringOf(rule?.guid);
    // Rules come twice, with different contents; the first one counts where no index says
    // otherwise.
    if (rule !== null && id !== undefined) {
      if (byId.has(id)) repeated.add(id);
      else byId.set(id, rule);
    }
    if (rule !== null && guid !== null && !byGuid.has(guid)) byGuid.set(guid, rule);
  }
  return { raw, rules, byId, byGuid, repeated };
}

/** §3.27.25: from 0 to 100; -1 means that there is no rank. */
export function rankOf(value: unknown): number | null {
  const rank = numberOf(value);
  return rank !== null && rank >= 0 && rank <= 100 ? rank : null;
}

/** §3.12 multiformatMessageString: its text, else its markdown. */
export function textOfMultiformat(value: unknown): string | null {
  const message = objectOf(value);
  return stringOf(message?.text) ?? stringOf(message?.markdown);
}

/**
 * Placeholders of Fortify, SARIF and Semgrep: the message has the text with the values filled in.
 */
const PLACEHOLDER = /<Replace |\{\d\}|\$[A-Z_]{3}/;

/**
 * The title of a rule. A description that only repeats the id (Semgrep: "Semgrep Finding: <id>") is
 * none.
 */
function titleOf(id: string, short: string | null, name: string | null): string | null {
  const says = (text: string | null): text is string =>
    text !== null && !PLACEHOLDER.test(text) && !(id !== '' && text.trim().endsWith(id));
  const title = says(short) ? short : says(name) ? name : null;
  const line = title?.trim().split(/\r?\n/, 1)[0] ?? '';
  return line === '' ? null : preview(line, limits.titleCharsMax);
}

function idsOfRule(id: string, raw: JsonObject | null, tags: readonly string[]): string[] {
  const sources = [id, ...stringsOf(raw?.deprecatedIds), ...tags];
  // Snyk names the CVE in the full description only: "(CVE-2024-39249) async@3.2.4".
  if (/^SNYK-/i.test(id)) sources.push(textOfMultiformat(raw?.fullDescription) ?? '');
  return vulnerabilityIdsIn(sources);
}

/** Enough of a description to recognise the rule; the page links to the rest. */
const DESCRIPTION_CHARS_MAX = 1000;

function detailOf(
  name: string | null,
  description: string | null,
  helpUri: string | null,
  precision: string | null,
  warnings: Warnings,
): DetailRule | null {
  const detail: DetailRule = {};
  if (name !== null) detail.name = name;
  if (description !== null) detail.description = warnings.text(description, DESCRIPTION_CHARS_MAX);
  if (helpUri !== null) {
    detail.help_uri = warnings.text(withoutCredentials(helpUri), limits.pathCharsMax);
  }
  if (precision !== null) detail.precision = warnings.text(precision, limits.nameCharsMax);
  return Object.keys(detail).length === 0 ? null : detail;
}
