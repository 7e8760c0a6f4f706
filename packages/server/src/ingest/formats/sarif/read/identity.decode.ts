// A SARIF result → its subject without the line: its type, the kind of identity, and the content
// that this kind needs (report.rules.ts, FindingDraft.identity). The tool, the rule and the members
// of the result decide. Unmasked values leave this file in `content` only. Called by
// sarif/result.decode.ts.

import { type FindingType, limits } from '@muster/contract/plain';
import {
  componentIdentity,
  type PackageName,
  packageOfMessage,
  packageOfNameAtVersion,
  packageOfPurl,
} from '../../common/component.rules.ts';
import type { IdentityKind } from '../../../report/report.rules.ts';
import { comparable } from '../../common/fingerprints.rules.ts';
import { isCredentialName, isMasked } from '../../../redact/masking.rules.ts';
import type { Warnings } from '../../../json/warnings.decode.ts';
import { type JsonObject, indexOf, listOf, objectOf, stringOf } from '../../../json/json.decode.ts';
import { tagsOf } from './bags.decode.ts';
import type { ReadLocation } from './locations.decode.ts';
import type { RuleFacts } from './rules.decode.ts';
import { isHttpUri } from '../../common/path.rules.ts';
import type { TaxonBook } from './taxa.decode.ts';
import {
  isSecretTag,
  type SecretRule,
  secretRuleOf,
  showsForm,
} from '../../../redact/secret-rule.rules.ts';
import { canonicalVulnerabilityId } from '../../common/weakness.rules.ts';
import { redactUrl, webPlaceOf } from '../../common/web.rules.ts';

export interface Subject {
  readonly type: FindingType;
  readonly kind: IdentityKind;
  readonly content: readonly string[];
  /** True when the content is only the text of the message or of the rule. */
  readonly isSaid: boolean;
  /**
   * Texts beside place and message that tell the result from similar ones
   * (duplicate-key.decode.ts).
   */
  readonly also?: readonly string[];
  readonly component: PackageName | null;
  /** True when the component, with its version, stands in place of the path. */
  readonly hasNoPath: boolean;
}

/** The facts about the run that decide what its results are about. */
interface RunFacts {
  /** §3.14.28: the texts that the producer wrote in place of something sensitive. */
  readonly redactions: readonly string[];
  readonly webRequests: readonly unknown[];
  /** The kind of each rule, decided once and kept as long as the rule is remembered. */
  readonly types: WeakMap<RuleFacts, RuleKind>;
  readonly rules: { readonly taxa: TaxonBook };
  readonly warnings: Warnings;
}

/** The findings that a rule makes: their type, unless the rule is about secrets. */
export interface RuleKind {
  readonly type: FindingType;
  readonly aboutSecrets: SecretRule;
  /**
   * False when no finding of the rule is about a secret in a file, whatever the finding itself
   * says.
   */
  readonly mayBeSecret: boolean;
}

/** A pattern for the tool family (lower-case driver name), from alternatives. */
const words = (text: string): RegExp => new RegExp(text.trim().split(/\s+/).join('|'));

const SECRET_TOOL = words(`gitleaks betterleaks trufflehog secret credscan \\bspmi\\b ggshield
  gitguardian whispers kingfisher noseyparker ferret`);
const WEB3_TOOL = words(`slither mythril mythx securify manticore echidna aderyn solhint 4naly3er`);
const CONFIGURATION_TOOL = words(`checkov tfsec terrascan \\bkics\\b dockle hadolint kube-?linter
  kubesec kubescape polaris tflint cfn[-_] conftest regula`);
const COMPLIANCE_TOOL = words('openscap cis-cat \\binspec\\b \\bhdf\\b');
const COMPONENT_TOOL = words(`\\bgrype\\b anchore \\btrivy\\b osv-scanner snyk.open.source
  snyk.container dependency-check black.?duck govulncheck cargo-audit pip-audit npm-audit retire
  xray \\bmend\\b whitesource`);
/** Ids of published vulnerabilities: a name@version beside one of these is a component. */
const VULNERABILITY_RULE =
  /^(?:CVE|GHSA|GO|PYSEC|RUSTSEC|OSV|MAL|HSEC|BIT|GSD|BDSA|SNYK|XRAY|sonatype|WS)-/i;

