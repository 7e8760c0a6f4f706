// Turns the detail of a finding into what the console shows. On the wire the detail is a document
// whose members may all be absent ("not said"), and an older server may have written old rows: so
// every member is checked before it is used, and left out when it doesn't fit. Pure.

import { jsonText, numberText, words } from './format.ts';

export interface Place {
  readonly where: string | null;
  readonly url: string | null;
  readonly logical: string | null;
  readonly message: string | null;
  readonly snippet: string | null;
}

export interface Flow {
  readonly message: string | null;
  readonly steps: readonly Place[];
}

/**
 * The properties that a tool keeps where its format has no member for them; `where` is null for the
 * finding itself.
 */
interface PropertyBag {
  readonly where: string | null;
  readonly text: string;
}

export interface Detail {
  readonly ruleName: string | null;
  readonly ruleHelp: string | null;
  readonly ruleDescription: string | null;
  /** The tool's own words about this finding. */
  readonly message: string | null;
  readonly description: string | null;
  readonly severityFrom: string | null;
  /** CWE, CVE, GHSA, OWASP … */
  readonly identifiers: readonly string[];
  readonly tags: readonly string[];
  readonly references: readonly string[];
  /** `name version`, or its purl. */
  readonly component: string | null;
  readonly evidence: string | null;
  readonly places: readonly Place[];
  readonly relatedPlaces: readonly Place[];
  readonly flows: readonly Flow[];
  readonly bags: readonly PropertyBag[];
  /** `20 in code flows`: the parts that were left out for size. */
  readonly omitted: readonly string[];
}

type Bag = Readonly<Record<string, unknown>>;

const bagOf = (value: unknown): Bag =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Bag) : {};

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : null;

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const textsOf = (value: unknown): string[] =>
  listOf(value)
    .map(textOf)
    .filter((text) => text !== null);

export function readDetail(document: unknown): Detail {
  const detail = bagOf(document);
  const rule = bagOf(detail['rule']);
  const component = bagOf(detail['component']);
  return {
    ruleName: textOf(rule['name']),
    ruleHelp: textOf(rule['help_uri']),
    ruleDescription: textOf(rule['description']),
    message: textOf(detail['message']),
    description: textOf(detail['description']),
    severityFrom: textOf(detail['severity_from']),
    identifiers: ['vulnerability_ids', 'cwe', 'owasp'].flatMap((name) => textsOf(detail[name])),
    tags: textsOf(detail['tags']),
    references: [...new Set(textsOf(detail['references']))],
    component: textOf(component['purl']) ?? nameAndVersion(component),
    evidence: textOf(detail['evidence']),
    places: listOf(detail['locations']).map(placeOf),
    relatedPlaces: listOf(detail['related_locations']).map(placeOf),
    flows: listOf(detail['code_flows']).map(flowOf),
    bags: bagsOf(detail),
    omitted: Object.entries(bagOf(detail['omitted'])).flatMap(([name, count]) =>
      typeof count === 'number' ? [`${numberText(count)} in ${words(name)}`] : [],
    ),
  };
}

function bagsOf(detail: Bag): PropertyBag[] {
  const own = { ...bagOf(detail['properties']), ...bagOf(detail['unknown']) };
  const below = Object.entries(bagOf(detail['property_bags']));
  const all: [string | null, unknown][] = Object.keys(own).length === 0 ? [] : [[null, own]];
  return [...all, ...below].map(([where, bag]) => ({ where, text: jsonText(bag) }));
}

function nameAndVersion(component: Bag): string | null {
  const name = textOf(component['name']);
  const version = textOf(component['version']);
  return name === null || version === null ? name : `${name} ${version}`;
}

function placeOf(value: unknown): Place {
  const place = bagOf(value);
  const path = textOf(place['path']);
  const line = place['start_line'];
  return {
    where: path !== null && typeof line === 'number' ? `${path}:${line}` : path,
    url: textOf(place['url']),
    logical: textOf(place['logical']),
    message: textOf(place['message']),
    snippet: textOf(place['context']) ?? textOf(place['snippet']),
  };
}

function flowOf(value: unknown): Flow {
  const flow = bagOf(value);
  return { message: textOf(flow['message']), steps: listOf(flow['steps']).map(placeOf) };
}
