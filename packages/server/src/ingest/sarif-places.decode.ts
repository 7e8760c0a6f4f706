// Where a SARIF result is: artifactLocation → path in the checkout or address (SARIF 2.1.0 §3.4),
// through originalUriBaseIds (§3.14.14) and the artifacts table (§3.14.15), relative to where the
// repository's root is mapped (§3.23.8). Distinct uris are
// resolved once per run, as far as they are remembered. Nothing is fetched or looked up outside the document. Called by
// sarif-locations.decode.ts and the frame.

import { limits } from '@muster/contract/plain';
import {
  cleanPath,
  decodePercentOnce,
  isAbsolutePath,
  isForeignUri,
  isHttpUri,
  NO_ROOTS,
  type PathRoots,
  pathOfUri,
  pathRoots,
  relativePath,
  usablePath,
} from './path.rules.ts';
import {
  indexOf,
  type JsonObject,
  listOf,
  type Notes,
  objectOf,
  stringOf,
} from './report-notes.decode.ts';
import { redactUrl, webPlaceOf } from './web.rules.ts';

export interface Place {
  /** In the checkout, or the address without query where the place is on the web. */
  readonly path: string | null;
  /** The address, credentials and query values removed; null for files. */
  readonly url: string | null;
  /** The web address as sent, for taking parameters from; never stored. */
  readonly rawUrl: string | null;
}

export const NOWHERE: Place = { path: null, url: null, rawUrl: null };

/** A base id, followed up to its root. */
interface Base {
  /** Relative part below the root, as a URI reference; '' or ending in `/`. */
  readonly prefix: string;
  /** Absolute directory of the root ('' = the machine's root); null when relative or on the web. */
  readonly root: string | null;
}

/** A repository and its submodules. */
const MAPPED_MAX = 50;

/** Every path may be compared with each of them; a run has one to five. */
const DIRECTORIES_MAX = 50;

/** Files in archives in images; a cycle ends here. */
const NESTED_MAX = 8;

/** Places that are remembered, of all base ids together. */
const REMEMBERED_MAX = 50_000;

/** Chains of base ids are short; a cycle ends here. */
const BASE_CHAIN_MAX = 16;

export class Places {
  readonly #bases = new Map<string, Base>();
  readonly #roots: PathRoots;
  /** Absolute directories that are the root of a repository, longest first (§3.23.8, §3.14.14). */
  readonly #mapped: readonly string[];
  readonly #artifacts: readonly unknown[];
  readonly #hasNested: boolean;
  /** By base id, then by uri: joining the two anew for each location would cost more than both. */
  readonly #known = new Map<string | null, Map<string, Place>>();
  #remembered = 0;
  readonly #notes: Notes;

