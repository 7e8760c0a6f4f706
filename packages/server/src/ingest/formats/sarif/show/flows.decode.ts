// Code flows and stacks of a SARIF result (SARIF 2.1.0 §3.36-§3.38, §3.44-§3.45) → the form that a
// finding page shows: one flow for each thread, its steps and frames bounded, values masked where
// the finding is a secret. Called by show/detail.decode.ts and show/graphs.decode.ts.

import {
  type DetailFlow,
  type DetailFlowStep,
  type DetailFrame,
  type DetailStack,
  limits,
} from '@muster/contract/plain';
import { isCredentialName, MASK } from '../../../redact/masking.rules.ts';
import {
  indexOf,
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  preview,
  stringOf,
  stringsOf,
} from '../../../json/json.decode.ts';
import { exchangeOf } from './exchange.decode.ts';
import { detailLocation, type Reading, readLocation } from '../read/locations.decode.ts';
import { shownMessage } from '../read/message.decode.ts';

/**
 * §3.36-§3.38: each thread flow becomes a flow, and has the number of its code flow where that has
 * several threads. A step may stand in the run's table (§3.14.19).
 */
export function detailFlows(list: unknown, reading: Reading): DetailFlow[] {
  const { run, room } = reading;
  const flows: DetailFlow[] = [];
  for (const [index, flow] of listOf(list).entries()) {
    const threads = listOf(objectOf(flow)?.threadFlows);
    for (const entry of threads) {
      const thread = objectOf(entry);
      const steps: DetailFlowStep[] = [];
      for (const location of listOf(thread?.locations)) {
        if (!room.take()) continue;
        const step = detailStep(objectOf(location), reading);
        if (step !== null) steps.push(step);
      }
      if (steps.length === 0) continue;
      const detail: DetailFlow = { steps };
      const said = [
        messageOf(objectOf(flow)?.message, reading),
        messageOf(thread?.message, reading),
      ];
      const text = room.text(said.filter((one) => one !== null).join('\n') || null, run);
      if (text !== null) detail.message = text;
      if (threads.length > 1) detail.flow = index;
      const id = run.warnings.textOf(thread?.id, limits.nameCharsMax);
      if (id !== null) detail.thread = id;
      const state = stateOf([thread?.immutableState, thread?.initialState], reading);
      if (state !== null) detail.state = state;
      flows.push(detail);
    }
  }
  return flows;
}

/** A message at a place beside the finding's own; null where it might repeat a secret. */
export function messageOf(message: unknown, reading: Reading): string | null {
  return reading.hide || message === undefined ? null : shownMessage(message, reading.rule);
}

/** §3.38: the step's own members come before those in the run's table at its index. */
function detailStep(own: JsonObject | null, reading: Reading): DetailFlowStep | null {
  if (own === null) return null;
  const { rule, run, hide, room } = reading;
  const listed = objectOf(run.threadFlowLocations[indexOf(own.index) ?? -1]);
  const read = readLocation(own.location ?? listed?.location, run);
  const step: DetailFlowStep = read === null ? {} : detailLocation(read, rule, run, hide, room);
  const kinds = stringsOf(own.kinds ?? listed?.kinds).join(' ');
  const importance = stringOf(own.importance) ?? stringOf(listed?.importance);
  const module = stringOf(own.module) ?? stringOf(listed?.module);
  const nesting = indexOf(own.nestingLevel) ?? indexOf(listed?.nestingLevel);
  const order = indexOf(own.executionOrder) ?? indexOf(listed?.executionOrder);
  const state = stateOf([listed?.state, own.state], reading);
  const request = exchangeOf(own.webRequest ?? listed?.webRequest, run.webRequests, reading);
  const response = exchangeOf(own.webResponse ?? listed?.webResponse, run.webResponses, reading);
  if (kinds !== '') step.role = run.warnings.text(kinds, limits.nameCharsMax);
  if (importance !== null) step.importance = run.warnings.text(importance, limits.nameCharsMax);
  if (module !== null) step.module = run.warnings.text(module, limits.nameCharsMax);
  if (nesting !== null) step.nesting_level = nesting;
  if (order !== null) step.execution_order = order;
  putRest(step, own, listed, reading);
  if (state !== null) step.state = state;
  if (request !== null) step.web_request = request;
  if (response !== null) step.web_response = response;
  return Object.keys(step).length === 0 ? null : step;
}

