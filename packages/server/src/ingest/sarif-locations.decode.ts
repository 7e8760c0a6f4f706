// Locations, code flows and stacks of a SARIF result (SARIF 2.1.0 §3.28-§3.30, §3.36-§3.38, §3.44),
// as a finding page shows them: bounded lists, normalised paths, masked where the finding is a
// secret. What is malformed is left out of its location, never the location's finding. Called by
// the result and detail readers.

import {
  type DetailFlow,
  type DetailFlowStep,
  type DetailFrame,
  type DetailLocation,
  type DetailStack,
  limits,
} from '@muster/contract';
import { maskSnippet } from './masking.rules.ts';
import {
  indexOf,
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  positionOf,
  stringOf,
  stringsOf,
} from './report-notes.decode.ts';
import { messageText } from './sarif-message.decode.ts';
import { NOWHERE, type Place } from './sarif-places.decode.ts';
import type { RuleFacts } from './sarif-rules.decode.ts';
import type { SarifRun } from './sarif-run.decode.ts';

/** A SARIF location read once: where it is, what stands there, what it is called. */
export interface ReadLocation {
  readonly place: Place;
  readonly startLine: number | null;
  readonly startColumn: number | null;
  /** The code itself (§3.30.13), unmasked: it goes into the identity, not into the detail. */
  readonly snippet: string | null;
  readonly context: string | null;
  readonly logical: string | null;
  readonly raw: JsonObject;
}

/** Reads one location; null when there isn't even an object. */
export function readLocation(value: unknown, run: SarifRun): ReadLocation | null {
  const raw = objectOf(value);
  if (raw === null) return null;
  const physical = objectOf(raw.physicalLocation);
  const artifact = objectOf(physical?.artifactLocation);
  const region = objectOf(physical?.region);
  const startLine = positionOf(region?.startLine);
  let snippet = snippetOf(region);
  if (snippet === null && artifact !== null && startLine !== null) {
    snippet = run.places.sourceLines(artifact, startLine, positionOf(region?.endLine) ?? startLine);
  }
  return {
    place: artifact === null ? NOWHERE : run.places.of(artifact),
    startLine,
    startColumn: startLine === null ? null : positionOf(region?.startColumn),
    snippet,
    context: snippetOf(objectOf(physical?.contextRegion)),
    logical: logicalName(raw, run),
    raw,
  };
}

/** §3.30.13; `rendered` is left aside: it holds line numbers and terminal colours. */
function snippetOf(region: JsonObject | null): string | null {
  return stringOf(objectOf(region?.snippet)?.text);
}

/** §3.33: the qualified name, through the run's table when only an index is given. */
function logicalName(location: JsonObject, run: SarifRun): string | null {
  for (const entry of listOf(location.logicalLocations)) {
    const own = objectOf(entry);
    const name = stringOf(own?.fullyQualifiedName);
    if (name !== null) return name;
    const listed = objectOf(run.logicalLocations[indexOf(own?.index) ?? -1]);
    const other = stringOf(listed?.fullyQualifiedName) ?? stringOf(own?.name);
    if (other !== null) return other;
  }
  return null;
}

/** A result may have hundreds of places; only the first is shown with all its text. */
const MINOR_TEXT_CHARS_MAX = 1000;

/**
 * The location as it is shown. `hide` masks what may hold a secret; without `room` it is the
 * finding's own place, with `room` one of its many others.
 */
export function detailLocation(
  read: ReadLocation,
  rule: RuleFacts,
  run: SarifRun,
  hide: boolean,
  room: Room | null = null,
): DetailLocation {
  const { notes } = run;
  const detail: DetailLocation = {};
  if (read.place.url !== null) detail.url = read.place.url;
  else if (read.place.path !== null) detail.path = read.place.path;
  if (read.startLine !== null) {
    const region = objectOf(objectOf(read.raw.physicalLocation)?.region);
    const endLine = positionOf(region?.endLine);
    const endColumn = positionOf(region?.endColumn);
    detail.start_line = read.startLine;
    if (read.startColumn !== null) detail.start_column = read.startColumn;
    if (endLine !== null && endLine >= read.startLine) detail.end_line = endLine;
    if (endColumn !== null) detail.end_column = endColumn;
  }
  if (read.snippet !== null) {
    const shown = hide ? maskSnippet(read.snippet) : read.snippet;
    const max = room === null ? limits.snippetCharsMax : room.chars(MINOR_TEXT_CHARS_MAX);
    if (max > 1) detail.snippet = notes.text(shown, max);
    room?.use(Math.min(max, shown.length));
  }
  // Around a secret there may be more of it.
  if (read.context !== null && !hide && room === null) {
    detail.context = notes.text(read.context, limits.snippetCharsMax);
    const first = objectOf(objectOf(read.raw.physicalLocation)?.contextRegion)?.startLine;
    if (positionOf(first) !== null) detail.context_start_line = positionOf(first) ?? 1;
  }
  if (read.logical !== null) detail.logical = notes.text(read.logical, limits.pathCharsMax);
  const kind = stringOf(objectOf(listOf(read.raw.logicalLocations)[0])?.kind);
  if (kind !== null) detail.logical_kind = notes.text(kind, limits.nameCharsMax);
  const message = hide ? null : messageText(read.raw.message, rule);
  if (message !== null) {
    const max = room === null ? limits.messageCharsMax : room.chars(MINOR_TEXT_CHARS_MAX);
    if (max > 1) detail.message = notes.text(message, max);
    room?.use(Math.min(max, message.length));
  }
  const id = indexOf(read.raw.id);
  if (id !== null) detail.id = id;
  return detail;
}

