// Reports with a member that can't be read although it tells how the run went, what it covered or
// what it is about: nothing may be concluded from the findings that such a report lacks (contract
// §6), and a warning tells the place.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ctis, decode, type Format, result, sarif } from './readers.ts';

const ID = '1b2e6a5c-8f0d-4e8a-9c3b-2f8d7a6e5c4b';
const T = { tool: { driver: { name: 'T' } } };
const error = { level: 'error', message: { text: 'crashed' } };
const log = (runs: unknown[], more: object = {}) => ({ version: '2.1.0', runs, ...more });
const ran = (invocation: object) =>
  log([{ ...T, results: [], invocations: [{ executionSuccessful: true, ...invocation }] }]);
const run = (more: object) => log([{ ...T, results: [], ...more }]);

/** Whether something may be concluded from a report, and its warnings. */
function conclusion(
  document: unknown,
  format: Format = 'sarif',
): [isConclusive: boolean, ...warnings: string[]] {
  const { analyses, warnings } = decode(format, document);
  const isConclusive = analyses.some(({ succeeded, listed }) => succeeded && listed);
  return [isConclusive, ...warnings.map(({ pointer, code }) => `${pointer} ${code}`)];
}

describe('what tells how a SARIF run went', () => {
  const at = '/runs/0/invocations';

  test('an invocation in place of the list of invocations is read as the only one', () => {
    assert.deepEqual(conclusion(run({ invocations: { executionSuccessful: false } })), [
      false,
      `${at} wrong_type`,
      `${at} run_failed`,
    ]);
    assert.deepEqual(conclusion(run({ invocations: { executionSuccessful: true } })), [
      true,
      `${at} wrong_type`,
    ]);
  });

  test('an invocation that is no object concludes nothing', () => {
    for (const [invocations, pointer] of [
      ['failed', at],
      [['failed'], `${at}/0`],
      [[{ executionSuccessful: true }, 5], `${at}/1`],
    ] as const) {
      assert.deepEqual(conclusion(run({ invocations })), [false, `${pointer} wrong_type`]);
    }
    assert.deepEqual(conclusion(run({ invocations: [null] })), [true]);
  });

  test('a code, signal or reason of another type concludes nothing', () => {
    for (const [name, value] of [
      ['exitCode', '137'],
      ['exitSignalNumber', '9'],
      ['exitSignalName', 9],
      ['processStartFailureMessage', { text: 'no such file' }],
    ] as const) {
      assert.deepEqual(conclusion(ran({ [name]: value })), [false, `${at}/0/${name} wrong_type`]);
      assert.deepEqual(conclusion(ran({ [name]: null })), [true]);
    }
  });

  test('a notification in place of the list of notifications is read as the only one', () => {
    for (const list of ['toolExecutionNotifications', 'toolConfigurationNotifications']) {
      const place = `${at}/0/${list}`;
      assert.deepEqual(conclusion(ran({ [list]: error })), [
        false,
        `${place} wrong_type`,
        `${place} tool_error`,
      ]);
      assert.deepEqual(conclusion(ran({ [list]: 'crashed' })), [false, `${place} wrong_type`]);
      assert.deepEqual(conclusion(ran({ [list]: ['crashed'] })), [false, `${place}/0 wrong_type`]);
    }
  });

  test('the level of a notification is read in any case, and by the severity that it names', () => {
    const said = (level: unknown) =>
      conclusion(ran({ toolExecutionNotifications: [{ ...error, level }] }));
    const place = `${at}/0/toolExecutionNotifications/0`;
    for (const level of ['ERROR', 'Error', 'critical']) {
      const warned = [`${place}/level unknown_word`, `${place} tool_error`];
      assert.deepEqual(said(level), [false, ...warned]);
    }
    assert.equal(said('Warning')[0], true);
    assert.equal(said('INFO')[0], true);
    assert.equal(said('fatal')[0], false, 'no level, and no severity: it may be an error');
    assert.equal(said(3)[0], false);
    assert.equal(said(null)[0], true);
  });

  test('a converter that can’t be read concludes nothing', () => {
    assert.deepEqual(conclusion(run({ conversion: 'failed' })), [
      false,
      '/runs/0/conversion wrong_type',
    ]);
    assert.deepEqual(conclusion(run({ conversion: { invocation: 'failed' } })), [
      false,
      '/runs/0/conversion/invocation wrong_type',
    ]);
  });

  test('a run whose invocations are in a file elsewhere concludes nothing', () => {
    for (const member of ['invocations', 'conversion']) {
      const externalPropertyFileReferences = { [member]: [{ location: { uri: 'x' } }] };
      const place = '/runs/0/externalPropertyFileReferences external_file';
      assert.deepEqual(conclusion(run({ externalPropertyFileReferences })), [false, place]);
    }
    assert.equal(conclusion(run({ externalPropertyFileReferences: { results: ['x'] } }))[0], false);
    assert.equal(conclusion(run({ externalPropertyFileReferences: 'x.sarif' }))[0], false);
    assert.equal(
      conclusion(run({ externalPropertyFileReferences: { artifacts: [{}] } }))[0],
      true,
      'what is found and how the run went is here',
    );
  });
});

