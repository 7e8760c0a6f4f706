// Turns every error into one paragraph for the reader and one exit code. The only place that
// decides either; a stack is never shown. Texts that came from the server are made safe for a
// terminal here.

import { ApiError, errors } from '@muster/contract';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { plain } from './print/text.ts';

/** The command line, or a file named on it, can't be used. Nothing was sent. */
export class UsageError extends Error {
  /** The command whose help would say more: `findings list`. */
  readonly command: string | null;
  constructor(message: string, command: string | null = null) {
    super(message);
    this.name = 'UsageError';
    this.command = command;
  }
}

/** No token or key, or one of the wrong kind: the server need not be asked. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError';
}

/** The request got no answer, or one that no Muster server gives. */
export class UnreachableError extends Error {
  readonly baseUrl: string;
  constructor(baseUrl: string, reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'UnreachableError';
    this.baseUrl = baseUrl;
  }
}

/** Something that this side could not do: the server package is missing, a stored upload failed. */
export class FailedError extends Error {
  override readonly name = 'FailedError';
}

interface Explanation {
  readonly exit: ExitCode;
  /** One paragraph, without a line break. */
  readonly text: string;
}

export function explain(error: unknown): Explanation {
  if (error instanceof UsageError) {
    const more = error.command === null ? 'muster help' : `muster ${error.command} --help`;
    return { exit: EXIT.usage, text: `${plain(error.message)} See: ${more}` };
  }
  if (error instanceof CredentialError) {
    return { exit: EXIT.unauthorised, text: plain(error.message) };
  }
  if (error instanceof UnreachableError) {
    const text = `No Muster server answered at ${error.baseUrl}: ${error.message}. Is it running there? Give its address with --url or MUSTER_URL.`;
    return { exit: EXIT.unreachable, text: plain(text) };
  }
  if (error instanceof ApiError) {
    const isAuth = error.status === 401 || error.status === 403;
    return { exit: isAuth ? EXIT.unauthorised : EXIT.refused, text: explainProblem(error.problem) };
  }
  return {
    exit: EXIT.refused,
    text: plain(error instanceof Error ? error.message : String(error)),
  };
}

const PLACES_SHOWN = 5;
const WHERE_KEYS_COME_FROM =
  'This command sends --token or MUSTER_TOKEN, for uploads --key or MUSTER_KEY.';

/**
 * A problem document (RFC 9457) as a paragraph: what happened, why, where, what to do, and by which
 * ids to ask about it.
 */
export function explainProblem(problem: Readonly<Record<string, unknown>>): string {
  const member = (name: string): string => {
    const value = problem[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  const code = member('code');
  const title = member('title');
  const detail = member('detail');
  const sentences = [
    sentence(title),
    detail === title ? '' : sentence(detail),
    places(problem, detail),
  ];
  const state = member('state');
  if (state !== '') sentences.push(`Its state is ${state}.`);
  if (Object.hasOwn(errors, code)) {
    const { action } = errors[code as keyof typeof errors];
    sentences.push(`What to do: ${action}`);
    if (code === 'unauthorized') sentences.push(WHERE_KEYS_COME_FROM);
  }
  const names = [code, `HTTP ${member('status')}`];
  if (member('request_id') !== '') names.push(`request ${member('request_id')}`);
  if (member('upload_id') !== '') names.push(`upload ${member('upload_id')}`);
  sentences.push(`(${names.join(', ')})`);
  return plain(sentences.filter((part) => part !== '').join(' '));
}

/** The places of the fault, unless the detail has named them already. */
function places(problem: Readonly<Record<string, unknown>>, detail: string): string {
  const listed = Array.isArray(problem['errors']) ? (problem['errors'] as unknown[]) : [];
  const texts = listed.slice(0, PLACES_SHOWN).flatMap((place) => {
    const { pointer, detail: what } = (place ?? {}) as { pointer?: unknown; detail?: unknown };
    return typeof pointer === 'string' && typeof what === 'string'
      ? [`${pointer === '' ? 'the whole' : pointer} ${what}`]
      : [];
  });
  const more = listed.length - texts.length;
  if (listed.length === 1 && detail.includes(texts[0] ?? '')) return '';
  if (texts.length > 0) return `Where: ${texts.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`;
  const pointer = problem['pointer'];
  return typeof pointer === 'string' && pointer !== '' ? `Where: ${pointer}.` : '';
}

const sentence = (text: string): string => (text === '' || /[.!?]$/.test(text) ? text : `${text}.`);
