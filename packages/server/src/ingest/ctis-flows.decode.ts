// Data flows and stacks of a CTIS finding (CTIS §2.2, §2.3) in the shape that both formats share.
// Called by ctis-detail.decode.ts.

import {
  type DetailFlow,
  type DetailFlowStep,
  type DetailFrame,
  type DetailStack,
  limits,
} from '@muster/contract';
import { type CtisPass, locationDetail, placeOf } from './ctis-places.decode.ts';
import { maskSnippet } from './masking.rules.ts';
import {
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  positionOf,
  stringOf,
} from './report-notes.decode.ts';

/** Secondary texts; the finding's own snippet is shown whole. */
const STEP_TEXT_CHARS_MAX = 1000;

/** The lists of a flow in the order in which data runs through them. */
const STEP_LISTS = [
  ['sources', 'source'],
  ['intermediates', 'propagator'],
  ['sanitizers', 'sanitizer'],
  ['sinks', 'sink'],
] as const;

/** The one data flow that a finding may have; `index` orders its steps where producers set it. */
export function flowsOf(value: unknown, hide: boolean, pass: CtisPass): DetailFlow[] {
  const flow = objectOf(value);
  if (flow === null) return [];
  const steps: { order: number; step: DetailFlowStep }[] = [];
  for (const [list, role] of STEP_LISTS) {
    for (const entry of listOf(flow[list])) {
      const raw = objectOf(entry);
      if (raw === null) continue;
      if (steps.length >= limits.locationsMax) {
        pass.notes.countCut();
        break;
      }
      // A source that is first by index 0 can't be told from one without index; the lists' order
      // decides then.
      steps.push({ order: numberOf(raw.index) ?? 0, step: stepOf(raw, role, hide, pass) });
    }
  }
  if (steps.length === 0) return [];
  const isOrdered = new Set(steps.map((one) => one.order)).size === steps.length;
  if (isOrdered) steps.sort((a, b) => a.order - b.order);
  const summary = pass.notes.textOf(flow.summary, STEP_TEXT_CHARS_MAX);
  const text = summary === null ? {} : { message: summary };
  return [{ ...text, steps: steps.map((one) => one.step) }];
}

function stepOf(raw: JsonObject, role: string, hide: boolean, pass: CtisPass): DetailFlowStep {
  const { notes } = pass;
  const place = placeOf({ path: raw.path, start_line: raw.line, start_column: raw.column }, pass);
  const step: DetailFlowStep = locationDetail(place, hide, pass);
  const endLine = positionOf(raw.end_line);
  if (endLine !== null && endLine >= (place.startLine ?? 1)) step.end_line = endLine;
  const content = stringOf(raw.content);
  if (content !== null) {
    step.snippet = notes.text(hide ? maskSnippet(content) : content, STEP_TEXT_CHARS_MAX);
  }
  const label = hide ? null : notes.textOf(raw.label ?? raw.notes, STEP_TEXT_CHARS_MAX);
  if (label !== null) step.message = label;
  step.role = notes.textOf(raw.type, limits.nameCharsMax) ?? role;
  const name = notes.textOf(raw.function, limits.nameCharsMax);
  if (name !== null) step.function = name;
  return step;
}

export function stacksOf(value: unknown, hide: boolean, pass: CtisPass): DetailStack[] {
  const stacks: DetailStack[] = [];
  let left: number = limits.locationsMax;
  for (const entry of listOf(value)) {
    const stack = objectOf(entry);
    const frames: DetailFrame[] = [];
    for (const frameEntry of listOf(stack?.frames)) {
      const raw = objectOf(frameEntry);
      if (raw === null) continue;
      if (left === 0) {
        pass.notes.countCut();
        break;
      }
      left -= 1;
      const place = placeOf(objectOf(raw.location) ?? {}, pass);
      const frame: DetailFrame = locationDetail(place, hide, pass);
      const module = pass.notes.textOf(raw.module, limits.nameCharsMax);
      const thread = numberOf(raw.thread_id);
      if (module !== null) frame.module = module;
      if (thread !== null) frame.thread_id = thread;
      frames.push(frame);
    }
    const message = hide ? null : pass.notes.textOf(stack?.message, STEP_TEXT_CHARS_MAX);
    const text = message === null ? {} : { message };
    if (frames.length > 0) stacks.push({ ...text, frames });
  }
  return stacks;
}
