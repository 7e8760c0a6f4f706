// Property bags of SARIF rules and results → their CVSS: vectors and scores under the names that
// tools use (`cvssv3_vector`, `cvss: {version, vectorString, baseScore}`, `cvss: {nvd: {V3Vector,
// V3Score}}`). The newest version that has a score counts. Called by read/severity.decode.ts and
// show/detail.decode.ts.

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
  /** The property in which, or below which, the CVSS stands. */
  readonly name: string;
  readonly version: string | null;
  readonly vector: string | null;
  /** The score beside the vector, else the vector's own base score. */
  readonly score: number | null;
}

/** Databases differ about a vulnerability, and a dozen of them may rate it. */
const FOUND_MAX = 50;

/** Deep enough for `cvss: {nvd: {v3: {…}}}`. */
const DEPTH_MAX = 4;

/** Matches `cvss_vector`, but not one of its metrics (`cvssv3_attackVector`). */
const VECTOR_NAME = /(?<!access[-_ ]?|attack[-_ ]?)vector(?:[-_ ]?string)?$/i;

/** True for names of properties that should hold a vector, whatever they hold. */
export const isVectorName = (name: string): boolean => /cvss/i.test(name) && VECTOR_NAME.test(name);

/**
 * The CVSS of a property bag. One with a score comes before one without; then the newest version
 * counts.
 */
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

/** The score that belongs to a vector: `V3Score` to `V3Vector`, `baseScore` to `vectorString`. */
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

/** The CVSS under the names that the detail of a CTIS finding has for it. */
export function cvssDetail({ version, vector, score }: Cvss): Record<string, unknown> {
  return {
    ...(version === null ? {} : { cvss_version: version }),
    ...(score === null ? {} : { cvss_score: score }),
    ...(vector === null ? {} : { cvss_vector: vector }),
  };
}
