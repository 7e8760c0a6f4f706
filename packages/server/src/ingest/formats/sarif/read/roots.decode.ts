// The directories of a SARIF run (SARIF 2.1.0 §3.14.14, §3.23.8) → the paths of its files below
// them. The root of the checkout is left out. Another root becomes the name of its base id,
// `%LIB%/a.c`, because files of two roots are two files; its directory isn't shown, because it
// differs from machine to machine, and ids don't. The run as a whole decides, never the results
// that it has. Called by read/places.decode.ts.

import { normaliseAsset } from '../../../report/asset.rules.ts';
import {
  cleanPath,
  decodePercentOnce,
  isAbsolutePath,
  isForeignUri,
  isHttpUri,
  type PathRoots,
  pathOfUri,
  pathRoots,
  relativePath,
} from '../../common/path.rules.ts';
import type { Warnings } from '../../../json/warnings.decode.ts';
import {
  entriesIn,
  type JsonObject,
  listOf,
  objectOf,
  stringOf,
} from '../../../json/json.decode.ts';

/** A base id, followed up to its root. */
interface Base {
  /** The relative part below the root, as a URI reference: '' or a text that ends in `/`. */
  readonly prefix: string;
  /**
   * The root of the chain: an absolute directory ('' is the machine's root), an address, `%ID%`
   * when nothing is said of the last id, or CHECKOUT when the chain ends with a relative part.
   */
  readonly root: string;
}

/** The root of a chain that ends with a relative part: nothing else can be meant. */
const CHECKOUT = '.';

/** Stands for the directory that the tool ran in, where that is no part of the checkout. */
const WORKING = '%PWD%/';

/** Enough for a repository and its submodules. */
const MAPPED_MAX = 50;

/** A run has one to five, and every absolute path may be compared with each of them. */
const DIRECTORIES_MAX = 50;

/** Chains of base ids are short. */
const BASE_CHAIN_MAX = 16;

export class Roots {
  readonly #bases = new Map<string, Base>();
  readonly #repository: string | null;
  /** The directories where the report says that the repository is; empty when it says nothing. */
  readonly #mapped: readonly string[];
  /** The roots of the checkout, longest first; empty when nothing tells them. */
  readonly #own: readonly string[];
  /** Root → the label that stands for it in paths. */
  readonly #labels = new Map<string, string>();
  /** Absolute directories with their labels, longest first. */
  readonly #directories: readonly (readonly [string, string])[];
  readonly #checkouts: PathRoots;
  /** The last id of which the run says nothing; most logs have one such id, or none. */
  #unknown: { id: string; base: Base } | null = null;
  #lastLabel: { root: string; label: string } | null = null;