describe('what belongs to a SARIF log', () => {
  test('a run that is no object concludes nothing about any other', () => {
    for (const stray of [null, 5]) {
      assert.deepEqual(conclusion(log([{ ...T, results: [] }, stray])), [
        false,
        '/runs/1 run_not_object',
      ]);
    }
  });

  test('inline properties that are no list, or no objects, conclude nothing', () => {
    const runs = [{ ...T, results: [], automationDetails: { guid: ID } }];
    const beside = { runGuid: ID, results: [result({})] };
    assert.deepEqual(conclusion(log(runs, { inlineExternalProperties: beside })), [
      false,
      '/inlineExternalProperties wrong_type',
    ]);
    assert.deepEqual(conclusion(log(runs, { inlineExternalProperties: ['x'] })), [
      false,
      '/inlineExternalProperties/0 wrong_type',
    ]);
  });

  test('inline properties without a run that tell how a run went conclude nothing', () => {
    const runs = [{ ...T, results: [], automationDetails: { guid: ID } }];
    const of = (more: object) =>
      conclusion(log(runs, { inlineExternalProperties: [{ runGuid: 'another', ...more }] }));
    const warned = '/inlineExternalProperties/0 inline_results_unplaced';
    assert.deepEqual(of({ invocations: [{ executionSuccessful: false }] }), [false, warned]);
    assert.deepEqual(of({ results: {} }), [false, warned]);
    assert.deepEqual(of({ artifacts: [] }), [true, warned]);
  });

  test('results that are no list conclude nothing, whatever stands beside them', () => {
    const runs = [{ ...T, results: {}, automationDetails: { guid: ID } }];
    const inlineExternalProperties = [{ runGuid: ID, results: [] }];
    assert.deepEqual(conclusion(log(runs, { inlineExternalProperties })), [
      false,
      '/runs/0/results results_missing',
    ]);
  });
});

describe('what a SARIF run is about', () => {
  test('a run that doesn’t name its tool concludes nothing', () => {
    assert.deepEqual(conclusion(log([{ tool: {}, results: [] }])), [
      false,
      '/runs/0/tool/driver/name tool_missing',
    ]);
  });

  test('a category, repository or branch that can’t be read concludes nothing', () => {
    const about = (more: object) => conclusion(sarif([], more))[0];
    assert.equal(about({ automationDetails: 'nightly/1' }), false);
    assert.equal(about({ automationDetails: { id: 7 } }), false);
    assert.equal(about({ automationDetails: { id: null } }), true);
    const repositoryUri = 'https://h/o/r';
    assert.equal(about({ versionControlProvenance: { repositoryUri } }), false);
    assert.equal(about({ versionControlProvenance: [repositoryUri] }), false);
    assert.equal(about({ versionControlProvenance: [{ repositoryUri: 5 }] }), false);
    assert.equal(about({ versionControlProvenance: [{ repositoryUri, branch: {} }] }), false);
    assert.equal(about({ versionControlProvenance: [{ repositoryUri }, null] }), true);
  });
});

describe('what a CTIS report is about', () => {
  const about = (more: object) => conclusion(ctis([], more), 'ctis');

  test('a report that doesn’t name its tool concludes nothing', () => {
    for (const tool of [undefined, null, {}, { name: ' ' }]) {
      assert.deepEqual(about({ tool }), [false, '/tool/name tool_missing']);
    }
    assert.deepEqual(about({ tool: 'Tool' }), [
      false,
      '/tool wrong_type',
      '/tool/name tool_missing',
    ]);
  });

  test('assets, metadata and branches that can’t be read conclude nothing', () => {
    assert.deepEqual(about({ assets: { value: 'h/o/r' } }), [false, '/assets wrong_type']);
    assert.deepEqual(about({ assets: null }), [true]);
    assert.deepEqual(about({ metadata: 'full' }), [false, '/metadata wrong_type']);
    const branch = (value: unknown) => about({ metadata: { branch: value } });
    assert.deepEqual(branch('main'), [false, '/metadata/branch wrong_type']);
    for (const [name, value] of [
      ['name', 5],
      ['repository_url', { url: 'h/o/r' }],
      ['is_default_branch', 'yes'],
    ] as const) {
      assert.deepEqual(branch({ [name]: value }), [false, `/metadata/branch/${name} wrong_type`]);
    }
    assert.deepEqual(branch({ name: '', is_default_branch: false, repository_url: '' }), [true]);
  });

  test('an id that two assets have concludes nothing, unless they are one', () => {
    const assets = (...values: [type: string, value: string][]) =>
      about({ assets: values.map(([type, value]) => ({ id: 'a', type, value })) });
    const warned = '/assets/1/id asset_id_repeated';
    assert.deepEqual(assets(['domain', 'a.test'], ['domain', 'b.test']), [false, warned]);
    assert.deepEqual(assets(['domain', 'a.test'], ['repository', 'a.test']), [false, warned]);
    assert.deepEqual(assets(['domain', 'a.test'], ['domain', 'A.test']), [true]);
  });

  test('a time of the report that can’t be read costs a warning', () => {
    const timestamp = (value: string) => about({ metadata: { timestamp: value } });
    assert.deepEqual(timestamp('yesterday'), [true, '/metadata/timestamp time_unreadable']);
    for (const time of ['', '0001-01-01T00:00:00Z', '2026-11-20T08:00:00Z']) {
      assert.deepEqual(timestamp(time), [true]);
    }
  });
});