/** The type of a rule's results. Tags and names of the rule come before the name of the tool. */
function typeOf(tool: string, rule: RuleFacts): FindingType {
  const tags = rule.tags.map((tag) => tag.toLowerCase());
  if (SECRET_TOOL.test(tool) || tags.includes('secret') || tags.includes('secrets'))
    return 'secret';
  if (/\btrivy\b/.test(tool)) {
    if (rule.name === 'Secret') return 'secret';
    return rule.name === 'Misconfiguration' || tags.includes('misconfiguration')
      ? 'misconfiguration'
      : 'vulnerability';
  }
  if (WEB3_TOOL.test(tool)) return 'web3';
  if (CONFIGURATION_TOOL.test(tool)) return 'misconfiguration';
  return COMPLIANCE_TOOL.test(tool) ? 'compliance' : 'vulnerability';
}

/**
 * The kind of a rule. A published vulnerability isn't a secret in a file, even if its package comes
 * with a password.
 */
function kindOf(tool: string, rule: RuleFacts): RuleKind {
  const type = typeOf(tool, rule);
  const isPackaged =
    COMPONENT_TOOL.test(tool) ||
    VULNERABILITY_RULE.test(rule.id) ||
    rule.vulnerabilityIds.length > 0;
  const mayBeSecret = type !== 'secret' && !isPackaged;
  if (!mayBeSecret) return { type, aboutSecrets: 'no', mayBeSecret };
  const { id, name, title, weaknesses } = rule;
  return { type, aboutSecrets: secretRuleOf([id, name, title], weaknesses.cwe), mayBeSecret };
}

/**
 * True when a rule about secrets found one in a file. A secret on a site is known by its address.
 */
function isSecretOfFile(
  result: JsonObject,
  { aboutSecrets, mayBeSecret }: RuleKind,
  location: ReadLocation | null,
  run: RunFacts,
): boolean {
  if (!mayBeSecret || (location !== null && location.place.rawUrl !== null)) return false;
  if (aboutSecrets === 'yes' || isClassifiedSecret(result, run)) return true;
  return aboutSecrets === 'maybe' && showsForm(result);
}

/**
 * §3.27.8: a result may be classified as a secret though its rule isn't. Few are, so a cheap look
 * comes first.
 */
function isClassifiedSecret(result: JsonObject, { rules, warnings }: RunFacts): boolean {
  const properties = objectOf(result.properties);
  const maySay = (name: string): boolean => mayNameSecret(properties?.[name]);
  if (result.taxa === undefined && (properties === null || !CLASSIFYING.some(maySay))) return false;
  const tags = tagsOf(properties);
  // Silenced: the detail warns about the taxa that are left out.
  const { cwe } = warnings.quietly(() => rules.taxa.of(result, properties, tags));
  return secretRuleOf([], cwe) === 'yes' || tags.some(isSecretTag);
}

/** Properties that may name a weakness, or say that the result is about a secret. */
const CLASSIFYING = ['tags', 'cwe', 'cwes', 'cweIds', 'cwe_id', 'cwe_ids', 'CWE'];

const mayNameSecret = (value: unknown): boolean =>
  typeof value === 'string'
    ? /798|259|321|secret/i.test(value)
    : Array.isArray(value) && value.some(mayNameSecret);

