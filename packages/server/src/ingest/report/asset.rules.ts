// The name of an asset becomes its one normalised form (CTIS §4.3, server table): names of the same
// thing get the same value in the same class, whatever scheme, case, port or trailing slash they
// were written with. Pure and total: odd input is cleaned, blank input is null, and normalising
// twice changes nothing.

import { type AssetKind, limits } from '@muster/contract/plain';

interface NormalAsset {
  /**
   * The kind that fits the value: an IP address that was sent as a domain is corrected, and the
   * reverse.
   */
  readonly kind: AssetKind;
  /** Kinds of one class share their values: an asset is (tenant, kindClass, value). */
  readonly kindClass: string;
  readonly value: string;
}

const CLASSES: Partial<Record<AssetKind, string>> = {
  domain: 'host',
  subdomain: 'host',
  ip_address: 'host',
  host: 'host',
  server: 'host',
  website: 'web',
  web_application: 'web',
  api: 'web',
  http_service: 'web',
  discovered_url: 'web',
  service: 'service',
  open_port: 'service',
  network: 'network',
  subnet: 'network',
  kubernetes: 'kubernetes_cluster',
};

/**
 * NUL, other controls, zero-width characters; built from escapes so that the source stays readable.
 */
const INVISIBLE = /[\0\u200B-\u200D\u2060\uFEFF]/gu;
const CONTROLS = /[\p{Cc}\s]+/gu;

/** Each pass strips something; names of people need two. */
const PASSES_MAX = 32;

/** The one form of an asset's name; null when nothing is left of it. */
export function normaliseAsset(kind: AssetKind, value: string): NormalAsset | null {
  const cleaned = value
    .toWellFormed()
    .replace(INVISIBLE, '')
    .replace(CONTROLS, ' ')
    .trim()
    .slice(0, limits.pathCharsMax)
    .trim();
  if (cleaned === '') return null;
  let named = { kind, value: cleaned };
  // Stripping may bare more of the same ("https://https://…"), so it goes on until nothing changes.
  for (let pass = 0; pass < PASSES_MAX; pass += 1) {
    const next = byKind(named.kind, named.value);
    const isSame = next.value === named.value && next.kind === named.kind;
    // Stripping may leave nothing ("https://"); then the text before it is the name.
    if (isSame || next.value === '') break;
    named = next;
  }
  return { ...named, kindClass: kindClassOf(named.kind, named.value) };
}

/**
 * The class of a kind; a service that is a web address is the web asset of that address. `value` is
 * normalised.
 */
