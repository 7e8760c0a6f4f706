// The invocations and notifications of a SARIF run (SARIF 2.1.0 §3.20, §3.58) → whether the run
// succeeded, and the troubles that its sender should read. A failed run is not a clean run: nothing
// may be concluded from the findings that it lacks. Called by sarif.decode.ts.

import { limits } from '@muster/contract/plain';
import { maskAssignments } from '../../../redact/masking.rules.ts';
import { Warnings } from '../../../json/warnings.decode.ts';
import {
  indexOf,
  type JsonObject,
  numberOf,
  objectOf,
  preview,
  stringOf,
} from '../../../json/json.decode.ts';
import { messageText } from './message.decode.ts';
import { RuleBook } from './rules.decode.ts';
import { overrideOf, overridesOf } from './run.decode.ts';
import { noticeLevel } from '../../common/severity.rules.ts';

/** A fact at a place of the run that speaks against the run. */
interface Trouble {
  /** Begins below the run's own pointer. */
  readonly pointer: string;
  readonly code: 'run_failed' | 'wrong_type' | 'tool_error' | 'tool_warning';
  readonly detail: string;
}

interface Health {
  /**
   * False when the run failed, when an error made its results incomplete (§3.20.14, §3.58.6), and
   * when a member that tells so can't be read: a finding that stays open too long is better than
   * one closed by a failed scan.
   */
  readonly succeeded: boolean;
  readonly troubles: readonly Trouble[];
}

const LISTS = ['toolExecutionNotifications', 'toolConfigurationNotifications'] as const;

/** The code and the words for a notification of each level; other levels are entries of a log. */
const SAID = {
  error: {
    code: 'tool_error',
    what: 'an error',
    meaning: ' What it found may be incomplete, so nothing is closed by it.',
  },
  warning: { code: 'tool_warning', what: 'a warning', meaning: '' },
} as const;

/** CodeQL writes thousands: the first ones tell the story, and the others are counted. */
const SHOWN_MAX = 10;

/** A sentence or two; a warning on a receipt is no log file. */
const TEXT_CHARS_MAX = 300;

/**
 * Judges a run by its invocations, its converter's included (§3.22.3). A value of a wrong type
 * counts against the run here; read/types.decode.ts warns about it.
 */
export function healthOf(run: JsonObject): Health {
  const troubles: Trouble[] = [];
  let book: RuleBook | null = null;
  let succeeded = true;
  for (const [pointer, entry] of invocationsOf(run)) {
    const invocation = objectOf(entry);
    if (invocation === null) {
      succeeded = false;
      continue;
    }
    const failure = failureOf(invocation);
    if (failure !== null) troubles.push({ pointer, code: 'run_failed', detail: failure });
    const said = invocation.executionSuccessful;
    const isUnclear = said !== undefined && said !== null && typeof said !== 'boolean';
    if (isUnclear) {
      const at = `${pointer}/executionSuccessful`;
      troubles.push({ pointer: at, code: 'wrong_type', detail: NEITHER });
    }
    if (failure !== null || isUnclear || !isLegible(invocation)) succeeded = false;
    for (const list of LISTS) {
      if (isNothing(invocation[list])) continue;
      book ??= new RuleBook(run, new Warnings(), 'notifications');
      if (!readNotifications(list, invocation, pointer, book, troubles)) succeeded = false;
    }
  }
  return { succeeded, troubles };
}

/** Every value that tells how the run went, readable or not, with its place. */
function* invocationsOf({ invocations, conversion }: JsonObject) {
  yield* entriesAt('/invocations', invocations);
  const converter = objectOf(conversion);
  if (converter === null) yield* entriesAt('/conversion', conversion);
  else yield* entriesAt('/conversion/invocation', converter.invocation);
}

/**
 * The entries of a list with their places. A single entry may stand in place of the list; null says
 * nothing.
 */
function* entriesAt(pointer: string, value: unknown): Generator<[pointer: string, entry: unknown]> {
  if (!Array.isArray(value)) {
    if (!isNothing(value)) yield [pointer, value];
    return;
  }
  for (const [index, entry] of value.entries()) {
    if (!isNothing(entry)) yield [`${pointer}/${index}`, entry];
  }
}

const isNothing = (value: unknown): boolean => value === undefined || value === null;

const NUMBERS = ['exitCode', 'exitSignalNumber'] as const;
const TEXTS = ['exitSignalName', 'processStartFailureMessage'] as const;

/** False when a member that would tell of a failure has a wrong type. */
function isLegible(invocation: JsonObject): boolean {
  return (
    NUMBERS.every((name) => isNothing(invocation[name]) || numberOf(invocation[name]) !== null) &&
    TEXTS.every((name) => isNothing(invocation[name]) || typeof invocation[name] === 'string')
  );
}

