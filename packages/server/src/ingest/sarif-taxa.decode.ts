// Which weaknesses a SARIF rule or result is classified under: taxa (SARIF 2.1.0 §3.27.8),
// relationships of rules (§3.53), tags, and the property names that tools use instead. Called by
// the rule and result readers.

import {
  type JsonObject,
  indexOf,
  listOf,
  objectOf,
  stringOf,
  stringsOf,
} from './report-notes.decode.ts';
import { cwesIn, owaspIn } from './weakness.rules.ts';

export interface TaxonNames {
  readonly cwe: readonly string[];
  readonly owasp: readonly string[];
  /** `<taxonomy>/<id>` of the others. */
  readonly other: readonly string[];
}

const NONE: TaxonNames = { cwe: [], owasp: [], other: [] };

/** Taxonomies have thousands of entries, but nothing belongs to more than a few. */
const TAXA_MAX = 50;

/** Tools bring one to five; each reference may have to look through them. */
const TAXONOMIES_MAX = 100;

/** Property names under which tools write weaknesses, as a text or a list. */
const PROPERTIES = ['cwe', 'cwes', 'cweIds', 'cwe_id', 'cwe_ids', 'owasp', 'owasp-top-ten', 'CWE'];

/**
 * The classification of a rule (`relationships`) or a result (`taxa`), with its tags and
 * properties.
 */
export function taxaOf(
  run: JsonObject,
  subject: JsonObject | null,
  properties: JsonObject | null,
  tags: readonly string[],
): TaxonNames {
  const references = [
    ...listOf(subject?.taxa),
    ...listOf(subject?.relationships).map((relation) => objectOf(relation)?.target),
  ];
  const texts = tags.length === 0 ? [] : [tags.join(' ')];
  if (properties !== null) {
    for (const name of PROPERTIES) texts.push(...textsOf(properties[name]));
  }
  if (references.length === 0 && texts.length === 0) return NONE;
  const cwe = new Set<string>();
  const owasp = new Set<string>();
  const other = new Set<string>();
  for (const reference of references.slice(0, TAXA_MAX)) {
    const taxon = taxonOf(run, objectOf(reference));
    if (taxon === null) continue;
    const { taxonomy, id } = taxon;
    const digits = /^(?:cwe-?)?0*([1-9]\d{0,4})$/i.exec(id)?.[1];
    if (/\bcwe\b/i.test(taxonomy) && digits !== undefined) cwe.add(`CWE-${digits}`);
    else if (/owasp/i.test(taxonomy) && owaspIn(id).length > 0) owasp.add(owaspIn(id)[0] ?? id);
    else other.add(`${taxonomy}/${id}`.slice(0, 255));
  }
  for (const text of texts) {
    for (const id of cwesIn(text)) cwe.add(id);
    for (const id of owaspIn(text)) owasp.add(id);
  }
  return { cwe: [...cwe], owasp: [...owasp], other: [...other] };
}

/** One list after the other, repeats left out. */
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

/** A reference to a taxon, by id or by index into the taxonomy's `taxa` (§3.52, §3.19.25). */
function taxonOf(run: JsonObject, reference: JsonObject | null) {
  if (reference === null) return null;
  const component = objectOf(reference.toolComponent);
  const taxonomy = component === null ? null : taxonomyOf(run, component);
  const byIndex = objectOf(listOf(taxonomy?.taxa)[indexOf(reference.index) ?? -1]);
  const id = stringOf(reference.id) ?? stringOf(byIndex?.id);
  if (id === null) return null;
  const name = stringOf(component?.name) ?? stringOf(taxonomy?.name) ?? 'tool';
  return { taxonomy: name.trim(), id: id.trim() };
}

function taxonomyOf(run: JsonObject, component: JsonObject): JsonObject | null {
  const taxonomies = listOf(run.taxonomies);
  const byIndex = objectOf(taxonomies[indexOf(component.index) ?? -1]);
  if (byIndex !== null) return byIndex;
  for (const member of ['guid', 'name']) {
    const value = stringOf(component[member]);
    if (value === null) continue;
    for (const taxonomy of taxonomies.slice(0, TAXONOMIES_MAX)) {
      if (objectOf(taxonomy)?.[member] === value) return objectOf(taxonomy);
    }
  }
  return null;
}