  /**
   * `repository` is the analysis's repository in normal form: its name tells checkouts on other
   * machines.
   */
  constructor(run: JsonObject, repository: string | null, notes: Notes) {
    this.#notes = notes;
    this.#artifacts = listOf(run.artifacts);
    this.#hasNested = this.#artifacts.some((one) => indexOf(objectOf(one)?.parentIndex) !== null);
    const bases = objectOf(run.originalUriBaseIds);
    const directories: string[] = [];
    for (const id of bases === null ? [] : Object.keys(bases)) {
      const base = baseOf(id, bases ?? {});
      this.#bases.set(id, base);
      if (base.root !== null) directories.push(base.root);
    }
    for (const invocation of listOf(run.invocations)) {
      const uri = stringOf(objectOf(objectOf(invocation)?.workingDirectory)?.uri);
      if (uri !== null && !isForeignUri(uri)) directories.push(pathOfUri(uri));
    }
    const mapped = mappedRoots(run, this.#bases, notes);
    this.#mapped = mapped.length > 0 ? mapped : namedRoots(this.#bases);
    directories.push(...this.#mapped);
    const absolute = [...new Set(directories)].filter(
      (one) => isAbsolutePath(one) && !this.#mapped.some((root) => one.startsWith(`${root}/`)),
    );
    this.#roots =
      absolute.length === 0 && repository === null
        ? NO_ROOTS
        : pathRoots(notes.first(absolute, DIRECTORIES_MAX), repository);
  }

  /** The place of an artifactLocation: its uri, else the artifact that its index names (§3.4.5). */
  of(location: JsonObject): Place {
    const uri = stringOf(location.uri);
    if (uri !== null && !this.#hasNested) return this.#resolve(uri, stringOf(location.uriBaseId));
    const index = indexOf(location.index);
    const artifact = objectOf(this.#artifacts[index ?? -1]);
    const listed = objectOf(artifact?.location);
    if (uri !== null && !(indexOf(artifact?.parentIndex) !== null && listed?.uri === uri)) {
      return this.#resolve(uri, stringOf(location.uriBaseId));
    }
    return index === null ? NOWHERE : this.#listed(index, 0);
  }

  /**
   * The place of an artifact of the table; one that is part of another (§3.24.3) is named after it,
   * `app.zip!/lib/a.c`.
   */
  #listed(index: number, depth: number): Place {
    const artifact = objectOf(this.#artifacts[index]);
    const own = objectOf(artifact?.location);
    const uri = stringOf(own?.uri);
    const parent = this.#hasNested ? indexOf(artifact?.parentIndex) : null;
    if (parent === null || depth >= NESTED_MAX) {
      return uri === null ? NOWHERE : this.#resolve(uri, stringOf(own?.uriBaseId));
    }
    const container = this.#listed(parent, depth + 1);
    if (uri === null || isForeignUri(uri)) return container;
    const inner = cleanPath(decodePercentOnce(uri)).replace(/^\//, '');
    if (container.path === null || inner === '') return this.#resolve(uri, null);
    const path = this.#notes.text(`${container.path}!/${inner}`, limits.pathCharsMax);
    return { path, url: null, rawUrl: null };
  }

  #resolve(uri: string, baseId: string | null): Place {
    // An id without a base says nothing, and a report may have as many of them as it likes.
    const base = baseId === null || !this.#bases.has(baseId) ? null : baseId;
    const known = this.#known.get(base)?.get(uri);
    if (known !== undefined) return known;
    const place = this.#placeOf(uri, base);
    if (uri.length <= limits.pathCharsMax) this.#remember(base, uri, place);
    return place;
  }

  #remember(base: string | null, uri: string, place: Place): void {
    // Where every result has a file of its own, remembering serves nobody.
    if (this.#remembered >= REMEMBERED_MAX) {
      this.#known.clear();
      this.#remembered = 0;
    }
    const ofBase = this.#known.get(base) ?? new Map<string, Place>();
    this.#known.set(base, ofBase.set(uri, place));
    this.#remembered += 1;
  }

  #placeOf(uri: string, baseId: string | null): Place {
    const text = usablePath(uri);
    if (text === null) return NOWHERE;
    if (isForeignUri(text)) {
      const address = isHttpUri(text) ? webPlaceOf(text)?.address : undefined;
      const url = this.#notes.text(redactUrl(text), limits.pathCharsMax);
      const path = this.#notes.text(address ?? url, limits.pathCharsMax);
      return { path, url, rawUrl: isHttpUri(text) ? text : null };
    }
    const path = this.#filePath(text, baseId);
    return usablePath(path) === null
      ? NOWHERE
      : { path: this.#notes.text(path, limits.pathCharsMax), url: null, rawUrl: null };
  }

  #filePath(uri: string, baseId: string | null): string {
    const base = baseId === null ? undefined : this.#bases.get(baseId);
    if (base === undefined || /^(?:file:|[\\/]|[A-Za-z]:[\\/])/i.test(uri)) {
      return relativePath(pathOfUri(uri), this.#roots);
    }
    if (base.root !== null && this.#mapped.length > 0) {
      const path = cleanPath(`${base.root}/${decodePercentOnce(`${base.prefix}${uri}`)}`, true);
      const root = this.#mapped.find((one) => path.startsWith(`${one}/`));
      if (root !== undefined) return path.slice(root.length + 1);
    }
    if (base.root !== '') return pathOfUri(`${base.prefix}${uri}`);
    // The machine's root as base (Trivy's ROOTPATH): the path of a CI checkout is still looked for.
    const path = relativePath(pathOfUri(`file:///${base.prefix}${uri}`), this.#roots);
    return path.startsWith('/') ? path.slice(1) : path;
  }
}

/** §3.23.8: the directories that the report's repositories were checked out into. */
function mappedRoots(run: JsonObject, bases: ReadonlyMap<string, Base>, notes: Notes): string[] {
  const roots = new Set<string>();
  for (const entry of notes.first(listOf(run.versionControlProvenance), MAPPED_MAX)) {
    const mapped = objectOf(objectOf(entry)?.mappedTo);
    const uri = stringOf(mapped?.uri) ?? '';
    const base = bases.get(stringOf(mapped?.uriBaseId) ?? '');
    const isWhole = base === undefined || /^file:/i.test(uri);
    if (mapped === null || (!isWhole && base.root === null) || isForeignUri(uri)) continue;
    const path = isWhole
      ? pathOfUri(uri)
      : cleanPath(`${base.root}/${decodePercentOnce(`${base.prefix}${uri}`)}`, true);
    if (isAbsolutePath(path)) roots.add(path);
  }
  return [...roots].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}

/** Ids that the standard and tools use for the root of what was analysed; a bare `ROOT` may be anything. */
const ROOT_ID = /^%?(?:src|source|repo|repository|project|checkout)_?root%?$/i;

/**
 * Where another base id is an absolute directory below such a root: without it a file of each would have one path, and two
 * defects would be one. A lone root needs nothing: its files are relative to it already.
 */
function namedRoots(bases: ReadonlyMap<string, Base>): string[] {
  const roots = [...bases].flatMap(([id, { root }]) => (ROOT_ID.test(id) && root ? [root] : []));
  const isAbove = (root: string) =>
    [...bases.values()].some((base) => base.root?.startsWith(`${root}/`) === true);
  const above = [...new Set(roots)].filter(isAbove);
  return above.sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}

function baseOf(id: string, bases: JsonObject): Base {
  let prefix = '';
  let next: string | null = id;
  for (let depth = 0; next !== null && depth < BASE_CHAIN_MAX; depth += 1) {
    const entry: JsonObject | null = Object.hasOwn(bases, next) ? objectOf(bases[next]) : null;
    const uri = stringOf(entry?.uri);
    if (uri !== null && isForeignUri(uri)) return { prefix, root: null };
    if (uri !== null && /^file:/i.test(uri)) return { prefix, root: pathOfUri(uri) };
    if (uri !== null) {
      const path = pathOfUri(uri);
      if (isAbsolutePath(path)) return { prefix, root: path };
      prefix = `${uri.endsWith('/') ? uri : `${uri}/`}${prefix}`;
    }
    next = stringOf(entry?.uriBaseId);
  }
  return { prefix, root: null };
}
