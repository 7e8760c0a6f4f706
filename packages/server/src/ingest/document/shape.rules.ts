// Where in a document items stand, and how the scanner knows that it is there: the path from the
// root to the value that the scanner reads, followed as brackets open and close. All formats are
// looked for at once, because the format of a document is only known from its envelope. Pure.
// Called by document/scan.decode.ts.

/** A place in a document on the way to lists of items. */
export interface ItemTree {
  readonly members: Map<string, ItemTree>;
  /** Any entry of a list that stands here; null where entries lead to no items. */
  each: ItemTree | null;
  /** The entries of a list that stands here are items. */
  isItems: boolean;
}

const leaf = (): ItemTree => ({ members: new Map(), each: null, isItems: false });

/**
 * The places of lists of items, from their JSON pointers; the token `*` stands for any entry of a
 * list, and '' for the document itself.
 */
export function itemTree(patterns: readonly string[]): ItemTree {
  const root = leaf();
  for (const pattern of patterns) {
    let place = root;
    for (const token of pattern.split('/').slice(1)) place = below(place, token);
    place.isItems = true;
  }
  return root;
}

function below(place: ItemTree, token: string): ItemTree {
  if (token === '*') return (place.each ??= leaf());
  const known = place.members.get(token) ?? leaf();
  place.members.set(token, known);
  return known;
}

/** An object or list in which items may stand. */
interface Level {
  readonly tree: ItemTree;
  readonly isObject: boolean;
  readonly pointer: string;
  /** The member being read; unused for lists. */
  name: string;
  /** The entry being read; unused for objects. */
  index: number;
}

/**
 * The kind of value that a bracket opens: a level of the trail, a list of items, or a value without
 * items.
 */
type Opened = 'level' | 'items' | 'other';

export class Trail {
  readonly #root: ItemTree;
  readonly #levels: Level[] = [];
  #started = false;
  /** True when the next string is the name of a member that may lead to items. */
  expectsName = false;

  constructor(root: ItemTree) {
    this.#root = root;
  }

  /** A bracket opens; `pointer` tells where the value stands. */
  open(isObject: boolean): { opened: Opened; pointer: string } {
    const above = this.#levels.at(-1);
    const tree = above === undefined ? (this.#started ? null : this.#root) : treeIn(above);
    this.#started = true;
    const pointer = above === undefined ? '' : `${above.pointer}/${tokenOf(above)}`;
    if (tree === null) return { opened: 'other', pointer };
    if (tree.isItems && !isObject) return { opened: 'items', pointer };
    if (isObject ? tree.members.size === 0 : tree.each === null) {
      return { opened: 'other', pointer };
    }
    this.#levels.push({ tree, isObject, pointer, name: '', index: 0 });
    this.expectsName = isObject;
    return { opened: 'level', pointer };
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
    if (level.isObject) this.expectsName = true;
    else level.index += 1;
  }

  /** Follows the name of a member, given as written and without its quotes. */
  name(bytes: readonly number[]): void {
    const level = this.#levels.at(-1);
    if (level !== undefined) level.name = nameOf(bytes);
  }
}

const tokenOf = ({ isObject, index, name }: Level): string => (isObject ? name : String(index));

const treeIn = ({ tree, isObject, name }: Level): ItemTree | null =>
  isObject ? (tree.members.get(name) ?? null) : tree.each;

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