export function kindClassOf(kind: AssetKind, value: string): string {
  if (CLASSES[kind] === 'service' && /^https?:\/\//.test(value)) return 'web';
  return CLASSES[kind] ?? kind;
}

function byKind(kind: AssetKind, text: string): { kind: AssetKind; value: string } {
  switch (kind) {
    case 'domain':
    case 'subdomain':
    case 'ip_address':
    case 'host':
    case 'server':
      return host(kind, text);
    case 'website':
    case 'web_application':
    case 'api':
    case 'http_service':
    case 'discovered_url':
      return { kind, value: webAddress(text) };
    case 'service':
    case 'open_port':
      return { kind, value: /^https?:\/\//i.test(text) ? webAddress(text) : servicePort(text) };
    case 'repository':
      return { kind, value: repository(text) };
    case 'certificate':
      return { kind, value: certificate(text) };
    case 'database':
      return { kind, value: database(text) };
    case 'network':
    case 'subnet':
      return { kind, value: network(text) };
    case 'storage':
      return { kind, value: bucket(text) };
    case 'mobile_app':
    case 'container':
    case 'kubernetes':
    case 'kubernetes_cluster':
    case 'kubernetes_namespace':
    case 'cloud_account':
    case 'vpc':
      return { kind, value: text.toLowerCase() };
    case 'smart_contract':
    case 'wallet':
    case 'token':
      return { kind, value: /^0x[0-9a-f]+$/i.test(text) ? text.toLowerCase() : text };
    default:
      return { kind, value: text };
  }
}

/** Strips scheme, credentials, port and path; an address and a name correct each other's kind. */
function host(kind: AssetKind, text: string): { kind: AssetKind; value: string } {
  const bare = hostOf(text);
  const address = ipAddress(bare);
  const mayChange = kind !== 'host' && kind !== 'server';
  if (address !== null) return { kind: mayChange ? 'ip_address' : kind, value: address };
  const name = bare.toLowerCase().replace(/^\.+|\.+$/g, '');
  const isName = /^[a-z0-9_*-]{1,63}(?:\.[a-z0-9_-]{1,63})+$/.test(name);
  return { kind: kind === 'ip_address' && isName ? 'domain' : kind, value: name };
}

/** The host part of a URL, `host:port`, `[v6]:port`, `user@host` or `1.2.3.4/32`. */
function hostOf(text: string): string {
  const rest = text.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '');
  const authority = rest.split(/[/?#\\]/, 1)[0] ?? '';
  const bare = authority.slice(authority.lastIndexOf('@') + 1);
  const bracketed = /^\[([^\]]*)\]/.exec(bare)?.[1];
  if (bracketed !== undefined) return bracketed;
  return bare.split(':').length === 2 ? (bare.split(':', 1)[0] ?? '') : bare;
}

/**
 * The canonical text of an IPv4 or IPv6 address, an IPv4 address inside IPv6 as IPv4; null: it is
 * neither.
 */
export function ipAddress(text: string): string | null {
  const bare = text.split('%', 1)[0] ?? '';
  const octets = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(bare)?.slice(1);
  if (octets !== undefined) {
    return octets.every((octet) => Number(octet) <= 255) ? octets.map(Number).join('.') : null;
  }
  if (!bare.includes(':') || !/^[0-9a-f:.]+$/i.test(bare)) return null;
  const url = URL.parse(`http://[${bare}]/`);
  if (url === null) return null;
  const canonical = url.hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical);
  if (mapped === null) return canonical;
  const [high, low] = [
    Number.parseInt(mapped[1] ?? '0', 16),
    Number.parseInt(mapped[2] ?? '0', 16),
  ];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/**
 * Makes scheme and host lower-case; strips default port, credentials, query, fragment and trailing
 * slashes.
 */
function webAddress(text: string): string {
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
  const full = hasScheme ? text : `https://${text}`;
  const url = URL.parse(full);
  if (url === null) return text.replace(/[?#].*$/, '').replace(/\/+$/, '');
  if (url.hostname === '') return text;
  const path = url.pathname.replace(/\/+$/, '');
  return hasScheme ? `${url.protocol}//${url.host}${path}` : `${url.host}${path}`;
}

/** `host:port/proto` and its spellings → `host:port:proto`; tcp when none is said. */
function servicePort(text: string): string {
  const found = /^(\[[^\]]+\]|[^:\s/]+):(\d{1,5})(?:[/:]([a-z]{2,8}))?$/i.exec(text);
  if (found === null) return text;
  const name = (found[1] ?? '').replace(/^\[|\]$/g, '').toLowerCase();
  const address = ipAddress(name) ?? name;
  const shown = address.includes(':') ? `[${address}]` : address;
  return `${shown}:${Number(found[2])}:${(found[3] ?? 'tcp').toLowerCase()}`;
}

/** The https, ssh, scp and bare forms of a repository are one: `github.com/org/repo`. */
function repository(text: string): string {
  let rest = text.toLowerCase().replaceAll('\\', '/');
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//.test(rest);
  rest = rest.replace(/^[a-z][a-z0-9+.-]*:\/\//, '').split(/[?#]/, 1)[0] ?? '';
  const slash = rest.indexOf('/');
  const at = rest.lastIndexOf('@', slash === -1 ? rest.length : slash);
  if (at !== -1) rest = rest.slice(at + 1);
  // scp form: `host:org/repo`; with a scheme a number after the colon is a port.
  const colon = /^([^/:]+):(\d+(?=\/))?\/*/.exec(rest);
  if (colon !== null && (colon[2] === undefined || hasScheme)) {
    rest = `${colon[1]}/${rest.slice(colon[0].length)}`;
  }
  rest = rest.replace(/^ssh\.dev\.azure\.com\/v3\//, 'dev.azure.com/').replace('/_git/', '/');
  rest = rest.replace(/(?:\/-)?\/(?:tree|blob|commit|branches)\/.*$/, '');
  for (let before = ''; before !== rest; ) {
    before = rest;
    rest = rest.replace(/\/+$/, '').replace(/\.git$/, '');
  }
  return rest.replace(/^\/+/, '').replace(/\/{2,}/g, '/');
}

function certificate(text: string): string {
  const lower = text.toLowerCase().replace(/\.+$/, '');
  const digits = lower.replace(/[: ]/g, '');
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(digits) ? digits : lower;
}

function database(text: string): string {
  const rest = text
    .toLowerCase()
    .replace(/^(?:jdbc:)?[a-z][a-z0-9+.-]*:\/\//, '')
    .split('?', 1)[0];
  const bare = rest ?? '';
  const slash = bare.indexOf('/');
  const at = bare.lastIndexOf('@', slash === -1 ? bare.length : slash);
  return bare.slice(at + 1).replace(/\/+$/, '');
}

/** CIDR with its host bits zero (IPv4); IPv6 prefixes in canonical text. */
function network(text: string): string {
  const [address, bits, ...more] = text.toLowerCase().split('/');
  const canonical = ipAddress(address ?? '');
  if (canonical === null || bits === undefined || more.length > 0 || !/^\d{1,3}$/.test(bits)) {
    return text.toLowerCase();
  }
  const length = Number(bits);
  if (canonical.includes(':') || length > 32) return `${canonical}/${length}`;
  const number = canonical.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
  const size = 2 ** (32 - length);
  const start = Math.floor(number / size) * size;
  const octets = [24, 16, 8, 0].map((shift) => Math.floor(start / 2 ** shift) % 256);
  return `${octets.join('.')}/${length}`;
}

/**
 * `s3://bucket/key`, `https://bucket.s3.eu-1.amazonaws.com/key` → `bucket`; other storage in lower
 * case.
 */
function bucket(text: string): string {
  const lower = text.toLowerCase();
  if (lower.startsWith('s3://')) return lower.slice(5).split('/', 1)[0] ?? '';
  const bare = lower.replace(/^https?:\/\//, '');
  const virtual = /^([a-z0-9.-]+)\.s3(?:[.-][a-z0-9-]+)?\.amazonaws\.com(?:\/|$)/.exec(bare)?.[1];
  const byPath = /^s3(?:[.-][a-z0-9-]+)?\.amazonaws\.com\/([^/]+)/.exec(bare)?.[1];
  return virtual ?? byPath ?? lower;
}
