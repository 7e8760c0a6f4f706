// The dependencies of a CTIS report (CTIS §3.3) → components and their graph. `depends_on` says what a component depends
// on, as the specification has it (deployed servers read it the other way round, §7.6): each id, purl or name in it is
// resolved to the component of this report that it names. Called by ctis.decode.ts.

import { limits } from '@muster/contract/plain';
import { boundedBag, newBudget } from './bounded.decode.ts';
import { canonicalPurl, ecosystemType, packageOfPurl } from './component.rules.ts';
import { entriesOf, notAnObject } from './ctis-frame.decode.ts';
import { readObject } from './ctis-members.decode.ts';
import type { ComponentDraft, FrameList, Located } from './draft.rules.ts';
import {
  type JsonObject,
  type Notes,
  objectOf,
  stringOf,
  stringsOf,
} from './report-notes.decode.ts';

/** Edges of one component; more are machine state. */
const DEPENDS_ON_MAX = 1000;

/** A component before the report's other ones are known. */
interface Entry {
  readonly pointer: string;
  readonly raw: JsonObject;
  readonly draft: Omit<ComponentDraft, 'dependsOn'>;
}

export function readComponents(
  value: unknown,
  pointer: string,
  notes: Notes,
): FrameList<ComponentDraft> {
  const entries: Entry[] = [];
  const rejections: Located[] = [];
  for (const [index, entry] of entriesOf(value, pointer, notes).entries()) {
    const at = `${pointer}/${index}`;
    const raw = objectOf(entry) === null ? null : readObject('dependency', entry, at, notes);
    const draft = raw === null ? null : componentOf(raw, notes);
    if (raw === null) rejections.push(notAnObject(at));
    else if (draft !== null) entries.push({ pointer: at, raw, draft });
    else {
      const detail = 'A dependency needs a `name` or a purl.';
      rejections.push({ pointer: `${at}/name`, code: 'name_missing', detail });
    }
  }
  const names = namesOf(entries, notes);
  const usable = entries.map((entry) => ({
    ...entry.draft,
    dependsOn: edgesOf(entry, names, notes),
  }));
  return { usable, rejections };
}

function componentOf(raw: JsonObject, notes: Notes): Entry['draft'] | null {
  const purl = notes.textOf(raw.purl, limits.pathCharsMax)?.trim() ?? null;
  const byPurl = purl === null ? null : packageOfPurl(purl);
  const name = notes.textOf(raw.name, limits.nameCharsMax)?.trim() ?? byPurl?.name ?? null;
  if (name === null) return null;
  const version = notes.textOf(raw.version, limits.nameCharsMax)?.trim() ?? byPurl?.version ?? null;
  const ecosystem = stringOf(raw.ecosystem);
  const type = ecosystem === null ? 'other' : ecosystemType(ecosystem);
  const named = `${type}/${name}${version === null ? '' : `@${version}`}`;
  const identity = purl === null ? null : canonicalPurl(purl, version);
  return {
    identity: identity ?? notes.text(named, limits.pathCharsMax),
    name,
    version,
    document: boundedBag(raw, notes, newBudget()) ?? {},
  };
}

/**
 * What `depends_on` may name a component by, to its identity: id, uid, purl, `name@version`, else the bare name or purl, which
 * means nothing where several components have it.
 */
function namesOf(entries: readonly Entry[], notes: Notes): ReadonlyMap<string, string | null> {
  const names = new Map<string, string | null>();
  const add = (name: string | null | undefined, identity: string): boolean => {
    const key = name?.trim() ?? '';
    const known = key === '' ? identity : (names.get(key) ?? identity);
    if (key !== '' && !names.has(key)) names.set(key, identity);
    return known === identity;
  };
  for (const { pointer, raw, draft } of entries) {
    const { identity } = draft;
    if (!add(stringOf(raw.id), identity)) {
      const detail = 'The id names two components; edges to it mean the first.';
      notes.warn(`${pointer}/id`, 'dependency_id_repeated', detail);
    }
  }
  for (const { raw, draft } of entries) {
    const { identity, name, version } = draft;
    for (const exact of [stringOf(raw.uid), identity]) add(exact, identity);
    if (version !== null) add(`${name}@${version}`, identity);
  }
  const bare = new Map<string, string | null>();
  for (const { raw, draft } of entries) {
    // A purl may come without the version that is said beside it.
    for (const name of [draft.name, canonicalPurl(stringOf(raw.purl) ?? '') ?? draft.name]) {
      const known = bare.get(name);
      const isOther = known !== undefined && known !== draft.identity;
      bare.set(name, isOther ? null : draft.identity);
    }
  }
  for (const [name, identity] of bare) if (!names.has(name)) names.set(name, identity);
  return names;
}

/** The identities that a component depends on, each once; what names no other component is a warning. */
function edgesOf(
  { pointer, raw, draft }: Entry,
  names: ReadonlyMap<string, string | null>,
  notes: Notes,
): readonly string[] {
  const edges = new Set<string>();
  for (const [index, name] of stringsOf(raw.depends_on).entries()) {
    const purl = canonicalPurl(name);
    const found = names.get(name.trim()) ?? (purl === null ? null : names.get(purl)) ?? null;
    if (found === draft.identity) continue;
    if (found === null) {
      const detail = 'This names no component of the report, or several; the edge is left out.';
      notes.warn(`${pointer}/depends_on/${index}`, 'dependency_unknown', detail);
    } else edges.add(found);
  }
  return notes.first([...edges], DEPENDS_ON_MAX);
}
