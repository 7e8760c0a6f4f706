// One CTIS finding (CTIS §2) → the outcome of its item: a finding, not a problem, or a located
// rejection. Only an entry that is no object, or has no title, message or rule, is rejected; a word
// outside of its list costs a warning and becomes a default. Secrets are masked before the rest is
// read. Called by ctis.decode.ts.

import { FINDING_TYPES, type FindingType, limits } from '@muster/contract/plain';
import { detailOf } from './detail.decode.ts';
import { type FingerprintFields, readFingerprints } from './fingerprints.decode.ts';
import { subjectOf } from './identity.decode.ts';
import { isBlank, readObject } from './members.decode.ts';
import {
  type FindingParts,
  isSuppressed,
  partsOf,
  suppressionEnd,
  warnSuppression,
} from './parts.decode.ts';
import { type CtisPass, readLocation } from './places.decode.ts';
import { duplicateKeyTexts } from './duplicate-key.decode.ts';
import { type Hidden, hiddenOf, SECRET_TYPES, withoutHidden } from './secrets.decode.ts';
import { severityOf } from './severity.decode.ts';
import type { FindingDraft, Item } from '../../report/report.rules.ts';
import { maskSaid } from '../../redact/masking.rules.ts';
import type { Warnings } from '../../json/warnings.decode.ts';
import { type JsonObject, listOf, objectOf, stringOf } from '../../json/json.decode.ts';

const NO_PROBLEM_KINDS: ReadonlySet<string> = new Set([
  'pass',
  'not_applicable',
  'notapplicable',
  'informational',
]);

const TYPES: ReadonlySet<string> = new Set(FINDING_TYPES);

/** Decides the outcome of one finding. */
export function decodeFinding(value: unknown, pointer: string, pass: CtisPass): Item {
  const { warnings } = pass;
  if (objectOf(value) === null) {
    const detail = 'A finding must be an object.';
    return { outcome: 'rejected', rejection: { pointer, code: 'item_not_object', detail } };
  }
  // Trivy adapters write an empty finding for each passed check (CTIS §8, item 28).
  if (isBlank(value)) return { outcome: 'not_problem', pointer, reason: 'empty finding' };
  const raw = objectOf(value) ?? {};
  const hidden = hiddenOf(raw);
  const shown = hidden === null ? raw : withoutHidden(raw, hidden);
  // From here on only the copy without secrets is read.
  const finding = readObject('finding', shown, pointer, warnings) ?? {};
  const parts = partsOf(finding, pointer, warnings);
  const reason = reasonForNoProblem(parts);
  if (reason !== null) return { outcome: 'not_problem', pointer, reason };
  const ruleId = ruleIdOf(parts);
  const title =
    stringOf(finding.title) ?? stringOf(finding.message) ?? stringOf(finding.rule_name) ?? ruleId;
  if (title === null) {
    const detail = 'A finding needs a title, a message or a rule id.';
    const rejection = { pointer: `${pointer}/title`, code: 'title_missing', detail };
    return { outcome: 'rejected', rejection };
  }
  const titled = {
    parts,
    ruleId,
    title: title.trim(),
    hidden,
    unmasked: unmaskedMessage(raw, finding),
  };
  return { outcome: 'finding', draft: draftOf(titled, pointer, pass) };
}

/**
 * The message as it was sent, where masking changed it; null where it is the same. The masked words
 * may be all that tells one secret from another.
 */
function unmaskedMessage(raw: JsonObject, shown: JsonObject): string | null {
  const [own, masked] = [raw, shown].map(
    (one) => stringOf(one.message) ?? stringOf(one.description),
  );
  return own === masked ? null : (own ?? null);
}

/** A finding that has a title. */
interface TitledFinding {
  readonly parts: FindingParts;
  readonly ruleId: string | null;
  readonly title: string;
  readonly hidden: Hidden | null;
  /** The message as it was sent, where masking changed it. */
  readonly unmasked: string | null;
}

