// Decides what a file may import, by its place and its suffix: the table of ARCHITECTURE.md ("a
// suffix is a permission") as code. Type-only imports count like others across packages and for
// libraries (a type from Kysely in a route means that the route thinks about SQL). Between our own
// files of the server they are free for the pure files and the queries, which need the shapes that
// others declare.

import path from 'node:path';
import {
  type Import,
  importsOf,
  isSource,
  type SourceFile,
  type Violation,
  violationAt,
} from './source.ts';

/** The kind of a file of the server. `slice` is its folder, where there is one. */
export interface Role {
  kind:
    | 'pure'
    | 'queries'
    | 'routes'
    | 'worker'
    | 'story'
    | 'db'
    | 'http'
    | 'lib'
    | 'upkeep'
    | 'root';
  slice: string;
  name: string;
}

const SERVER_SOURCE = 'packages/server/src/';

/** Folders of the server that are no slices. */
const FRAME_FOLDERS = ['db', 'http', 'lib', 'upkeep'] as const;

const PURE_SUFFIX = /\.(rules|machine|decode|format|columns)\.ts$/;

/** Compact stores of numbers: pure, and so low that they know only lib/. */
const COLUMNS_SUFFIX = /\.columns\.ts$/;

/** `uploads/` is the edge of ingest: one slice in two rooms. */
const SLICE_OF_ROOM: Readonly<Record<string, string>> = { uploads: 'ingest' };

/**
 * Files that wire or start everything, or explain why it didn't start; they may import everything.
 */
const COMPOSITION = ['app.ts', 'main.ts', 'admin.ts', 'startup-errors.ts'];

/**
 * Same bytes in, same bytes out: hashing, checksums and ciphers, whose keys and nonces are
 * arguments.
 */
const COMPUTING: Record<string, RegExp> = {
  'node:crypto': /^(create(Hash|Hmac|Cipheriv|Decipheriv)|hash|hkdfSync|timingSafeEqual)$/,
  'node:zlib': /^crc32$/,
};

/**
 * The routes for operators: each asks any story, and shows what the formats of that slice print.
 */
const OPERATOR_SLICE = 'operator';

/** Which of our packages each package may import. */
const PACKAGE_MAY_IMPORT: Record<string, string[]> = {
  contract: [],
  server: ['contract'],
  runner: ['contract'],
  // The `muster` command also starts the reference runner.
  cli: ['contract', 'runner'],
  console: ['contract'],
};

/**
 * The role of a server's file; undefined for files that may import everything, and for files of
 * other packages.
 */
export function roleOf(place: string): Role | undefined {
  if (!place.startsWith(SERVER_SOURCE)) return undefined;
  const [folder = '', ...rest] = place.slice(SERVER_SOURCE.length).split('/');
  const name = rest.join('/');
  if (rest.length === 0) {
    if (COMPOSITION.includes(folder)) return undefined;
    const kind = PURE_SUFFIX.test(folder) ? 'pure' : 'root';
    return { kind, slice: '', name: folder };
  }
  const frame = FRAME_FOLDERS.find((known) => known === folder);
  if (frame !== undefined && !(PURE_SUFFIX.test(name) && frame === 'upkeep')) {
    return { kind: frame, slice: folder, name };
  }
  const slice = SLICE_OF_ROOM[folder] ?? folder;
  if (PURE_SUFFIX.test(name)) return { kind: 'pure', slice, name };
  const suffix = /\.(queries|routes|worker)\.ts$/.exec(name)?.[1];
  return { kind: (suffix as Role['kind'] | undefined) ?? 'story', slice, name };
}

/** The suffix table: violations of a file of the server. */
export function suffixPermissions(file: SourceFile): Violation[] {
  const role = roleOf(file.path);
  if (role === undefined || !isSource(file)) return [];
  return importsOf(file).flatMap((entry) => {
    const complaint = complaintAbout(entry, role, file.path);
    return complaint === undefined ? [] : [violationAt(file, entry.offset, complaint)];
  });
}

