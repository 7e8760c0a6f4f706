// The built console, read into memory at the start: a fixed set of paths, so that no request ever
// names a file.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, extname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

interface ConsoleFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly isPage: boolean;
}

/** For each URL path, its file. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
};

/** Null when the console isn't installed or not built; the server then serves the API only. */
export function readConsole(): ConsoleFiles | null {
  let root: string;
  try {
    root = dirname(fileURLToPath(import.meta.resolve('@muster/console/dist/index.html')));
    statSync(join(root, 'index.html'));
  } catch {
    // Not installed, or not built: both are legitimate for an API-only node.
    return null;
  }
  const files = new Map<string, ConsoleFile>();
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const type = TYPES[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const path = join(entry.parentPath, entry.name);
    const url = `/${relative(root, path).split(sep).join('/')}`;
    const isPage = entry.name.endsWith('.html');
    const file = { type, bytes: readFileSync(path), isPage };
    files.set(url === '/index.html' ? '/' : url, file);
  }
  return files;
}
