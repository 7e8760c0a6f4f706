// Web addresses → places of findings: addresses without credentials, query values and fragments,
// and templates that name the changing parts of a path (`/orders/1042` → `/orders/{int}`). Every
// function is total: a text that is no URL comes back cleaned, or as null. Pure.

import { isCredentialName, MASK } from '../../redact/masking.rules.ts';
import { decodePercentOnce } from './path.rules.ts';

/** The parts of a web address that identify a place on a site. */
export interface WebPlace {
  /** `https://host/path`: no user, no query, no fragment. */
  readonly address: string;
  /** The host, with its port unless that is the scheme's own. */
  readonly host: string;
  readonly template: string;
  /** The names of the query's parameters, sorted, joined by commas. */
  readonly queryNames: string;
}

/** Parses an http(s) URL; null when that fails. */
export function webPlaceOf(url: string): WebPlace | null {
  // URL.canParse isn't enough: it accepts hosts that are too long to be parsed.
  const parsed = URL.parse(url);
  if (parsed === null) return null;
  const names = new Set<string>();
  for (const [name] of parsed.searchParams) names.add(name);
  return {
    address: `${parsed.protocol}//${parsed.host}${parsed.pathname}`,
    host: parsed.host,
    template: pathTemplate(parsed.pathname),
    queryNames: [...names].sort().join(','),
  };
}

/**
 * The URL as it may be shown: no user, no fragment, parameter names without values (CTIS §2.2,
 * WebLocus).
 */
export function redactUrl(url: string): string {
  const place = webPlaceOf(url);
  if (place === null) return url.replace(/\/\/[^/@\s]{0,512}@/, '//').split(/[?#]/, 1)[0] ?? '';
  const names = place.queryNames;
  return names === '' ? place.address : `${place.address}?${names.replaceAll(',', '=&')}=`;
}

/** Parameters that carry credentials in links; elsewhere these names mean something else. */
const SIGNING = /^(?:key|sig|signature|code)$|signature$/i;

/**
 * A link as it may be stored: user info removed (RFC 3986 §3.2.1), credentials in query and
 * fragment masked, the rest unchanged, so that the link still leads to its page. The links in a
 * purl get the same treatment. Other texts come back unchanged.
 */
export function withoutCredentials(text: string): string {
  return text.startsWith('pkg:') ? purlWithoutCredentials(text) : linkWithoutCredentials(text);
}

function linkWithoutCredentials(text: string): string {
  if (!/^\s*[a-z][a-z\d+.:-]{0,64}:\/\//i.test(text)) return text;
  return text
    .replace(/(?<=:\/\/)[^/\\?#]*@/, '')
    .replaceAll(/([?&#])([^=&#?]+)=[^&#]*/g, (whole, mark: string, name: string) =>
      isCredentialName(name) || SIGNING.test(name) ? `${mark}${name}=${MASK}` : whole,
    );
}

/**
 * Qualifiers of a purl hold addresses, plain or percent-encoded (`vcs_url`, `download_url`;
 * purl-spec, qualifiers).
 */
function purlWithoutCredentials(purl: string): string {
  return purl.replaceAll(
    /([?&])([^=&#?]+)=([^&#]*)/g,
    (whole, mark: string, name: string, value: string) => {
      if (isCredentialName(name)) return `${mark}${name}=${MASK}`;
      const said = decodePercentOnce(value);
      const shown = linkWithoutCredentials(said);
      if (shown === said) return whole;
      return `${mark}${name}=${said === value ? shown : encodeURIComponent(shown.toWellFormed())}`;
    },
  );
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Path segments that are ids become `{int}`, `{uuid}` or `{hex}`; the rest stays. */
export function pathTemplate(path: string): string {
  return path
    .split('/')
    .map((segment) => {
      if (/^\d+$/.test(segment)) return '{int}';
      if (UUID.test(segment)) return '{uuid}';
      return /^(?=.*\d)[0-9a-f]{16,}$/i.test(segment) ? '{hex}' : segment;
    })
    .join('/');
}
