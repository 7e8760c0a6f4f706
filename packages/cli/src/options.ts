// The kinds of options: each turns the text of the command line into a typed value. An option never
// guesses: text that it can't read becomes a UsageError that says what would be right. Command
// definitions use these options, and arguments.ts applies them.

import { UsageError } from './errors.ts';
import { nearest } from './nearest.ts';

export interface Option<T> {
  readonly meaning: string;
  /**
   * The word that stands after the option in the help (`N`, `FILE`); null: a flag, which takes no
   * value.
   */
  readonly value: string | null;
  readonly isRepeatable: boolean;
  /** The environment variable that replaces an absent option. */
  readonly env?: string;
  /** Reads all given values, none when the option is absent; `name` is for messages. */
  read(given: readonly string[], name: string): T;
}
export type Options = Readonly<Record<string, Option<unknown>>>;
export type Values<O extends Options> = {
  readonly [Name in keyof O]: O[Name] extends Option<infer T> ? T : never;
};

/** An option with at most one value, which `parse` turns into what the command wants. */
function single<T>(
  value: string,
  meaning: string,
  parse: (text: string, name: string) => T,
): Option<T | undefined> {
  return {
    meaning,
    value,
    isRepeatable: false,
    read: ([text], name) => (text === undefined ? undefined : parse(text, name)),
  };
}

export const flag = (meaning: string): Option<boolean> => ({
  meaning,
  value: null,
  isRepeatable: false,
  read: (given) => given.length > 0,
});

/** Any text but the empty one: an unset variable in a script must not look like a wish. */
export const text = (value: string, meaning: string): Option<string | undefined> =>
  single(value, meaning, notEmpty);

/** A text that an environment variable may give as well. */
export const textOrEnv = (
  value: string,
  env: string,
  meaning: string,
): Option<string | undefined> => ({ ...text(value, meaning), env });

function notEmpty(given: string, name: string): string {
  if (given === '') throw new UsageError(`--${name} is empty.`);
  return given;
}

export const word = <const W extends string>(
  words: readonly W[],
  meaning: string,
): Option<W | undefined> =>
  single(words.length > 8 ? 'WORD' : words.join('|'), meaning, (given, name) =>
    oneOf(words, given, `--${name}`),
  );

/** The word itself, or a UsageError that names the nearest word. `what` begins the message. */
export function oneOf<const W extends string>(words: readonly W[], given: string, what: string): W {
  const known = words.find((candidate) => candidate === given);
  if (known !== undefined) return known;
  const close = nearest(given, words);
  const hint = close === null ? '' : ` Did you mean ${close}?`;
  throw new UsageError(`${what}: "${given}" is not one of ${words.join(', ')}.${hint}`);
}

export const integer = (
  value: string,
  min: number,
  max: number,
  meaning: string,
): Option<number | undefined> =>
  single(value, meaning, (given, name) => {
    const number = /^\d+$/.test(given) ? Number(given) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new UsageError(
      `--${name}: "${given}" is not a whole number from ${min} to ${max.toLocaleString('en')}.`,
    );
  });

/** `KEY=VALUE`, as often as wanted; the value may contain `=`. */
export const labels = (meaning: string): Option<Record<string, string> | undefined> => ({
  meaning,
  value: 'KEY=VALUE',
  isRepeatable: true,
  read: (given, name) => {
    if (given.length === 0) return undefined;
    const pairs = given.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new UsageError(`--${name}: "${pair}" is not KEY=VALUE.`);
      return [pair.slice(0, at), pair.slice(at + 1)] as const;
    });
    return Object.fromEntries(pairs);
  },
});

/** Any texts but empty ones, repeated. */
export const texts = (value: string, meaning: string): Option<string[] | undefined> => ({
  meaning,
  value,
  isRepeatable: true,
  read: (given, name) => (given.length === 0 ? undefined : given.map((one) => notEmpty(one, name))),
});

/** Words from a list, repeated or separated by commas. */
export const words = <const W extends string>(
  known: readonly W[],
  meaning: string,
): Option<W[] | undefined> => ({
  meaning,
  value: known.join('|'),
  isRepeatable: true,
  read: (given, name) =>
    given.length === 0
      ? undefined
      : given.flatMap((list) => list.split(',')).map((one) => oneOf(known, one, `--${name}`)),
});

const UNIT_SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** Whole seconds of `90s`, `15m`, `2h` or `7d`; null: it isn't a duration. */
export function durationSeconds(given: string): number | null {
  const match = /^(\d{1,9})([smhd])$/.exec(given);
  if (match === null) return null;
  const [, count, unit] = match as unknown as [string, string, keyof typeof UNIT_SECONDS];
  return Number(count) * UNIT_SECONDS[unit];
}

/** A duration in seconds. */
export const duration = (meaning: string): Option<number | undefined> =>
  single('DURATION', meaning, (given, name) => {
    const seconds = durationSeconds(given);
    if (seconds !== null && seconds > 0) return seconds;
    throw new UsageError(`--${name}: "${given}" is not a duration such as 90s, 15m, 2h or 7d.`);
  });

/** A moment, either absolute or counted from now. */
export type Moment = { readonly atMs: number } | { readonly inSeconds: number };

/**
 * `2027-01-31` (the end of that day, here), a time with its zone (RFC 3339), or a duration from
 * now.
 */
export const moment = (meaning: string): Option<Moment | undefined> =>
  single('TIME', meaning, (given, name) => {
    const inSeconds = durationSeconds(given);
    if (inSeconds !== null) return { inSeconds };
    // Without a zone, Date reads a time as local time (ECMA-262 §21.4.1.32): the end of the day for
    // the reader.
    const isDay = /^\d{4}-\d\d-\d\d$/.test(given);
    const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(given);
    const atMs = isDay || isTime ? Date.parse(isDay ? `${given}T23:59:59.999` : given) : Number.NaN;
    if (!Number.isNaN(atMs) && isInCalendar(given.slice(0, 10))) return { atMs };
    throw new UsageError(
      `--${name}: "${given}" is not a day (2027-01-31), a time (2027-01-31T12:00:00Z) or a duration (30d).`,
    );
  });

/** False for the 31st of February, which Date would take for the 3rd of March. */
function isInCalendar(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

/** The moment as the wire has it. */
export const isoOf = (when: Moment, nowMs: number): string =>
  new Date('atMs' in when ? when.atMs : nowMs + when.inSeconds * 1000).toISOString();

/** The object without its undefined members, so that nothing is sent that wasn't asked for. */
export const given = <T extends object>(
  members: T,
): { [Name in keyof T]?: Exclude<T[Name], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>;
  };