const NEITHER =
  'Neither true nor false is said here; nothing is concluded from what the run lacks.';

/**
 * Shells add 128 to the number of the signal that ended a process. Lower codes mean whatever a tool
 * likes.
 */
const EXIT_CODE_MAX = 127;

/**
 * Why the run failed (§3.20.14); null when it didn't. A process that didn't start (§3.20.13) or was
 * killed has no results, whoever wrote its report. A run that its tool calls successful ended as it
 * should, whatever its exit code; but a tool can't say so after a signal killed it.
 */
function failureOf(invocation: JsonObject): string | null {
  const start = stringOf(invocation.processStartFailureMessage);
  const code = numberOf(invocation.exitCode);
  const isOdd = code !== null && (code < 0 || code > EXIT_CODE_MAX);
  const hasFailed =
    invocation.executionSuccessful === false ||
    start !== null ||
    isKilled(invocation) ||
    (isOdd && invocation.executionSuccessful !== true);
  if (!hasFailed) return null;
  const reasons = [
    start,
    code === null ? null : `exit code ${code}`,
    stringOf(invocation.exitCodeDescription),
    stringOf(invocation.exitSignalName),
  ].flatMap((one) => (one === null ? [] : [safe(one)]));
  const why = reasons.length === 0 ? '' : ` (${reasons.join(', ')})`;
  return `The report says that this run failed${why}; nothing is concluded from what it lacks.`;
}

/**
 * §3.20.11, §3.20.12: true when a signal killed the process. SpotBugs writes "BUGS FOUND" as the
 * name of a signal.
 */
function isKilled(invocation: JsonObject): boolean {
  const number = numberOf(invocation.exitSignalNumber);
  const name = stringOf(invocation.exitSignalName)?.trim() ?? '';
  return (number !== null && number > 0) || /^SIG[A-Z]/i.test(name);
}

/**
 * Reads the notifications of one list. False when one of them is an error, or can't be read and may
 * be one.
 */
function readNotifications(
  list: (typeof LISTS)[number],
  invocation: JsonObject,
  invocationAt: string,
  book: RuleBook,
  troubles: Trouble[],
): boolean {
  const pointer = `${invocationAt}/${list}`;
  const overrides = overridesOf(invocation.notificationConfigurationOverrides, book);
  let shown = 0;
  let more = 0;
  let isGood = true;
  for (const [at, entry] of entriesAt(pointer, invocation[list])) {
    const notification = objectOf(entry);
    if (notification === null) {
      isGood = false;
      continue;
    }
    const descriptor = book.of({ rule: notification.descriptor });
    // §3.58.6: the notification's own level, else the configured one, else `warning`.
    const own = noticeLevel(notification.level);
    if (own === null && !isNothing(notification.level)) isGood = false;
    const level = own ?? overrideOf(overrides, descriptor)?.level ?? descriptor.level ?? 'warning';
    if (level !== 'error' && level !== 'warning') continue;
    if (level === 'error') isGood = false;
    // Errors are shown even after many warnings, because they decide something.
    if (shown >= SHOWN_MAX && !(level === 'error' && shown < 2 * SHOWN_MAX)) {
      more += 1;
      continue;
    }
    shown += 1;
    troubles.push({
      pointer: at,
      code: SAID[level].code,
      detail: sentenceOf(notification, level, messageText(notification.message, descriptor)),
    });
  }
  if (more > 0) {
    const detail = `${more} more warnings and errors of the tool are in the report.`;
    troubles.push({ pointer, code: SAID[isGood ? 'warning' : 'error'].code, detail });
  }
  return isGood;
}

function sentenceOf(
  notification: JsonObject,
  level: keyof typeof SAID,
  text: string | null,
): string {
  const exception = objectOf(notification.exception);
  const said =
    text ?? stringOf(exception?.message) ?? stringOf(exception?.kind) ?? 'without a text';
  const rule = stringOf(objectOf(notification.associatedRule)?.id);
  const index = indexOf(objectOf(notification.associatedRule)?.index);
  const about = rule ?? (index === null ? null : `rule ${index}`);
  const which = about === null ? '' : ` about ${preview(about, 64)}`;
  const { what, meaning } = SAID[level];
  return `The tool reports ${what}${which}: ${safe(said)}.${meaning}`;
}

/** One masked line of a text: logs of tools may quote command lines and environments. */
function safe(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ').slice(0, limits.messageCharsMax);
  return preview(maskAssignments(line), TEXT_CHARS_MAX).replace(/\.$/, '');
}
