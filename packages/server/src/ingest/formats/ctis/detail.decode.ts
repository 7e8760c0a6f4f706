// A CTIS finding → its detail: the parts that a finding page shows beside the columns
// (FindingDetail). Members that both formats have get one shape, and CTIS's own objects keep their
// CTIS names. All is bounded; credentials and secrets are masked. Called by ctis/finding.decode.ts.

import { type DetailSuppression, type FindingDetail, limits } from '@muster/contract/plain';
import { boundedBag, newBudget } from '../common/bounded.decode.ts';
import { evidenceItems } from './evidence.decode.ts';
import type { CtisFingerprints } from './fingerprints.decode.ts';
import { flowsOf, stacksOf } from './flows.decode.ts';
import { type CtisSubject, publishedIds } from './identity.decode.ts';
import { isBlank, unknownMembers } from './members.decode.ts';
import { type FindingParts, suppressionStatus } from './parts.decode.ts';
import { type CtisPass, type CtisPlace, locationDetail, placeOf } from './places.decode.ts';
import { isMasked, maskAssignments, maskSaid, maskValue } from '../../redact/masking.rules.ts';
import {
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  positionOf,
  preview,
  stringOf,
  stringsOf,
} from '../../json/json.decode.ts';
import { redactUrl, withoutCredentials } from '../common/web.rules.ts';
import { cwesIn, owaspIn } from '../common/weakness.rules.ts';

/**
 * Members without a place of their own in FindingDetail; they stand under `ctis`, by their names.
 */
const OTHER_MEMBERS =
  `impact likelihood category vulnerability_class subcategory attachments first_seen_at
    last_seen_at status author author_email commit_date exposure remediation_context
    business_impact native scores vex source_lifecycle source_extra attack`.split(/\s+/);

/** Members of a data flow that `code_flows` shows. */
const FLOW_STEPS: ReadonlySet<string> = new Set(
  'sources intermediates sanitizers sinks summary'.split(' '),
);

/** CTIS §4.5: evidence is raw output of a scanner. */
const EVIDENCE_CHARS_MAX = 64 * 1024;
/** CTIS §4.5. */
const TAG_CHARS_MAX = 100;

/** The facts about a finding from which its detail is made. */
interface FindingFacts {
  readonly parts: FindingParts;
  readonly subject: CtisSubject;
  readonly location: CtisPlace;
  readonly severityFrom: string;
  readonly fingerprints: CtisFingerprints;
  readonly pointer: string;
  /** True for findings about a secret. */
  readonly isSecret: boolean;
}

/** The detail of one finding. */
export function detailOf(known: FindingFacts, pass: CtisPass): FindingDetail {
  const { parts, subject, location, fingerprints, isSecret } = known;
  const { finding } = parts;
  const { warnings } = pass;
  const word = stringOf(finding.severity);
  const detail: FindingDetail = { severity_from: known.severityFrom };
  const raw: [string, string | number][] = word === null ? [] : [['severity', preview(word, 64)]];
  const score = numberOf(parts.vulnerability?.cvss_score);
  if (score !== null && score !== 0) raw.push(['cvss_score', score]);
  if (raw.length > 0) detail.severity_raw = Object.fromEntries(raw);
  addScalars(detail, finding, pass);
  const description = warnings.textOf(finding.description, limits.descriptionCharsMax);
  if (description !== null) detail.description = maskSaid(description);
  const evidence = isSecret ? null : warnings.textOf(finding.evidence, EVIDENCE_CHARS_MAX);
  if (evidence !== null) detail.evidence = maskAssignments(evidence);
  addClassification(detail, parts, pass);
  addPlaces(detail, finding, location, isSecret, pass);
  if (subject.component !== null) detail.component = componentDetail(subject, pass);
  const suppression = parts.suppression;
  if (suppression !== null && !isBlank(suppression)) {
    detail.suppressions = [suppressionDetail(suppression, pass)];
  }
  if (fingerprints.recipe !== null) detail.fingerprint_recipe = fingerprints.recipe;
  if (fingerprints.ignored !== null) detail.fingerprints_ignored = fingerprints.ignored;
  addObjects(detail, known, pass);
  return detail;
}

