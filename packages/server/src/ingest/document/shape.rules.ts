// Where in a document items stand, and how the scanner knows that it is there: the path from the root to the value that
// it reads, followed as brackets open and close. Both formats at once, because which one a document has is seen in its
// envelope. Called by document/scan.decode.ts.

/** A member of an object, each entry of a list, or the items themselves. */
type Shape =
  | { readonly kind: 'object'; readonly members: ReadonlyMap<string, Shape> }
  | { readonly kind: 'list'; readonly each: Shape }
  | { readonly kind: 'items' };

const ITEMS: Shape = { kind: 'items' };
const members = (entries: readonly (readonly [string, Shape])[]): Shape => ({
  kind: 'object',
  members: new Map(entries),
});
const WITH_RESULTS: Shape = { kind: 'list', each: members([['results', ITEMS]]) };

/** CTIS: what a report may have by the hundred thousand. */
const REPORT = ['findings', 'assets', 'dependencies', 'relationships', 'endpoints'].map(
  (name) => [name, ITEMS] as const,
);

/** SARIF 2.1.0 §3.13.4 runs, §3.13.5 inlineExternalProperties; CTIS, flat and wrapped. */
const DOCUMENT = members([
  ['runs', WITH_RESULTS],
  ['inlineExternalProperties', WITH_RESULTS],
  ...REPORT,
  ['report', members(REPORT)],
]);

/** An object or list in which items may stand. */
interface Level {
  readonly shape: Shape;
  readonly pointer: string;
  /** Objects: the member being read; lists: unused. */
  name: string;
  /** Lists: the entry being read. */
  index: number;
}

/** What a bracket opens: a level of the trail, a list of items, or something without any. */
export type Opened = 'level' | 'items' | 'other';

export class Trail {
  readonly #levels: Level[] = [];
  #started = false;
  /** The next string is the name of a member that may lead to items. */
  expectsName = false;

  /** A bracket opens; `pointer` tells where the value stands. */
  open(isObject: boolean): { opened: Opened; pointer: string } {
    const above = this.#levels.at(-1);
    const shape = above === undefined ? (this.#started ? null : DOCUMENT) : shapeIn(above);
    this.#started = true;
    const pointer = above === undefined ? '' : `${above.pointer}/${tokenOf(above)}`;
    if (shape?.kind === (isObject ? 'object' : 'list')) {
      this.#levels.push({ shape, pointer, name: '', index: 0 });
      this.expectsName = isObject;
      return { opened: 'level', pointer };
    }
    return { opened: shape?.kind === 'items' && !isObject ? 'items' : 'other', pointer };
  }

  /** The innermost level closes. */
  close(): void {
    this.#levels.pop();
    this.expectsName = false;
  }

  /** A comma: the next member or entry. */
  next(): void {
    const level = this.#levels.at(-1);
    if (level === undefined) return;
    if (level.shape.kind === 'object') this.expectsName = true;
    else level.index += 1;
  }

  /** The name of a member as it is written, without its quotes. */
  name(bytes: readonly number[]): void {
    const level = this.#levels.at(-1);
    if (level !== undefined) level.name = nameOf(bytes);
  }
}

const tokenOf = (level: Level): string =>
  level.shape.kind === 'list' ? String(level.index) : level.name;

function shapeIn({ shape, name }: Level): Shape | null {
  if (shape.kind === 'list') return shape.each;
  return shape.kind === 'object' ? (shape.members.get(name) ?? null) : null;
}

/** The name as JSON means it; one that isn't JSON names no list, and the frame's own parser will say what is wrong. */
function nameOf(bytes: readonly number[]): string {
  const text = Buffer.from(bytes).toString('utf8');
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return '';
  }
}
