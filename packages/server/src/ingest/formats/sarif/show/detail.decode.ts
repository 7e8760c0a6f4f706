// A SARIF result → its detail: the parts that a finding page shows beside the columns
// (FindingDetail). It has everything that the standard gives a result and a person can use,
// bounded, in a stable shape; credentials and secrets are masked. Called by sarif/result.decode.ts.

import {
  type DetailLocation,
  type DetailSuppression,
  type FindingDetail,
  limits,
  SARIF_MEMBERS,
} from '@muster/contract/plain';
import { boundedBag, boundedCopy, newBudget } from '../../common/bounded.decode.ts';
import {
  indexOf,
  type JsonObject,
  listOf,
  objectOf,
  stringsOf,
} from '../../../json/json.decode.ts';
import { bagsBelow, tagsOf, withoutTags } from '../read/bags.decode.ts';
import { cvssDetail } from '../read/cvss.decode.ts';
import { exchangeOf } from './exchange.decode.ts';
import { attachmentsOf, fixesOf } from './fixes.decode.ts';
import { detailFlows, detailStacks } from './flows.decode.ts';
import { detailGraphs } from './graphs.decode.ts';
import type { Subject } from '../read/identity.decode.ts';
import {
  detailLocation,
  detailLocations,
  type ReadLocation,
  type Reading,
  Room,
} from '../read/locations.decode.ts';
import { shownMarkdown } from '../read/message.decode.ts';
import { provenanceOf } from './provenance.decode.ts';
import { rankOf, type RuleFacts } from '../read/rules.decode.ts';
import type { SarifRun } from '../read/run.decode.ts';
import { type SaidSeverity, rawSeverity } from '../read/severity.decode.ts';
import { joinedTaxa } from '../read/taxa.decode.ts';
import type { SeverityVerdict } from '../../common/severity.rules.ts';
import { withoutCredentials } from '../../common/web.rules.ts';

/** The facts about the result that are known already. */
interface ReadResult {
  readonly rule: RuleFacts;
  readonly subject: Subject;
  readonly verdict: SeverityVerdict;
  readonly said: SaidSeverity;
  readonly level: string;
  /** The rank in the rule's configuration (§3.50.4). */
  readonly rank: number | null;
  readonly suppressions: readonly DetailSuppression[];
  readonly ignoredFingerprints: Readonly<Record<string, string>> | null;
  /** The first usable location, read once. */
  readonly location: ReadLocation | null;
}

const KNOWN_MEMBERS: ReadonlySet<string> = new Set<string>(SARIF_MEMBERS.result);

/** The detail of one result. */
export function detailOf(result: JsonObject, read: ReadResult, run: SarifRun): FindingDetail {
  const { rule, subject, verdict } = read;
  const detail: FindingDetail = { severity_from: verdict.from, level: read.level };
  const raw = read.said.raw.length === 0 ? rule.severityRaw : rawSeverity(rule.said, read.said);
  if (raw !== null) detail.severity_raw = raw;
  const cvss = read.said.cvss ?? rule.said.cvss;
  if (cvss !== null) detail.vulnerability = cvssDetail(cvss);
  if (rule.detail !== null) detail.rule = rule.detail;
  if (rule.confidence !== null) detail.confidence = rule.confidence;
  if (subject.component !== null) {
    const { purl, ecosystem, name, version } = subject.component;
    detail.component = {
      ...(purl === null ? {} : { purl: run.warnings.text(purl, limits.nameCharsMax) }),
      ...(ecosystem === null
        ? {}
        : { ecosystem: run.warnings.text(ecosystem, limits.nameCharsMax) }),
      name: run.warnings.text(name, limits.nameCharsMax),
      ...(version === null ? {} : { version: run.warnings.text(version, limits.nameCharsMax) }),
    };
  }
  addScalars(detail, result, read, run);
  addClassification(detail, result, rule, run);
  const hide = subject.type === 'secret';
  const markdown = hide ? null : shownMarkdown(result.message, rule);
  if (markdown !== null)
    detail.message_markdown = run.warnings.text(markdown, limits.messageCharsMax);
  const reading: Reading = { rule, run, hide, room: new Room() };
  addPlaces(detail, result, read, reading);
  addMore(detail, result, reading);
  if (read.suppressions.length > 0) detail.suppressions = [...read.suppressions];
  if (read.ignoredFingerprints !== null) detail.fingerprints_ignored = read.ignoredFingerprints;
  addBags(detail, result, hide, run);
  return detail;
}

function addScalars(
  detail: FindingDetail,
  result: JsonObject,
  read: ReadResult,
  run: SarifRun,
): void {
  const { warnings } = run;
  const texts = [
    ['kind', result.kind],
    ['baseline_state', result.baselineState],
    ['producer_id', result.guid],
    ['correlation_id', result.correlationGuid],
  ] as const;
  for (const [name, value] of texts) {
    const text = warnings.textOf(value, limits.nameCharsMax);
    if (text !== null) detail[name] = text;
  }
  // Without a rank of its own the result has the configured one, as with the level.
  const rank = rankOf(result.rank) ?? read.rank;
  if (rank !== null) detail.rank = rank;
  const count = indexOf(result.occurrenceCount) ?? 0;
  if (count > 0) detail.occurrence_count = count;
  const viewer = warnings.textOf(result.hostedViewerUri, limits.pathCharsMax);
  if (viewer !== null) detail.hosted_viewer_uri = withoutCredentials(viewer);
  const items = warnings.first(stringsOf(result.workItemUris), limits.referencesMax);
  if (items.length > 0) {
    detail.work_item_uris = items.map((uri) =>
      warnings.text(withoutCredentials(uri), limits.pathCharsMax),
    );
  }
}

