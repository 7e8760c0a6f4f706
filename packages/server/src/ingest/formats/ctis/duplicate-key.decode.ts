// A CTIS finding → the texts that tell it from another finding with the same rule, message and
// start: title, ids, version, end, the object it was found on, further places, data flow, stacks.
// Lines in the finding's own file are counted from the finding's line. The texts only tell items of
// one report apart (evidence.rules.ts); no finding is known again by them. Called by
// ctis/finding.decode.ts.

import type { CtisSubject } from './identity.decode.ts';
import { type CtisPass, type CtisPlace, placeOf } from './places.decode.ts';
import { indexOf, type JsonObject, listOf, objectOf, stringOf } from '../../json/json.decode.ts';

/** The texts to be hashed. Callers silence the warnings: the detail warns about the same places. */
export function duplicateKeyTexts(
  finding: JsonObject,
  subject: CtisSubject,
  location: CtisPlace,
  pass: CtisPass,
): string[] {
  const { raw, startLine } = location;
  const end = (indexOf(raw?.end_line) ?? startLine ?? 0) - (startLine ?? 0);
  const texts = [
    `${end}:${indexOf(raw?.end_column) ?? ''}`,
    stringOf(finding.title) ?? '',
    subject.component?.version ?? '',
    ...(subject.also ?? []),
    ...objectTexts(finding),
  ];
  const add = (place: CtisPlace, more: readonly unknown[]): void => {
    const from = place.path === location.path ? (startLine ?? 0) : 0;
    const where = place.startLine === null ? '' : `${place.startLine - from}`;
    texts.push(place.path ?? '', `${where}:${place.startColumn ?? ''}`, place.logical ?? '');
    for (const text of more) texts.push(stringOf(text) ?? '');
  };
  for (const entry of listOf(finding.related_locations)) {
    const related = objectOf(entry);
    if (related !== null) add(placeOf(related, pass), []);
  }
  for (const entry of listOf(finding.stacks)) {
    texts.push('stack');
    for (const frame of listOf(objectOf(entry)?.frames)) {
      const place = objectOf(objectOf(frame)?.location);
      if (place !== null) add(placeOf(place, pass), []);
    }
  }
  const flow = objectOf(finding.data_flow);
  for (const name of flow === null ? [] : STEP_LISTS) {
    texts.push(name);
    for (const entry of listOf(flow?.[name])) {
      const step = objectOf(entry);
      if (step === null) continue;
      const place = { path: step.path, start_line: step.line, start_column: step.column };
      add(placeOf(place, pass), [step.function, step.label]);
    }
  }
  return texts;
}

/**
 * The resource, control, service or code that the finding was found on. Often it is the identity of
 * the finding, but not where the finding has a better one.
 */
function objectTexts(finding: JsonObject): string[] {
  const texts: string[] = [];
  for (const [part, names] of OBJECT_MEMBERS) {
    const object = objectOf(finding[part]);
    if (object === null) continue;
    for (const name of names) {
      const value = object[name];
      texts.push(typeof value === 'number' ? String(value) : (stringOf(value) ?? ''));
    }
  }
  return texts;
}

/** Members by which two findings at one place may differ (CTIS §2.4). */
const OBJECT_MEMBERS = [
  ['misconfiguration', ['resource_type', 'resource_name', 'namespace']],
  ['compliance', ['framework', 'control_id']],
  ['network', ['host', 'port', 'protocol']],
  ['web3', ['bytecode_offset']],
] as const;

const STEP_LISTS = ['sources', 'intermediates', 'sanitizers', 'sinks'] as const;
