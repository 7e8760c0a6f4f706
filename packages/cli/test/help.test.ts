// Help on every level, and the texts about exit codes.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { commands } from '../src/commands/all.ts';
import { EXIT, EXIT_MEANING } from '../src/exit-codes.ts';
import { run } from './harness.ts';

test('muster help names every command', async () => {
  const { exit, out } = await run(['help']);
  assert.equal(exit, EXIT.ok);
  for (const { name, summary } of commands) {
    assert.ok(out.includes(name), name);
    assert.ok(out.includes(summary), summary);
  }
});

test('Every command explains itself the same way by help and by --help', async () => {
  for (const each of commands) {
    const { name, summary, options, examples } = each;
    // The help of `serve` asks the server package; bin.test.ts tests that.
    if ('help' in each) continue;
    const words = name.split(' ');
    const { exit, out } = await run([...words, '--help']);
    assert.equal(exit, EXIT.ok);
    assert.ok(out.startsWith(`${summary}.`), name);
    for (const option of Object.keys(options)) assert.ok(out.includes(`--${option}`), option);
    for (const example of examples) assert.ok(out.includes(example), example);
    assert.equal((await run(['help', ...words])).out, out);
  }
});

test('Help of a noun lists its verbs', async () => {
  const { exit, out } = await run(['runners', '--help']);
  assert.equal(exit, EXIT.ok);
  assert.match(out, /list\|show\|metrics\|create\|pause\|drain\|resume\|revoke/);
});

test('A command line without a command explains itself on stderr and is a mistake', async () => {
  for (const argv of [[], ['runners']]) {
    const { exit, out, err } = await run(argv);
    assert.deepEqual({ exit, out }, { exit: EXIT.usage, out: '' });
    assert.match(err, /Usage: muster/);
  }
});

test('Help is no wider than the terminal where words allow it', async () => {
  const { out } = await run(['help', 'upload'], { terminal: 72 });
  const prose = out.slice(0, out.indexOf('Examples')).split('\n');
  // A line may be longer only when it is one option that can't be broken.
  for (const line of prose) assert.ok(line.length <= 72 || /^ {2}--\S+ \S+$/.test(line), line);
});

test('muster help exit-codes says what every exit code means, and the README says the same', async () => {
  const { out } = await run(['help', 'exit-codes']);
  const text = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const readme = text.replace(/ +/g, ' ');
  for (const [name, code] of Object.entries(EXIT)) {
    const meaning = EXIT_MEANING[name as keyof typeof EXIT];
    assert.ok(out.includes(`${code}  ${meaning}`), name);
    assert.ok(readme.includes(`| ${code} | ${meaning} |`), name);
  }
});

test('--version prints the version of the package', async () => {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  assert.equal((await run(['--version'])).out, `${version}\n`);
});

test('A mistyped command, noun or option of help is told like any other', async () => {
  const { exit, err } = await run(['help', 'findigns']);
  assert.equal(exit, EXIT.usage);
  assert.match(err, /Did you mean findings\?/);
});
