// A SARIF rule or result → the weaknesses and other taxa that it is classified under: by taxa
// (SARIF 2.1.0 §3.27.8), by relationships of rules (§3.53) and of taxa to wider taxa of other
// taxonomies, by tags, and by the property names that tools use instead.

import type { Warnings } from '../../../json/warnings.decode.ts';
import {
  type JsonObject,
  indexOf,
  listOf,
  objectOf,
  stringOf,
  stringsOf,
} from '../../../json/json.decode.ts';
import { cwesIn, owaspIn } from '../../common/weakness.rules.ts';

export interface TaxonNames {
  readonly cwe: readonly string[];
  readonly owasp: readonly string[];
  /** `<taxonomy>/<id>` of each taxon that is neither CWE nor OWASP. */
  readonly other: readonly string[];
}

const NONE: TaxonNames = { cwe: [], owasp: [], other: [] };

/** Taxonomies have thousands of entries, but a rule or a result belongs to a few. */
const TAXA_MAX = 50;

/** Tools bring one to five; each reference may be looked for in all of them. */
const TAXONOMIES_MAX = 100;

/** Enough to get from a tool's own category over a standard's category to CWE. */
const HOPS_MAX = 4;

/** Property names under which tools write weaknesses, as a text or a list. */
const PROPERTIES = ['cwe', 'cwes', 'cweIds', 'cwe_id', 'cwe_ids', 'owasp', 'owasp-top-ten', 'CWE'];

/**
 * §3.53.3: kinds that say what a rule is not, or what comes before and after it. `incomparable`
 * isn't among them: it means that the two overlap.
 */
const NOT_CLASSIFYING: ReadonlySet<string> = new Set([
  'disjoint',
  'canPrecede',
  'canFollow',
  'willPrecede',
  'willFollow',
]);

/** Kinds whose target contains the taxon, and so everything that lies within the taxon. */
const CONTAINING: ReadonlySet<string> = new Set(['superset', 'equal']);

/** A component that has taxa; the driver and extensions describe rules as well. */
interface Taxonomy {
  readonly raw: JsonObject;
  readonly hasRules: boolean;
  /** The component's taxa by id and guid, and the ids of its rules; made when first asked for. */
  index: TaxonomyIndex | null;
}

interface TaxonomyIndex {
  readonly byId: ReadonlyMap<string, JsonObject>;
  readonly byGuid: ReadonlyMap<string, JsonObject>;
  readonly ruleIds: ReadonlySet<unknown>;
}

interface Taxon {
  readonly taxonomy: Taxonomy | null;
  readonly name: string;
  readonly id: string;
  readonly raw: JsonObject | null;
}

/** The taxonomies of one run, and the taxa that its rules and results belong to. */
export class TaxonBook {
  readonly #taxonomies: readonly Taxonomy[];
  readonly #driver: Taxonomy;
  readonly #extensions: readonly Taxonomy[];
  readonly #warnings: Warnings;

  constructor(run: JsonObject, warnings: Warnings) {
    this.#warnings = warnings;
    const tool = objectOf(run.tool);
    const taxonomy = (raw: unknown, hasRules: boolean): Taxonomy => ({
      raw: objectOf(raw) ?? {},
      hasRules,
      index: null,
    });
    this.#taxonomies = warnings
      .first(listOf(run.taxonomies), TAXONOMIES_MAX)
      .map((raw) => taxonomy(raw, false));
    this.#driver = taxonomy(tool?.driver, true);
    this.#extensions = warnings
      .first(listOf(tool?.extensions), TAXONOMIES_MAX)
      .map((raw) => taxonomy(raw, true));
  }

  /**
   * The classification of a rule (`relationships`) or a result (`taxa`), with its tags and
   * properties.
   */
  of(
    subject: JsonObject | null,
    properties: JsonObject | null,
    tags: readonly string[],
  ): TaxonNames {
    const taxa: Taxon[] = [];
    for (const reference of this.#warnings.first(listOf(subject?.taxa), TAXA_MAX)) {
      this.#add(this.#taxonOf(objectOf(reference)), taxa, 0);
    }
    for (const entry of this.#warnings.first(listOf(subject?.relationships), TAXA_MAX)) {
      const relation = objectOf(entry);
      const kinds = stringsOf(relation?.kinds);
      if (kinds.length > 0 && kinds.every((kind) => NOT_CLASSIFYING.has(kind))) continue;
      this.#add(this.#taxonOf(objectOf(relation?.target)), taxa, 0);
    }
    const named =
      properties === null ? [] : PROPERTIES.flatMap((name) => textsOf(properties[name]));
    const texts = [...tags, ...named];
    return taxa.length === 0 && texts.length === 0 ? NONE : namesOf(taxa, texts);
  }

