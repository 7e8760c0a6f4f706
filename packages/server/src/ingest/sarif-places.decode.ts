// Where a SARIF result is: artifactLocation → path in the checkout or address (SARIF 2.1.0 §3.4),
// through originalUriBaseIds (§3.14.14) and the artifacts table (§3.14.15). Each distinct uri is
// resolved once per run. Nothing is fetched or looked up outside the document. Called by
// sarif-locations.decode.ts and the frame.

import { limits } from '@muster/contract';
import {
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

/** Chains of base ids are short; a cycle ends here. */
const BASE_CHAIN_MAX = 16;

/** Embedded sources larger than this aren't cut into lines. */
const SOURCE_CHARS_MAX = 4 * 1024 * 1024;
const SNIPPET_LINES_MAX = 5;

export class Places {
  readonly #bases = new Map<string, Base>();
  readonly #roots: PathRoots;
  readonly #artifacts: readonly unknown[];
  readonly #known = new Map<string, Place>();
  readonly #lines = new Map<number, readonly string[] | null>();
  readonly #notes: Notes;

  /**
   * `repository` is the analysis's repository in normal form: its name tells checkouts on other
   * machines.
   */
  constructor(run: JsonObject, repository: string | null, notes: Notes) {
    this.#notes = notes;
    this.#artifacts = listOf(run.artifacts);
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
    const absolute = directories.filter(isAbsolutePath);
    this.#roots =
      absolute.length === 0 && repository === null ? NO_ROOTS : pathRoots(absolute, repository);
  }

  /** The place of an artifactLocation: its uri, else the artifact that its index names (§3.4.5). */
  of(location: JsonObject): Place {
    const uri = stringOf(location.uri);
    if (uri !== null) return this.#resolve(uri, stringOf(location.uriBaseId));
    const artifact = objectOf(this.#artifacts[indexOf(location.index) ?? -1]);
    const own = objectOf(artifact?.location);
    const ownUri = stringOf(own?.uri);
    return ownUri === null ? NOWHERE : this.#resolve(ownUri, stringOf(own?.uriBaseId));
  }

  /**
   * Lines of an artifact's embedded text (§3.24.8), a few at most; null when the text isn't there.
   */
  sourceLines(location: JsonObject, startLine: number, endLine: number): string | null {
    const index = indexOf(location.index);
    if (index === null) return null;
    let lines = this.#lines.get(index);
    if (lines === undefined) {
      const text = stringOf(objectOf(objectOf(this.#artifacts[index])?.contents)?.text);
      lines = text === null || text.length > SOURCE_CHARS_MAX ? null : text.split(/\r\n|\r|\n/);
      this.#lines.set(index, lines);
    }
    const end = Math.min(Math.max(startLine, endLine), startLine + SNIPPET_LINES_MAX - 1);
    return stringOf(lines?.slice(startLine - 1, end).join('\n'));
  }

  #resolve(uri: string, baseId: string | null): Place {
    const key = baseId === null ? uri : `${baseId}\n${uri}`;
    let place = this.#known.get(key);
    if (place === undefined) {
      place = this.#placeOf(uri, baseId);
      this.#known.set(key, place);
    }
    return place;
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
    if (base.root !== '') return pathOfUri(`${base.prefix}${uri}`);
    // The machine's root as base (Trivy's ROOTPATH): the path of a CI checkout is still looked for.
    const path = relativePath(pathOfUri(`file:///${base.prefix}${uri}`), this.#roots);
    return path.startsWith('/') ? path.slice(1) : path;
  }
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
