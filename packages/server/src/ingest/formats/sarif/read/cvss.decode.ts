// CVSS in the property bags of SARIF rules and results: vectors and scores under the names that tools give them
// (`cvssv3_vector`, `cvss: {version, vectorString, baseScore}`, `cvss: {nvd: {V3Vector, V3Score}}`), the newest version
// of them. Called by the severity reader; the vector is kept in a finding's detail.

import { type CvssVector, cvssOf } from '../../common/cvss.rules.ts';
import {
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  preview,
  stringOf,
} from '../../../json/json.decode.ts';
import { scoreOf } from '../../common/severity.rules.ts';

export interface Cvss {
  /** The property that it stands in or below. */
  readonly name: string;
  readonly version: string | null;
  readonly vector: string | null;
  /** The score that stands beside the vector, else its base score. */
  readonly score: number | null;
}

/** Databases differ about a vulnerability; a dozen of them say something. */
const FOUND_MAX = 50;

/** `cvss: {nvd: {v3: {…}}}` */
const DEPTH_MAX = 4;

/** `cvss_vector`, but not one of its metrics (`cvssv3_attackVector`). */
const VECTOR_NAME = /(?<!access[-_ ]?|attack[-_ ]?)vector(?:[-_ ]?string)?$/i;

/** True for names of properties that are to hold a vector, whatever they hold. */
export const isVectorName = (name: string): boolean => /cvss/i.test(name) && VECTOR_NAME.test(name);

/** The CVSS of a property bag; one with a score before one without, the newest version first. */
export function cvssIn(bag: JsonObject): Cvss | null {
  const found: Cvss[] = [];
  for (const [name, value] of Object.entries(bag)) {
    if (!/cvss/i.test(name)) continue;
    const vector = cvssOf(value);
    if (vector !== null) found.push(withScore(name, vector, scoreBeside(bag, name)));
    else collect(value, name, found, 1);
  }
  const worth = (one: Cvss): number => (one.score === null ? 0 : 10) + Number(one.version ?? 1);
  let best: Cvss | null = null;
  for (const one of found) if (best === null || worth(one) > worth(best)) best = one;
  return best;
}

function collect(value: unknown, name: string, found: Cvss[], depth: number): void {
  if (found.length >= FOUND_MAX || depth > DEPTH_MAX) return;
  const listed = cvssOf(value);
  if (listed !== null) found.push(withScore(name, listed, null));
  for (const entry of listOf(value)) collect(entry, name, found, depth + 1);
  const object = objectOf(value);
  if (object === null) return;
  const before = found.length;
  for (const [member, entry] of Object.entries(object)) {
    const vector = cvssOf(entry);
    if (vector !== null) found.push(withScore(name, vector, scoreBeside(object, member)));
    else collect(entry, name, found, depth + 1);
  }
  const score = found.length === before ? scoreBeside(object, 'vector') : null;
  if (score === null) return;
  const said = stringOf(object.version) ?? String(numberOf(object.version) ?? '');
  const version = /^[1-4](?:\.\d)?$/.test(said) ? said : /v?2$/i.test(name) ? '2.0' : null;
  found.push({ name: shownName(name), version, vector: null, score });
}

/** Of `V3Vector` it is `V3Score`, of `vectorString` `baseScore`. */
function scoreBeside(object: JsonObject, name: string): number | null {
  const prefix = name.replace(VECTOR_NAME, '').toLowerCase();
  const names = [`${prefix}score`, `${prefix}basescore`].map(lettersOf);
  for (const [member, value] of Object.entries(object)) {
    const score = names.includes(lettersOf(member)) ? scoreOf(value) : null;
    if (score !== null) return score;
  }
  return null;
}

const lettersOf = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

function withScore(
  name: string,
  { version, text, score }: CvssVector,
  stated: number | null,
): Cvss {
  return { name: shownName(name), version, vector: text, score: stated ?? score };
}

const shownName = (name: string): string => preview(name, 64);

/** As the detail of a CTIS finding has it. */
export function cvssDetail({ version, vector, score }: Cvss): Record<string, unknown> {
  return {
    ...(version === null ? {} : { cvss_version: version }),
    ...(score === null ? {} : { cvss_score: score }),
    ...(vector === null ? {} : { cvss_vector: vector }),
  };
}