function draftOf(titled: TitledFinding, pointer: string, pass: CtisPass): FindingDraft {
  const { parts, ruleId, title, hidden, unmasked } = titled;
  const { warnings, targets } = pass;
  const { finding } = parts;
  const type = typeOf(parts, pointer, warnings);
  const location = readLocation(finding, pass);
  const message = stringOf(finding.message) ?? stringOf(finding.description) ?? title;
  const isSecret = hidden?.isSecret === true;
  warnSuppression(parts.suppression, pointer, warnings);
  const secret = isSecret ? { value: hidden.identity ?? unmasked } : null;
  const subject = subjectOf(parts, type, ruleId ?? '', location, message, secret);
  const { severity, from } = severityOf(parts, pointer, warnings);
  const secrets = hidden?.own ?? [];
  const fields: FingerprintFields = {
    parts,
    ruleId: ruleId ?? '',
    location,
    title,
    message,
    secrets,
    isSecret,
  };
  const fingerprints = readFingerprints(fields, warnings);
  const known = { parts, subject, location, severityFrom: from, fingerprints, pointer, isSecret };
  return {
    pointer,
    analysis: 0,
    asset: targets.of(finding, pointer, warnings),
    type,
    ruleId: warnings.text(ruleId ?? '', limits.ruleIdCharsMax),
    title: warnings.text(maskSaid(title.split(/\r?\n/, 1)[0] ?? title), limits.titleCharsMax),
    severity,
    path: location.path,
    startLine: location.startLine,
    startColumn: location.startColumn,
    message: warnings.text(maskSaid(message), limits.messageCharsMax),
    fingerprints: fingerprints.usable,
    baseFingerprint: fingerprints.base,
    identity: {
      kind: subject.kind,
      content: subject.content,
      ...(subject.isSaid ? { isSaid: true } : {}),
    },
    also: () => pass.warnings.quietly(() => duplicateKeyTexts(finding, subject, location, pass)),
    suppressed: isSuppressed(parts.suppression),
    ...suppressionEnd(parts.suppression, pointer, warnings),
    detail: () => detailOf(known, pass),
  };
}

/**
 * The reason why the entry reports no problem; null when it reports one. `status` is a hint and
 * decides nothing.
 */
function reasonForNoProblem(parts: FindingParts): string | null {
  const kind = stringOf(parts.finding.kind)?.trim().toLowerCase() ?? '';
  if (NO_PROBLEM_KINDS.has(kind)) return `kind ${kind}`;
  const result = stringOf(parts.compliance?.result)?.trim().toLowerCase() ?? '';
  if (result === 'pass' || result === 'not_applicable') return `compliance result ${result}`;
  const baseline = stringOf(parts.finding.baseline_state)?.trim().toLowerCase();
  return baseline === 'absent' ? 'baseline_state absent' : null;
}

/** `rule_id`, else the id of the CVE, policy, control or contract weakness that was found. */
function ruleIdOf(parts: FindingParts): string | null {
  const { finding, vulnerability, misconfiguration, compliance } = parts;
  const [cve] = listOf(vulnerability?.cve_ids);
  const [id] = listOf(vulnerability?.ids);
  return (
    stringOf(finding.rule_id)?.trim() ??
    stringOf(vulnerability?.cve_id)?.trim() ??
    stringOf(cve)?.trim() ??
    stringOf(objectOf(id)?.id)?.trim() ??
    stringOf(misconfiguration?.policy_id)?.trim() ??
    stringOf(misconfiguration?.avd_id)?.trim() ??
    stringOf(compliance?.control_id)?.trim() ??
    stringOf(objectOf(finding.web3)?.swc_id)?.trim() ??
    null
  );
}

function typeOf(parts: FindingParts, pointer: string, warnings: Warnings): FindingType {
  const word = stringOf(parts.finding.type)?.trim().toLowerCase() ?? '';
  if (TYPES.has(word)) return word as FindingType;
  if (SECRET_TYPES.has(word)) return 'secret';
  const byPart = (['secret', 'misconfiguration', 'compliance'] as const).find(
    (name) => parts[name] !== null,
  );
  const type = byPart ?? (objectOf(parts.finding.web3) === null ? 'vulnerability' : 'web3');
  const said =
    word === '' ? 'The finding has no type' : `"${word.slice(0, 64)}" is no finding type`;
  warnings.warn(`${pointer}/type`, 'unknown_type', `${said}; it is taken as ${type}.`);
  return type;
}
