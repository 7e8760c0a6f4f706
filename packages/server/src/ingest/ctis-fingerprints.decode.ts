// A CTIS finding's fingerprints (CTIS §5): the one that the producer asks about (`fingerprint`),
// its partial ones, and which of them are evidence. One that merely hashes a line or a version is
// kept as the base fingerprint, so that /ingest/check still knows it, but not used for matching.
// Called by ctis-finding.decode.ts.

import { limits } from '@muster/contract';
import type { FindingParts } from './ctis-parts.decode.ts';
import { fingerprintWeakness } from './ctis-fingerprint.rules.ts';
import type { CtisPlace } from './ctis-places.decode.ts';
import { publishedIds } from './ctis-identity.decode.ts';
import { usableFingerprints } from './fingerprints.rules.ts';
import { objectOf, positionOf, stringOf } from './report-notes.decode.ts';

export interface FingerprintFields {
  readonly parts: FindingParts;
  readonly ruleId: string;
  readonly location: CtisPlace;
  readonly title: string;
  readonly said: string;
}

/**
 * Usable ones by name (the producer's own as `fingerprint`), the base as sent, and what was left
 * out.
 */
export function readFingerprints(fields: FingerprintFields): {
  readonly usable: Readonly<Record<string, string>>;
  readonly base: string | null;
  readonly ignored: Readonly<Record<string, string>> | null;
} {
  const { finding } = fields.parts;
  const sent = stringOf(finding.fingerprint)?.trim() ?? null;
  const base = sent === null ? null : baseOf(sent);
  const weakness = sent === null ? null : weaknessOf(sent, fields);
  const own = sent === null || weakness !== null ? null : { fingerprint: sent };
  const { usable, ignored } = usableFingerprints([own, objectOf(finding.partial_fingerprints)]);
  return {
    usable,
    base,
    ignored: weakness === null ? ignored : { ...ignored, fingerprint: weakness },
  };
}

/** As sent, but never longer than what /ingest/check compares. */
function baseOf(fingerprint: string): string {
  const text = fingerprint.toWellFormed().replaceAll('\0', '\uFFFD');
  return text.slice(0, limits.fingerprintCharsMax).toWellFormed();
}

function weaknessOf(fingerprint: string, fields: FingerprintFields): string | null {
  const { parts, ruleId, location, title, said } = fields;
  const raw = objectOf(parts.finding.location);
  return fingerprintWeakness(fingerprint, {
    path: stringOf(raw?.path) ?? '',
    rule: stringOf(parts.finding.rule_id) ?? ruleId,
    title: stringOf(parts.finding.title) ?? title,
    message: said,
    startLine: location.startLine ?? 0,
    endLine: positionOf(raw?.end_line) ?? 0,
    packageName: stringOf(parts.vulnerability?.package) ?? '',
    packageVersion: stringOf(parts.vulnerability?.affected_version) ?? '',
    vulnerabilities: publishedIds(parts.vulnerability, ruleId),
    secrets: parts.secret === null ? [] : secretsOf(fields),
  });
}

function secretsOf({ parts, location }: FingerprintFields): string[] {
  return [stringOf(parts.secret?.masked_value), location.snippet].filter((text) => text !== null);
}
