// What tells a CTIS finding from another of the same rule, words and beginning: title, ids, version, where it ends, what it is
// found on, further places, its data flow and stacks. Lines are counted from the finding's own where they are in its file. Only for telling items of one report
// apart (evidence.rules.ts); nothing is known again by it. Called by ctis/finding.decode.ts.

import type { CtisSubject } from './identity.decode.ts';
import { type CtisPass, type CtisPlace, placeOf } from './places.decode.ts';
import { indexOf, type JsonObject, listOf, objectOf, stringOf } from '../../json/json.decode.ts';

/** Texts to be hashed. To be called quietly: what is noted of places is noted where they are shown. */
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

/** The resource, control, service or code that it is found on: mostly what it is known by, but not where it has more to go by. */
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