function addClassification(
  detail: FindingDetail,
  result: JsonObject,
  rule: RuleFacts,
  run: SarifRun,
): void {
  const properties = objectOf(result.properties);
  const own = tagsOf(properties);
  const ownTaxa =
    own.length === 0 && properties === null && result.taxa === undefined
      ? rule.weaknesses
      : joinedTaxa(rule.weaknesses, run.rules.taxa.of(result, properties, own));
  const tags = own.length === 0 ? rule.tags : [...new Set([...own, ...rule.tags])];
  if (tags.length > 0) {
    detail.tags = run.warnings
      .first(tags, limits.tagsMax)
      .map((tag) => run.warnings.text(tag, limits.nameCharsMax));
  }
  if (ownTaxa.cwe.length > 0) detail.cwe = [...ownTaxa.cwe];
  if (ownTaxa.owasp.length > 0) detail.owasp = [...ownTaxa.owasp];
  if (ownTaxa.other.length > 0)
    detail.taxa = ownTaxa.other.map((one) => run.warnings.text(one, limits.nameCharsMax));
  if (rule.vulnerabilityIds.length > 0) detail.vulnerability_ids = [...rule.vulnerabilityIds];
}

function addPlaces(
  detail: FindingDetail,
  result: JsonObject,
  read: ReadResult,
  reading: Reading,
): void {
  const { rule, run, hide, room } = reading;
  const omitted: [string, number][] = [];
  const bounded = <T>(name: string, list: () => T): T => {
    room.begin(limits.locationsMax);
    const taken = list();
    if (room.omitted > 0) {
      omitted.push([name, room.omitted]);
      run.warnings.leaveOut(room.omitted);
    }
    return taken;
  };
  const places = listOf(result.locations);
  const only = places.length === 1 ? read.location : null;
  const locations: DetailLocation[] =
    only !== null
      ? [detailLocation(only, rule, run, hide)]
      : bounded('locations', () => detailLocations(places, rule, run, hide, room));
  if (locations.length > 0) detail.locations = locations;
  if (result.relatedLocations !== undefined) {
    const related = bounded('related_locations', () =>
      detailLocations(result.relatedLocations, rule, run, hide, room),
    );
    if (related.length > 0) detail.related_locations = related;
  }
  if (result.codeFlows !== undefined) {
    const flows = bounded('code_flows', () => detailFlows(result.codeFlows, reading));
    if (flows.length > 0) detail.code_flows = flows;
  }
  if (result.stacks !== undefined) {
    const stacks = bounded('stacks', () => detailStacks(result.stacks, reading));
    if (stacks.length > 0) detail.stacks = stacks;
  }
  if (result.graphs !== undefined || result.graphTraversals !== undefined) {
    const read = bounded('graphs', () => detailGraphs(result, run.graphs, reading));
    if (read.graphs.length > 0) detail.graphs = read.graphs;
    if (read.traversals.length > 0) detail.graph_traversals = read.traversals;
  }
  if (omitted.length > 0) detail.omitted = Object.fromEntries(omitted);
}

/** Adds the members that few results have, except the places. */
function addMore(detail: FindingDetail, result: JsonObject, reading: Reading): void {
  const { run } = reading;
  if (result.fixes !== undefined) {
    const fixes = fixesOf(result.fixes, reading);
    if (fixes.length > 0) detail.fixes = fixes;
  }
  if (result.attachments !== undefined) {
    const attachments = attachmentsOf(result.attachments, reading);
    if (attachments.length > 0) detail.attachments = attachments;
  }
  const request = exchangeOf(result.webRequest, run.webRequests, reading);
  if (request !== null) detail.web_request = request;
  const response = exchangeOf(result.webResponse, run.webResponses, reading);
  if (response !== null) detail.web_response = response;
  if (result.provenance !== undefined) {
    const provenance = provenanceOf(result.provenance, run);
    if (provenance !== null) detail.provenance = provenance;
  }
  const target = objectOf(result.analysisTarget);
  const path = target === null ? null : run.places.of(target).path;
  if (path !== null && path !== detail.locations?.[0]?.path) detail.analysis_target = path;
}

/**
 * Adds property bags and unknown members, within one budget. Bags inside a result about a secret
 * may quote it, so they are left out.
 */
function addBags(detail: FindingDetail, result: JsonObject, hide: boolean, run: SarifRun): void {
  const { warnings } = run;
  const properties = objectOf(result.properties);
  const unknown = Object.keys(result).filter((name) => !KNOWN_MEMBERS.has(name));
  const budget = newBudget();
  const bag =
    properties === null ? undefined : boundedBag(withoutTags(properties), warnings, budget);
  if (bag !== undefined) detail.properties = bag;
  if (unknown.length > 0) {
    const rest = Object.fromEntries(unknown.map((name) => [name, result[name]]));
    const copy = objectOf(boundedCopy(rest, warnings, budget));
    if (copy !== null) detail.unknown = copy;
  }
  const bags = hide ? null : bagsBelow(result, (name) => KNOWN_MEMBERS.has(name), warnings, budget);
  if (bags !== null) detail.property_bags = bags;
}