/** The packages: who may import whom, and that nobody reaches into another package's folder. */
export function packagePermissions(file: SourceFile): Violation[] {
  const own = /^packages\/([^/]+)\/src\//.exec(file.path)?.[1];
  if (own === undefined || !isSource(file)) return [];
  const allowed = PACKAGE_MAY_IMPORT[own] ?? [];
  return importsOf(file).flatMap((entry) => {
    const complain = (message: string): Violation[] => [violationAt(file, entry.offset, message)];
    const target = /^@muster\/([^/]+)/.exec(entry.specifier)?.[1];
    if (target !== undefined && !allowed.includes(target)) {
      // The one exception: `muster serve` loads the server, and only when it is asked to.
      const isServe = own === 'cli' && target === 'server' && entry.isDynamic;
      return isServe ? [] : complain(`${own} must not import ${entry.specifier}`);
    }
    if (
      entry.specifier.startsWith('.') &&
      !resolved(entry, file.path).startsWith(`packages/${own}/`)
    ) {
      return complain(`'${entry.specifier}' reaches out of the package: import it by its name`);
    }
    if (
      own === 'contract' &&
      target === undefined &&
      !/^(\.|typebox(\/|$))/.test(entry.specifier)
    ) {
      return complain(`contract depends on typebox only, not on '${entry.specifier}'`);
    }
    if (own === 'console' && entry.specifier.startsWith('node:')) {
      return complain(`the console runs in a browser: no '${entry.specifier}'`);
    }
    return [];
  });
}

/**
 * The only places of the drivers; a rule of its own, because the promise of two backends depends on
 * it.
 */
export function databaseHomes(file: SourceFile): Violation[] {
  if (!isSource(file) || file.path.startsWith(`${SERVER_SOURCE}db/`)) return [];
  return importsOf(file)
    .filter(({ specifier }) => isDatabaseLibrary(specifier))
    .filter(({ specifier }) => !(specifier === 'kysely' && file.path.endsWith('.queries.ts')))
    .map(({ specifier, offset }) =>
      violationAt(
        file,
        offset,
        `'${specifier}' is for db/${specifier === 'kysely' ? ' and *.queries.ts' : ''}`,
      ),
    );
}

function isDatabaseLibrary(specifier: string): boolean {
  return /^(node:sqlite|kysely|pg)(\/|$)/.test(specifier);
}

function resolved(entry: Import, from: string): string {
  return path.posix.join(path.posix.dirname(from), entry.specifier);
}

/** Why a file of this role may not make this import, or undefined. */
function complaintAbout(entry: Import, role: Role, from: string): string | undefined {
  const { specifier } = entry;
  if (specifier.startsWith('@muster/')) return undefined;
  const reason = specifier.startsWith('.')
    ? refusalOfOwn(entry, role, resolved(entry, from))
    : refusalOfLibrary(entry, role);
  if (reason === undefined) return undefined;
  return `${roleName(role)} must not import '${specifier}': ${reason}`;
}

function roleName({ kind, name }: Role): string {
  if (kind === 'pure') return `*${PURE_SUFFIX.exec(name)?.[0]}`;
  if (kind === 'story') return 'a story';
  if (kind === 'root') return name;
  return ['db', 'http', 'lib', 'upkeep'].includes(kind) ? `${kind}/` : `*.${kind}.ts`;
}

function refusalOfLibrary(entry: Import, { kind }: Role): string | undefined {
  const { specifier, names } = entry;
  if (kind === 'pure') {
    if (entry.isType && specifier.startsWith('node:')) return undefined;
    const computing = COMPUTING[specifier];
    const isComputing = names.length > 0 && names.every((name) => computing?.test(name));
    return isComputing ? undefined : 'it is pure: contract, lib/assert and hashing';
  }
  if (/^(fastify|@fastify\/.*)$/.test(specifier)) {
    return ['routes', 'http'].includes(kind) ? undefined : 'Fastify stays in routes and http/';
  }
  if (specifier === 'kysely')
    return ['queries', 'db'].includes(kind) ? undefined : 'Kysely stays in queries and db/';
  if (isDatabaseLibrary(specifier)) return kind === 'db' ? undefined : 'drivers stay in db/';
  if (kind === 'queries' && specifier.startsWith('node:'))
    return 'a query decides and does nothing but SQL';
  return undefined;
}

