// One case of the fuzz run, made of its seed and the corpus alone: a report, changed as a document
// and as bytes, and a way of cutting it. The same seed and corpus give the same case, which
// `--seed` plays again.

import type { Format } from '../../packages/server/test/ingest/formats/readers.ts';
import { type Random, randomOf } from '../../packages/server/test/generate/random.ts';

export interface Sample {
  readonly name: string;
  readonly format: Format;
  readonly text: string;
}

export interface Case {
  readonly sample: Sample;
  readonly bytes: Buffer;
  /** Sizes of the pieces into which the bytes are cut. */
  readonly sizes: readonly number[];
  /** Stands in for the value of a secret wherever it was planted. */
  readonly canary: string;
}

/** Values that JSON can hold and readers don't expect. */
const HOSTILE = (
  [
    [null, true, 0, -1, 1.5, 1e308, '', ' ', '\0', '\ud800', '{0}{99}', '%E0%A4%A', '…'],
    ['__proto__', 'constructor', '../../..', 'C:\\', 'file://', 'http://[', '@', '/'],
    [[], {}, [null], [[]], { text: 5 }, { id: {} }, JSON.parse('{"__proto__":{"a":1}}')],
    ['x'.repeat(70_000), '😀'.repeat(9000), Array.from({ length: 300 }, () => 'tag')],
  ] as unknown[][]
).flat();

const NAMES = ['runs', 'results', 'findings', 'report', 'inlineExternalProperties', '__proto__'];
const BLANKS = ['', '', '', '', ' ', '\n', '\r\n\t '];

export function caseOf(seed: number, corpus: readonly Sample[]): Case {
  const random = randomOf(seed);
  const sample = random.pick(corpus);
  const canary = `canary${1e9 + random.below(8e9)}canary`;
  const bytes = bytesOf(random, sample, corpus, canary);
  const sizes = Array.from({ length: 1 + random.below(4) }, () => 1 + random.below(4000));
  // Byte by byte takes time, so only small reports are cut so.
  const isSmall = bytes.length < 20_000;
  return { sample, bytes, canary, sizes: random.chance(0.2) && isSmall ? [1] : sizes };
}

function bytesOf(
  random: Random,
  sample: Sample,
  corpus: readonly Sample[],
  canary: string,
): Buffer {
  let text = sample.text;
  const document = parsed(text);
  if (document !== null && random.chance(0.9)) {
    for (let left = random.below(5); left > 0; left -= 1) {
      change(random, document, () => parsed(random.pick(corpus).text));
    }
    plant(random, document, canary);
    text = written(random, document);
  }
  let bytes = Buffer.from(text);
  for (let left = random.pick([0, 0, 0, 1, 1, 2, 5]); left > 0; left -= 1) {
    bytes = damaged(random, bytes);
  }
  return bytes;
}

function parsed(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

type Fields = Record<string, unknown>;

/** An object or list somewhere in the document, deeper ones more often. */
function placeIn(random: Random, document: object): Fields {
  let here = document as Fields;
  for (let left = 1 + random.below(12); left > 0; left -= 1) {
    const inner = Object.values(here).filter(
      (value) => typeof value === 'object' && value !== null,
    );
    if (inner.length === 0) break;
    here = random.pick(inner) as Fields;
  }
  return here;
}

/** One change: a value left out, repeated, replaced by a hostile one, or by one from elsewhere. */
function change(random: Random, document: object, another: () => object | null): void {
  const here = placeIn(random, document);
  const names = Object.keys(here);
  const name = names.length === 0 ? random.pick(NAMES) : random.pick(names);
  const value = random.chance(0.5)
    ? random.pick(HOSTILE)
    : placeIn(random, (random.chance(0.5) ? another() : null) ?? document);
  // A copy: a value that held itself could not be written.
  const copy: unknown = JSON.parse(JSON.stringify(value));
  const how = random.below(4);
  if (Array.isArray(here)) {
    if (how === 0) here.splice(random.below(here.length + 1), 1);
    else here.splice(random.below(here.length + 1), how === 1 ? 1 : 0, copy);
  } else if (how === 0) delete here[name];
  else set(here, how === 1 ? random.pick(NAMES) : name, copy);
}

/** Sets an own member, whatever its name. */
function set(fields: Fields, name: string, value: unknown): void {
  const whole = { value, enumerable: true, configurable: true, writable: true };
  Object.defineProperty(fields, name, whole);
}

/** Puts the canary where scanners write the value of a secret, and into the words around it. */
function plant(random: Random, document: object, canary: string): void {
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const fields = value as Fields;
    const region = fields['region'] as Fields | null | undefined;
    if (typeof region === 'object' && region !== null && random.chance(0.8)) {
      set(region, 'snippet', { text: canary });
    }
    if (fields['type'] === 'secret' && typeof fields['location'] === 'object') {
      set(fields, 'location', { ...(fields['location'] as Fields), snippet: canary });
      if (random.chance(0.5)) set(fields, 'title', `A key: ${canary}`);
      if (random.chance(0.5)) set(fields, 'message', `The key "${canary}" was found.`);
    }
    Object.values(fields).forEach(visit);
  };
  visit(document);
}

/**
 * JSON as anybody might write it: blanks anywhere, names with escapes, now and then a member twice.
 */
function written(random: Random, value: unknown): string {
  const plain = random.chance(0.4);
  const repeats = random.chance(0.3) ? 0.02 : 0;
  const blank = (): string => (plain ? '' : random.pick(BLANKS));
  const write = (part: unknown): string => {
    if (typeof part !== 'object' || part === null) return JSON.stringify(part);
    if (Array.isArray(part)) {
      return `[${blank()}${part.map(write).join(`${blank()},${blank()}`)}${blank()}]`;
    }
    const members = Object.entries(part).map(([name, member]) => {
      const text = `${nameOf(random, name, plain)}${blank()}:${blank()}${write(member)}`;
      if (!random.chance(repeats)) return text;
      return `${nameOf(random, name, plain)}:${write(random.pick(HOSTILE))},${blank()}${text}`;
    });
    return `{${blank()}${members.join(`${blank()},${blank()}`)}${blank()}}`;
  };
  return blank() + write(value) + blank();
}

function nameOf(random: Random, name: string, plain: boolean): string {
  if (plain || name === '' || random.chance(0.95)) return JSON.stringify(name);
  const at = random.below(name.length);
  const code = name.charCodeAt(at).toString(16).padStart(4, '0');
  const inner = (text: string): string => JSON.stringify(text).slice(1, -1);
  return `"${inner(name.slice(0, at))}\\u${code}${inner(name.slice(at + 1))}"`;
}

const TOKENS = Buffer.from('{}[]",:\\0-.etn \n');

function damaged(random: Random, bytes: Buffer): Buffer<ArrayBuffer> {
  const at = random.below(bytes.length + 1);
  const [head, rest] = [bytes.subarray(0, at), bytes.subarray(at)];
  const byte = Buffer.from([random.chance(0.6) ? random.pick([...TOKENS]) : random.below(256)]);
  switch (random.below(6)) {
    case 0:
      return Buffer.concat([head, rest.subarray(1 + random.below(4))]);
    case 1:
      return Buffer.concat([head, byte, rest]);
    case 2:
      return Buffer.concat([head, byte, rest.subarray(1)]);
    case 3:
      return Buffer.concat([head]);
    case 4:
      return Buffer.concat([bytes, byte]);
    default: {
      // A part is repeated somewhere: lists come twice, brackets stop matching.
      const from = random.below(bytes.length + 1);
      return Buffer.concat([head, bytes.subarray(from, from + random.below(2000)), rest]);
    }
  }
}
