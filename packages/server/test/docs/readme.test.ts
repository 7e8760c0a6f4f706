// The documents keep their word: the commands in README.md run for real against a server that was
// just started, every relative link leads somewhere, and every path that is named in the text
// exists.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { emptyPlace, type SpawnedServer, spawnServer } from '../harness.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const run = promisify(execFile);

/**
 * Commands that run this test themselves, or that no test should run. Every other command in a
 * block marked `sh` is run.
 */
const EXEMPT: readonly string[] = [
  // starts a server that stays; this test starts one through the same entrance
  'npm ci && npm start',
  'npm test', // this test is part of it
];

/** Commands of all `sh` blocks, in order; a line that ends in a backslash goes on. */
function commandsOf(page: string): string[] {
  const blocks = [...page.matchAll(/^```sh\n([^]*?)^```$/gm)].map((match) => match[1] as string);
  return blocks
    .flatMap((block) => block.replaceAll(/\\\n\s*/g, '').split('\n'))
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** Replaces the placeholders of README.md with the values that the server of this test printed. */
function withSecrets(command: string, server: SpawnedServer): string {
  return command
    .replaceAll('http://127.0.0.1:7878', server.url)
    .replaceAll('mst_op_…', server.operatorToken)
    .replaceAll('mst_enr_…', server.enrolmentToken)
    .replaceAll('mst_rnr_…', server.runnerKey);
}

/**
 * Runs one command in a shell at the root. Resolves with its output; rejects when its exit code
 * isn't 0.
 */
async function shell(command: string, env: Readonly<Record<string, string>>): Promise<string> {
  try {
    const { stdout } = await run('bash', ['-c', `set -euo pipefail\n${command}`], {
      cwd: ROOT,
      // npx must take the command of this repository, and never ask a registry for one of that
      // name.
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: process.env['HOME'] ?? '',
        npm_config_offline: 'true',
        ...env,
      },
    });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    assert.fail(
      `README.md has a command that fails:\n  ${command}\n${stdout ?? ''}${stderr ?? ''}`,
    );
  }
}

test('the commands in README.md do what it says', async () => {
  assert.ok(
    existsSync(join(ROOT, 'node_modules/.bin/muster')),
    'node_modules/.bin/muster is missing: `npm ci` links it from packages/cli',
  );
  const page = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const commands = commandsOf(page);
  for (const exempt of EXEMPT) assert.ok(commands.includes(exempt), `README.md lost "${exempt}"`);
  const place = await emptyPlace('sqlite');
  try {
    const server = await spawnServer(place);
    try {
      const env: Record<string, string> = { ...place.env };
      const printed = new Map<string, string>();
      for (const command of commands.filter((line) => !EXEMPT.includes(line))) {
        const exported = /^export ([A-Z_]+)=(\S+)$/.exec(command);
        if (exported === null) printed.set(command, await shell(withSecrets(command, server), env));
        else env[exported[1] as string] = withSecrets(exported[2] as string, server);
      }
      assert.ok(printed.size >= 5, 'README.md shows hardly any command: are its blocks marked sh?');
      const output = (start: string): string =>
        [...printed].find(([command]) => command.startsWith(start))?.[1] ?? '';
      const receipt = JSON.parse(output('curl')) as { findings: { created: number } };
      assert.ok(receipt.findings.created > 0, 'the first upload creates findings');
      assert.match(output('npx muster findings list'), /open/);
      assert.match(output('npx muster admin operator-token'), /mst_op_[0-9A-Za-z]{50}/);
    } finally {
      await server.stop('SIGTERM');
    }
  } finally {
    await place.remove();
  }
});

// ---- Links and paths.

const PAGES = globSync(['*.md', 'docs/**/*.md', 'packages/*/*.md', 'examples/**/*.md'], {
  cwd: ROOT,
});

/**
 * Paths from the root of the repository, or from the sources of the server, as pages about its
 * inside have them.
 */
const NAMED_PATH =
  /`((?:packages|docs|tools|examples)\/[\w./-]+|(?:ingest|commands|heartbeat|keys|findings|operator|upkeep|http|db|lib)\/[\w./-]+\.ts)`/g;
const SERVER = 'packages/server/src';

const withoutCode = (page: string): string => page.replaceAll(/^```[^]*?^```$/gm, '');

/** The anchors of a page, as GitHub makes them from its headings. */
function anchorsOf(page: string): Set<string> {
  const headings = [...withoutCode(page).matchAll(/^#{1,6} (.+)$/gm)].map(
    (match) => match[1] as string,
  );
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

for (const path of PAGES) {
  test(`every relative link in ${path} leads somewhere`, () => {
    const page = readFileSync(join(ROOT, path), 'utf8');
    const broken = [...withoutCode(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map((match) => match[1] as string)
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [file = '', anchor] = link.split('#', 2);
        const target = file === '' ? join(ROOT, path) : join(ROOT, dirname(path), file);
        if (!existsSync(target)) return true;
        return anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).has(anchor);
      });
    assert.deepEqual(broken, []);
  });

  test(`every file that ${path} names is there`, () => {
    const page = readFileSync(join(ROOT, path), 'utf8');
    const missing = [...withoutCode(page).matchAll(NAMED_PATH)]
      .map((match) => match[1] as string)
      .filter((name) => !existsSync(join(ROOT, name)) && !existsSync(join(ROOT, SERVER, name)));
    assert.deepEqual(missing, []);
  });
}
