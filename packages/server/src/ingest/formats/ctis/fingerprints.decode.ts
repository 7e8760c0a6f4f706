// The fingerprints of a CTIS finding (CTIS §5), the producer's own (`fingerprint`) and the partial
// ones → those that are evidence, and the others with their reasons. A fingerprint that hashes only
// a line or a version stays as the base fingerprint, so that /ingest/check still knows it, but
// isn't used for matching. Called by ctis/finding.decode.ts.

import { limits } from '@muster/contract/plain';
import type { FindingParts } from './parts.decode.ts';
import { judgeFingerprint } from './fingerprint.rules.ts';
import type { CtisPlace } from './places.decode.ts';
import type { RecipeFields } from './recipes.rules.ts';
import { publishedIds } from './identity.decode.ts';
import { usableFingerprints } from '../common/fingerprints.rules.ts';
import { MASK } from '../../redact/masking.rules.ts';
import type { Warnings } from '../../json/warnings.decode.ts';
import { indexOf, objectOf, positionOf, stringOf } from '../../json/json.decode.ts';

export interface FingerprintFields {
  readonly parts: FindingParts;
  readonly ruleId: string;
  readonly location: CtisPlace;
  readonly title: string;
  readonly message: string;
  /** The values that the finding hides, for recipes that hash them. */
  readonly secrets: readonly string[];
  readonly isSecret: boolean;
}

export interface CtisFingerprints {
  /** By name; the producer's own is called `fingerprint`. */
  readonly usable: Readonly<Record<string, string>>;
  /** The producer's own, as sent. */
  readonly base: string | null;
  /** Name → the reason why the fingerprint was left out. */
  readonly ignored: Readonly<Record<string, string>> | null;
  /** The recipe of CTIS §5 that made the producer's own. */
  readonly recipe: string | null;
}

export function readFingerprints(fields: FingerprintFields, warnings: Warnings): CtisFingerprints {
  const { finding } = fields.parts;
  const sent = stringOf(finding.fingerprint)?.trim() ?? null;
  const base = sent === null ? null : baseOf(sent, warnings);
  const verdict = sent === null ? null : judgeFingerprint(sent, recipeFieldsOf(fields));
  const weakness = verdict?.weakness ?? null;
  const own = sent === null || weakness !== null ? null : { fingerprint: comparedAs(sent) };
  // A masked fingerprint may belong to several secrets.
  const hasSecret = fields.isSecret ? (text: string) => text.includes(MASK) : null;
  const lists = [own, objectOf(finding.partial_fingerprints)];
  const { usable, ignored } = usableFingerprints(lists, hasSecret);
  return {
    usable,
    base,
    ignored: weakness === null ? ignored : { ...ignored, fingerprint: weakness },
    recipe: verdict?.recipe ?? null,
  };
}

/** A hash in capitals is the same hash (CTIS §8, item 6); in other texts capitals may matter. */
const comparedAs = (fingerprint: string): string =>
  /^[0-9a-f]{16,}$/i.test(fingerprint) ? fingerprint.toLowerCase() : fingerprint;

/** The fingerprint as sent, cut to the length that /ingest/check compares. */
function baseOf(fingerprint: string, warnings: Warnings): string {
  const text = fingerprint.toWellFormed().replaceAll('\0', '\uFFFD');
  if (text.length > limits.fingerprintCharsMax) warnings.countCut();
  return text.slice(0, limits.fingerprintCharsMax).toWellFormed();
}

/** The members that the recipes hash, as the report states them. */
function recipeFieldsOf(fields: FingerprintFields): RecipeFields {
  const { parts, ruleId, location, title, message, secrets } = fields;
  const { finding, vulnerability, misconfiguration, compliance } = parts;
  const raw = objectOf(finding.location);
  const network = objectOf(finding.network);
  const web = objectOf(finding.web);
  const web3 = objectOf(finding.web3);
  const path = stringOf(raw?.path) ?? '';
  const host = stringOf(network?.host) ?? location.web?.host ?? '';
  const port = `${indexOf(network?.port) ?? 0}/${stringOf(network?.protocol) ?? 'tcp'}`;
  const assets = [finding.asset_value, network?.host].map(stringOf);
  return {
    path,
    rule: stringOf(finding.rule_id) ?? ruleId,
    title: stringOf(finding.title) ?? title,
    message,
    startLine: location.startLine ?? 0,
    endLine: positionOf(raw?.end_line) ?? 0,
    snippet: location.snippet ?? '',
    logical: location.logical ?? '',
    packageName: stringOf(vulnerability?.package) ?? '',
    packageVersion: stringOf(vulnerability?.affected_version) ?? '',
    vulnerabilities: publishedIds(vulnerability, ruleId),
    secrets: parts.secret === null ? [] : [...secretsOf(fields), ...secrets.slice(0, 16)],
    resourceType: stringOf(misconfiguration?.resource_type) ?? '',
    resourceName: stringOf(misconfiguration?.resource_name) ?? '',
    framework: stringOf(compliance?.framework) ?? '',
    control: stringOf(compliance?.control_id) ?? '',
    assets: [...new Set(assets.filter((asset) => asset !== null))],
    host,
    port: network === null ? '' : port,
    urlPath: (location.web?.address ?? path).replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, ''),
    parameter: stringOf(objectOf(web?.parameter)?.name) ?? '',
    contract: stringOf(web3?.contract_address) ?? '',
    chainId: indexOf(web3?.chain_id) ?? 0,
    weakness: stringOf(web3?.swc_id) ?? '',
    contractFunction: stringOf(web3?.function_signature) ?? '',
  };
}

function secretsOf({ parts, location }: FingerprintFields): string[] {
  return [stringOf(parts.secret?.masked_value), location.snippet].filter((text) => text !== null);
}