/** Decides type, kind of identity and content of one result. */
export function subjectOf(
  result: JsonObject,
  tool: string,
  rule: RuleFacts,
  location: ReadLocation | null,
  message: string,
  run: RunFacts,
): Subject {
  const ofRule = run.types.get(rule) ?? kindOf(tool, rule);
  run.types.set(rule, ofRule);
  const type = isSecretOfFile(result, ofRule, location, run) ? 'secret' : ofRule.type;
  const subject = (kind: IdentityKind, content: readonly (string | null)[]): Subject => {
    const said = content.map((part) => comparable(part?.trim() ?? '', limits.snippetCharsMax));
    const isEmpty = said.every((part) => part === '');
    const usable = isEmpty
      ? [comparable(stableText(message), limits.snippetCharsMax) || rule.id || 'finding']
      : said;
    return { type, kind, content: usable, isSaid: isEmpty, component: null, hasNoPath: false };
  };
  if (type === 'secret') {
    return subject('secret', [secretOf(result, location, run.redactions)]);
  }
  const properties = objectOf(result.properties);
  if (type === 'vulnerability') {
    const component = packageOf(properties, tool, rule, location, message);
    if (component !== null || (COMPONENT_TOOL.test(tool) && VULNERABILITY_RULE.test(rule.id))) {
      const what = component === null ? '' : componentIdentity(component);
      const path = location?.place.path ?? '';
      // Black Duck writes the component in place of the manifest; its version is no part of the
      // identity.
      const hasNoPath = packageOfNameAtVersion(path) !== null;
      const content = [what, vulnerabilityOf(rule), hasNoPath ? '' : path];
      return { ...subject('component', content), component, hasNoPath };
    }
  }
  const request = webRequestOf(result, run);
  const code = [location?.snippet ?? location?.context ?? null, location?.logical ?? null];
  const place = location?.place ?? null;
  const isFile = place !== null && place.path !== null && place.rawUrl === null;
  // A request beside code tells how the defect was reached (Contrast), not where it is.
  const isCode = isFile && code.some((part) => part !== null);
  const url = place?.rawUrl ?? (isCode ? null : webTarget(request));
  if (url !== null) {
    const { content, also } = webContent(url, request, properties, location);
    return { ...subject('web', isFile ? [...content, place.path] : content), also };
  }
  const network = networkContent(properties, location);
  if (network !== null) return subject('network', network);
  const resource = resourceContent(properties, location);
  if (resource !== null) return subject('resource', resource);
  return subject('code', code);
}

/** The message without line numbers, for results that only their messages tell apart. */
function stableText(message: string): string {
  return message.replace(/\blines? \d{1,9}(?:[-:]\d{1,9})?/gi, 'line').trim();
}

/**
 * The value of a credential's property, else the snippet. A value that the producer masked, or that
 * contains one of its redaction tokens (§3.14.28), identifies nothing.
 */
function secretOf(
  result: JsonObject,
  location: ReadLocation | null,
  redactions: readonly string[],
): string | null {
  const properties = objectOf(result.properties);
  const isHidden = (value: string): boolean =>
    isMasked(value) || redactions.some((token) => value.includes(token));
  // Sorted, because members have no order.
  for (const name of properties === null ? [] : Object.keys(properties).sort(valuesFirst)) {
    const value = isCredentialName(name) ? stringOf(properties?.[name]) : null;
    if (value !== null && !isHidden(value)) return value.trim();
  }
  const snippet = location?.snippet?.trim() ?? null;
  return snippet === null || isHidden(snippet) ? null : snippet;
}

/** Names of the value alone (`secret`) before names of the text around it (`match`, `line`). */
function valuesFirst(one: string, other: string): number {
  const isAround = (name: string): number => (/match|line|context|snippet/i.test(name) ? 1 : 0);
  return isAround(one) - isAround(other) || (one < other ? -1 : 1);
}

function packageOf(
  properties: JsonObject | null,
  tool: string,
  rule: RuleFacts,
  location: ReadLocation | null,
  message: string,
): PackageName | null {
  const purl = stringOf(properties?.purl) ?? stringOf(properties?.packageUrl);
  const byPurl = purl === null ? null : packageOfPurl(purl);
  if (byPurl !== null) return byPurl;
  const named = stringOf(properties?.component) ?? stringOf(properties?.packageName);
  const isComponentTool = COMPONENT_TOOL.test(tool);
  const isVulnerability = VULNERABILITY_RULE.test(rule.id);
  if (!isComponentTool && !isVulnerability) return null;
  if (named !== null) {
    const version = stringOf(properties?.componentVersion) ?? stringOf(properties?.packageVersion);
    const ecosystem = stringOf(properties?.componentOrigin) ?? stringOf(properties?.ecosystem);
    return { purl: null, ecosystem, name: named.trim(), version };
  }
  const found =
    packageOfNameAtVersion(location?.logical ?? '') ??
    packageOfMessage(message) ??
    packageOfNameAtVersion(location?.place.path ?? '');
  if (found === null || found.ecosystem !== null) return found;
  // Snyk names the ecosystem in the rule id: SNYK-JS-ASYNC-12239908.
  const ecosystem = /^SNYK-([A-Z]{2,16})-/.exec(rule.id)?.[1] ?? null;
  return { ...found, ecosystem };
}