/**
 * What the places of one finding may still take: items per list, characters in all; counts what is
 * left out.
 */
export class Room {
  #items = 0;
  #chars = limits.propertiesBytesMax;
  omitted = 0;

  /** Begins a list of at most so many items. */
  begin(items: number): void {
    this.#items = items;
    this.omitted = 0;
  }

  take(): boolean {
    if (this.#items === 0) {
      this.omitted += 1;
      return false;
    }
    this.#items -= 1;
    return true;
  }

  chars(max: number): number {
    return Math.min(max, this.#chars);
  }

  use(chars: number): void {
    this.#chars -= chars;
  }
}

/** A list of locations, at most as many as there is room for. */
export function detailLocations(
  list: unknown,
  rule: RuleFacts,
  run: SarifRun,
  hide: boolean,
  room: Room,
): DetailLocation[] {
  const details: DetailLocation[] = [];
  for (const entry of listOf(list)) {
    if (!room.take()) continue;
    const read = readLocation(entry, run);
    if (read !== null)
      details.push(detailLocation(read, rule, run, hide, details.length === 0 ? null : room));
  }
  return details;
}

/**
 * §3.36-§3.38: each thread flow is a flow of its own; steps may stand in the run's table
 * (§3.14.19).
 */
export function detailFlows(
  list: unknown,
  rule: RuleFacts,
  run: SarifRun,
  hide: boolean,
  room: Room,
): DetailFlow[] {
  const flows: DetailFlow[] = [];
  for (const flow of listOf(list)) {
    const message = hide ? null : messageText(objectOf(flow)?.message, rule);
    for (const thread of listOf(objectOf(flow)?.threadFlows)) {
      const steps: DetailFlowStep[] = [];
      for (const entry of listOf(objectOf(thread)?.locations)) {
        if (!room.take()) continue;
        const step = detailStep(objectOf(entry), rule, run, hide, room);
        if (step !== null) steps.push(step);
      }
      if (steps.length === 0) continue;
      const text =
        message === null ? {} : { message: run.notes.text(message, MINOR_TEXT_CHARS_MAX) };
      flows.push({ ...text, steps });
    }
  }
  return flows;
}

function detailStep(
  entry: JsonObject | null,
  rule: RuleFacts,
  run: SarifRun,
  hide: boolean,
  room: Room,
): DetailFlowStep | null {
  const listed = objectOf(run.threadFlowLocations[indexOf(entry?.index) ?? -1]);
  const read = readLocation(entry?.location ?? listed?.location, run);
  if (entry === null || read === null) return null;
  const step: DetailFlowStep = detailLocation(read, rule, run, hide, room);
  const kinds = stringsOf(entry.kinds ?? listed?.kinds).join(' ');
  const importance = stringOf(entry.importance);
  if (kinds !== '') step.role = run.notes.text(kinds, limits.nameCharsMax);
  if (importance !== null) step.importance = run.notes.text(importance, limits.nameCharsMax);
  return step;
}

/** §3.44 stack, §3.45 stackFrame. */
export function detailStacks(
  list: unknown,
  rule: RuleFacts,
  run: SarifRun,
  hide: boolean,
  room: Room,
): DetailStack[] {
  const stacks: DetailStack[] = [];
  for (const entry of listOf(list)) {
    const stack = objectOf(entry);
    const frames: DetailFrame[] = [];
    for (const frameEntry of listOf(stack?.frames)) {
      const frame = objectOf(frameEntry);
      if (frame === null || !room.take()) continue;
      const read = readLocation(frame.location, run);
      const detail: DetailFrame = read === null ? {} : detailLocation(read, rule, run, hide, room);
      const module = run.notes.textOf(frame.module, limits.nameCharsMax);
      const thread = numberOf(frame.threadId);
      if (module !== null) detail.module = module;
      if (thread !== null) detail.thread_id = thread;
      frames.push(detail);
    }
    const message = hide ? null : messageText(stack?.message, rule);
    const text = message === null ? {} : { message: run.notes.text(message, MINOR_TEXT_CHARS_MAX) };
    if (frames.length > 0) stacks.push({ ...text, frames });
  }
  return stacks;
}