function addScalars(detail: FindingDetail, finding: JsonObject, pass: CtisPass): void {
  const { warnings } = pass;
  const texts = [
    ['kind', finding.kind],
    ['baseline_state', finding.baseline_state],
    ['producer_id', finding.id],
    ['correlation_id', finding.correlation_id],
  ] as const;
  for (const [name, value] of texts) {
    const text = warnings.textOf(value, limits.nameCharsMax);
    if (text !== null) detail[name] = text;
  }
  // Go leaves zero out, so a zero here says nothing (CTIS §1.3).
  const confidence = numberOf(finding.confidence);
  if (confidence !== null && confidence > 0 && confidence <= 100) detail.confidence = confidence;
  const rank = numberOf(finding.rank);
  if (rank !== null && rank > 0 && rank <= 100) detail.rank = rank;
  const count = positionOf(finding.occurrence_count);
  if (count !== null) detail.occurrence_count = count;
  const rule = warnings.textOf(finding.rule_name, limits.titleCharsMax);
  if (rule !== null) detail.rule = { name: rule };
  const viewer = warnings.textOf(finding.hosted_viewer_uri, limits.pathCharsMax);
  if (viewer !== null) detail.hosted_viewer_uri = withoutCredentials(viewer);
  const lists = [
    ['work_item_uris', finding.work_item_uris, limits.referencesMax, limits.pathCharsMax],
    ['references', finding.references, limits.referencesMax, limits.pathCharsMax],
    ['tags', finding.tags, limits.tagsMax, TAG_CHARS_MAX],
  ] as const;
  for (const [name, value, itemsMax, charsMax] of lists) {
    const all = stringsOf(value);
    if (all.length > 0) {
      detail[name] = warnings
        .first(all, itemsMax)
        .map((text) => warnings.text(withoutCredentials(text), charsMax));
    }
  }
}

function addClassification(detail: FindingDetail, parts: FindingParts, pass: CtisPass): void {
  const { vulnerability } = parts;
  if (vulnerability === null) return;
  const listed = [...stringsOf(vulnerability.cwe_ids), stringOf(vulnerability.cwe_id) ?? ''];
  const cwe = cwesIn(listed);
  const categories = vulnerability.owasp_ids;
  const owasp = owaspIn([...stringsOf(categories), stringOf(categories) ?? '']);
  const ids = publishedIds(vulnerability, stringOf(parts.finding.rule_id) ?? '');
  if (cwe.length > 0) detail.cwe = cwe;
  if (owasp.length > 0) detail.owasp = owasp;
  if (ids.length > 0) {
    detail.vulnerability_ids = ids.map((id) => pass.warnings.text(id, limits.nameCharsMax));
  }
}

function addPlaces(
  detail: FindingDetail,
  finding: JsonObject,
  location: CtisPlace,
  hide: boolean,
  pass: CtisPass,
): void {
  const own = locationDetail(location, hide, pass);
  if (Object.keys(own).length > 0) detail.locations = [own];
  const related = listOf(finding.related_locations);
  const places = related
    .slice(0, limits.locationsMax)
    .map((entry) => locationDetail(placeOf(objectOf(entry) ?? {}, pass), hide, pass))
    .filter((place) => Object.keys(place).length > 0);
  if (places.length > 0) detail.related_locations = places;
  const flows = flowsOf(finding.data_flow, hide, pass);
  if (flows.list.length > 0) detail.code_flows = [...flows.list];
  const stacks = stacksOf(finding.stacks, hide, pass);
  if (stacks.list.length > 0) detail.stacks = [...stacks.list];
  const omitted = Object.entries({
    related_locations: Math.max(0, related.length - limits.locationsMax),
    code_flows: flows.omitted,
    stacks: stacks.omitted,
  }).filter(([, count]) => count > 0);
  if (omitted.length > 0) detail.omitted = Object.fromEntries(omitted);
  for (const [, count] of omitted) pass.warnings.leaveOut(count);
}

function componentDetail(subject: CtisSubject, pass: CtisPass) {
  const text = (value: string): string => pass.warnings.text(value, limits.pathCharsMax);
  const { purl, ecosystem, name, version } = subject.component ?? NO_COMPONENT;
  return {
    ...(purl === null ? {} : { purl: text(purl) }),
    ...(ecosystem === null ? {} : { ecosystem: text(ecosystem) }),
    name: text(name),
    ...(version === null ? {} : { version: text(version) }),
  };
}

const NO_COMPONENT = { purl: null, ecosystem: null, name: '', version: null };

