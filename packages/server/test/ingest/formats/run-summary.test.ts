// The summaries of a report's runs, which tell operators how the runs went.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '@muster/contract';
import { ctis, decodeCtis, decodeSarif, sarif } from './readers.ts';

const runOf = (run: object, driver: object = {}) =>
  decodeSarif(sarif([], run, driver)).runs.shown[0];

test('a SARIF run tells its tool, its names, the span of its invocations and how they ended', () => {
  const invocations = [
    { startTimeUtc: '2026-11-20T08:00:05.5Z', executionSuccessful: true, exitCode: 0 },
    { startTimeUtc: '2026-11-20T08:00:00', endTimeUtc: '2026-11-20T08:01:00Z' },
    { exitCode: 3, exitSignalName: 'SIGTERM', executionSuccessful: false, endTimeUtc: 'late' },
  ];
  const automationDetails = { id: 'nightly/42', guid: 'g', correlationGuid: 'c' };
  const run = runOf({ invocations, automationDetails }, { name: 'T', semanticVersion: '1.2.3' });
  assert.deepEqual(run, {
    tool: 'T',
    tool_version: '1.2.3',
    automation_id: 'nightly/42',
    automation_guid: 'g',
    correlation_guid: 'c',
    invocations: 3,
    started_at: '2026-11-20T08:00:00.000Z',
    ended_at: '2026-11-20T08:01:00.000Z',
    duration_ms: 60_000,
    exit_code: 3,
    exit_signal: 'SIGTERM',
    succeeded: false,
    coverage: null,
    source_type: null,
    scope: null,
  });
});

test('a run without usable facts has an empty summary, whatever its members hold', () => {
  const odd = [{ exitCode: '1', startTimeUtc: 5, executionSuccessful: 'yes' }, null, 7];
  const run = runOf({ invocations: odd, automationDetails: [] });
  const { tool: _, tool_version: __, invocations, ...rest } = run ?? {};
  assert.equal(invocations, 3);
  assert.deepEqual(new Set(Object.values(rest)), new Set([null]));
});

test('credentials in names are masked, texts are cut, and only the first of many runs are shown', () => {
  const id = `https://ada:secret@ci.example.com/${'x'.repeat(3000)}`;
  const shown = runOf({ automationDetails: { id } })?.automation_id ?? '';
  assert.match(shown, /^https:\/\/\*\*\*@ci/);
  assert.ok(shown.length <= limits.nameCharsMax && shown.endsWith('…'));
  const log = { version: '2.1.0', runs: Array.from({ length: 30 }, () => ({ results: [] })) };
  const { shown: first, total } = decodeSarif(log).runs;
  assert.deepEqual([first.length, total], [limits.uploadRunsShown, 30]);
});

test('a CTIS report is one run: its id, when it was produced, how long it took, what it covers', () => {
  const metadata = {
    id: 'scan-7',
    timestamp: '2026-11-20T09:00:00+01:00',
    duration_ms: 60_000,
    coverage_type: 'full',
    source_type: 'scanner',
    scope: { type: 'repository', name: 'github.com/acme/shop', includes: ['src', 'lib'] },
  };
  const { shown, total } = decodeCtis({ ...(ctis([]) as object), metadata }).runs;
  const [run] = shown;
  assert.equal(total, 1);
  assert.equal(run?.automation_id, 'scan-7');
  assert.equal(run?.started_at, '2026-11-20T07:59:00.000Z');
  assert.equal(run?.ended_at, '2026-11-20T08:00:00.000Z');
  assert.deepEqual([run?.duration_ms, run?.coverage], [60_000, 'full']);
  assert.equal(run?.source_type, 'scanner');
  const named = { type: 'repository', name: 'github.com/acme/shop' };
  assert.deepEqual(run?.scope, { ...named, includes: 2, excludes: 0 });
  const silent = { ...metadata, scope: { includes: [] } };
  assert.equal(decodeCtis(ctis([], { metadata: silent })).runs.shown[0]?.scope, null);
});
