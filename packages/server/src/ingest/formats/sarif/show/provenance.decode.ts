// Suppressions and provenance of a SARIF result (SARIF 2.1.0 §3.35, §3.48 resultProvenance) → the
// form that a finding page shows: who suppressed the result and why, when it was first seen, what
// it was converted from. Called by sarif/result.decode.ts and show/detail.decode.ts.

import { type DetailProvenance, type DetailSuppression, limits } from '@muster/contract/plain';
import { maskSaid } from '../../../redact/masking.rules.ts';
import { type JsonObject, listOf, objectOf } from '../../../json/json.decode.ts';
import { detailLocation, readLocation } from '../read/locations.decode.ts';
import type { RuleFacts } from '../read/rules.decode.ts';
import type { SarifRun } from '../read/run.decode.ts';
import { statusWord } from '../read/types.decode.ts';

/**
 * §3.27.23: null and [] mean "not suppressed". An entry that has neither kind nor status is noise
 * (Anchore writes one on every result); an absent status means accepted (§3.35.3).
 */
export function suppressionsOf(
  result: JsonObject,
  rule: RuleFacts,
  run: SarifRun,
  hide: boolean,
): readonly DetailSuppression[] {
  const entries = listOf(result.suppressions);
  if (entries.length === 0) return NONE;
  const { warnings } = run;
  const suppressions: DetailSuppression[] = [];
  for (const entry of warnings.first(entries, limits.tagsMax)) {
    const raw = objectOf(entry);
    const kind = warnings.textOf(raw?.kind, limits.nameCharsMax);
    const sent = raw?.status ?? null;
    if (raw === null || (kind === null && sent === null)) continue;
    const suppression: DetailSuppression = {
      ...(kind === null ? {} : { kind }),
      status: sent === null ? 'accepted' : statusOf(warnings.textOf(sent, limits.nameCharsMax)),
    };
    const justification = warnings.textOf(raw.justification, limits.messageCharsMax);
    if (justification !== null) suppression.justification = maskSaid(justification);
    const guid = warnings.textOf(raw.guid, limits.nameCharsMax);
    if (guid !== null) suppression.producer_id = guid;
    const location = raw.location === undefined ? null : readLocation(raw.location, run);
    if (location !== null) {
      const shown = detailLocation(location, rule, run, hide);
      if (Object.keys(shown).length > 0) suppression.location = shown;
    }
    // Snyk writes the start and the end of a suppression into its property bag.
    const properties = objectOf(raw.properties);
    const since = warnings.textOf(properties?.ignoredOn, limits.nameCharsMax);
    const until = warnings.textOf(properties?.expiration, limits.nameCharsMax);
    if (since !== null) suppression.at = since;
    if (until !== null) suppression.expires_at = until;
    suppressions.push(suppression);
  }
  return suppressions;
}

/** The status of a suppression; a status that isn't a word, or can't be read, accepts nothing. */
const statusOf = (status: string | null): string =>
  status === null ? 'unreadable' : (statusWord(status) ?? status.trim());

const NONE: readonly DetailSuppression[] = [];

/** Converters name one source; more would be a history. */
const SOURCES_MAX = 10;

/** §3.48: the provenance; null when it says nothing. */
export function provenanceOf(value: unknown, run: SarifRun): DetailProvenance | null {
  const raw = objectOf(value);
  if (raw === null) return null;
  const provenance: DetailProvenance = {};
  const texts = [
    ['first_detected_at', raw.firstDetectionTimeUtc],
    ['last_detected_at', raw.lastDetectionTimeUtc],
    ['first_detected_run', raw.firstDetectionRunGuid],
    ['last_detected_run', raw.lastDetectionRunGuid],
  ] as const;
  for (const [name, said] of texts) {
    const text = run.warnings.textOf(said, limits.nameCharsMax);
    if (text !== null) provenance[name] = text;
  }
  const sources: NonNullable<DetailProvenance['converted_from']> = [];
  for (const physicalLocation of run.warnings.first(listOf(raw.conversionSources), SOURCES_MAX)) {
    const read = readLocation({ physicalLocation }, run);
    // The snippet is a piece of the tool's own output: it may repeat a secret, and it isn't code.
    const source = read === null ? {} : placeOnly(read.place, read.startLine);
    if (Object.keys(source).length > 0) sources.push(source);
  }
  if (sources.length > 0) provenance.converted_from = sources;
  return Object.keys(provenance).length === 0 ? null : provenance;
}

function placeOnly(
  place: { readonly path: string | null; readonly url: string | null },
  line: number | null,
) {
  return {
    ...(place.url === null ? {} : { url: place.url }),
    ...(place.url !== null || place.path === null ? {} : { path: place.path }),
    ...(line === null ? {} : { start_line: line }),
  };
}
