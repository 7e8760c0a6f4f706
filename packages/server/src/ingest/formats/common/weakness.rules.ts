// Names of weaknesses and vulnerabilities, as tools spell them → one spelling each: CWE-89,
// A03:2021, CVE-2024-1, GHSA-…. Each scan is linear and looks at a bounded part of the text. Pure.

const CWE = /(?<![A-Za-z0-9])cwe[-_/: ]{0,2}0{0,6}([1-9]\d{0,4})(?!\d)/gi;
const OWASP = /(?<![A-Za-z0-9])a(0?[1-9]|10)[:_-](20\d\d)(?!\d)/gi;
const VULNERABILITY = new RegExp(
  '(?<![A-Za-z0-9])(CVE-\\d{4}-\\d{4,19}' +
    '|GHSA(?:-[23456789cfghjmpqrvwx]{4}){3}' +
    '|(?:GO|PYSEC|RUSTSEC|MAL|HSEC|OSV|GSD)-\\d{4}-\\d{1,19})(?!\\d)',
  'gi',
);

/** Longer texts are prose, not identifiers: only their beginning is scanned. */
const SCAN_CHARS_MAX = 2048;

/** `CWE-<n>` for each CWE that the texts name, in order, without repeats. */
export function cwesIn(texts: readonly string[]): string[] {
  return matches(texts, CWE, (found) => `CWE-${found[1]}`);
}

/** `A03:2021` for each OWASP Top Ten category that the texts name. */
export function owaspIn(texts: readonly string[]): string[] {
  return matches(texts, OWASP, (found) => `A${(found[1] ?? '').padStart(2, '0')}:${found[2]}`);
}

/**
 * Published vulnerability ids in the texts: CVE upper-case, GHSA with a lower-case body (CTIS
 * §4.2).
 */
export function vulnerabilityIdsIn(texts: readonly string[]): string[] {
  return matches(texts, VULNERABILITY, (found) => canonicalVulnerabilityId(found[0]));
}

/** One spelling for each published id; other texts stay as they are. */
export function canonicalVulnerabilityId(id: string): string {
  if (/^ghsa-/i.test(id)) return `GHSA${id.slice(4).toLowerCase()}`;
  if (/^bit-/i.test(id)) return `BIT${id.slice(3)}`;
  return /^(?:cve|go|pysec|rustsec|mal|hsec|osv|gsd)-\d/i.test(id) ? id.toUpperCase() : id;
}

/** The catalogue of an id that is in its one spelling (CTIS §4.2). */
export function vulnerabilityFamily(id: string): 'cve' | 'ghsa' | 'osv' | 'vendor' {
  if (/^CVE-\d{4}-\d+$/.test(id)) return 'cve';
  if (/^GHSA(?:-[23456789cfghjmpqrvwx]{4}){3}$/.test(id)) return 'ghsa';
  return /^(?:PYSEC|GO|RUSTSEC|OSV|GSD|MAL|HSEC|BIT)-/.test(id) ? 'osv' : 'vendor';
}

function matches(
  texts: readonly string[],
  pattern: RegExp,
  spell: (found: RegExpExecArray) => string,
): string[] {
  const spelled = new Set<string>();
  for (const text of texts) {
    for (const found of text.slice(0, SCAN_CHARS_MAX).matchAll(pattern)) spelled.add(spell(found));
  }
  return [...spelled];
}