function suppressionDetail(suppression: JsonObject, pass: CtisPass): DetailSuppression {
  const { warnings } = pass;
  const detail: DetailSuppression = { status: warnings.text(suppressionStatus(suppression), 64) };
  const justification = stringOf(suppression.justification);
  const texts = [
    ['kind', suppression.kind],
    ['justification', justification ?? suppression.reason],
    ['reason', justification === null ? null : suppression.reason],
    ['by', suppression.suppressed_by],
    ['at', suppression.suppressed_at],
    ['expires_at', suppression.expires_at],
  ] as const;
  for (const [name, value] of texts) {
    const text = warnings.textOf(value, limits.messageCharsMax);
    if (text !== null) detail[name] = maskSaid(text);
  }
  return detail;
}

/** Adds CTIS's own objects, within one budget for the finding. */
function addObjects(detail: FindingDetail, known: FindingFacts, pass: CtisPass): void {
  const { parts, pointer } = known;
  const { finding } = parts;
  const { warnings } = pass;
  const budget = newBudget();
  const bags = [
    ['vulnerability', parts.vulnerability],
    ['secret', maskedSecret(parts.secret)],
    ['misconfiguration', unsaid(parts.misconfiguration)],
    ['compliance', parts.compliance],
    ['web3', unsaid(finding.web3)],
    ['network', finding.network],
    ['web', redactedWeb(finding.web)],
    ['remediation', unsaid(remediationOf(parts))],
  ] as const;
  for (const [name, value] of bags) {
    const bag = boundedBag(value, warnings, budget);
    if (bag !== undefined) detail[name] = bag;
  }
  const others: [string, unknown][] = [];
  for (const name of OTHER_MEMBERS) {
    if (!isBlank(finding[name])) others.push([name, finding[name]]);
  }
  const flow = Object.entries(objectOf(finding.data_flow) ?? {});
  const facts = flow.filter(([name, value]) => !FLOW_STEPS.has(name) && !isBlank(value));
  if (facts.length > 0) others.push(['data_flow', Object.fromEntries(facts)]);
  const items = evidenceItems(
    finding.evidence_items,
    `${pointer}/evidence_items`,
    budget,
    warnings,
  );
  const bag = boundedBag(Object.fromEntries(others), warnings, budget) ?? {};
  if (items.length > 0) detail.ctis = { ...bag, evidence_items: items };
  else if (Object.keys(bag).length > 0) detail.ctis = bag;
  const properties = boundedBag(finding.properties, warnings, budget);
  if (properties !== undefined) detail.properties = properties;
  const rest = boundedBag(unknownMembers('finding', finding), warnings, budget);
  if (rest !== undefined) detail.unknown = rest;
}

/** Members that quote configurations and code; the other members of their objects are prose. */
const QUOTING: ReadonlySet<string> = new Set(
  'actual expected cause query code fix_code tx_data replacement'.split(' '),
);

/**
 * A copy in which values assigned to a credential's name are masked; the parser bounds the depth
 * (contract §2).
 */
function unsaid(value: unknown, name = ''): unknown {
  if (typeof value === 'string')
    return QUOTING.has(name) ? maskAssignments(value) : maskSaid(value);
  if (Array.isArray(value)) return value.map((entry) => unsaid(entry, name));
  const object = objectOf(value);
  if (object === null) return value;
  return Object.fromEntries(
    Object.entries(object).map(([member, entry]) => [member, unsaid(entry, member)]),
  );
}

/** A `recommendation` of the finding itself stands in a known wrong place (CTIS §8, item 21). */
function remediationOf(parts: FindingParts): JsonObject | null {
  const misplaced = stringOf(parts.finding.recommendation);
  if (misplaced === null || stringOf(parts.remediation?.recommendation) !== null) {
    return parts.remediation;
  }
  return { ...parts.remediation, recommendation: misplaced };
}

function maskedSecret(secret: JsonObject | null): JsonObject | null {
  const value = stringOf(secret?.masked_value);
  return secret === null || value === null || isMasked(value)
    ? secret
    : { ...secret, masked_value: maskValue(value) };
}

function redactedWeb(value: unknown): unknown {
  const web = objectOf(value);
  const url = stringOf(web?.url);
  return web === null || url === null ? value : { ...web, url: redactUrl(url) };
}
