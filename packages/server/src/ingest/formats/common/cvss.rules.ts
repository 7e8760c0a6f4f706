// CVSS vectors → their version and base score (FIRST: CVSS v2 guide §3.2; v3.0 and v3.1
// specifications §7 and §8). A text that lacks a base metric, or has a metric twice, is no vector.
// The score of a v4 vector comes from a table of 270 entries, which isn't here: a v4 score counts
// only where a report states it. Called by ctis/severity.decode.ts and read/cvss.decode.ts.

type CvssVersion = '2.0' | '3.0' | '3.1' | '4.0';

export interface CvssVector {
  readonly version: CvssVersion;
  /** The vector as it was written, without brackets. */
  readonly text: string;
  /** The base score; null for v4. */
  readonly score: number | null;
}

/** A v4 vector that has each metric once takes 210 characters. */
const VECTOR_CHARS_MAX = 255;

const PARTS =
  /^(?:CVSS:(2\.0|3\.0|3\.1|4\.0)\/)?([A-Za-z]{1,3}:[A-Za-z]{1,5}(?:\/[A-Za-z]{1,3}:[A-Za-z]{1,5})*)$/;

/** Base metrics with their values; other metrics are checked for their form only. */
const BASE: Readonly<Record<'2' | '3' | '4', string>> = {
  '2': 'AV:LAN AC:HML Au:MSN C:NPC I:NPC A:NPC',
  '3': 'AV:NALP AC:LH PR:NLH UI:NR S:UC C:HLN I:HLN A:HLN',
  '4': 'AV:NALP AC:LH AT:NP PR:NLH UI:NPA VC:HLN VI:HLN VA:HLN SC:HLN SI:HLN SA:HLN',
};

/** Reads a vector; null for every other value. */
export function cvssOf(value: unknown): CvssVector | null {
  if (typeof value !== 'string' || value.length > VECTOR_CHARS_MAX) return null;
  const text = value.trim().replace(/^\((.*)\)$/, '$1');
  const [, prefix, list] = PARTS.exec(text) ?? [];
  if (list === undefined) return null;
  const metrics = new Map<string, string>();
  for (const part of list.split('/')) {
    const [name = '', said = ''] = part.split(':');
    if (metrics.has(name)) return null;
    metrics.set(name, said);
  }
  const version = (prefix ?? (metrics.has('Au') ? '2.0' : '3.0')) as CvssVersion;
  const base = BASE[version[0] as keyof typeof BASE].split(' ').map((one) => one.split(':'));
  for (const [name = '', values = ''] of base) {
    const said = metrics.get(name);
    if (said?.length !== 1 || !values.includes(said)) return null;
  }
  const of = (name: string): string => metrics.get(name) ?? '';
  const score = version === '2.0' ? score2(of) : version === '4.0' ? null : score3(of);
  return { version, text, score };
}

type Metrics = (name: string) => string;

const IMPACT2: Readonly<Record<string, number>> = { N: 0, P: 0.275, C: 0.66 };
const ACCESS2: Readonly<Record<string, number>> = { L: 0.395, A: 0.646, N: 1 };
const COMPLEXITY2: Readonly<Record<string, number>> = { H: 0.35, M: 0.61, L: 0.71 };
const AUTHENTICATION2: Readonly<Record<string, number>> = { M: 0.45, S: 0.56, N: 0.704 };

/** The base score of v2 (CVSS v2 §3.2.1). */
function score2(of: Metrics): number {
  const left = (name: string): number => 1 - (IMPACT2[of(name)] ?? 0);
  const impact = 10.41 * (1 - left('C') * left('I') * left('A'));
  const access = (ACCESS2[of('AV')] ?? 0) * (COMPLEXITY2[of('AC')] ?? 0);
  const exploitability = 20 * access * (AUTHENTICATION2[of('Au')] ?? 0);
  if (impact === 0) return 0;
  const score = (0.6 * impact + 0.4 * exploitability - 1.5) * 1.176;
  return Math.round(score * 10) / 10;
}

const IMPACT3: Readonly<Record<string, number>> = { N: 0, L: 0.22, H: 0.56 };
const VECTOR3: Readonly<Record<string, number>> = { N: 0.85, A: 0.62, L: 0.55, P: 0.2 };
const PRIVILEGES3: Readonly<Record<string, number>> = { N: 0.85, L: 0.62, H: 0.27 };
const PRIVILEGES3_CHANGED: Readonly<Record<string, number>> = { N: 0.85, L: 0.68, H: 0.5 };

/** The base score of v3.1 (CVSS v3.1 §7.1, §7.4); v3.0 has the same one. */
function score3(of: Metrics): number {
  const left = (name: string): number => 1 - (IMPACT3[of(name)] ?? 0);
  const isChanged = of('S') === 'C';
  const sub = 1 - left('C') * left('I') * left('A');
  const impact = isChanged ? 7.52 * (sub - 0.029) - 3.25 * (sub - 0.02) ** 15 : 6.42 * sub;
  if (impact <= 0) return 0;
  const privileges = (isChanged ? PRIVILEGES3_CHANGED : PRIVILEGES3)[of('PR')] ?? 0;
  const complexity = of('AC') === 'L' ? 0.77 : 0.44;
  const interaction = of('UI') === 'N' ? 0.85 : 0.62;
  const exploitability = 8.22 * (VECTOR3[of('AV')] ?? 0) * complexity * privileges * interaction;
  return roundedUp(Math.min((isChanged ? 1.08 : 1) * (impact + exploitability), 10));
}

/**
 * Rounds up to one decimal (CVSS v3.1, appendix A), in whole numbers: 4.02 then gives the same
 * score on every machine.
 */
function roundedUp(score: number): number {
  const whole = Math.round(score * 100_000);
  return whole % 10_000 === 0 ? whole / 100_000 : (Math.floor(whole / 10_000) + 1) / 10;
}
