// Paths as tools write them → one form: relative to the checkout, `/` between segments, `.` and
// `..` resolved, never above the root. URIs of other schemes stay as they are. An absolute path
// that nothing makes relative keeps its leading `/` or drive, which marks it as absolute. Pure.

/** Absolute directories of the machine that ran the scan; paths below them become relative. */
export interface PathRoots {
  /** Cleaned absolute directories without a trailing slash, longest first. */
  readonly directories: readonly string[];
  /**
   * The last segment of the repository's name, in lower case: the usual name of the checkout's
   * folder.
   */
  readonly repositoryName: string | null;
}

/** Texts that tools write where they have no file. */
const PLACEHOLDERS: ReadonlySet<string> = new Set([
  'no file associated with this alert',
  'unknown-file',
  '<unknown>',
  '<nofile>',
  'n/a',
]);

/** The folders in which CI systems place a checkout; `*` is one segment. */
const CHECKOUTS: readonly (readonly string[])[] = [
  ['home', 'runner', 'work', '*', '*'],
  ['Users', 'runner', 'work', '*', '*'],
  ['__w', '*', '*'],
  ['D:', 'a', '*', '*'],
  ['github', 'workspace'],
  ['home', 'vsts', 'work', '*', 's'],
  ['builds', '*', '*'],
  ['bitbucket', 'pipelines', 'agent', 'build'],
  ['drone', 'src'],
  ['home', 'circleci', 'project'],
  ['var', 'jenkins_home', 'workspace', '*'],
  ['var', 'lib', 'jenkins', 'workspace', '*'],
  ['go', 'src', 'github.com', '*', '*'],
  ['workspace'],
];

/**
 * First segments of a machine's own paths. A checkout path with a leading slash begins with other
 * words.
 */
const MACHINE_FOLDERS: ReadonlySet<string> = new Set(
  `applications bin boot builds data dev etc home lib lib64 media mnt nix opt private proc root
    run sbin shared snap srv sys tmp users usr var volumes workspace`.split(/\s+/),
);

const DRIVE = /^[A-Za-z]:(?=\/|$)/;
/** `C:lib\a.c` is relative to the scanner's working directory on that drive. */
const DRIVE_RELATIVE = /^[A-Za-z]:(?=[^\\/]+[\\/.])/;
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]+:\/\//;

/** True for `https://…`, `host://…` and their like, not for `file:` and drive letters. */
export function isForeignUri(text: string): boolean {
  return SCHEME.test(text) && !/^file:/i.test(text);
}

/** True for a web address. */
export function isHttpUri(text: string): boolean {
  return /^https?:\/\//i.test(text);
}

/** True for `/x` and `C:/x`, after `cleanPath`. */
export function isAbsolutePath(path: string): boolean {
  return path.startsWith('/') || DRIVE.test(path);
}

/**
 * Decodes percent escapes exactly once (`%2525` → `%25`). Bytes that aren't UTF-8 and malformed
 * escapes stay as they are.
 */
export function decodePercentOnce(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(/%[2-7][0-9A-Fa-f]/g, (escape) =>
      String.fromCharCode(Number.parseInt(escape.slice(1), 16)),
    );
  }
}

/**
 * The cleaned path that a `file:` URI or a relative URI reference names. The path of a `file:` URI
 * is absolute; a host (`file://server/share`) becomes the first segment. Query and fragment stay:
 * in practice they are part of file names.
 */
export function pathOfUri(uri: string): string {
  const text = uri.trim();
  const isFile = /^file:/i.test(text);
  // RFC 8089 §2: the host `localhost` is this machine.
  const bare = decodePercentOnce(
    isFile ? text.replace(/^file:(?:\/\/localhost(?=\/))?/i, '') : text,
  );
  return cleanPath(isFile ? `/${bare}` : bare, isFile);
}

/**
 * Resolves slashes, `.`, `..` and empty segments; `..` stops at the root. A leading `/` stays only
 * where it means the machine's root: Checkov and other tools write checkout paths as
 * `/modules/x.tf`.
 */
export function cleanPath(text: string, isAbsolute = false): string {
  const segments: string[] = [];
  for (const segment of text.replace(DRIVE_RELATIVE, '').replaceAll('\\', '/').split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') segments.push(segment);
    else if (!(segments.length === 1 && DRIVE.test(segments[0] ?? ''))) segments.pop();
  }
  const first = segments[0] ?? '';
  const rest = segments.join('/');
  if (DRIVE.test(first)) return first.toUpperCase() + rest.slice(first.length);
  const isMachine =
    /^[\\/]/.test(text) &&
    (MACHINE_FOLDERS.has(first.toLowerCase()) || checkoutDepth(segments) !== null);
  return (isAbsolute || isMachine) && rest !== '' ? `/${rest}` : rest;
}

/** A cleaned path relative to the checkout, where its folder is known; otherwise unchanged. */
export function relativePath(path: string, roots: PathRoots): string {
  if (!isAbsolutePath(path)) return path;
  for (const directory of roots.directories) {
    if (path.startsWith(`${directory}/`)) return path.slice(directory.length + 1);
  }
  const segments = path.split('/').filter((segment) => segment !== '');
  const depth = checkoutDepth(segments) ?? repositoryDepth(segments, roots.repositoryName);
  return depth === null ? path : segments.slice(depth).join('/');
}

function checkoutDepth(segments: readonly string[]): number | null {
  for (const checkout of CHECKOUTS) {
    const fits = checkout.every((name, at) => name === '*' || name === segments[at]);
    if (fits && segments.length > checkout.length) return checkout.length;
  }
  return null;
}

/**
 * The segments up to the folder that has the repository's name, counted: 4 for
 * `/home/ada/src/shop/lib/a.ts` of `github.com/acme/shop`; null when no folder has the name.
 */
function repositoryDepth(segments: readonly string[], name: string | null): number | null {
  if (name === null) return null;
  // A user's own folder isn't the checkout, even when the user is called like the repository.
  const [first = '', second = ''] = segments;
  const homes = HOMES.test(first) ? 2 : DRIVE.test(first) && HOMES.test(second) ? 3 : 0;
  const at = segments.findIndex((one, index) => index >= homes && one.toLowerCase() === name);
  return at === -1 || at + 1 >= segments.length ? null : at + 1;
}

/** Folders that hold the folders of users. */
const HOMES = /^(?:home|users)$/i;

/** The trimmed path; null for a blank text and for a placeholder. */
export function usablePath(text: string): string | null {
  const trimmed = text.trim();
  return trimmed === '' || PLACEHOLDERS.has(trimmed.toLowerCase()) ? null : trimmed;
}

/** Roots from absolute directories in any spelling and from the repository's normalised value. */
export function pathRoots(directories: readonly string[], repository: string | null): PathRoots {
  const cleaned = new Set(directories.filter((directory) => directory !== ''));
  const name = repository?.split('/').at(-1)?.toLowerCase() ?? null;
  return {
    directories: [...cleaned].sort((a, b) => b.length - a.length || (a < b ? -1 : 1)),
    repositoryName: name === '' ? null : name,
  };
}
