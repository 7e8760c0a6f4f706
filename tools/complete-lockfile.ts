// Completes package-lock.json after `npm install`: a registry mirror that lacks packages for other platforms makes npm
// leave them out of the lock, and `npm ci` then refuses the lock as out of step. Their entries need no more than
// version, platform and the flags npm sets; they are never installed here. Run: npm run lock.

import { readFileSync, writeFileSync } from 'node:fs';

interface Entry {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

interface Lock {
  packages: Record<string, Entry>;
}

const OS = [
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
  'aix',
];
const CPU = [
  'arm64',
  'arm',
  'ia32',
  'loong64',
  'mips64el',
  'ppc64',
  'riscv64',
  's390x',
  'x64',
  'wasm32',
];

/** What a platform package runs on, read from its name (`…-linux-x64-musl`); null: the name doesn't say. */
export function platformOf(name: string): Pick<Entry, 'os' | 'cpu' | 'libc'> | null {
  const words = name.slice(name.lastIndexOf('/') + 1).split('-');
  const cpu = words
    .flatMap((word) => CPU.find((one) => one === word || word === `${one}le`) ?? [])
    .at(-1);
  const os = words
    .flatMap((word) => (word === 'windows' ? 'win32' : (OS.find((one) => one === word) ?? [])))
    .at(-1);
  if (cpu === 'wasm32') return { cpu: [cpu] };
  if (os === undefined || cpu === undefined) return null;
  const libc = words.some((word) => word.startsWith('musl')) ? ['musl'] : null;
  return { os: [os], cpu: [cpu], ...(libc === null ? {} : { libc }) };
}

/**
 * Adds what is missing; returns the names that were added. A package of which another version
 * stands at the top is added below the one that asks for it. Throws when the platform of one is
 * unclear.
 */
export function completeLock(lock: Lock): string[] {
  const added: string[] = [];
  for (const [place, entry] of Object.entries(lock.packages)) {
    for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
      const version = range.replace(/^[~^]/, '');
      const top = `node_modules/${name}`;
      const nested = place === '' ? top : `${place}/${top}`;
      if (lock.packages[nested] !== undefined) continue;
      const found = lock.packages[top]?.version;
      if (found !== undefined && majorOf(found) === majorOf(version)) continue;
      const platform = platformOf(name);
      if (platform === null) throw new Error(`the platform of ${name} is not in its name`);
      lock.packages[found === undefined ? top : nested] = {
        version,
        ...(entry.dev === true ? { dev: true } : {}),
        optional: true,
        ...platform,
      };
      added.push(name);
    }
  }
  const sorted = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
  lock.packages = Object.fromEntries(sorted);
  return added;
}

const majorOf = (version: string): string => version.split('.', 1)[0] ?? '';

if (import.meta.main) {
  const file = new URL('../package-lock.json', import.meta.url);
  const lock = JSON.parse(readFileSync(file, 'utf8')) as Lock;
  const added = completeLock(lock);
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`${added.length} entries added for other platforms`);
}
