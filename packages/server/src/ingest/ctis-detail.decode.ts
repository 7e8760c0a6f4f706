// What a finding page shows of a CTIS finding beside the columns (FindingDetail): the members that
// both formats have in one shape, CTIS's own objects under their CTIS names, bounded; credentials
// and secrets masked. Called by ctis-finding.decode.ts after the finding's identity is known.

import { type DetailSuppression, type FindingDetail, limits } from '@muster/contract';
import { boundedBag, boundedCopy, type Budget, newBudget } from './bounded.decode.ts';
import { flowsOf, stacksOf } from './ctis-flows.decode.ts';
import { type CtisSubject, publishedIds } from './ctis-identity.decode.ts';
import { isBlank, unknownMembers } from './ctis-members.decode.ts';
import { type FindingParts, suppressionStatus } from './ctis-parts.decode.ts';
import { type CtisPass, type CtisPlace, locationDetail, placeOf } from './ctis-places.decode.ts';
import { isMasked, MASK, maskAssignments, maskOccurrences, maskValue } from './masking.rules.ts';
import {
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  positionOf,
  preview,
  stringOf,
  stringsOf,
} from './report-notes.decode.ts';
import { redactUrl } from './web.rules.ts';
import { cwesIn, owaspIn } from './weakness.rules.ts';

/** Members without a place of their own in FindingDetail; they keep their names under `ctis`. */
const OTHER_MEMBERS =
  `impact likelihood category vulnerability_class subcategory attachments first_seen_at
    last_seen_at status author author_email commit_date exposure remediation_context
    business_impact native scores vex source_lifecycle source_extra attack`.split(/\s+/);

/** Members of a data flow that stand in `code_flows`. */
const FLOW_STEPS: ReadonlySet<string> = new Set(
  'sources intermediates sanitizers sinks summary'.split(' '),
);

/** CTIS §2.1: evidence is raw scanner output. */
const EVIDENCE_CHARS_MAX = 16 * 1024;
const EVIDENCE_ITEMS_MAX = 20;

/** The detail of one finding. */
export function detailOf(
  parts: FindingParts,
  subject: CtisSubject,
  location: CtisPlace,
  ignored: Readonly<Record<string, string>> | null,
  pointer: string,
  pass: CtisPass,
): FindingDetail {
  const { finding } = parts;
  const { notes } = pass;
  const word = stringOf(finding.severity);
  const detail: FindingDetail = { severity_from: word === null ? 'default' : 'severity' };
  const raw: [string, string | number][] = word === null ? [] : [['severity', preview(word, 64)]];
  const score = numberOf(parts.vulnerability?.cvss_score);
  if (score !== null && score !== 0) raw.push(['cvss_score', score]);
  if (raw.length > 0) detail.severity_raw = Object.fromEntries(raw);
  addScalars(detail, finding, pass);
  const hidden = (text: string): string => maskOccurrences(text, subject.secret);
  const description = stringOf(finding.description);
  if (description !== null) {
    detail.description = notes.text(hidden(description), limits.descriptionCharsMax);
  }
  const evidence = subject.type === 'secret' ? null : stringOf(finding.evidence);
  if (evidence !== null) {
    detail.evidence = notes.text(maskAssignments(evidence.slice(0, 65_536)), EVIDENCE_CHARS_MAX);
  }
  addClassification(detail, parts, pass);
  addPlaces(detail, finding, location, subject, pass);
  if (subject.component !== null) detail.component = componentDetail(subject, pass);
  const suppression = parts.suppression;
  if (suppression !== null && !isBlank(suppression)) {
    detail.suppressions = [suppressionDetail(suppression, pass)];
  }
  if (ignored !== null) detail.fingerprints_ignored = ignored;
  addObjects(detail, parts, subject, pointer, pass);
  return detail;
}

