// The facts of a SARIF run about itself: how it went, which parts stand outside of it, and where it
// differs from the standard (SARIF 2.1.0 §3.13-§3.20, §3.58, §4.3).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SARIF_MEMBERS } from '@muster/contract';
import { healthOf } from '../../../../src/ingest/formats/sarif/read/health.decode.ts';
import { RESULT_TYPES, RUN_TYPES } from '../../../../src/ingest/formats/sarif/read/shape.decode.ts';
import { decodeSarif, at, drafts, onlyDraft, result, sarif, warningCodes } from '../readers.ts';

const note = (level?: string, more: object = {}) => ({
  ...(level !== undefined && { level }),
  message: { text: 'said' },
  ...more,
});
const ran = (invocation: object, driver: object = {}) =>
  healthOf({ tool: { driver }, invocations: [{ executionSuccessful: true, ...invocation }] });

test('a run that says it failed has failed, and the warning says why', () => {
  const invocation = {
    executionSuccessful: false,
    exitCode: 2,
    exitCodeDescription: 'out of memory',
  };
  const { succeeded, troubles } = ran(invocation);
  assert.equal(succeeded, false);
  assert.deepEqual(troubles, [
    {
      pointer: '/invocations/0',
      code: 'run_failed',
      detail:
        'The report says that this run failed (exit code 2, out of memory); ' +
        'nothing is concluded from what it lacks.',
    },
  ]);
  // Scanners exit with 1 when they find something.
  assert.deepEqual(ran({ exitCode: 1, exitSignalName: 'BUGS FOUND' }), {
    succeeded: true,
    troubles: [],
  });
  assert.equal(ran({ processStartFailureMessage: 'no such file' }).succeeded, false);
  assert.equal(healthOf({}).succeeded, true);
});

test('a run that was killed has failed, whether or not the report says so', () => {
  const health = (invocation: object) => healthOf({ invocations: [invocation] });
  const killed = { exitSignalName: 'SIGKILL', exitSignalNumber: 9 };
  const failed = [
    killed,
    { exitSignalNumber: 9 },
    { exitSignalName: 'sigterm' },
    { ...killed, executionSuccessful: true },
    { exitCode: 137 },
    { exitCode: -1073741819 },
  ];
  for (const invocation of failed) {
    const { succeeded, troubles } = health(invocation);
    assert.equal(succeeded, false, JSON.stringify(invocation));
    assert.deepEqual(
      troubles.map(({ code }) => code),
      ['run_failed'],
    );
  }
  // A run that its tool calls successful ended as it should; below 128 a code means whatever the
  // tool likes.
  for (const invocation of [
    { exitCode: 255, executionSuccessful: true },
    { exitCode: 2 },
    { exitSignalNumber: 0, exitSignalName: '' },
  ]) {
    assert.deepEqual(health(invocation), { succeeded: true, troubles: [] });
  }
});

test('a value that is neither true nor false tells nothing about success, and nothing is concluded', () => {
  for (const said of ['false', 'true', 0, 1, {}]) {
    const { succeeded, troubles } = healthOf({ invocations: [{ executionSuccessful: said }] });
    assert.equal(succeeded, false);
    assert.deepEqual(
      troubles.map(({ pointer, code }) => [pointer, code]),
      [['/invocations/0/executionSuccessful', 'wrong_type']],
    );
  }
  assert.equal(healthOf({ invocations: [{ executionSuccessful: null }] }).succeeded, true);
});

test('an error of the tool or its configuration means that results may be missing', () => {
  const error = [note('error')];
  assert.equal(ran({ toolExecutionNotifications: error }).succeeded, false);
  assert.equal(ran({ toolConfigurationNotifications: error }).succeeded, false);
  assert.equal(ran({ toolExecutionNotifications: [note('warning'), note()] }).succeeded, true);
  const converter = { executionSuccessful: false };
  assert.equal(healthOf({ conversion: { invocation: converter } }).succeeded, false);
});

test('the level of a notification is its own, as configured, its descriptor’s, or warning', () => {
  const notifications = [{ id: 'N1', defaultConfiguration: { level: 'error' } }, { id: 'N2' }];
  const codes = (notification: object, more: object = {}) =>
    ran({ toolExecutionNotifications: [notification], ...more }, { notifications }).troubles.map(
      ({ code }) => code,
    );
  const first = { descriptor: { id: 'N1' } };
  assert.deepEqual(codes(note(undefined, first)), ['tool_error']);
  assert.deepEqual(codes(note('note', first)), []);
  assert.deepEqual(codes(note(undefined, { descriptor: { index: 1 } })), ['tool_warning']);
  const override = { descriptor: { id: 'N1' }, configuration: { level: 'none' } };
  assert.deepEqual(
    codes(note(undefined, first), { notificationConfigurationOverrides: [override] }),
    [],
  );
});

