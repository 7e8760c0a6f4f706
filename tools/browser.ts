// A real Chromium for tests, from npm and nothing else: `@sparticuz/chromium` carries the headless
// shell and the few shared libraries that a bare system lacks, packed with Brotli for AWS Lambda.
// Its own starter unpacks only there, and to fixed names that two processes would share
// half-written. So this file unpacks: once per test run, into the run's folder (see
// global-setup.ts), under a name that appears only when it is complete. Elsewhere than on Linux
// x64, MUSTER_CHROMIUM names a Chromium; without it, `browserMissing` gives the reason for the
// skip.

import fs from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import {
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { untar } from './untar.ts';

/** The variable in which the global setup leaves the folder that all test files of a run share. */
export const RUN_FOLDER_VARIABLE = 'MUSTER_TEST_RUN_FOLDER';

/** The path of the Chromium to use instead of the packed one. */
const CHROMIUM_VARIABLE = 'MUSTER_CHROMIUM';

const LAUNCH_ARGUMENTS = [
  // Chromium's sandbox refuses root, and needs namespaces that containers withhold. Only our own
  // pages are opened.
  '--no-sandbox',
  // No screen, no GPU: without this option Chromium looks for a driver first.
  '--disable-gpu',
  // Not a packet beyond the page under test: no updates, no lists, no certificate look-ups.
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--disable-sync',
  '--no-pings',
  // Any name but the loopback fails at once, even for a page that asks for a font or a picture from
  // outside.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1',
];

export interface TestBrowser {
  /** A page in a context of its own: cookies and storage start empty. */
  newPage(options?: BrowserContextOptions): Promise<Page>;
  /** Closes every page and the browser, and removes the files that were unpacked for it alone. */
  close(): Promise<void>;
}

/**
 * Why there is no browser on this machine, or `false` when there is one. For `test(title, { skip:
 * browserMissing() }, …)`, so that the run prints the reason.
 */
export function browserMissing(): string | false {
  if (process.env[CHROMIUM_VARIABLE] !== undefined) return false;
  if (process.platform === 'linux' && process.arch === 'x64') return false;
  return (
    `no packed Chromium for ${process.platform} ${process.arch}: ` +
    `set ${CHROMIUM_VARIABLE} to the path of a Chromium or Chrome`
  );
}

/**
 * Starts a browser; about 0.1 s, and 2.5 s more for the first one of a run. The caller closes it.
 */
export async function openBrowser(): Promise<TestBrowser> {
  const missing = browserMissing();
  if (missing !== false) throw new Error(missing);
  const ownFolder = await fs.mkdtemp(path.join(os.tmpdir(), 'muster-browser-'));
  try {
    const { executablePath, env } = await findChromium(ownFolder);
    const browser = await chromium.launch({
      executablePath,
      args: LAUNCH_ARGUMENTS,
      env: { ...process.env, HOME: ownFolder, ...env },
    });
    const contexts: BrowserContext[] = [];
    return {
      async newPage(options) {
        const context = await browser.newContext(options);
        contexts.push(context);
        return context.newPage();
      },
      async close() {
        await Promise.all(contexts.map((context) => context.close()));
        await browser.close();
        await removeFolder(ownFolder);
      },
    };
  } catch (error) {
    await removeFolder(ownFolder);
    throw error;
  }
}

interface Chromium {
  executablePath: string;
  env: Record<string, string>;
}

async function findChromium(ownFolder: string): Promise<Chromium> {
  const given = process.env[CHROMIUM_VARIABLE];
  if (given !== undefined) return { executablePath: given, env: {} };
  const folder = await unpackOnce(process.env[RUN_FOLDER_VARIABLE] ?? ownFolder);
  return {
    executablePath: path.join(folder, 'chromium'),
    env: {
      LD_LIBRARY_PATH: path.join(folder, 'libraries', 'lib'),
      FONTCONFIG_PATH: path.join(folder, 'fonts'),
    },
  };
}

/**
 * Unpacks into `<shared>/chromium` and returns that path. Test files run at the same time: each
 * unpacks under a name of its own and renames; the second one finds the place taken and drops its
 * copy.
 */
async function unpackOnce(shared: string): Promise<string> {
  const place = path.join(shared, 'chromium');
  if (await exists(place)) return place;
  const draft = await fs.mkdtemp(`${place}-`);
  await unpackInto(draft, place);
  try {
    await fs.rename(draft, place);
  } catch (error) {
    await removeFolder(draft);
    if (!(await exists(place))) throw error;
  }
  return place;
}

/**
 * Chromium itself (200 MB), the libraries named after the Lambda image `al2023`, and one font
 * family.
 */
async function unpackInto(folder: string, place: string): Promise<void> {
  const [binary, libraries, fonts] = await Promise.all(
    ['chromium.br', 'al2023.tar.br', 'fonts.tar.br'].map(decompressPacked),
  );
  if (binary === undefined || libraries === undefined || fonts === undefined) {
    throw new Error('three archives were asked for');
  }
  await fs.writeFile(path.join(folder, 'chromium'), binary, { mode: 0o755 });
  await untar(libraries, path.join(folder, 'libraries'));
  await untar(fonts, path.join(folder, 'fonts'));
  // The packed configuration points to Lambda's folders; ours points to the folder's final place.
  await fs.writeFile(path.join(folder, 'fonts', 'fonts.conf'), fontConfiguration(place));
}

async function decompressPacked(name: string): Promise<Buffer> {
  const manifest = findPackageJSON('@sparticuz/chromium', import.meta.url);
  if (manifest === undefined) throw new Error('@sparticuz/chromium is not installed (npm ci)');
  const packed = path.join(path.dirname(manifest), 'bin', name);
  return promisify(brotliDecompress)(await fs.readFile(packed));
}

/**
 * The configuration of fonts. Without a family to fall back on, this Chromium's font code ends the
 * process on a page with a text field.
 */
function fontConfiguration(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${path.join(folder, 'fonts', 'fonts')}</dir>
  <cachedir>${path.join(folder, 'font-cache')}</cachedir>
  <match target="pattern">
    <edit name="family" mode="append" binding="weak"><string>Open Sans</string></edit>
  </match>
</fontconfig>
`;
}

async function exists(place: string): Promise<boolean> {
  const stat = await fs.stat(place).catch(() => undefined);
  return stat !== undefined;
}

/** Chromium's last processes may still write for a moment after `close`; hence the retries. */
async function removeFolder(folder: string): Promise<void> {
  await fs.rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
