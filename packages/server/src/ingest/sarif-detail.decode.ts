// What a finding page shows of a SARIF result beside the columns (FindingDetail): everything that
// the standard gives a result and a person can use, bounded, in a stable shape; credentials and
// secrets masked. Called by sarif-result.decode.ts after the finding's identity is known.

import {
  type DetailExchange,
  type DetailFix,
  type DetailLocation,
  type DetailSuppression,
  type FindingDetail,
  limits,
  SARIF_MEMBERS,
} from '@muster/contract';
import { boundedBag, boundedCopy, newBudget } from './bounded.decode.ts';
import {
  isCredentialName,
  MASK,
  maskAssignments,
  maskOccurrences,
  maskSnippet,
} from './masking.rules.ts';
import {
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  stringOf,
  stringsOf,
} from './report-notes.decode.ts';
import type { Subject } from './sarif-identity.decode.ts';
import {
  detailFlows,
  detailLocation,
  detailLocations,
  detailStacks,
  type ReadLocation,
  Room,
} from './sarif-locations.decode.ts';
import { messageMarkdown, messageText } from './sarif-message.decode.ts';
import type { RuleFacts } from './sarif-rules.decode.ts';
import type { SarifRun } from './sarif-run.decode.ts';
import { type SaidSeverity, rawSeverity } from './sarif-severity.decode.ts';
import { joinedTaxa, taxaOf } from './sarif-taxa.decode.ts';
import type { SeverityVerdict } from './severity.rules.ts';
import { redactUrl } from './web.rules.ts';

/** What was already found out about the result. */
export interface ReadResult {
  readonly rule: RuleFacts;
  readonly subject: Subject;
  readonly verdict: SeverityVerdict;
  readonly said: SaidSeverity;
  readonly level: string;
  readonly suppressions: readonly DetailSuppression[];
  readonly ignoredFingerprints: Readonly<Record<string, string>> | null;
  /** The first usable location, read once. */
  readonly location: ReadLocation | null;
}

const KNOWN_MEMBERS: ReadonlySet<string> = new Set<string>(SARIF_MEMBERS.result);
const FIXES_MAX = 10;
const CHANGES_MAX = 20;
/** Enough of a body to recognise the answer; the whole is in the sealed upload. */
const BODY_CHARS_MAX = 4096;
const HEADERS_MAX = 50;

/** The detail of one result. */
export function detailOf(result: JsonObject, read: ReadResult, run: SarifRun): FindingDetail {
  const { rule, subject, verdict } = read;
  const detail: FindingDetail = { severity_from: verdict.from, level: read.level };
  const raw = rawSeverity(rule.said, read.said);
  if (raw !== null) detail.severity_raw = raw;
  if (rule.detail !== null) detail.rule = rule.detail;
  if (rule.confidence !== null) detail.confidence = rule.confidence;
  if (subject.component !== null) {
    const { purl, ecosystem, name, version } = subject.component;
    detail.component = {
      ...(purl === null ? {} : { purl: run.notes.text(purl, limits.nameCharsMax) }),
      ...(ecosystem === null ? {} : { ecosystem: run.notes.text(ecosystem, limits.nameCharsMax) }),
      name: run.notes.text(name, limits.nameCharsMax),
      ...(version === null ? {} : { version: run.notes.text(version, limits.nameCharsMax) }),
    };
  }
  addScalars(detail, result, run);
  addClassification(detail, result, rule, run);
  addPlaces(detail, result, read, run);
  const markdown = subject.type === 'secret' ? null : messageMarkdown(result.message);
  if (markdown !== null) detail.message_markdown = run.notes.text(markdown, limits.messageCharsMax);
  const fixes = fixesOf(result.fixes, rule, run, subject);
  if (fixes.length > 0) detail.fixes = fixes;
  const request = exchangeOf(result.webRequest, run);
  if (request !== null) detail.web_request = request;
  const response = exchangeOf(result.webResponse, run);
  if (response !== null) detail.web_response = response;
  if (read.suppressions.length > 0) detail.suppressions = [...read.suppressions];
  if (read.ignoredFingerprints !== null) detail.fingerprints_ignored = read.ignoredFingerprints;
  addBags(detail, result, subject.secret, run);
  return detail;
}

