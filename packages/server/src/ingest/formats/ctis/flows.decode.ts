// Data flows and stacks of a CTIS finding (CTIS §2.2, §2.3) → the shape that both formats share.
// Steps and frames are bounded, and those beyond the bound are counted. Called by
// ctis/detail.decode.ts.

import {
  type DetailFlow,
  type DetailFlowStep,
  type DetailFrame,
  type DetailStack,
  limits,
} from '@muster/contract/plain';
import { type CtisPass, locationDetail, placeOf } from './places.decode.ts';
import { maskAssignments, maskSaid, maskSnippet } from '../../redact/masking.rules.ts';
import {
  indexOf,
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  positionOf,
  stringOf,
  stringsOf,
} from '../../json/json.decode.ts';

/** The texts of steps are secondary; the finding's own snippet is shown whole. */
const STEP_TEXT_CHARS_MAX = 1000;

const NONE: Shown<never> = { list: [], omitted: 0 };

/** The lists of a flow, in the order in which data runs through them. */
const STEP_LISTS = [
  ['sources', 'source'],
  ['intermediates', 'propagator'],
  ['sanitizers', 'sanitizer'],
  ['sinks', 'sink'],
] as const;

/** The flows or stacks to show, and the number of steps or frames beyond their bound. */
interface Shown<T> {
  readonly list: readonly T[];
  readonly omitted: number;
}

/**
 * The one data flow that a finding may have. `index` orders its steps where the producer sets it.
 */
export function flowsOf(value: unknown, hide: boolean, pass: CtisPass): Shown<DetailFlow> {
  const flow = objectOf(value);
  if (flow === null) return NONE;
  let omitted = 0;
  const steps: { order: number; step: DetailFlowStep }[] = [];
  for (const [list, role] of STEP_LISTS) {
    for (const entry of listOf(flow[list])) {
      const raw = objectOf(entry);
      if (raw === null) continue;
      if (steps.length >= limits.locationsMax) {
        omitted += 1;
        continue;
      }
      // A first step with index 0 can't be told from a step without an index. Then the order of the
      // lists decides.
      steps.push({ order: numberOf(raw.index) ?? 0, step: stepOf(raw, role, hide, pass) });
    }
  }
  if (steps.length === 0) return NONE;
  const isOrdered = new Set(steps.map((one) => one.order)).size === steps.length;
  if (isOrdered) steps.sort((a, b) => a.order - b.order);
  const summary = pass.warnings.textOf(flow.summary, STEP_TEXT_CHARS_MAX);
  const text = summary === null ? {} : { message: maskSaid(summary) };
  return { list: [{ ...text, steps: steps.map((one) => one.step) }], omitted };
}

function stepOf(raw: JsonObject, role: string, hide: boolean, pass: CtisPass): DetailFlowStep {
  const { warnings } = pass;
  const place = placeOf(
    { path: raw.path, start_line: raw.line, start_column: raw.column, end_column: raw.end_column },
    pass,
  );
  const step: DetailFlowStep = locationDetail(place, hide, pass);
  const endLine = positionOf(raw.end_line);
  if (endLine !== null && endLine >= (place.startLine ?? 1)) step.end_line = endLine;
  const content = stringOf(raw.content);
  if (content !== null) {
    step.snippet = warnings.text(hide ? maskSnippet(content) : content, STEP_TEXT_CHARS_MAX);
  }
  const label = hide ? null : warnings.textOf(raw.label ?? raw.notes, STEP_TEXT_CHARS_MAX);
  if (label !== null) step.message = maskSaid(label);
  step.role = warnings.textOf(raw.type, limits.nameCharsMax) ?? role;
  const name = warnings.textOf(raw.function, limits.nameCharsMax);
  if (name !== null) step.function = name;
  const module = warnings.textOf(raw.module, limits.nameCharsMax);
  if (module !== null) step.module = module;
  const facts = hide ? [] : factsOf(raw, pass);
  if (facts.length > 0) step.facts = Object.fromEntries(facts);
  return step;
}

/** Members of a step that say more than its place. */
const FACTS = 'class operation called_function parameter_index taint_state transformation'.split(
  ' ',
);

function factsOf(raw: JsonObject, pass: CtisPass): [string, string | number][] {
  const facts: [string, string | number][] = [];
  // Without a label `notes` is shown as the label; beside a label it is a fact of its own.
  for (const name of stringOf(raw.label) === null ? FACTS : [...FACTS, 'notes']) {
    const fact = indexOf(raw[name]) ?? pass.warnings.textOf(raw[name], STEP_TEXT_CHARS_MAX);
    if (fact !== null) facts.push([name, fact]);
  }
  return facts;
}

/** Calls have few parameters; a frame with more was written by a machine for a machine. */
const PARAMETERS_MAX = 20;

export function stacksOf(value: unknown, hide: boolean, pass: CtisPass): Shown<DetailStack> {
  const stacks: DetailStack[] = [];
  let left: number = limits.locationsMax;
  let omitted = 0;
  for (const entry of listOf(value)) {
    const stack = objectOf(entry);
    const frames: DetailFrame[] = [];
    for (const frameEntry of listOf(stack?.frames)) {
      const raw = objectOf(frameEntry);
      if (raw === null) continue;
      if (left === 0) {
        omitted += 1;
        continue;
      }
      left -= 1;
      const place = placeOf(objectOf(raw.location) ?? {}, pass);
      const frame: DetailFrame = locationDetail(place, hide, pass);
      const module = pass.warnings.textOf(raw.module, limits.nameCharsMax);
      const thread = numberOf(raw.thread_id);
      if (module !== null) frame.module = module;
      if (thread !== null) frame.thread_id = thread;
      const parameters = hide ? [] : stringsOf(raw.parameters);
      if (parameters.length > 0) {
        frame.parameters = pass.warnings
          .first(parameters, PARAMETERS_MAX)
          .map((text) => pass.warnings.text(maskAssignments(text), limits.nameCharsMax));
      }
      frames.push(frame);
    }
    const message = hide ? null : pass.warnings.textOf(stack?.message, STEP_TEXT_CHARS_MAX);
    const text = message === null ? {} : { message: maskSaid(message) };
    if (frames.length > 0) stacks.push({ ...text, frames });
  }
  return { list: stacks, omitted };
}