/** The table for imports of the server's own files; `target` is the path of the imported file. */
function refusalOfOwn(entry: Import, role: Role, target: string): string | undefined {
  const other = roleOf(target);
  if (other === undefined) return isRootFile(target) ? 'only main.ts knows what wires' : undefined;
  if (other.kind === 'lib') return refusalOfLib(role, other, entry.isType);
  const isOwn = other.slice === role.slice;
  switch (role.kind) {
    case 'pure':
      if (COLUMNS_SUFFIX.test(role.name)) return 'columns know lib/ alone';
      return entry.isType || other.kind === 'pure' ? undefined : 'it is pure';
    case 'queries':
      if (
        entry.isType ||
        other.kind === 'db' ||
        (isOwn && ['pure', 'queries'].includes(other.kind))
      )
        return undefined;
      return 'queries know db/, and the pure files of their slice';
    case 'routes':
      return refusalOfRoute(other, role, isOwn, entry.isType);
    case 'worker':
      return isOwn || other.kind === 'db' ? undefined : 'a worker knows its slice, db/ and lib/';
    case 'story':
      return refusalOfStory(other, isOwn, entry.isType);
    case 'upkeep':
      return isOwn || other.kind === 'story' || other.name === 'db.ts'
        ? undefined
        : 'upkeep asks the stories';
    case 'db':
    case 'http':
      return isOwn || isHandedDown(role, other)
        ? undefined
        : 'what it needs of a slice is handed in by app.ts';
    case 'lib':
      return 'lib/ stands below everything';
    case 'root':
      return ['root', 'db', 'pure'].includes(other.kind) || entry.isType
        ? undefined
        : 'only app.ts wires';
  }
}

/**
 * Types of the route's own slice, and the database as a handle that the route passes on, are no
 * SQL.
 */
function refusalOfRoute(
  other: Role,
  own: Role,
  isOwn: boolean,
  isType: boolean,
): string | undefined {
  if (isType && (isOwn || other.name === 'db.ts' || other.kind === 'story')) return undefined;
  if (other.kind === 'db' || other.kind === 'queries') return 'a route asks its story';
  const isAsked = own.slice === OPERATOR_SLICE && ['story', 'pure'].includes(other.kind);
  return isOwn || isAsked || other.kind === 'http' ? undefined : 'a route asks its own story';
}

/**
 * http/problems.ts maps the database's errors; a pure file of the root (a welcome page) belongs to
 * no slice.
 */
function isHandedDown(own: Role, other: Role): boolean {
  if (own.kind === 'http' && other.name === 'db-errors.ts') return true;
  return other.kind === 'pure' && other.slice === '';
}

function refusalOfStory(other: Role, isOwn: boolean, isType: boolean): string | undefined {
  if (other.kind === 'routes') return 'nothing calls back up';
  if (other.kind === 'http') return 'a story knows nothing of HTTP';
  if (isOwn || other.kind === 'story' || other.kind === 'pure') return undefined;
  if (other.kind === 'db')
    return isType || /^db(-errors)?\.ts$/.test(other.name)
      ? undefined
      : 'of db/, a story knows db/db.ts';
  if (other.kind === 'root') return isType ? undefined : 'configuration is handed in';
  return "a story asks another slice's story";
}

/**
 * lib/ is open to all except for the clock and chance, which pure files and queries take as
 * arguments.
 */
function refusalOfLib({ kind }: Role, { name }: Role, isType: boolean): string | undefined {
  if (isType || kind === 'lib') return undefined;
  const isPure =
    /^(assert|growing-(?:ids|ints|texts)|id-bytes|ids|iso-time|json-fault|problem|quick-hash|text)\.ts$/.test(
      name,
    );
  if (kind === 'pure') return isPure ? undefined : 'it is pure: of lib/ only what is pure, too';
  if (kind !== 'queries') return undefined;
  return /^(clock|random)\.ts$/.test(name)
    ? 'the time and ids are arguments of a query'
    : undefined;
}

function isRootFile(target: string): boolean {
  return COMPOSITION.some((name) => target === SERVER_SOURCE + name);
}
