// The rooms of the server and their order: data flows down the list, and a room imports only rooms
// below it. No two files import each other in a circle, no folder outgrows one head, and a comment
// that says who calls a file is right. Pure.

import path from 'node:path';
import {
  type Import,
  commentBlocks,
  importsOf,
  isScript,
  isSource,
  type SourceFile,
  type Violation,
  violationAt,
} from './source.ts';

const SERVER_SOURCE = 'packages/server/src/';

/**
 * From the top down, with a sentence for each: what comes in and what goes out. The files of the
 * root wire, and stand above all rooms.
 */
export const ROOMS: readonly (readonly [room: string, does: string])[] = [
  ['operator', "the routes of the operators' API, a file for each noun; no SQL"],
  ['upkeep', 'the one scheduler, and its jobs'],
  ['heartbeat', 'heartbeats, presence, pace, clones, metric series'],
  ['commands', 'the life of a command: leases, polls, logs, what waits'],
  ['scans', 'scan sessions'],
  ['uploads', 'the edge of ingest: bytes in, jobs out'],
  ['ingest', 'the two stories of an upload, and the thread that runs them'],
  ['ingest/queue', 'whose turn it is, the threads, who waits for an answer'],
  ['ingest/finish', 'how an upload ends: receipt, refusal, failure, retry'],
  ['ingest/reconcile', 'destinations, the match plan, batches, absence'],
  ['ingest/inventory', 'assets, components, relationships, endpoints'],
  ['ingest/index', 'the first pass: a row of numbers for each item'],
  ['ingest/match', 'evidence and matching; pure'],
  ['ingest/lease', 'who may write, slice by slice'],
  ['ingest/formats', 'the registry of formats'],
  ['ingest/formats/sarif', 'SARIF 2.1.0: the log and its results'],
  ['ingest/formats/sarif/show', 'what a finding page shows of a result'],
  ['ingest/formats/sarif/read', 'what runs, rules, locations and levels say'],
  ['ingest/formats/ctis', 'CTIS 1.x'],
  ['ingest/formats/common', 'what several formats share: severity, paths, CVSS, dates, context'],
  ['ingest/report', 'the neutral model that every format is read into'],
  ['ingest/document', 'bytes to items, as a stream'],
  ['ingest/redact', 'what must not be shown'],
  ['ingest/store', 'the SQL of ingest, sealing, retention'],
  ['ingest/json', 'access to foreign JSON, and warnings about it'],
  ['findings', 'findings and assets as operators work with them; the machine of a finding'],
  ['keys', 'authentication, renewal, enrolment, runners'],
  ['http', 'Fastify, bodies, problems, pages'],
  ['db', 'the two databases behind one interface'],
  ['lib', 'clock, ids, log, chance, assert'],
];

const ORDER: readonly string[] = ROOMS.map(([room]) => room);

/** The rooms that a room may import beside lib/, where those are fewer than all rooms below it. */
const NARROW: Readonly<Record<string, readonly string[]>> = {
  'ingest/match': ['ingest/report'],
  'ingest/store': ['db'],
};

const FORMATS = 'ingest/formats';
const REGISTRY = `${SERVER_SOURCE}${FORMATS}/formats.ts`;

/** As many files of a folder as one person can hold in the head. */
export const FOLDER_FILES_MAX = 25;

/** The room of a file of the server; null: a file of the root, or of another package. */
export function roomOf(place: string): string | null {
  if (!place.startsWith(SERVER_SOURCE)) return null;
  let folder = path.posix.dirname(place.slice(SERVER_SOURCE.length));
  while (folder !== '.') {
    if (ORDER.includes(folder)) return folder;
    folder = path.posix.dirname(folder);
  }
  return null;
}

/** The file of ours that an import names; null: a library or another package. */
export function targetOf({ specifier }: Import, from: string): string | null {
  return specifier.startsWith('.') ? path.posix.join(path.posix.dirname(from), specifier) : null;
}

/**
 * A room imports only rooms below it, types included; a folder of the server that is no room is
 * named.
 */
export function upwardImports(file: SourceFile): Violation[] {
  if (!file.path.startsWith(SERVER_SOURCE) || !isSource(file)) return [];
  const room = roomOf(file.path);
  const isRoot = path.posix.dirname(file.path) === SERVER_SOURCE.slice(0, -1);
  if (room === null) {
    const message = 'this folder is no room: give it a place in the order (tools/tidy/rooms.ts)';
    return isRoot ? [] : [violationAt(file, 0, message)];
  }
  return importsOf(file).flatMap((entry) => {
    const target = targetOf(entry, file.path);
    const complaint = target === null ? null : complaintAbout(room, target);
    if (complaint === null) return [];
    const message = `${room}/ must not import '${entry.specifier}': ${complaint}`;
    return [violationAt(file, entry.offset, message)];
  });
}