function addScalars(detail: FindingDetail, finding: JsonObject, pass: CtisPass): void {
  const { notes } = pass;
  const texts = [
    ['kind', finding.kind],
    ['baseline_state', finding.baseline_state],
    ['producer_id', finding.id],
    ['correlation_id', finding.correlation_id],
  ] as const;
  for (const [name, value] of texts) {
    const text = notes.textOf(value, limits.nameCharsMax);
    if (text !== null) detail[name] = text;
  }
  // Go leaves zero out, so a zero here says nothing (CTIS §1.3).
  const confidence = numberOf(finding.confidence);
  if (confidence !== null && confidence > 0 && confidence <= 100) detail.confidence = confidence;
  const rank = numberOf(finding.rank);
  if (rank !== null && rank > 0) detail.rank = rank;
  const count = positionOf(finding.occurrence_count);
  if (count !== null) detail.occurrence_count = count;
  const rule = notes.textOf(finding.rule_name, limits.nameCharsMax);
  if (rule !== null) detail.rule = { name: rule };
  const viewer = notes.textOf(finding.hosted_viewer_uri, limits.pathCharsMax);
  if (viewer !== null) detail.hosted_viewer_uri = viewer;
  const lists = [
    ['work_item_uris', finding.work_item_uris, limits.referencesMax, limits.pathCharsMax],
    ['references', finding.references, limits.referencesMax, limits.pathCharsMax],
    ['tags', finding.tags, limits.tagsMax, limits.nameCharsMax],
  ] as const;
  for (const [name, value, itemsMax, charsMax] of lists) {
    const all = stringsOf(value);
    if (all.length > itemsMax) notes.countCut();
    if (all.length > 0) {
      detail[name] = all.slice(0, itemsMax).map((text) => notes.text(text, charsMax));
    }
  }
}

function addClassification(detail: FindingDetail, parts: FindingParts, pass: CtisPass): void {
  const { vulnerability } = parts;
  if (vulnerability === null) return;
  const listed = [...stringsOf(vulnerability.cwe_ids), stringOf(vulnerability.cwe_id) ?? ''];
  const cwe = cwesIn(listed.join(' '));
  const categories = vulnerability.owasp_ids;
  const owasp = owaspIn([...stringsOf(categories), stringOf(categories) ?? ''].join(' '));
  const ids = publishedIds(vulnerability, stringOf(parts.finding.rule_id) ?? '');
  if (cwe.length > 0) detail.cwe = cwe;
  if (owasp.length > 0) detail.owasp = owasp;
  if (ids.length > 0) {
    detail.vulnerability_ids = ids.map((id) => pass.notes.text(id, limits.nameCharsMax));
  }
}

function addPlaces(
  detail: FindingDetail,
  finding: JsonObject,
  location: CtisPlace,
  subject: CtisSubject,
  pass: CtisPass,
): void {
  const hide = subject.type === 'secret' || subject.kind === 'secret';
  const own = locationDetail(location, hide, pass);
  if (Object.keys(own).length > 0) detail.locations = [own];
  const related = listOf(finding.related_locations);
  const places = related
    .slice(0, limits.locationsMax)
    .map((entry) => locationDetail(placeOf(objectOf(entry) ?? {}, pass), hide, pass))
    .filter((place) => Object.keys(place).length > 0);
  if (places.length > 0) detail.related_locations = places;
  const flows = flowsOf(finding.data_flow, hide, pass);
  if (flows.length > 0) detail.code_flows = flows;
  const stacks = stacksOf(finding.stacks, hide, pass);
  if (stacks.length > 0) detail.stacks = stacks;
  const omitted = Math.max(0, related.length - limits.locationsMax);
  if (omitted > 0) {
    detail.omitted = { related_locations: omitted };
    pass.notes.countCut();
  }
}

function componentDetail(subject: CtisSubject, pass: CtisPass) {
  const text = (value: string): string => pass.notes.text(value, limits.pathCharsMax);
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
  const { notes } = pass;
  const detail: DetailSuppression = { status: notes.text(suppressionStatus(suppression), 64) };
  const texts = [
    ['kind', suppression.kind],
    ['justification', suppression.justification ?? suppression.reason],
    ['by', suppression.suppressed_by],
    ['at', suppression.suppressed_at],
    ['expires_at', suppression.expires_at],
  ] as const;
  for (const [name, value] of texts) {
    const text = notes.textOf(value, limits.messageCharsMax);
    if (text !== null) detail[name] = text;
  }
  return detail;
}