test('a warning tells a notification in a sentence: its text by id, its rule, no credentials', () => {
  const notifications = [{ id: 'N', messageStrings: { m: { text: 'cannot read {0}' } } }];
  const detail = (more: object) =>
    ran({ toolExecutionNotifications: [{ descriptor: { id: 'N' }, ...more }] }, { notifications })
      .troubles[0]?.detail;
  assert.equal(
    detail({ message: { id: 'm', arguments: ['a.c'] }, associatedRule: { id: 'R7' } }),
    'The tool reports a warning about R7: cannot read a.c.',
  );
  assert.equal(
    detail({ message: { text: 'ran with\n  TOKEN=abcdef.' } }),
    'The tool reports a warning: ran with TOKEN=***.',
  );
  assert.equal(
    detail({ exception: { message: 'out of memory' } }),
    'The tool reports a warning: out of memory.',
  );
});

test('notifications reach the sender as warnings, located and few', () => {
  const many = [...Array.from({ length: 5000 }, () => note('warning')), note('error')];
  const report = decodeSarif(
    sarif([], { invocations: [{ toolExecutionNotifications: many }] }),
    {},
  );
  assert.equal(report.analyses[0]?.succeeded, false);
  assert.deepEqual(report.warningsByCode, { tool_warning: 10, tool_error: 2 });
  const place = '/runs/0/invocations/0/toolExecutionNotifications';
  assert.deepEqual(
    report.warnings.slice(-2).map(({ pointer }) => pointer),
    [`${place}/5000`, place],
  );
  assert.match(report.warnings.at(-1)?.detail ?? '', /^4990 more/);
});

const GUID = '1b2e6a5c-8f0d-4e8a-9c3b-2f8d7a6e5c4b';
const log = (runs: unknown[], ...inlineExternalProperties: unknown[]) => ({
  version: '2.1.0',
  runs,
  inlineExternalProperties,
});

test('rules, artifacts and all else of a run may stand beside it', () => {
  const run = {
    tool: { driver: { name: 'T' } },
    artifacts: [{ location: { uri: 'first.c' } }],
    results: [
      result({
        ruleId: 'a',
        locations: [{ physicalLocation: { artifactLocation: { index: 1 } } }],
        taxa: [{ id: '89', toolComponent: { name: 'CWE' } }],
        codeFlows: [{ threadFlows: [{ locations: [{ index: 0 }] }] }],
        webRequest: { index: 0 },
        graphTraversals: [{ runGraphIndex: 0, edgeTraversals: [{ edgeId: 'e' }] }],
      }),
      { rule: { index: 0, toolComponent: { index: 0 } }, message: { text: 'm' } },
    ],
  };
  const beside = {
    driver: { name: 'not this', rules: [{ id: 'a', name: 'moved out' }] },
    extensions: [{ name: 'e', rules: [{ id: 'b', name: 'of the extension' }] }],
    artifacts: [{ location: { uri: 'second.c' } }],
    taxonomies: [{ name: 'CWE', taxa: [] }],
    threadFlowLocations: [{ location: at('flow.c') }],
    webRequests: [{ method: 'GET' }],
    graphs: [{ nodes: [{ id: 'n' }], edges: [{ id: 'e', sourceNodeId: 'n', targetNodeId: 'n' }] }],
    invocations: [{ executionSuccessful: false }],
  };
  const report = decodeSarif(log([run], beside), {});
  const [first, second] = drafts(report);
  assert.deepEqual([first?.path, first?.detail.cwe], ['second.c', ['CWE-89']]);
  assert.deepEqual(first?.detail.rule, { name: 'moved out' });
  assert.deepEqual(second?.ruleId, 'b');
  assert.deepEqual(first?.detail.code_flows, [{ steps: [{ path: 'flow.c' }] }]);
  assert.deepEqual(first?.detail.web_request, { method: 'GET' });
  assert.deepEqual(first?.detail.graphs, [
    { nodes: [{ node: 'n' }], edges: [{ edge: 'e', from: 'n', to: 'n' }] },
  ]);
  assert.equal(report.analyses[0]?.tool, 't');
  assert.equal(report.analyses[0]?.succeeded, false);
  assert.deepEqual(
    report.warnings.map(({ pointer, code }) => [pointer, code]),
    [['/inlineExternalProperties/0/invocations/0', 'run_failed']],
  );
});

test('external properties go to the run that names them or that they name, by guid in any case', () => {
  const runs = [
    { tool: { driver: { name: 'A' } }, automationDetails: { guid: GUID } },
    {
      tool: { driver: { name: 'B' } },
      externalPropertyFileReferences: { results: [{ guid: 'of-b', location: { uri: 'x' } }] },
    },
  ];
  const document = log(
    runs,
    { runGuid: GUID.toUpperCase(), results: [result({ ruleId: 'for-a' })] },
    { guid: 'of-b', results: [result({ ruleId: 'for-b' })] },
    { guid: 'of-nobody', results: [result({})] },
    { guid: 'of-nobody', artifacts: [] },
  );
  const report = decodeSarif(document, {});
  assert.deepEqual(
    drafts(report).map(({ ruleId, analysis }) => [ruleId, analysis]),
    [
      ['for-a', 0],
      ['for-b', 1],
    ],
  );
  assert.deepEqual(
    report.analyses.map(({ listed }) => listed),
    [true, true],
  );
  assert.deepEqual(report.warningsByCode, { inline_results_unplaced: 1 });
  const rejected = [...report.items()].flatMap((item) =>
    item.outcome === 'rejected' ? [item.rejection] : [],
  );
  assert.deepEqual(
    rejected.map(({ pointer, code }) => [pointer, code]),
    [['/inlineExternalProperties/2/results/0', 'inline_results_unplaced']],
    'results that nobody can place are rejected one by one, so that absence closes nothing',
  );
});

