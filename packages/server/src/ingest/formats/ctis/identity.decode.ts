// A CTIS finding → its subject without the line: the kind of identity and its content
// (report.rules.ts, FindingDraft.identity; the kinds of CTIS §5.3, identity v2). A secret's value
// leaves this file in `content` only. Called by ctis/detail.decode.ts, ctis/finding.decode.ts and
// ctis/fingerprints.decode.ts.

import { type FindingType, limits } from '@muster/contract/plain';
import { componentIdentity, type PackageName, packageOfPurl } from '../common/component.rules.ts';
import type { FindingParts } from './parts.decode.ts';
import type { CtisPlace } from './places.decode.ts';
import type { IdentityKind } from '../../report/report.rules.ts';
import { comparable } from '../common/fingerprints.rules.ts';
import { indexOf, type JsonObject, listOf, objectOf, stringOf } from '../../json/json.decode.ts';
import {
  canonicalVulnerabilityId,
  vulnerabilityFamily,
  vulnerabilityIdsIn,
} from '../common/weakness.rules.ts';

/** The subject of a finding: its type, its identity and its component. */
export interface CtisSubject {
  readonly type: FindingType;
  readonly kind: IdentityKind;
  readonly content: readonly string[];
  /** True when the content is only the text of the message or of the rule. */
  readonly isSaid: boolean;
  /**
   * All ids of several vulnerabilities, sorted, and other texts that tell equal items from similar
   * ones.
   */
  readonly also?: readonly string[];
  readonly component: PackageName | null;
}

/**
 * A finding about a secret, with the text that tells it from another; null when the report has no
 * such text.
 */
interface Secret {
  readonly value: string | null;
}

/**
 * Decides kind and content. The first that fits counts: secret, resource (if the finding is a
 * misconfiguration or about compliance), component, web, network, code. A resource or a control
 * beside a finding of another type is a mapping: it counts only where the finding has no place in
 * code.
 */
export function subjectOf(
  parts: FindingParts,
  type: FindingType,
  ruleId: string,
  location: CtisPlace,
  message: string,
  secret: Secret | null,
): CtisSubject {
  const subject = (kind: IdentityKind, content: readonly (string | null)[]): CtisSubject => {
    const said = content.map((part) => comparable(part?.trim() ?? '', limits.snippetCharsMax));
    const isEmpty = said.every((part) => part === '');
    const usable = isEmpty ? [comparable(message.trim() || ruleId, limits.snippetCharsMax)] : said;
    // One rule may report many vulnerabilities at one place (`nmap-vulners`), or many in one
    // finding (Nessus). A finding is known by its main id, so an advisory that gains ids leaves it
    // the same.
    const ids = kind === 'network' || kind === 'code' ? publishedIds(parts.vulnerability, '') : [];
    const tells = mainIdOf(ids);
    const known = tells === null ? usable : [...usable, tells];
    const also = ids.length > 1 ? { also: ids.sort() } : {};
    return { type, kind, content: known, isSaid: isEmpty, ...also, component: null };
  };
  const isSecret = secret !== null && (type === 'secret' || secret.value !== null);
  if (isSecret) return subject('secret', [secret.value]);
  const resource = resourceOf(parts);
  const isAboutResource = type === 'misconfiguration' || type === 'compliance';
  if (resource !== null && isAboutResource) return subject('resource', resource);
  const component = packageOf(parts.vulnerability);
  if (component !== null) {
    const vulnerability = vulnerabilityOf(parts.vulnerability, ruleId);
    const content = [componentIdentity(component), vulnerability, location.path];
    // One library in two services must be mended twice, so these are two findings.
    const site = location.web === null ? null : [location.web.host];
    const service = site ?? networkContent(parts.finding) ?? [];
    return { ...subject('component', [...content, ...service]), component };
  }
  const web = webContent(parts.finding, location);
  if (web !== null) return subject('web', web);
  const network = networkContent(parts.finding);
  if (network !== null) return subject('network', network);
  const web3 = objectOf(parts.finding.web3);
  const snippet = location.snippet ?? stringOf(location.raw?.context_snippet);
  const code = snippet ?? stringOf(web3?.vulnerable_pattern);
  const deployed = contractFunction(web3);
  const logical = location.logical ?? deployed;
  const isNowhere = code === null && logical === null && location.path === null;
  if (resource !== null && isNowhere) return subject('resource', resource);
  const about = subject('code', [code, logical]);
  // The source identifies this finding, but the address where it is deployed tells equal ones
  // apart.
  return deployed === null || deployed === logical
    ? about
    : { ...about, also: [...(about.also ?? []), deployed] };
}