/** §3.38.3, §3.38.8, §3.38.13: adds the members of a step that few tools write. */
function putRest(
  step: DetailFlowStep,
  own: JsonObject,
  listed: JsonObject | null,
  reading: Reading,
): void {
  const { run } = reading;
  const time = stringOf(own.executionTimeUtc) ?? stringOf(listed?.executionTimeUtc);
  if (time !== null) step.executed_at = run.warnings.text(time, limits.nameCharsMax);
  const taxa = own.taxa ?? listed?.taxa;
  if (taxa !== undefined) {
    const { cwe, owasp, other } = run.rules.taxa.of({ taxa }, null, []);
    const names = [...cwe, ...owasp, ...other];
    if (names.length > 0) {
      step.taxa = names.map((name) => run.warnings.text(name, limits.nameCharsMax));
    }
  }
  const stack = own.stack ?? listed?.stack;
  if (stack !== undefined) {
    const [shown] = detailStacks([stack], reading);
    if (shown !== undefined) step.stack = shown;
  }
}

/** Enough to follow a variable; more would be a dump of memory. */
const STATE_VALUES_MAX = 20;

/**
 * Values of expressions (§3.37.4, §3.38.9, §3.42.6); a later object's value replaces an earlier
 * one's.
 */
export function stateOf(
  objects: readonly unknown[],
  reading: Reading,
): Record<string, string> | null {
  if (reading.hide) return null;
  const values = new Map<string, string>();
  for (const object of objects) {
    if (object === undefined) continue;
    for (const [name, message] of Object.entries(objectOf(object) ?? {})) {
      const said = shownMessage(message, reading.rule);
      if (said === null) continue;
      if (values.size >= STATE_VALUES_MAX && !values.has(name)) {
        reading.run.warnings.leaveOut(1);
        continue;
      }
      const shown = isCredentialName(name) ? MASK : said;
      const text = reading.room.text(shown, reading.run, limits.nameCharsMax);
      if (text !== null) values.set(preview(name, limits.nameCharsMax), text);
    }
  }
  return values.size === 0 ? null : Object.fromEntries(values);
}

/** Calls have few parameters; a frame with more was written by a machine for a machine. */
const PARAMETERS_MAX = 20;

/** §3.44 stack, §3.45 stackFrame. */
export function detailStacks(list: unknown, reading: Reading): DetailStack[] {
  const { rule, run, hide, room } = reading;
  const stacks: DetailStack[] = [];
  for (const entry of listOf(list)) {
    const stack = objectOf(entry);
    const frames: DetailFrame[] = [];
    for (const frameEntry of listOf(stack?.frames)) {
      const frame = objectOf(frameEntry);
      if (frame === null || !room.take()) continue;
      const read = readLocation(frame.location, run);
      const detail: DetailFrame = read === null ? {} : detailLocation(read, rule, run, hide, room);
      const module = run.warnings.textOf(frame.module, limits.nameCharsMax);
      const thread = numberOf(frame.threadId);
      const parameters = hide ? [] : stringsOf(frame.parameters);
      if (module !== null) detail.module = module;
      if (thread !== null) detail.thread_id = thread;
      if (parameters.length > 0) {
        detail.parameters = run.warnings
          .first(parameters, PARAMETERS_MAX)
          .map((one) => run.warnings.text(one, limits.nameCharsMax));
      }
      frames.push(detail);
    }
    const text = room.text(messageOf(stack?.message, reading), run);
    if (frames.length > 0) stacks.push({ ...(text === null ? {} : { message: text }), frames });
  }
  return stacks;
}
