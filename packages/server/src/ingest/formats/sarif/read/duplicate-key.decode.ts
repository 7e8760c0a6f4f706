// A SARIF result → the texts that tell it from another result with the same rule, message and
// start: the end of its region, the version of its component, the component of its rule, its
// further places, and the flows and stacks that lead to it. Lines in the result's own file are
// counted from the result's line, so that the texts stay the same when lines above move. The texts
// only tell items of one report apart (evidence.rules.ts); no finding is known again by them.
// Called by sarif/result.decode.ts.

import { indexOf, type JsonObject, listOf, objectOf, stringOf } from '../../../json/json.decode.ts';
import type { Subject } from './identity.decode.ts';
import { addressOf, type ReadLocation } from './locations.decode.ts';
import type { RuleFacts } from './rules.decode.ts';
import type { SarifRun } from './run.decode.ts';

/** The texts to be hashed. Callers silence the warnings: the detail warns about the same places. */
export function duplicateKeyTexts(
  result: JsonObject,
  rule: RuleFacts,
  location: ReadLocation | null,
  subject: Subject,
  run: SarifRun,
): string[] {
  const texts = [
    endOf(location),
    subject.component?.version ?? '',
    stringOf(rule.component?.guid) ?? stringOf(rule.component?.name) ?? '',
    ...(subject.also ?? []),
    ...addressTexts(objectOf(location?.raw.physicalLocation), run),
  ];
  const around = new Surroundings(location, run, texts);
  const places = listOf(result.locations);
  if (places.length > 1) {
    for (const entry of places) if (entry !== location?.raw) around.add(entry, 'place');
  }
  for (const entry of listOf(result.relatedLocations)) around.add(entry, 'related');
  for (const flow of listOf(result.codeFlows)) {
    for (const thread of listOf(objectOf(flow)?.threadFlows)) {
      texts.push('flow');
      for (const step of listOf(objectOf(thread)?.locations)) around.addStep(step);
    }
  }
  for (const stack of listOf(result.stacks)) {
    texts.push('stack');
    for (const frame of listOf(objectOf(stack)?.frames)) {
      around.add(objectOf(frame)?.location, 'frame');
    }
  }
  return texts;
}

/** The end of the region, counted from its first line (§3.30). */
function endOf(location: ReadLocation | null): string {
  if (location === null) return '';
  const { startLine, endLine, endColumn, raw } = location.region;
  if (startLine !== null) return `${(endLine ?? startLine) - startLine}:${endColumn ?? ''}`;
  const length = indexOf(raw?.byteLength) ?? indexOf(raw?.charLength);
  return length === null ? '' : `${length}`;
}

/** Turns the places beside the result's own into texts. */
class Surroundings {
  readonly #path: string | null;
  readonly #line: number;
  readonly #run: SarifRun;
  readonly #texts: string[];

  constructor(own: ReadLocation | null, run: SarifRun, texts: string[]) {
    this.#path = own?.place.path ?? null;
    this.#line = own?.startLine ?? 0;
    this.#run = run;
    this.#texts = texts;
  }

  /** §3.38: a step may stand in the run's table. */
  addStep(value: unknown): void {
    const step = objectOf(value);
    const listed = objectOf(this.#run.threadFlowLocations[indexOf(step?.index) ?? -1]);
    this.add(step?.location ?? listed?.location, 'step');
  }

  add(value: unknown, what: string): void {
    const location = objectOf(value);
    const physical = objectOf(location?.physicalLocation);
    const artifact = objectOf(physical?.artifactLocation);
    const region = objectOf(physical?.region);
    const path = artifact === null ? null : this.#run.places.of(artifact).path;
    const from = path === this.#path ? this.#line : 0;
    const line = indexOf(region?.startLine);
    const where = line === null ? offsetOf(region) : line - from;
    const logical = objectOf(listOf(location?.logicalLocations)[0]);
    const message = objectOf(location?.message);
    this.#texts.push(
      what,
      path ?? '',
      `${where ?? ''}:${indexOf(region?.startColumn) ?? ''}`,
      stringOf(logical?.fullyQualifiedName) ?? stringOf(logical?.name) ?? '',
      stringOf(message?.text) ?? stringOf(message?.id) ?? '',
      ...addressTexts(physical, this.#run),
    );
  }
}

/** A binary has parts in segments in modules. The bound also ends a cycle of parents. */
const PARENTS_MAX = 16;

/** §3.32: the place in a binary, with the addresses that it is relative to. */
function addressTexts(physical: JsonObject | null, run: SarifRun): string[] {
  const texts: string[] = [];
  const table = listOf(run.raw.addresses);
  let address = objectOf(physical?.address);
  while (address !== null && texts.length < PARENTS_MAX) {
    texts.push(JSON.stringify(addressOf(address, run)));
    const listed = objectOf(table[indexOf(address.index) ?? -1]);
    const parent = indexOf(address.parentIndex) ?? indexOf(listed?.parentIndex);
    address = parent === null ? null : objectOf(table[parent]);
  }
  return texts;
}

const offsetOf = (region: JsonObject | null): number | null =>
  indexOf(region?.byteOffset) ?? indexOf(region?.charOffset);