function networkContent(finding: JsonObject): (string | null)[] | null {
  const network = objectOf(finding.network);
  if (network === null) return null;
  const port = indexOf(network.port);
  const protocol = stringOf(network.protocol)?.toLowerCase() ?? 'tcp';
  const where = port === null || port === 0 ? 'host' : `${port}/${protocol}`;
  return [stringOf(network.host)?.toLowerCase() ?? null, where];
}

/** IaC: the resource, with its namespace if it has one. Compliance: the control. */
function resourceOf({ misconfiguration, compliance }: FindingParts): (string | null)[] | null {
  const name = stringOf(misconfiguration?.resource_name);
  if (name !== null) {
    const namespace = stringOf(misconfiguration?.namespace);
    const resource = [stringOf(misconfiguration?.resource_type), name];
    return namespace === null ? resource : [...resource, namespace];
  }
  const control = stringOf(compliance?.control_id);
  return control === null ? null : [stringOf(compliance?.framework), control];
}

function packageOf(vulnerability: JsonObject | null): PackageName | null {
  const purl = stringOf(vulnerability?.purl);
  const byPurl = purl === null ? null : packageOfPurl(purl);
  const version = stringOf(vulnerability?.affected_version);
  if (byPurl !== null) return { ...byPurl, version: version ?? byPurl.version };
  const name = stringOf(vulnerability?.package);
  const ecosystem = stringOf(vulnerability?.ecosystem);
  return name === null ? null : { purl: null, ecosystem, name: name.trim(), version };
}

/**
 * The smallest CVE, else the first id of GHSA, of OSV or of a vendor, else the rule (CTIS §4.2).
 */
function vulnerabilityOf(vulnerability: JsonObject | null, ruleId: string): string {
  return mainIdOf(publishedIds(vulnerability, ruleId)) ?? ruleId;
}

function mainIdOf(ids: readonly string[]): string | null {
  const first = (family: string) => ids.find((id) => vulnerabilityFamily(id) === family);
  const [cve] = ids.filter((id) => id.startsWith('CVE-')).sort();
  return cve ?? first('ghsa') ?? first('osv') ?? ids[0] ?? null;
}

/** All published ids of a finding, each in one spelling. */
export function publishedIds(vulnerability: JsonObject | null, ruleId: string): string[] {
  const ids = new Set<string>();
  const add = (value: unknown): void => {
    const text = stringOf(value)?.trim();
    if (text !== undefined) ids.add(canonicalVulnerabilityId(text));
  };
  add(vulnerability?.cve_id);
  for (const id of listOf(vulnerability?.cve_ids)) add(id);
  for (const entry of listOf(vulnerability?.ids)) add(objectOf(entry)?.id);
  for (const id of vulnerabilityIdsIn([ruleId])) ids.add(id);
  return [...ids];
}

function webContent(finding: JsonObject, location: CtisPlace): (string | null)[] | null {
  if (location.web === null) return null;
  const web = objectOf(finding.web);
  const parameter = objectOf(web?.parameter);
  const name = stringOf(parameter?.name);
  const named = name === null ? null : `${stringOf(parameter?.location) ?? 'query'}:${name}`;
  return [
    stringOf(web?.method)?.toUpperCase() ?? null,
    `${location.web.host}${location.web.template}`,
    named ?? location.web.queryNames,
    // A defect that was found in running code has a place in the code, too.
    ...(location.url === null ? [location.path, location.snippet, location.logical] : []),
  ];
}

/** One address may hold a contract on several chains, each with money of its own (CTIS §5.1). */
function contractFunction(web3: JsonObject | null): string | null {
  const sent = stringOf(web3?.contract_address)?.trim() ?? '';
  // Capitals in a hexadecimal address are a checksum; in other addresses they are digits.
  const address = /^0x/i.test(sent) ? sent.toLowerCase() : sent;
  const name = stringOf(web3?.function_selector) ?? stringOf(web3?.function_signature) ?? '';
  if (address === '' && name === '') return null;
  const chain = indexOf(web3?.chain_id) ?? stringOf(web3?.chain_id) ?? stringOf(web3?.chain);
  const where = typeof chain === 'string' ? chain.trim().toLowerCase() : chain;
  return `${where ?? ''}:${address}#${name}`;
}
