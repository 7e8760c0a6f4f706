// The places in a document where items may stand, and the path from the root to the value that the
// scanner reads, followed as brackets open and close. One table covers both formats, because only
// the envelope shows which format a document has. Called by document/scan.decode.ts.

/** An object with some members, a list with equal entries, or a list of items. */
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

/** CTIS: the lists that may have a hundred thousand entries. */
const REPORT = ['findings', 'assets', 'dependencies', 'relationships', 'endpoints'].map(
  (name) => [name, ITEMS] as const,
);

/** SARIF 2.1.0 runs (§3.13.4) and inlineExternalProperties (§3.13.5); CTIS, flat and wrapped. */
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
  /** The member being read; unused for lists. */
  name: string;
  /** The entry being read; unused for objects. */
  index: number;
}

/** What a bracket opens: a level of the trail, a list of items, or a value without items. */
export type Opened = 'level' | 'items' | 'other';

export class Trail {
  readonly #levels: Level[] = [];
  #started = false;
  /** True when the next string is the name of a member that may lead to items. */
  expectsName = false;

  /** Follows an opening bracket; `pointer` is the place of the value that it opens. */
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

  /** Follows a closing bracket: the innermost level ends. */
  close(): void {
    this.#levels.pop();
    this.expectsName = false;
  }

  /** Follows a comma, to the next member or entry. */
  next(): void {
    const level = this.#levels.at(-1);
    if (level === undefined) return;
    if (level.shape.kind === 'object') this.expectsName = true;
    else level.index += 1;
  }

  /** Follows the name of a member, given as written and without its quotes. */
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

/**
 * The name as JSON means it; '' for a text that isn't JSON, which names no list. The parser of the
 * envelope reports the fault.
 */
function nameOf(bytes: readonly number[]): string {
  const text = Buffer.from(bytes).toString('utf8');
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return '';
  }
}