function addScalars(detail: FindingDetail, result: JsonObject, run: SarifRun): void {
  const { notes } = run;
  const texts = [
    ['kind', result.kind],
    ['baseline_state', result.baselineState],
    ['producer_id', result.guid],
    ['correlation_id', result.correlationGuid],
  ] as const;
  for (const [name, value] of texts) {
    const text = notes.textOf(value, limits.nameCharsMax);
    if (text !== null) detail[name] = text;
  }
  const rank = numberOf(result.rank);
  if (rank !== null && rank >= 0) detail.rank = rank;
  const count = numberOf(result.occurrenceCount);
  if (count !== null && count > 0) detail.occurrence_count = count;
  const viewer = notes.textOf(result.hostedViewerUri, limits.pathCharsMax);
  if (viewer !== null) detail.hosted_viewer_uri = viewer;
  const items = stringsOf(result.workItemUris).slice(0, limits.referencesMax);
  if (items.length > 0) {
    detail.work_item_uris = items.map((uri) => notes.text(uri, limits.pathCharsMax));
  }
}

function addClassification(
  detail: FindingDetail,
  result: JsonObject,
  rule: RuleFacts,
  run: SarifRun,
): void {
  const properties = objectOf(result.properties);
  const own = stringsOf(properties?.tags);
  const ownTaxa =
    own.length === 0 && properties === null && result.taxa === undefined
      ? rule.weaknesses
      : joinedTaxa(rule.weaknesses, taxaOf(run.raw, result, properties, own));
  const tags = own.length === 0 ? rule.tags : [...new Set([...own, ...rule.tags])];
  if (tags.length > 0) {
    detail.tags = tags
      .slice(0, limits.tagsMax)
      .map((tag) => run.notes.text(tag, limits.nameCharsMax));
  }
  if (ownTaxa.cwe.length > 0) detail.cwe = [...ownTaxa.cwe];
  if (ownTaxa.owasp.length > 0) detail.owasp = [...ownTaxa.owasp];
  if (ownTaxa.other.length > 0) detail.taxa = ownTaxa.other.map((one) => run.notes.text(one, 255));
  if (rule.vulnerabilityIds.length > 0) detail.vulnerability_ids = [...rule.vulnerabilityIds];
}

function addPlaces(
  detail: FindingDetail,
  result: JsonObject,
  read: ReadResult,
  run: SarifRun,
): void {
  const hide = read.subject.type === 'secret';
  const omitted: [string, number][] = [];
  const room = new Room();
  const bounded = <T>(name: string, list: (room: Room) => T[]): T[] => {
    room.begin(limits.locationsMax);
    const taken = list(room);
    if (room.omitted > 0) {
      omitted.push([name, room.omitted]);
      run.notes.countCut();
    }
    return taken;
  };
  const { rule } = read;
  const places = listOf(result.locations);
  const only = places.length === 1 ? read.location : null;
  const locations: DetailLocation[] =
    only !== null
      ? [detailLocation(only, rule, run, hide)]
      : bounded('locations', (left) => detailLocations(places, rule, run, hide, left));
  if (locations.length > 0) detail.locations = locations;
  if (result.relatedLocations !== undefined) {
    const related = bounded('related_locations', (left) =>
      detailLocations(result.relatedLocations, rule, run, hide, left),
    );
    if (related.length > 0) detail.related_locations = related;
  }
  if (result.codeFlows !== undefined) {
    const flows = bounded('code_flows', (left) =>
      detailFlows(result.codeFlows, rule, run, hide, left),
    );
    if (flows.length > 0) detail.code_flows = flows;
  }
  if (result.stacks !== undefined) {
    const stacks = bounded('stacks', (left) => detailStacks(result.stacks, rule, run, hide, left));
    if (stacks.length > 0) detail.stacks = stacks;
  }
  if (omitted.length > 0) detail.omitted = Object.fromEntries(omitted);
}