/** The published id that the rule is about; Grype's rule ids append the package to it. */
function vulnerabilityOf(rule: RuleFacts): string {
  const published = rule.vulnerabilityIds[0];
  const startsWithIt =
    published !== undefined && rule.id.toUpperCase().startsWith(published.toUpperCase());
  return startsWithIt ? published : canonicalVulnerabilityId(rule.id);
}

/** §3.46: the result's own request, filled in from the run's request at its index. */
function webRequestOf(result: JsonObject, run: RunFacts): JsonObject | null {
  const own = objectOf(result.webRequest);
  const listed = own === null ? null : objectOf(run.webRequests[indexOf(own.index) ?? -1]);
  return listed === null ? own : { ...listed, ...own };
}

/**
 * The address of a request (RFC 9112 §3.2). Mostly the target is a path, and the header `Host`
 * names the host. The scheme is unknown then, and doesn't matter.
 */
function webTarget(request: JsonObject | null): string | null {
  const target = stringOf(request?.target)?.trim() ?? null;
  if (target === null || isHttpUri(target)) return target;
  if (AUTHORITY.test(target)) return `http://${target}/`;
  if (target !== '*' && !target.startsWith('/')) return null;
  const host = hostOf(objectOf(request?.headers)) ?? NO_HOST;
  const scheme = host.endsWith(':443') ? 'https' : 'http';
  return `${scheme}://${host}${target === '*' ? '/*' : target}`;
}

/** `host:port`, the target of CONNECT. */
const AUTHORITY = /^[^\s/?#@\\:]+:\d{1,5}$/;

/** Stands for an unknown host; no host has this name (RFC 6761 §6.4). */
const NO_HOST = 'unsaid.invalid';

function hostOf(headers: JsonObject | null): string | null {
  for (const name of headers === null ? [] : Object.keys(headers).sort()) {
    const host = /^(?:host|:authority)$/i.test(name)
      ? stringOf(headers?.[name])?.trim()
      : undefined;
    if (host !== undefined && /^[^\s/?#@\\]{1,255}$/.test(host)) return host;
  }
  return null;
}

/**
 * Method, address and parameter of a web finding. Scanners name the parameter in a property; axe
 * names the element instead, as a logical location. Without either, the names of all parameters
 * that were sent count, in the query or in a form. `also` tells apart results that differ only in
 * ids and other names.
 */
function webContent(
  url: string,
  request: JsonObject | null,
  properties: JsonObject | null,
  location: ReadLocation | null,
): { content: (string | null)[]; also: string[] } {
  const place = webPlaceOf(url);
  const sent = Object.keys(objectOf(request?.parameters) ?? {});
  const query = place?.queryNames ?? '';
  const all = query === '' ? sent : [...query.split(','), ...sent];
  const names = sent.length === 0 ? query : [...new Set(all)].sort().join(',');
  const method = stringOf(request?.method)?.toUpperCase() ?? null;
  const parameter =
    stringOf(properties?.parameter) ?? stringOf(properties?.param) ?? location?.logical ?? names;
  const address = place === null ? redactUrl(url) : `${place.host}${place.template}`;
  return { content: [method, address, parameter], also: [place?.address ?? address, names] };
}

function networkContent(properties: JsonObject | null, location: ReadLocation | null) {
  const host = /^host:\/\/([^/]{1,255})/i.exec(location?.place.url ?? '')?.[1];
  const named = host ?? stringOf(properties?.host) ?? stringOf(properties?.hostname);
  const port = indexOf(properties?.port) ?? stringOf(properties?.port);
  if (named === null || (host === undefined && port === null)) return null;
  const protocol = stringOf(properties?.protocol)?.toLowerCase() ?? 'tcp';
  return [named.toLowerCase(), port === null ? null : `${port}/${protocol}`];
}

function resourceContent(properties: JsonObject | null, location: ReadLocation | null) {
  const raw = objectOf(listOf(location?.raw.logicalLocations)[0]);
  const isResource = stringOf(raw?.kind) === 'resource';
  const name =
    stringOf(properties?.resource) ??
    stringOf(properties?.resourceName) ??
    stringOf(properties?.resource_name) ??
    (isResource ? (location?.logical ?? null) : null);
  if (name === null) return null;
  const type = stringOf(properties?.resourceType) ?? stringOf(properties?.resource_type);
  return [type, name];
}
