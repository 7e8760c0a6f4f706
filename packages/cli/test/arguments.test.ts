// Reading the command line: which command is meant, which options it takes, which message a mistake
// gets.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkOperands,
  findCommand,
  parseArgv,
  readCommandOptions,
  readGlobals,
} from '../src/arguments.ts';
import { command, type Command, GLOBAL } from '../src/command.ts';
import { commands } from '../src/commands/all.ts';
import { UsageError } from '../src/errors.ts';
import * as option from '../src/options.ts';

const sample = [
  command({
    name: 'things list',
    summary: 'List things',
    operands: [],
    options: {
      limit: option.integer('N', 1, 10, 'how many'),
      colour: option.word(['red', 'green'], 'the colour'),
      tag: option.labels('tags'),
      for: option.duration('how long'),
      until: option.moment('when'),
    },
    examples: [],
    run: () => Promise.resolve(),
  }),
  command({
    name: 'things send',
    summary: 'Send things',
    operands: ['FILE…'],
    options: { loud: option.flag('say so') },
    examples: [],
    run: () => Promise.resolve(),
  }),
] as const satisfies readonly Command[];

function read(...argv: string[]): Record<string, unknown> {
  const parsed = parseArgv(argv, sample);
  const found = findCommand(parsed.positionals, sample);
  assert.ok(found);
  const options = readCommandOptions(found.command, parsed, {});
  checkOperands(found.command, found.operands);
  return { command: found.command.name, operands: found.operands, ...options };
}

const fault =
  (...texts: string[]) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof UsageError);
    for (const text of texts) assert.ok(error.message.includes(text), error.message);
    return true;
  };

test('Options may stand before, between and after the words of a command', () => {
  for (const argv of [
    ['--limit', '3', 'things', 'list'],
    ['things', '--limit', '3', 'list'],
    ['things', 'list', '--limit=3'],
  ]) {
    const { command: name, limit } = read(...argv);
    assert.deepEqual({ name, limit }, { name: 'things list', limit: 3 });
  }
});

test('What follows -- is an operand, even when it looks like an option', () => {
  assert.deepEqual(read('things', 'send', '--', '--loud')['operands'], ['--loud']);
});

test('A lone - is an operand', () => {
  assert.deepEqual(read('things', 'send', '-')['operands'], ['-']);
});

test('An unknown command names the nearest', () => {
  assert.throws(
    () => read('thigns', 'list'),
    fault('There is no command "thigns"', 'mean things?'),
  );
  assert.throws(() => read('things', 'lsit'), fault('"things lsit"', 'mean things list?'));
});

test('An unknown option names the nearest of that command', () => {
  assert.throws(() => read('things', 'list', '--colur', 'red'), fault('mean --colour?'));
  assert.throws(() => read('things', 'list', '-x'), fault('no option -x'));
});

test("Another command's option is refused, not ignored", () => {
  assert.throws(() => read('things', 'list', '--loud'), fault('things list has no option --loud'));
});

test('An option does not swallow the next option as its value', () => {
  assert.throws(() => read('things', 'list', '--limit', '--json'), fault('--limit needs a value'));
  assert.throws(() => read('things', 'list', '--limit'), fault('--limit needs a value'));
});

test('A flag with a value, and a single option given twice, are refused', () => {
  assert.throws(() => read('things', 'send', '--loud=yes', 'a'), fault('takes no value'));
  assert.throws(() => read('things', 'list', '--limit', '1', '--limit', '2'), fault('given twice'));
});

test('Numbers outside their bounds are refused, never clipped', () => {
  for (const wrong of ['0', '11', '1.5', '1e1', 'ten', '0x5']) {
    assert.throws(() => read('things', 'list', '--limit', wrong), fault('from 1 to 10'));
  }
});

test('A word that is not in the list names the list and the nearest', () => {
  assert.throws(
    () => read('things', 'list', '--colour', 'gren'),
    fault('red, green', 'Did you mean green?'),
  );
});

test('Durations count seconds, minutes, hours and days', () => {
  const seconds = (text: string): unknown => read('things', 'list', '--for', text)['for'];
  assert.deepEqual(['90s', '15m', '2h', '7d'].map(seconds), [90, 900, 7200, 604_800]);
  for (const wrong of ['90', '2w', '1.5h', '0s', 'h', '-5m']) {
    assert.throws(() => read('things', 'list', `--for=${wrong}`), fault('not a duration'));
  }
});

test('A day means its end here; a time needs its zone; what is not in the calendar is refused', () => {
  const until = (text: string): unknown => read('things', 'list', '--until', text)['until'];
  assert.deepEqual(until('2027-01-31'), { atMs: new Date(2027, 0, 31, 23, 59, 59, 999).getTime() });
  assert.deepEqual(until('2027-01-31T12:00:00+01:00'), { atMs: Date.UTC(2027, 0, 31, 11) });
  assert.deepEqual(until('30d'), { inSeconds: 2_592_000 });
  for (const wrong of ['2027-02-30', '2027-01-31T12:00:00', '31.1.2027', 'tomorrow']) {
    assert.throws(() => until(wrong), fault('is not a day'));
  }
});

test('Labels keep what follows the first =, and need a name', () => {
  const { tag } = read('things', 'list', '--tag', 'a=b=c', '--tag', 'd=');
  assert.deepEqual(tag, { a: 'b=c', d: '' });
  assert.throws(() => read('things', 'list', '--tag', '=b'), fault('KEY=VALUE'));
});

test('Missing, empty and surplus operands are refused', () => {
  assert.throws(() => read('things', 'send'), fault('needs FILE'));
  assert.throws(() => read('things', 'send', ''), fault('empty'));
  assert.throws(() => read('things', 'list', 'extra'), fault('does not take "extra"'));
});

test('An option beats its environment variable, and an empty variable counts as none', () => {
  const globals = (argv: string[], env: Record<string, string>) =>
    readGlobals(parseArgv(argv, sample), env).url;
  assert.equal(globals(['--url', 'http://a'], { MUSTER_URL: 'http://b' }), 'http://a');
  assert.equal(globals([], { MUSTER_URL: 'http://b' }), 'http://b');
  assert.equal(globals([], { MUSTER_URL: ' ' }), undefined);
});

test('An option takes a value in every command or in none', () => {
  const takesValue = new Map<string, boolean>();
  for (const options of [GLOBAL, ...commands.map((each) => each.options)]) {
    for (const [name, { value }] of Object.entries(options)) {
      const known = takesValue.get(name) ?? value !== null;
      assert.equal(value !== null, known, `--${name}`);
      takesValue.set(name, known);
    }
  }
});

test('Every command shows an example, and every example is right', () => {
  for (const each of commands) {
    assert.ok(each.examples.length > 0, each.name);
    for (const example of each.examples) {
      const argv = argvOf(example);
      const parsed = parseArgv(argv, commands);
      const found = findCommand(parsed.positionals, commands);
      assert.equal(found?.command.name, each.name, example);
      readCommandOptions(each, parsed, {});
      checkOperands(each, found?.operands ?? []);
    }
  }
});

/** The words after `muster`, up to a pipe or the end of `$(…)`, as a shell would split them. */
function argvOf(example: string): string[] {
  const [, rest = ''] = /(?:^|[ (])muster (.*)$/.exec(example) ?? [];
  const words = [...rest.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? '',
  );
  const pipe = words.indexOf('|');
  return pipe === -1 ? words : words.slice(0, pipe);
}
