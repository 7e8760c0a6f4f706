// The dependencies of a CTIS report (CTIS §3.3) → components and their graph. `depends_on` says what a component depends
// on, as the specification has it (deployed servers read it the other way round, §7.6): each id, purl or name in it is
// resolved to the component of this report that it names. Called by ctis.decode.ts.

import { limits } from '@muster/contract/plain';
import { boundedBag, newBudget } from './bounded.decode.ts';
import { canonicalPurl, ecosystemType, packageOfPurl } from './component.rules.ts';
import type { ComponentNames } from './component-names.rules.ts';
import { notAnObject } from './ctis-frame.decode.ts';
import { readObject } from './ctis-members.decode.ts';
import type { ComponentEntry, Located } from './draft.rules.ts';
import { type Notes, objectOf, stringOf, stringsOf } from './report-notes.decode.ts';

/** Edges of one component; more are machine state. */
const DEPENDS_ON_MAX = 1000;

/** Characters of what they name: short ids may stand for long purls. */
const DEPENDS_ON_CHARS_MAX = 64 * 1024;

/** As many of them as one component may have. */
export function boundedEdges(edges: readonly string[]): readonly string[] {
  let chars = 0;
  const end = edges.findIndex((edge) => (chars += edge.length) > DEPENDS_ON_CHARS_MAX);
  return edges.slice(0, end === -1 ? DEPENDS_ON_MAX : Math.min(end, DEPENDS_ON_MAX));
}

/** One dependency by itself, or why it can't be used. */
export function readComponent(
  value: unknown,
  pointer: string,
  notes: Notes,
): ComponentEntry | Located {
  const raw = objectOf(value) === null ? null : readObject('dependency', value, pointer, notes);
  if (raw === null) return notAnObject(pointer);
  const purl = notes.textOf(raw.purl, limits.pathCharsMax)?.trim() ?? null;
  const saysAll = stringOf(raw.name) !== null && stringOf(raw.version) !== null;
  const byPurl = purl === null || saysAll ? null : packageOfPurl(purl);
  const name = notes.textOf(raw.name, limits.nameCharsMax)?.trim() ?? byPurl?.name ?? null;
  if (name === null) {
    const detail = 'A dependency needs a `name` or a purl.';
    return { pointer: `${pointer}/name`, code: 'name_missing', detail };
  }
  const version = notes.textOf(raw.version, limits.nameCharsMax)?.trim() ?? byPurl?.version ?? null;
  const ecosystem = stringOf(raw.ecosystem);
  const type = ecosystem === null ? 'other' : ecosystemType(ecosystem);
  const named = `${type}/${name}${version === null ? '' : `@${version}`}`;
  const canonical = purl === null ? null : canonicalPurl(purl, version);
  const identity = canonical ?? notes.text(named, limits.pathCharsMax);
  const exact = [raw.uid, identity].flatMap((one) => stringOf(one)?.trim() ?? []);
  if (version !== null) exact.push(`${name}@${version}`);
  // A purl may come without the version that is said beside it.
  const bare = canonicalPurl(stringOf(raw.purl) ?? '');
  return {
    identity,
    name,
    version,
    document: () => boundedBag(raw, notes, newBudget()) ?? {},
    id: stringOf(raw.id)?.trim() ?? null,
    exactNames: new Set(exact),
    bareNames: bare === null ? [name] : [name, bare],
    dependsOn: stringsOf(raw.depends_on),
  };
}

/**
 * The identities that a component, which is this row of `names`, depends on, each once; what names no other component is a
 * warning. A bare name or purl means nothing where several components have it.
 */
export function edgesOf(
  { dependsOn }: ComponentEntry,
  row: number,
  pointer: string,
  names: ComponentNames,
  notes: Notes,
): readonly string[] {
  const edges = new Set<number>();
  for (const [index, name] of dependsOn.entries()) {
    const found = names.find(name.trim()) ?? rowOfPurl(name, names);
    if (found === row) continue;
    if (found === null) {
      const detail = 'This names no component of the report, or several; the edge is left out.';
      notes.warn(`${pointer}/depends_on/${index}`, 'dependency_unknown', detail);
    } else edges.add(found);
  }
  const all = notes.first([...edges], DEPENDS_ON_MAX).map((edge) => names.identityOf(edge));
  return notes.first(all, boundedEdges(all).length);
}

function rowOfPurl(name: string, names: ComponentNames): number | null {
  const purl = canonicalPurl(name);
  return purl === null ? null : names.find(purl);
}