test('external properties that name another run are not those of the only one', () => {
  const run = { automationDetails: { guid: GUID }, tool: { driver: { name: 'T' } }, results: [] };
  const stranger = { runGuid: '11111111-2222-4333-8444-555555555555', results: [result({})] };
  const report = decodeSarif(log([run], stranger), {});
  assert.deepEqual(drafts(report), []);
});

test('a warning names the members in external files, unless the log holds them', () => {
  const references = {
    taxonomies: [{ location: { uri: 'https://x.test/cwe.sarif' } }],
    driver: { guid: 'inline', location: { uri: 'x' } },
  };
  const run = {
    ...({ tool: {}, results: [] } as object),
    externalPropertyFileReferences: references,
  };
  const report = decodeSarif(log([run], { guid: 'inline', driver: { name: 'Moved' } }), {});
  assert.equal(report.analyses[0]?.toolName, 'Moved');
  assert.deepEqual(warningCodes(report), ['external_file']);
  assert.match(report.warnings[0]?.detail ?? '', /not read: taxonomies\.$/);
});

test('a run that keeps results in a file elsewhere has no whole list, whatever the log holds', () => {
  const listed = (guid: string, ...externals: object[]) => {
    const run = {
      tool: { driver: { name: 'T' } },
      results: [],
      externalPropertyFileReferences: { results: [{ guid, location: { uri: 'x' } }] },
    };
    return decodeSarif(log([run], ...externals), {}).analyses[0]?.listed;
  };
  assert.equal(listed('a'), false);
  assert.equal(listed('a', { guid: 'a', results: [] }), true);
});

test('every member of the standard has its type, and no other', () => {
  assert.deepEqual([...RESULT_TYPES.keys()].sort(), [...SARIF_MEMBERS.result].sort());
  assert.deepEqual([...RUN_TYPES.keys(), 'results', 'tool'].sort(), [...SARIF_MEMBERS.run].sort());
});

test('a member that breaks the schema without harm costs a warning with its place', () => {
  const broken = {
    ruleId: 5,
    rule: { id: 'r' },
    level: 'bad',
    kind: 'failed',
    baselineState: 'fresh',
    suppressions: null,
    locations: { uri: 'a.c' },
    properties: [],
    invented: 1,
  };
  const run = { tool: {}, artifacts: null, language: 5, columnKind: 'bytes', invented: 1 };
  const report = decodeSarif(sarif([broken], run), {});
  const draft = onlyDraft(report);
  assert.equal(draft.severity, 'medium');
  assert.deepEqual(
    report.warnings.map(({ pointer, code }) => `${pointer} ${code}`),
    [
      '/runs/0/artifacts wrong_type',
      '/runs/0/language wrong_type',
      '/runs/0/invented unknown_member',
      '/runs/0/columnKind unknown_word',
      '/runs/0/tool/driver/name tool_missing',
      '/runs/0/results/0/ruleId wrong_type',
      '/runs/0/results/0/locations wrong_type',
      '/runs/0/results/0/properties wrong_type',
      '/runs/0/results/0/invented unknown_member',
      '/runs/0/results/0/kind unknown_word',
      '/runs/0/results/0/level unknown_word',
      '/runs/0/results/0/baselineState unknown_word',
      '/runs/0/results/0/message message_missing',
    ],
  );
});

test('a message that is a bare text is understood without a word', () => {
  const report = decodeSarif(sarif([{ message: 'just text' }]), {});
  assert.equal(onlyDraft(report).message, 'just text');
  assert.deepEqual(warningCodes(report), []);
});

test('neither the category nor the warnings of a run show a credential', () => {
  const report = decodeSarif(
    sarif([result({})], {
      automationDetails: { id: 'https://u:pinadokuve@ci.example/job/1' },
      invocations: [
        {
          executionSuccessful: false,
          exitCodeDescription: 'git clone --token pinadokuve failed',
          toolExecutionNotifications: [
            note('error', { message: { text: 'x --password pinadokuve' } }),
          ],
        },
      ],
    }),
  );
  assert.equal(report.analyses[0]?.category, 'https://ci.example/job');
  assert.doesNotMatch(
    JSON.stringify([report.analyses, report.runs, report.warnings]),
    /pinadokuve/,
  );
});