  /** Adds a taxon, and the wider taxa of other taxonomies that contain it. */
  #add(taxon: Taxon | null, taxa: Taxon[], hops: number): void {
    if (taxon === null) return;
    if (taxa.some((one) => one.id === taxon.id && one.name === taxon.name)) return;
    if (taxa.length >= TAXA_MAX) return this.#warnings.leaveOut(1);
    taxa.push(taxon);
    if (hops >= HOPS_MAX || taxon.raw === null) return;
    for (const entry of this.#warnings.first(listOf(taxon.raw.relationships), TAXA_MAX)) {
      const relation = objectOf(entry);
      if (!stringsOf(relation?.kinds).some((kind) => CONTAINING.has(kind))) continue;
      const target = objectOf(relation?.target);
      if (objectOf(target?.toolComponent) === null) continue;
      const next = this.#taxonOf(target);
      // CWE-943 contains CWE-89 as well, but the readers of CWE know that.
      if (next !== null && next.taxonomy !== taxon.taxonomy) this.#add(next, taxa, hops + 1);
    }
  }

  /**
   * The taxon that a reference names by id, guid or index into the taxonomy's `taxa` (§3.52,
   * §3.19.25).
   */
  #taxonOf(reference: JsonObject | null): Taxon | null {
    if (reference === null) return null;
    const component = objectOf(reference.toolComponent);
    const taxonomy = component === null ? this.#driver : this.#taxonomyOf(component);
    const id = stringOf(reference.id)?.trim() ?? null;
    let raw: JsonObject | null = null;
    if (taxonomy !== null) {
      const { byId, byGuid, ruleIds } = indexOfTaxonomy(taxonomy);
      const guid = stringOf(reference.guid);
      raw = (id === null ? undefined : byId.get(id)) ?? null;
      if (raw === null && guid !== null) raw = byGuid.get(guid) ?? null;
      const index = indexOf(reference.index);
      if (raw === null && id === null && index !== null) {
        raw = objectOf(listOf(taxonomy.raw.taxa)[index]);
      }
      // A relationship may lead to another rule instead (§3.53.2).
      if (raw === null && id !== null && ruleIds.has(id)) return null;
    }
    const found = id ?? stringOf(raw?.id)?.trim() ?? null;
    if (found === null) return null;
    const name = stringOf(component?.name) ?? taxonomyName(taxonomy, component);
    return { taxonomy, name: name.trim(), id: found, raw };
  }

  /**
   * §3.54: the taxonomy by guid and name, among the taxonomies first; by index only where no name
   * says otherwise. An index alone leads into the taxonomies, else into the extensions.
   */
  #taxonomyOf(component: JsonObject): Taxonomy | null {
    const all = [...this.#taxonomies, this.#driver, ...this.#extensions];
    const index = indexOf(component.index);
    const indexed =
      index === null ? undefined : (this.#taxonomies[index] ?? this.#extensions[index]);
    let isNamed = false;
    for (const member of ['guid', 'name']) {
      const value = stringOf(component[member])?.trim().toLowerCase();
      if (value === undefined) continue;
      isNamed = true;
      const fits = (one: Taxonomy): boolean =>
        stringOf(one.raw[member])?.trim().toLowerCase() === value;
      const found = indexed !== undefined && fits(indexed) ? indexed : all.find(fits);
      if (found !== undefined) return found;
    }
    if (index !== null) return isNamed ? null : (indexed ?? null);
    return isNamed ? null : this.#driver;
  }
}

function taxonomyName(taxonomy: Taxonomy | null, component: JsonObject | null): string {
  const name = component === null ? null : stringOf(taxonomy?.raw.name);
  return name ?? 'tool';
}

function indexOfTaxonomy(taxonomy: Taxonomy): TaxonomyIndex {
  if (taxonomy.index !== null) return taxonomy.index;
  const byId = new Map<string, JsonObject>();
  const byGuid = new Map<string, JsonObject>();
  for (const entry of listOf(taxonomy.raw.taxa)) {
    const taxon = objectOf(entry);
    if (taxon === null) continue;
    const id = stringOf(taxon.id)?.trim();
    const guid = stringOf(taxon.guid);
    if (id !== undefined && !byId.has(id)) byId.set(id, taxon);
    if (guid !== null && !byGuid.has(guid)) byGuid.set(guid, taxon);
  }
  const rules = taxonomy.hasRules ? listOf(taxonomy.raw.rules) : [];
  const ruleIds = new Set(rules.map((rule) => objectOf(rule)?.id));
  taxonomy.index = { byId, byGuid, ruleIds };
  return taxonomy.index;
}

/** `CWE-79` is a CWE in every taxonomy; a bare number is one only in a taxonomy called CWE. */
const CWE_ID = /^(?:(cwe)[-_: ]?)?0*([1-9]\d{0,4})$/i;

/** `CWE`, `cwe_v4.4`, `MITRE-CWE`, the full name. */
const CWE_NAME = /(?<![a-z])cwe(?![a-z])|common weakness enumeration/i;

function namesOf(taxa: readonly Taxon[], texts: readonly string[]): TaxonNames {
  const cwe = new Set<string>();
  const owasp = new Set<string>();
  const other = new Set<string>();
  for (const { name, id } of taxa) {
    const [, prefix, digits] = CWE_ID.exec(id) ?? [];
    const isCwe = digits !== undefined && (prefix !== undefined || CWE_NAME.test(name));
    if (isCwe) cwe.add(`CWE-${digits}`);
    else if (/owasp/i.test(name) && owaspIn([id]).length > 0) owasp.add(owaspIn([id])[0] ?? id);
    else other.add(`${name}/${id}`);
  }
  for (const id of cwesIn(texts)) cwe.add(id);
  for (const id of owaspIn(texts)) owasp.add(id);
  return { cwe: [...cwe], owasp: [...owasp], other: [...other] };
}

/** One list after the other, without repeats. */
export function joinedTaxa(first: TaxonNames, second: TaxonNames): TaxonNames {
  if (second === NONE) return first;
  if (first === NONE) return second;
  const union = (a: readonly string[], b: readonly string[]) => [...new Set([...a, ...b])];
  return {
    cwe: union(first.cwe, second.cwe),
    owasp: union(first.owasp, second.owasp),
    other: union(first.other, second.other),
  };
}

function textsOf(value: unknown): string[] {
  const text = stringOf(value);
  return text === null ? stringsOf(value) : [text];
}
