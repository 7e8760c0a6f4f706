// The time for which a pass holds what it looked up in the runs of a log.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Warnings } from '../../../../src/ingest/json/warnings.decode.ts';
import {
  type ListOwner,
  RunReaders,
} from '../../../../src/ingest/formats/sarif/read/readers.decode.ts';
import { decodeSarif, drafts } from '../readers.ts';

const place = { tool: 'tool', analysis: 0, asset: null, repository: null };

function readersOf(lists: readonly (readonly [string, ListOwner, number])[]): RunReaders {
  const byList = new Map(lists.map(([list, owner]) => [list, owner]));
  const counts = new Map(lists.map(([list, , count]) => [list, count]));
  return new RunReaders(byList, counts, new Warnings());
}

test('a run whose results have been read holds nothing', () => {
  const lists = Array.from(
    { length: 1000 },
    (_, index) => [`/runs/${index}/results`, { run: {}, place }, 2] as const,
  );
  const readers = readersOf(lists);
  for (const [list] of lists) {
    const reader = readers.of(list);
    assert.equal(readers.of(list), reader);
    assert.equal(readers.held, 1);
  }
});

test('a run whose results stand in several lists has one reader, until the last list has been read', () => {
  const [one, two, three]: ListOwner[] = [1, 2, 3].map(() => ({ run: {}, place }));
  assert.ok(one !== undefined && two !== undefined && three !== undefined);
  const readers = readersOf([
    ['/inlineExternalProperties/0/results', one, 1],
    ['/inlineExternalProperties/1/results', two, 1],
    ['/inlineExternalProperties/2/results', two, 0],
    ['/runs/0/results', one, 1],
    ['/runs/1/results', two, 1],
    ['/runs/2/results', three, 1],
  ]);
  const first = readers.of('/inlineExternalProperties/0/results');
  const second = readers.of('/inlineExternalProperties/1/results');
  assert.notEqual(first, second);
  assert.equal(readers.of('/runs/0/results'), first);
  assert.equal(readers.of('/runs/1/results'), second);
  readers.of('/runs/2/results');
  assert.equal(readers.held, 1);
});

test('a warning about a rule is told once per run, though its results come in two lists', () => {
  const results = (at: string) => [{ ruleId: 'r', message: { text: at } }];
  const rules = [{ id: 'r', name: 'a\0b' }];
  const run = (guid: string) => ({
    tool: { driver: { name: 'Tool', rules } },
    automationDetails: { guid },
    results: results('run'),
  });
  const inlineExternalProperties = ['a', 'b'].map((runGuid) => ({
    runGuid,
    results: results('beside'),
  }));
  const report = decodeSarif({
    version: '2.1.0',
    inlineExternalProperties,
    runs: [run('a'), run('b')],
  });
  assert.equal(drafts(report).length, 4);
  const repaired = report.warnings.find(({ code }) => code === 'text_repaired');
  assert.match(repaired?.detail ?? '', /^2 texts/);
});