function complaintAbout(room: string, target: string): string | null {
  const other = roomOf(target);
  if (other === room) return null;
  if (other === null) return rootComplaint(target);
  if (ORDER.indexOf(other) < ORDER.indexOf(room)) return `${other}/ stands above it`;
  const [own, foreign] = [formatOf(room), formatOf(other)];
  if (own !== null && foreign !== null && own !== foreign) {
    return 'the reader of a format knows no other format';
  }
  if (target === REGISTRY && room !== 'ingest/index') return 'only index/ asks the registry';
  if (foreign !== null && own === null && room !== FORMATS) {
    return 'a format is known to its registry alone';
  }
  const allowed = NARROW[room];
  if (allowed === undefined || other === 'lib' || allowed.includes(other)) return null;
  return `it imports ${allowed.join(', ')} and lib alone`;
}

/** Constants of the root that belong to no slice (the version) may be imported by all. */
function rootComplaint(target: string): string | null {
  if (!target.startsWith(SERVER_SOURCE)) return null;
  const name = target.slice(SERVER_SOURCE.length);
  return /^(app|main|admin|configured-database)\.ts$/.test(name) ? 'the root wires' : null;
}

/** The format that a room belongs to; null: no format, or the room that all formats share. */
function formatOf(room: string): string | null {
  const [, name] = /^ingest\/formats\/([^/]+)/.exec(room) ?? [];
  return name === undefined || name === 'common' ? null : name;
}

/**
 * Files that import each other in a circle, a violation for each circle. Types inside one room are
 * excepted.
 */
export function circles(files: readonly SourceFile[]): Violation[] {
  const sources = new Map(files.filter(isSource).map((file) => [file.path, file]));
  const imported = new Map<string, readonly string[]>();
  for (const file of sources.values()) {
    const targets = importsOf(file).flatMap((entry) => {
      const target = targetOf(entry, file.path);
      if (target === null || !sources.has(target)) return [];
      return entry.isType && isOneRoom(file.path, target) ? [] : [target];
    });
    imported.set(file.path, targets);
  }
  return knots(imported).map((knot) => ({
    path: knot[0] as string,
    line: 1,
    message: `imports itself in a circle with ${knot.slice(1).join(', ')}`,
  }));
}

/** Each other package is one room. */
const isOneRoom = (one: string, other: string): boolean =>
  one.startsWith(SERVER_SOURCE) ? roomOf(one) === roomOf(other) : true;

/** The strongly connected components of more than one file (Tarjan), each sorted. */
function knots(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = [];
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const visit = (node: string): number => {
    const own = index.size;
    index.set(node, own);
    low.set(node, own);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      const reached = index.has(next)
        ? stack.includes(next)
          ? (index.get(next) as number)
          : Infinity
        : visit(next);
      low.set(node, Math.min(low.get(node) as number, reached));
    }
    if (low.get(node) === own) {
      const knot = stack.splice(stack.indexOf(node));
      if (knot.length > 1) found.push(knot.toSorted());
    }
    return low.get(node) as number;
  };
  for (const node of graph.keys()) if (!index.has(node)) visit(node);
  return found;
}

/** Folders with more scripts than fit in one head: sources, tests and tools alike. */
export function crowdedFolders(paths: readonly string[]): Violation[] {
  const counts = new Map<string, number>();
  for (const place of paths) {
    if (!isScript({ path: place, text: '' })) continue;
    const folder = path.posix.dirname(place);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > FOLDER_FILES_MAX)
    .map(([folder, count]) => ({
      path: folder,
      line: 1,
      message: `${count} files in one folder (at most ${FOLDER_FILES_MAX}): make rooms of it`,
    }));
}

/** To the end of the sentence: a dot inside a name is followed by its ending. */
const CALLED_BY = /\bcalled by ([^.;]*(?:\.(?!\s|$)[^.;]*)*)/gi;

/**
 * "Called by" is followed by names of files that import this one, and by nothing else; for a
 * worker, by files that name it.
 */
export function falseCallers(file: SourceFile, files: readonly SourceFile[]): Violation[] {
  if (!isScript(file)) return [];
  return commentBlocks(file).flatMap(({ text, offset }) =>
    [...text.matchAll(CALLED_BY)].flatMap(([, said = '']) => {
      const names = said.split(/,\s*(?:and\s+)?|\s+and\s+/).map((name) => name.trim());
      const wrong = names.filter((name) => !isCaller(name, file, files));
      if (wrong.length === 0) return [];
      const message = `"Called by ${wrong.join(', ')}": no such file imports this one`;
      return [violationAt(file, offset, message)];
    }),
  );
}

function isCaller(name: string, file: SourceFile, files: readonly SourceFile[]): boolean {
  if (!/^[\w./-]+\.(ts|tsx|mjs)$/.test(name)) return false;
  return files.some(
    (other) =>
      `/${other.path}`.endsWith(`/${name}`) &&
      isScript(other) &&
      (importsOf(other).some((entry) => targetOf(entry, other.path) === file.path) ||
        other.text.includes(`/${path.posix.basename(file.path)}'`)),
  );
}