/** CTIS's own objects, within one budget for the finding. */
function addObjects(
  detail: FindingDetail,
  parts: FindingParts,
  subject: CtisSubject,
  pointer: string,
  pass: CtisPass,
): void {
  const { finding } = parts;
  const { notes } = pass;
  const budget = newBudget(subject.secret);
  const bags = [
    ['vulnerability', scaledPercentile(parts.vulnerability, pointer, pass)],
    ['secret', maskedSecret(parts.secret)],
    ['misconfiguration', parts.misconfiguration],
    ['compliance', parts.compliance],
    ['web3', finding.web3],
    ['network', finding.network],
    ['web', redactedWeb(finding.web)],
    ['remediation', remediationOf(parts)],
  ] as const;
  for (const [name, value] of bags) {
    const bag = boundedBag(value, notes, budget);
    if (bag !== undefined) detail[name] = bag;
  }
  const others: [string, unknown][] = [];
  for (const name of OTHER_MEMBERS) {
    if (!isBlank(finding[name])) others.push([name, finding[name]]);
  }
  const flow = Object.entries(objectOf(finding.data_flow) ?? {});
  const facts = flow.filter(([name, value]) => !FLOW_STEPS.has(name) && !isBlank(value));
  if (facts.length > 0) others.push(['data_flow', Object.fromEntries(facts)]);
  const items = evidenceItems(finding.evidence_items, budget, pass);
  const bag = boundedBag(Object.fromEntries(others), notes, budget) ?? {};
  if (items.length > 0) detail.ctis = { ...bag, evidence_items: items };
  else if (Object.keys(bag).length > 0) detail.ctis = bag;
  const properties = boundedBag(finding.properties, notes, budget);
  if (properties !== undefined) detail.properties = properties;
  const rest = boundedBag(unknownMembers('finding', finding), notes, budget);
  if (rest !== undefined) detail.unknown = rest;
}

/** `recommendation` beside the finding is a known wrong place (CTIS §8, item 21). */
function remediationOf(parts: FindingParts): JsonObject | null {
  const misplaced = stringOf(parts.finding.recommendation);
  if (misplaced === null || stringOf(parts.remediation?.recommendation) !== null) {
    return parts.remediation;
  }
  return { ...parts.remediation, recommendation: misplaced };
}

/** Up to 1.2 the percentile ran to 100 (CTIS §2.4). */
function scaledPercentile(vulnerability: JsonObject | null, pointer: string, pass: CtisPass) {
  const percentile = numberOf(vulnerability?.epss_percentile);
  if (vulnerability === null || percentile === null || percentile <= 1) return vulnerability;
  const detail = 'A percentile above 1 is taken as a percentage.';
  pass.notes.warn(`${pointer}/vulnerability/epss_percentile`, 'percentile_scaled', detail);
  return { ...vulnerability, epss_percentile: Number((percentile / 100).toPrecision(12)) };
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

/** §2.9: each value that `sensitive` points at is masked as a whole. */
function evidenceItems(value: unknown, budget: Budget, pass: CtisPass): unknown[] {
  const items: unknown[] = [];
  for (const entry of listOf(value).slice(0, EVIDENCE_ITEMS_MAX)) {
    const item = objectOf(entry);
    if (item === null) continue;
    const hidden = new Set(listOf(item.sensitive).map((one) => stringOf(objectOf(one)?.pointer)));
    hidden.delete(null);
    const copy = boundedCopy(
      hidden.size === 0 ? item : masked(item, '', hidden),
      pass.notes,
      budget,
    );
    if (copy !== undefined) items.push(copy);
  }
  return items;
}

/**
 * A copy in which the values at the pointers are masked; depth is bounded by the parser (contract
 * §2).
 */
function masked(value: unknown, pointer: string, hidden: ReadonlySet<string | null>): unknown {
  if (hidden.has(pointer) && pointer !== '') return MASK;
  if (Array.isArray(value)) {
    return value.map((entry, index) => masked(entry, `${pointer}/${index}`, hidden));
  }
  const object = objectOf(value);
  if (object === null) return value;
  return Object.fromEntries(
    Object.entries(object).map(([name, member]) => [
      name,
      masked(member, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, hidden),
    ]),
  );
}