  /**
   * `repository` is the analysis's repository in normal form: its name shows checkouts on other
   * machines.
   */
  constructor(run: JsonObject, repository: string | null, warnings: Warnings) {
    this.#repository = repository;
    this.#checkouts = pathRoots([], repository);
    const bases = objectOf(run.originalUriBaseIds) ?? {};
    for (const id of Object.keys(bases).sort()) this.#bases.set(id, baseOf(id, bases));
    const provenance = warnings.first(listOf(run.versionControlProvenance), MAPPED_MAX);
    this.#mapped = mappedRoots(provenance, (id) => this.#base(id), repository);
    const roots = new Set([...this.#bases.values()].map(({ root }) => root));
    const said = [...new Set([...this.#mapped, ...roots])].filter(
      (root) => root !== '' && root !== CHECKOUT && !this.#isWeb(root),
    );
    const lone = said.length === 1 ? said : [];
    this.#own = this.#mapped.length > 0 ? this.#mapped : (namedRoot(this.#bases, said) ?? lone);
    for (const [id, { root, prefix }] of this.#bases) {
      // Several ids may have one directory: the first of them in the alphabet names it.
      if (prefix === '' && !this.#labels.has(root)) this.#labels.set(root, this.#labelOf(root, id));
    }
    const directories = said.filter((root) => isAbsolutePath(root) && !this.#isInside(root));
    const labelled = directories.map((root) => [root, this.#label(root)] as const);
    const working = workingDirectory(warnings.first(entriesIn(run.invocations), DIRECTORIES_MAX));
    if (working !== null && !said.some((root) => `${working}/`.startsWith(`${root}/`))) {
      labelled.push([working, directories.length === 0 ? '' : WORKING]);
    }
    this.#directories = warnings.first(labelled.sort(longestFirst), DIRECTORIES_MAX);
  }

  /**
   * The address of a uri below a base that is an address (§3.4.4); null for files, also where the
   * web shows a checkout.
   */
  addressOf(uri: string, id: string): string | null {
    const { prefix, root } = this.#base(id);
    if (!this.#isWeb(root) || isForeignUri(uri) || /^(?:file:|[A-Za-z]:[\\/])/i.test(uri))
      return null;
    return URL.parse(`${prefix}${uri}`, `${root}/`)?.href ?? null;
  }

  /** The path of a file as it is stored, except for the bound of its length. */
  pathOf(uri: string, id: string | null): string {
    if (id === null || /^(?:file:|[\\/]|[A-Za-z]:[\\/])/i.test(uri)) {
      return this.#relative(pathOfUri(uri));
    }
    const { prefix, root } = this.#base(id);
    if (this.#own.length > 0) {
      const path = below(root, decodePercentOnce(`${prefix}${uri}`));
      const own = this.#own.find((one) => path.startsWith(`${one}/`));
      if (own !== undefined) return path.slice(own.length + 1);
    }
    if (root !== '') return `${this.#label(root)}${pathOfUri(`${prefix}${uri}`)}`;
    // The base is the machine's root (Trivy's ROOTPATH), but the path may still be in a CI
    // checkout.
    const path = this.#relative(pathOfUri(`file:///${prefix}${uri}`));
    return path.startsWith('/') && this.#directories.length === 0 ? path.slice(1) : path;
  }

  #base(id: string): Base {
    const known = this.#bases.get(id);
    if (known !== undefined) return known;
    if (this.#unknown?.id !== id) this.#unknown = { id, base: { prefix: '', root: nameOf(id) } };
    return this.#unknown.base;
  }

  #relative(path: string): string {
    if (!isAbsolutePath(path)) return path;
    for (const [directory, label] of this.#directories) {
      if (path.startsWith(`${directory}/`)) return `${label}${path.slice(directory.length + 1)}`;
    }
    return relativePath(path, this.#checkouts);
  }

  /** True for a web address, unless the web shows the files of a repository there. */
  #isWeb(root: string): boolean {
    return (
      isHttpUri(root) && !this.#mapped.includes(root) && !isCodePage(`${root}/`, this.#repository)
    );
  }

  /** True for a directory below a root of the checkout. */
  #isInside(root: string): boolean {
    return this.#own.some((own) => root.startsWith(`${own}/`));
  }

  #label(root: string): string {
    const known = this.#labels.get(root);
    if (known !== undefined) return known;
    if (this.#lastLabel?.root !== root) {
      this.#lastLabel = { root, label: this.#labelOf(root, root) };
    }
    return this.#lastLabel.label;
  }

  /** The label of a root in paths: '' for the checkout, else the name of its id. */
  #labelOf(root: string, id: string): string {
    if (root === CHECKOUT || this.#own.includes(root)) return '';
    const isAround = this.#own.some((own) => own.startsWith(`${root}/`));
    return root === nameOf(id) && CHECKOUT_ID.test(id) && !isAround ? '' : `${nameOf(id)}/`;
  }
}

/** The name of a base id in paths; an id that is a path of folders becomes one name. */
const nameOf = (id: string): string =>
  `%${id.trim().replaceAll(/^%|%$/g, '').replaceAll(/[\\/]/g, '-')}%`;

const longestFirst = ([a]: readonly [string, string], [b]: readonly [string, string]): number =>
  b.length - a.length || (a < b ? -1 : 1);

/** The path below a root; `..` leads out of absolute directories only. */
function below(root: string, path: string): string {
  if (root === '' || isAbsolutePath(root)) return cleanPath(`${root}/${path}`, true);
  const inside = cleanPath(path);
  return inside === '' ? root : `${root}/${inside}`;
}

/** Follows the chain of an id, up to the first id that comes again. */
function baseOf(id: string, bases: JsonObject): Base {
  const seen = new Set<string>();
  let prefix = '';
  let last = id;
  let isRelative = false;
  for (let next: string | null = id; next !== null && !seen.has(next); ) {
    if (seen.size === BASE_CHAIN_MAX) return { prefix, root: CHECKOUT };
    seen.add(next);
    last = next;
    const entry: JsonObject | null = Object.hasOwn(bases, next) ? objectOf(bases[next]) : null;
    const uri = stringOf(entry?.uri)?.trim() ?? null;
    isRelative = uri !== null;
    if (uri !== null) {
      if (isForeignUri(uri)) return { prefix, root: uri.replace(/\/+$/, '') };
      const path = pathOfUri(uri);
      if (/^file:/i.test(uri) || isAbsolutePath(path)) return { prefix, root: path };
      prefix = `${uri.endsWith('/') ? uri : `${uri}/`}${prefix}`;
    }
    next = stringOf(entry?.uriBaseId);
  }
  return { prefix, root: isRelative ? CHECKOUT : nameOf(last) };
}

/**
 * §3.23.8: the directories that the analysis's repository was checked out into. Files of another
 * repository, mostly a submodule, keep their path below them. If no entry is of the analysis's
 * repository (the report may have another address for it), only the directory around all others can
 * be meant.
 */
function mappedRoots(
  entries: readonly unknown[],
  base: (id: string) => Base,
  repository: string | null,
): string[] {
  const all = new Set<string>();
  const own = new Set<string>();
  let isNamed = false;
  for (const entry of entries) {
    const provenance = objectOf(entry);
    const address = stringOf(provenance?.repositoryUri);
    const isOwn =
      repository !== null &&
      address !== null &&
      normaliseAsset('repository', address)?.value === repository;
    isNamed ||= isOwn;
    const mapped = objectOf(provenance?.mappedTo);
    const root = mapped === null ? null : mappedRoot(mapped, base);
    if (root === null) continue;
    all.add(root);
    if (isOwn) own.add(root);
  }
  if (isNamed) return [...own].sort((a, b) => longestFirst([a, ''], [b, '']));
  const outermost = [...all].filter((one) => ![...all].some((root) => one.startsWith(`${root}/`)));
  return outermost.length === 1 ? outermost : [];
}

function mappedRoot(mapped: JsonObject, base: (id: string) => Base): string | null {
  const uri = stringOf(mapped.uri) ?? '';
  const id = stringOf(mapped.uriBaseId);
  if (isForeignUri(uri)) return null;
  if (id === null || /^file:/i.test(uri)) {
    const path = pathOfUri(uri);
    return isAbsolutePath(path) ? path : null;
  }
  const { prefix, root } = base(id);
  return below(root, decodePercentOnce(`${prefix}${uri}`)) || null;
}

/** Ids that the standard and tools use for the root of the analysed files, the likeliest first. */
const ROOT_IDS = [
  /^%?(?:src|source)_?root%?$/i,
  /^%?(?:repo|repository|checkout)_?root%?$/i,
  /^%?project_?root%?$/i,
];

/** Further ids that can hardly mean anything else, if none of those is there. */
const CHECKOUT_ID =
  /^%?(?:(?:src|source|code|repo|repository|project|checkout|solution|workspace|work|working|base|current)?[-_ ]?(?:root|dir|directory|folder|path|copy)?|rootpath|[cp]wd|github_workspace)%?$/i;

/**
 * The root that its id calls the checkout's; if another root that is called so lies around it, that
 * one.
 */
function namedRoot(bases: ReadonlyMap<string, Base>, said: readonly string[]): string[] | null {
  const named = (pattern: RegExp) =>
    [...bases].flatMap(([id, { root }]) => (pattern.test(id) && said.includes(root) ? [root] : []));
  const roots = ROOT_IDS.flatMap(named);
  const first = roots[0] ?? named(CHECKOUT_ID)[0];
  if (first === undefined) return null;
  const around = roots.filter((root) => first.startsWith(`${root}/`));
  return [around.reduce((one, other) => (other.length < one.length ? other : one), first)];
}

/**
 * The directory that the tool ran in, or the common one of several invocations; null when none is
 * said.
 */
function workingDirectory(invocations: readonly unknown[]): string | null {
  let common: string[] | null = null;
  for (const invocation of invocations) {
    const uri = stringOf(objectOf(objectOf(invocation)?.workingDirectory)?.uri);
    if (uri === null || isForeignUri(uri)) continue;
    const path = pathOfUri(uri);
    if (!isAbsolutePath(path)) continue;
    const segments = path.split('/');
    const other = common ?? segments;
    const end = segments.findIndex((segment, at) => segment !== other[at]);
    common = end === -1 ? segments : segments.slice(0, end);
  }
  return common?.join('/') || null;
}

/** Pages of code hosts that show a file of a branch or commit. */
const CODE_PAGE =
  /^https?:\/\/(?:raw\.githubusercontent\.com\/|(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org)\/|[^?#]+\/(?:blob|tree|raw|_git|repos\/[^/?#]+\/browse)\/)/i;

/**
 * True where the web shows the files of a repository: these are places in the checkout. Their
 * address has the commit in it, and would be a new one with each scan.
 */
function isCodePage(address: string, repository: string | null): boolean {
  if (CODE_PAGE.test(address)) return true;
  const bare = address.replace(/^https?:\/\/(?:[^/?#]*@)?/i, '').toLowerCase();
  return repository !== null && bare.startsWith(`${repository.toLowerCase()}/`);
}
