// Rules about the files beside the code: documents name existing files, every dependency of the
// server has a reason, and nothing works on one machine only.

import path from 'node:path';
import { type SourceFile, type Violation, violationAt, violationsOf } from './source.ts';

/** Every direct dependency is a debt; architecture §1. */
export const SERVER_DEPENDENCIES_MAX = 12;

/** A history names the files of its time. */
const HISTORIES = ['CHANGELOG.md'];

/** Endings by which a name in backticks counts as a file of this repository. */
const FILE_ENDING = /\.(ts|tsx|mjs|sql)$/;
const FILE_ENDING_IN_FOLDER = /\.(ts|tsx|mjs|sql|md|json|sh|yml|css|html)$/;

/** Links and names in backticks of a document point to existing files. */
export function missingFiles(file: SourceFile, everyPath: ReadonlySet<string>): Violation[] {
  if (!file.path.endsWith('.md') || HISTORIES.includes(file.path)) return [];
  const prose = { ...file, text: withoutCodeBlocks(file.text) };
  const links = violationsOf(
    prose,
    /\[[^\]\n]*\]\(([^)\s#]+)[^)\n]*\)/g,
    (match) => match[1] ?? '',
  );
  const names = violationsOf(prose, /`([^`\s]+)`/g, (match) => match[1] ?? '');
  const isThere = (target: string) => exists(target, file.path, everyPath);
  return [
    ...links.filter(({ message }) => isRelativeLink(message) && !isThere(message)),
    ...names.filter(
      ({ message }) => isFileName(message) && !isSomewhere(message, file.path, everyPath),
    ),
  ].map((found) => ({ ...found, message: `names ${found.message}, which isn't there` }));
}

/** Code blocks keep their lines, so that places stay right. */
function withoutCodeBlocks(text: string): string {
  return text.replaceAll(/^( *)(```|~~~)[^]*?^\1\2/gm, (block) => block.replaceAll(/[^\n]/g, ' '));
}

function isRelativeLink(target: string): boolean {
  return !/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(target);
}

/** Placeholders and patterns (`<noun>.ts`, `*.rules.ts`, `{sqlite,postgres}`) name no file. */
function isFileName(name: string): boolean {
  if (/[<>*{}…|()$=:,]|^@|node_modules|^dist\/|^\.?\.ts$/.test(name)) return false;
  // The text of a link, an endpoint or a flag has no ending of ours.
  return name.includes('/')
    ? FILE_ENDING_IN_FOLDER.test(name) && !/^[/~]/.test(name)
    : FILE_ENDING.test(name);
}

function exists(target: string, from: string, everyPath: ReadonlySet<string>): boolean {
  const place = target.startsWith('/')
    ? target.slice(1)
    : path.posix.join(path.posix.dirname(from), decodeURI(target));
  const wanted = path.posix.normalize(place).replace(/\/$/, '');
  if (wanted === '.' || everyPath.has(wanted)) return true;
  for (const known of everyPath) if (known.startsWith(`${wanted}/`)) return true;
  return false;
}

/** Prose may shorten a path: `db/dialect.ts` is any file whose path ends so. */
function isSomewhere(name: string, from: string, everyPath: ReadonlySet<string>): boolean {
  if (exists(name, from, everyPath)) return true;
  const ending = `/${name.replace(/^(\.\.?\/)+/, '')}`;
  for (const known of everyPath) if (`/${known}`.endsWith(ending)) return true;
  return false;
}

/** Each direct dependency of the server is explained in docs/adr/, and there are few. */
export function explainedDependencies(manifest: SourceFile, decisions: SourceFile[]): Violation[] {
  const { dependencies = {} } = JSON.parse(manifest.text) as {
    dependencies?: Record<string, string>;
  };
  const names = Object.keys(dependencies).filter((name) => !name.startsWith('@muster/'));
  const placeOf = (name: string) => manifest.text.indexOf(`"${name}"`);
  const unexplained = names
    .filter((name) => !decisions.some(({ text }) => text.includes(`\`${name}\``)))
    .map((name) => violationAt(manifest, placeOf(name), `\`${name}\` has no line in docs/adr/`));
  const surplus = names
    .slice(SERVER_DEPENDENCIES_MAX)
    .map((name) =>
      violationAt(
        manifest,
        placeOf(name),
        `${name} is one dependency too many (${SERVER_DEPENDENCIES_MAX})`,
      ),
    );
  return [...unexplained, ...surplus];
}

/**
 * Hosts of package registries, public or a company's: the installer's configuration knows them, the
 * repository doesn't.
 */
const REGISTRY_HOST = new RegExp(
  [
    'registry\\.(npmjs|yarnpkg|npmmirror)\\.',
    'npm\\.pkg\\.github',
    '\\bartifactory\\b',
    '\\bverdaccio\\b',
  ].join('|'),
  'gi',
);

/**
 * Folders of one machine. A sample inside a URI (`file:///home/…`) is preceded by `/` and is no
 * path of ours; the invented user `ada` lives in the samples of path handling.
 */
const MACHINE_PATH = /(?<![\w.\-/~})$*@])\/(?:work|root|home(?!\/ada\b))\/[\w.-]+/g;

/** Nothing in the repository works on one machine only. */
export function machineTraces(file: SourceFile): Violation[] {
  // This rule and its samples name the forbidden texts; recorded reports come from other people's
  // machines.
  if (file.path.startsWith('tools/tidy/') || /\/test\/(fixtures|.*golden)\//.test(file.path))
    return [];
  return [
    ...violationsOf(file, REGISTRY_HOST, ([host]) => `names the registry host ${host}`),
    ...violationsOf(file, MACHINE_PATH, ([place]) => `names a folder of one machine: ${place}`),
  ];
}

/**
 * The lock file says what is installed, not from which host: `omit-lockfile-registry-resolved` in
 * .npmrc.
 */
export function resolvedHosts(lock: SourceFile): Violation[] {
  return violationsOf(lock, /"resolved": "http[^"]*"/g, ([entry]) => `names a host: ${entry}`);
}