/** §3.55 fix: what it says, which files it touches, what it inserts. */
function fixesOf(list: unknown, rule: RuleFacts, run: SarifRun, subject: Subject): DetailFix[] {
  const fixes: DetailFix[] = [];
  for (const entry of listOf(list).slice(0, FIXES_MAX)) {
    const fix = objectOf(entry);
    if (fix === null) continue;
    const description = messageText(fix.description, rule);
    const changes: DetailFix['changes'] = [];
    for (const changeEntry of listOf(fix.artifactChanges).slice(0, CHANGES_MAX)) {
      const change = objectOf(changeEntry);
      const location = objectOf(change?.artifactLocation);
      const path = location === null ? null : run.places.of(location).path;
      const replacements = listOf(change?.replacements);
      const inserted = stringOf(objectOf(objectOf(replacements[0])?.insertedContent)?.text);
      const shown =
        inserted !== null && subject.type === 'secret' ? maskSnippet(inserted) : inserted;
      changes.push({
        ...(path === null ? {} : { path }),
        replacements: replacements.length,
        ...(shown === null ? {} : { inserted: run.notes.text(shown, BODY_CHARS_MAX) }),
      });
    }
    const said = description === null ? null : maskOccurrences(description, subject.secret);
    const text = said === null ? {} : { description: run.notes.text(said, limits.messageCharsMax) };
    fixes.push({ ...text, changes });
  }
  return fixes;
}

/** §3.46 webRequest, §3.47 webResponse. */
function exchangeOf(value: unknown, run: SarifRun): DetailExchange | null {
  const raw = objectOf(value);
  if (raw === null) return null;
  const { notes } = run;
  const exchange: DetailExchange = {};
  const method = notes.textOf(raw.method, limits.nameCharsMax);
  const target = stringOf(raw.target);
  const status = numberOf(raw.statusCode);
  const reason = notes.textOf(raw.reasonPhrase, limits.nameCharsMax);
  const body = stringOf(objectOf(raw.body)?.text);
  if (method !== null) exchange.method = method;
  if (target !== null) exchange.url = notes.text(redactUrl(target), limits.pathCharsMax);
  if (status !== null) exchange.status = status;
  if (reason !== null) exchange.reason = reason;
  const headers = Object.entries(objectOf(raw.headers) ?? {}).slice(0, HEADERS_MAX);
  if (headers.length > 0) {
    exchange.headers = Object.fromEntries(
      headers.map(([name, header]) => {
        const text = typeof header === 'string' ? header : '';
        const shown = isCredentialName(name) ? MASK : maskAssignments(text.slice(0, 2048));
        return [notes.text(name, limits.nameCharsMax), notes.text(shown, 2048)];
      }),
    );
  }
  const parameters = Object.keys(objectOf(raw.parameters) ?? {}).slice(0, HEADERS_MAX);
  if (parameters.length > 0) {
    exchange.parameters = parameters.map((name) => notes.text(name, limits.nameCharsMax));
  }
  if (body !== null) {
    if (body.length > BODY_CHARS_MAX) notes.countCut();
    const cut = body.length > BODY_CHARS_MAX ? `${body.slice(0, BODY_CHARS_MAX)}…` : body;
    exchange.body = notes.text(maskAssignments(cut), 2 * BODY_CHARS_MAX);
  }
  return Object.keys(exchange).length === 0 ? null : exchange;
}

/** Property bag, attachments and unknown members, within one budget. */
function addBags(
  detail: FindingDetail,
  result: JsonObject,
  secret: string | null,
  run: SarifRun,
): void {
  const properties = objectOf(result.properties);
  const unknown = Object.keys(result).filter((name) => !KNOWN_MEMBERS.has(name));
  if (properties === null && unknown.length === 0) return;
  const budget = newBudget(secret);
  const bag = boundedBag(withoutTags(properties), run.notes, budget);
  if (bag !== undefined) detail.properties = bag;
  if (unknown.length === 0) return;
  const rest = Object.fromEntries(unknown.map((name) => [name, result[name]]));
  const copy = boundedCopy(rest, run.notes, budget);
  if (objectOf(copy) !== null) detail.unknown = objectOf(copy) ?? {};
}

/** Tags have a place of their own. */
function withoutTags(properties: JsonObject | null): JsonObject | null {
  if (properties === null || !Object.hasOwn(properties, 'tags')) return properties;
  return Object.fromEntries(Object.entries(properties).filter(([name]) => name !== 'tags'));
}
