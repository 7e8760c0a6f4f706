// Texts in which scanners name a package (a purl, name@version, a sentence of Trivy, Grype,
// osv-scanner or Snyk) → the package. The identity of a component leaves its version out: an
// upgrade that stays vulnerable is the same finding. Pure; patterns take linear time over bounded
// texts.

import { withoutCredentials } from './web.rules.ts';

/** A package as a report names it. */
export interface PackageName {
  readonly purl: string | null;
  readonly ecosystem: string | null;
  readonly name: string;
  readonly version: string | null;
}

/** Purl types whose names ignore case (purl-spec, PURL-TYPES; CTIS §5.3). */
const CASELESS_TYPES: ReadonlySet<string> = new Set([
  'alpm',
  'apk',
  'bitbucket',
  'composer',
  'deb',
  'github',
  'hex',
  'npm',
  'pypi',
]);

/** Scanners' words for an ecosystem → the purl type. */
const ECOSYSTEMS: ReadonlyMap<string, string> = new Map([
  ['pip', 'pypi'],
  ['python', 'pypi'],
  ['python-pkg', 'pypi'],
  ['gomod', 'golang'],
  ['go', 'golang'],
  ['go-module', 'golang'],
  ['gobinary', 'golang'],
  ['jar', 'maven'],
  ['java', 'maven'],
  ['java-archive', 'maven'],
  ['gradle', 'maven'],
  ['pom', 'maven'],
  ['js', 'npm'],
  ['javascript', 'npm'],
  ['node-pkg', 'npm'],
  ['dotnet', 'nuget'],
  ['rubygems', 'gem'],
  ['ruby', 'gem'],
  ['php', 'composer'],
  ['rust', 'cargo'],
  ['swiftpm', 'swift'],
]);

/**
 * The purl without version, qualifiers and subpath, in canonical case; null when the text is no
 * purl.
 */
function purlWithoutVersion(purl: string): string | null {
  const text = purl.trim();
  if (!/^pkg:\/{0,2}[A-Za-z][A-Za-z0-9.+-]{0,63}\/[^\s]/.test(text) || text.length > 1024)
    return null;
  const bare = (text.split(/[?#]/, 1)[0] ?? '').replace(/^pkg:\/{0,2}/, '');
  const slash = bare.indexOf('/');
  const type = bare.slice(0, slash).toLowerCase();
  const rest = bare.slice(slash + 1);
  // Producers write a scope as `@scope/name`, though the purl form is `%40scope/name`.
  const at = rest.lastIndexOf('@');
  let name = at > rest.lastIndexOf('/') && at > 0 ? rest.slice(0, at) : rest;
  while (name.endsWith('/')) name = name.slice(0, -1);
  if (name === '') return null;
  if (CASELESS_TYPES.has(type)) name = name.toLowerCase();
  if (type === 'pypi') name = name.replaceAll('_', '-');
  return `pkg:${type}/${name.replace(/^@/, '%40')}`;
}

/** The purl type for a scanner's word; a word without a purl type stays, in lower case. */
export function ecosystemType(word: string): string {
  const ecosystem = word.trim().toLowerCase();
  return ECOSYSTEMS.get(ecosystem) ?? ecosystem;
}

/**
 * The purl in one spelling, with version and qualifiers; null when the text is no purl. `beside` is
 * the version that the report states beside a purl without one.
 */
export function canonicalPurl(purl: string, beside: string | null = null): string | null {
  const text = withoutCredentials(purl.trim());
  const bare = purlWithoutVersion(text);
  if (bare === null) return null;
  const end = text.search(/[?#]/);
  const said =
    beside === null ? null : encodeURIComponent(beside.toWellFormed()).replaceAll('%3A', ':');
  const version = packageOfPurl(text)?.version ?? said;
  return `${bare}${version === null ? '' : `@${version}`}${end === -1 ? '' : text.slice(end)}`;
}

/** The identity of a component, without its version: its purl, else `ecosystem/name`. */
export function componentIdentity(found: PackageName): string {
  const purl = found.purl === null ? null : purlWithoutVersion(found.purl);
  if (purl !== null) return purl;
  const type = ecosystemType(found.ecosystem ?? '');
  const name = CASELESS_TYPES.has(type) ? found.name.toLowerCase() : found.name;
  return type === '' ? name : `${type}/${name}`;
}

/** The package that a purl names; null when the text is no purl. */
export function packageOfPurl(purl: string): PackageName | null {
  const bare = purlWithoutVersion(purl);
  if (bare === null) return null;
  const name = bare.slice(bare.indexOf('/') + 1);
  const text = purl.trim().split(/[?#]/, 1)[0] ?? '';
  const at = text.lastIndexOf('@');
  return {
    purl: withoutCredentials(purl.trim()),
    ecosystem: bare.slice(4, bare.indexOf('/')),
    name: name.replace(/^%40/, '@'),
    version: at > text.lastIndexOf('/') ? text.slice(at + 1) || null : null,
  };
}

/**
 * Reads `async@3.2.4`, `@babel/core@7.1.0`, `npm/lodash@4.17.20` or a purl; null for other texts.
 */
export function packageOfNameAtVersion(text: string): PackageName | null {
  const trimmed = text.trim();
  if (trimmed.length > 512 || /\s/.test(trimmed)) return null;
  if (trimmed.startsWith('pkg:')) return packageOfPurl(trimmed);
  const at = trimmed.lastIndexOf('@');
  if (at <= 0 || !/^@v?\d/.test(trimmed.slice(at))) return null;
  return {
    purl: null,
    ecosystem: null,
    name: trimmed.slice(0, at),
    version: trimmed.slice(at + 1),
  };
}

/**
 * Sentences in which scanners name the package; each pattern is linear and anchored on fixed words.
 */
const SENTENCES: readonly RegExp[] = [
  // osv-scanner: Package 'golang.org/x/crypto@0.24.0' is vulnerable to 'CVE-…'
  /Package '(?<name>[^'\s]{1,256})@(?<version>[^'@\s]{0,128})' is vulnerable/,
  // Grype 0.6x: A low vulnerability in rpm package: package-1, version 1.1.1 was found at:
  // /some/path
  new RegExp(
    'vulnerability in (?<type>[\\w.-]{1,64}) package: ' +
      '(?<name>\\S{1,256}), version (?<version>\\S{1,128})',
  ),
  // Grype 0.3x: The path lib/x.jar reports NAME at version 1.0.1  which would result in a
  // vulnerable (java-archive)
  new RegExp(
    'reports (?<name>\\S{1,256}) at version (?<version>\\S{1,128}) {1,2}' +
      'which would result in a vulnerable \\((?<type>[\\w.-]{1,64})\\)',
  ),
  // Trivy: Package: openssl\nInstalled Version: 1.1.1k\nVulnerability CVE-…
  /^Package: (?<name>\S{1,256})\s{1,4}Installed Version: (?<version>\S{1,128})/m,
  // Snyk: This file introduces a vulnerable async package with a high severity vulnerability.
  /introduces a vulnerable (?<name>\S{1,256}) package/,
];

/** The package that a scanner's sentence names; null when it names none. */
export function packageOfMessage(message: string): PackageName | null {
  const text = message.slice(0, 2048);
  for (const sentence of SENTENCES) {
    const groups = sentence.exec(text)?.groups;
    if (groups?.name === undefined) continue;
    return {
      purl: null,
      ecosystem: groups.type ?? null,
      name: groups.name,
      version: groups.version ?? null,
    };
  }
  return null;
}
