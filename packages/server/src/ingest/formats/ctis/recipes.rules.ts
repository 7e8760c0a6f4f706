// The members of a CTIS finding → the texts that producers hash into its fingerprint (CTIS §5.1,
// §5.2): SHA-256 of the text, in hex. Go's rules for trimming and case are written out here,
// because they differ from JavaScript's. Pure. Called by ctis/fingerprint.rules.ts.

import { hash } from 'node:crypto';

/** The members of a finding that recipes hash; texts as sent, absent numbers as 0. */
export interface RecipeFields {
  readonly path: string;
  readonly rule: string;
  readonly title: string;
  readonly message: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly snippet: string;
  readonly logical: string;
  readonly packageName: string;
  readonly packageVersion: string;
  /** Ids under which the vulnerability may have been hashed. */
  readonly vulnerabilities: readonly string[];
  /** The secret's value as the report holds it: masked or, against the rules, raw. */
  readonly secrets: readonly string[];
  readonly resourceType: string;
  readonly resourceName: string;
  readonly framework: string;
  readonly control: string;
  /** Values under which the asset may have been hashed: target, container image, address. */
  readonly assets: readonly string[];
  readonly host: string;
  /** `443/tcp`; '' unless the finding is about a network. */
  readonly port: string;
  readonly urlPath: string;
  readonly parameter: string;
  readonly contract: string;
  readonly chainId: number;
  readonly weakness: string;
  readonly contractFunction: string;
}

/** Go's white space: it has U+0085 and lacks U+FEFF, unlike JavaScript's. */
const GO_SPACE: ReadonlySet<string> = new Set(
  '\t\n\v\f\r \u0085\u00A0\u1680\u2028\u2029\u202F\u205F\u3000' +
    '\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A',
);

const GO_SPACES = new RegExp(`[${[...GO_SPACE].join('')}]+`);

function goTrim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && GO_SPACE.has(text.charAt(start))) start += 1;
  while (end > start && GO_SPACE.has(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function goLower(text: string): string {
  // For ASCII, both languages agree.
  if (!/[^\p{ASCII}]/u.test(text)) return text.toLowerCase();
  let result = '';
  for (const point of text) result += point === '\u0130' ? 'i' : point.toLowerCase();
  return result;
}

/** n(s) of CTIS §5.1: trimmed, lower-cased code point by code point, `\` as `/`. */
export function normalised(text: string): string {
  return goLower(goTrim(text)).replaceAll('\\', '/');
}

/**
 * host(h) of CTIS §5.1: removes both schemes, one slash and both default ports, in this order,
 * whatever the scheme was.
 */
export function normalisedHost(text: string): string {
  const bare = goLower(goTrim(text))
    .replace(/^https:\/\//, '')
    .replace(/^http:\/\//, '');
  return bare.replace(/\/$/, '').replace(/:443$/, '').replace(/:80$/, '');
}

/**
 * url(p) of CTIS §5.1: without the query, then without the fragment; with a leading slash and no
 * trailing one.
 */
export function normalisedUrlPath(text: string): string {
  const bare = goLower(goTrim(text)).split('?', 1)[0]?.split('#', 1)[0] ?? '';
  if (bare === '') return '';
  const path = bare.startsWith('/') ? bare : `/${bare}`;
  return path.length > 1 ? path.replace(/\/$/, '') : path;
}

/** addr(a) of CTIS §5.1. */
export function normalisedAddress(text: string): string {
  const bare = goLower(goTrim(text));
  return Buffer.byteLength(bare) === 40 && !bare.startsWith('0x') ? `0x${bare}` : bare;
}

/** SHA-256 of the UTF-8 text, 64 lower-case hex digits. */
export function sha256Hex(text: string): string {
  return hash('sha256', text.toWellFormed(), 'hex');
}

export const recipes = {
  sast: (fields: RecipeFields, endLine = fields.endLine) =>
    `sast:${normalised(fields.path)}:${normalised(fields.rule)}:${fields.startLine}:${endLine}`,
  sca: (fields: RecipeFields, vulnerability: string) =>
    `sca:${normalised(fields.packageName)}:${normalised(fields.packageVersion)}:${normalised(vulnerability)}`,
  /** The value is hashed as it is; without a value its part stays empty. */
  secret: (fields: RecipeFields, secret: string) =>
    `secret:${normalised(fields.path)}:${normalised(fields.rule)}:${fields.startLine}:${
      secret === '' ? '' : sha256Hex(secret).slice(0, 16)
    }`,
  /**
   * Old SDKs: texts as they are, no word in front, and eight digits of the value's hash if there is
   * one.
   */
  secretOld: (fields: RecipeFields, secret: string) => {
    const place = `${fields.path}:${fields.rule}:${fields.startLine}`;
    return secret === '' ? place : `${place}:${sha256Hex(secret).slice(0, 8)}`;
  },
  misconfig: (fields: RecipeFields) =>
    `misconfig:${normalised(fields.resourceType)}:${normalised(fields.resourceName)}:${normalised(
      fields.rule,
    )}:${normalised(fields.path)}`,
  dast: (fields: RecipeFields) =>
    `dast:${normalised(fields.rule)}:${normalisedHost(fields.host)}:${normalisedUrlPath(
      fields.urlPath,
    )}:${normalised(fields.parameter)}`,
  /** Nuclei's adapter writes the host as a file, with line 0. */
  nuclei: (fields: RecipeFields, host: string) =>
    `sast:${normalised(host)}:${normalised(fields.rule)}:0:0`,
  container: (fields: RecipeFields, image: string, vulnerability: string) =>
    `container:${normalised(image)}:${normalised(fields.packageName)}:${normalised(
      fields.packageVersion,
    )}:${normalised(vulnerability)}`,
  web3: (fields: RecipeFields) =>
    `web3:${normalisedAddress(fields.contract)}:${fields.chainId}:${normalised(
      fields.weakness,
    )}:${normalised(fields.contractFunction)}`,
  generic: (fields: RecipeFields, message: string) =>
    `generic:${normalised(fields.rule)}:${normalised(fields.path)}:${fields.startLine}:${
      fields.endLine
    }:${normalised(message)}`,
  /** Since 1.3; null for a blank snippet, which has no such fingerprint. */
  sastContent: (fields: RecipeFields) => {
    const words = fields.snippet.split(GO_SPACES);
    const snippet = words.filter((word) => word !== '').join(' ');
    if (snippet === '') return null;
    const path = goTrim(fields.path).replaceAll('\\', '/');
    const parts = [path, normalised(fields.rule), goTrim(fields.logical), sha256Hex(snippet)];
    return ['sast-content', ...parts].join('\u001F');
  },
  /** Findings about a host or its port; port 0 means the host. */
  network: (fields: RecipeFields, asset: string) => `va:${asset}:${fields.rule}:${fields.port}`,
  compliance: (fields: RecipeFields, asset: string) =>
    `compliance:${fields.framework}:${fields.control}:${asset}`,
  /** Trivy's adapter keeps 32 hex digits and hashes the texts as they are. */
  trivyVulnerability: (fields: RecipeFields, vulnerability: string, target: string) =>
    `${vulnerability}:${fields.packageName}:${fields.packageVersion}:${target}`,
  trivyMisconfiguration: (fields: RecipeFields, target: string, message: string) =>
    `${fields.rule}:${target}:${fields.resourceType}:${message}`,
  trivySecret: (fields: RecipeFields, secret: string) =>
    `${fields.rule}:${fields.path}:${fields.startLine}:${secret}`,
} as const;
