// The pages of one upload and one finding: what they say beyond the columns of a list.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ID, OTHER_ID, run, serve } from './harness.ts';

const TIME = '2026-11-20T08:00:00.000Z';

const SILENT = {
  tool_version: null,
  automation_id: null,
  automation_guid: null,
  correlation_guid: null,
  invocations: 0,
  started_at: null,
  ended_at: null,
  duration_ms: null,
  exit_code: null,
  exit_signal: null,
  succeeded: null,
  coverage: null,
  source_type: null,
  scope: null,
};

const upload = (more: object) => ({
  id: ID,
  runner_id: ID,
  state: 'refused',
  format: 'auto',
  tool: 'Probe',
  received_at: TIME,
  started_at: TIME,
  finished_at: TIME,
  wire_bytes: 1,
  stored_bytes: 1,
  decoded_bytes: 1,
  sha256: null,
  command_id: null,
  attempts: 1,
  items_done: null,
  items_total: null,
  context: {},
  receipt: null,
  problem: null,
  fault: null,
  raw_deleted_at: null,
  ...more,
});

test('an upload tells how the runs of its report went, a line each, and how many more there are', async (t) => {
  const told = {
    ...SILENT,
    tool: 'Probe',
    tool_version: '1.2',
    automation_id: 'nightly/7',
    duration_ms: 1500,
    exit_code: 3,
    succeeded: false,
  };
  const scope = { type: 'repository', name: 'shop', includes: 2, excludes: 0 };
  const ctis = { ...SILENT, tool: 'Other', source_type: 'scanner', coverage: 'full', scope };
  const body = upload({ runs: [told, ctis], runs_total: 9 });
  const { url } = await serve(t, () => ({ status: 200, body }));
  const { out } = await run(['uploads', 'show', ID], { url });
  assert.match(out, /Runs\n +Probe 1\.2, nightly\/7, took 1\.5 s, exit code 3, failed\n/);
  assert.match(out, / +Other, scanner, coverage full, repository shop, 2 included\n +and 7 more\n/);
});

test('an upload whose report has no runs says so; of one that could not be read nothing is said', async (t) => {
  const { url } = await serve(t, ({ url: { pathname } }) => ({
    status: 200,
    body: upload(pathname.endsWith(ID) ? { runs: [], runs_total: 0 } : { runs: null }),
  }));
  assert.match((await run(['uploads', 'show', ID], { url })).out, /\nRuns +none\n/);
  const unread = await run(['uploads', 'show', OTHER_ID], { url });
  assert.doesNotMatch(unread.out, /\nRuns/);
});

const finding = (detail: object) => ({
  id: ID,
  title: 'T',
  severity: 'high',
  severity_overridden: false,
  status: 'open',
  resolution: null,
  accepted_until: null,
  status_by: 'report',
  status_at: TIME,
  asset: 'a',
  asset_id: ID,
  path: null,
  start_line: null,
  tool: 't',
  category: '',
  rule_id: 'r',
  type: 'vulnerability',
  first_seen_at: TIME,
  last_seen_at: TIME,
  matched_by: 'new',
  unfinished: false,
  refs: [],
  events: [],
  detail,
});

test('a finding shows the properties of it and below it, and what was left out for size', async (t) => {
  const body = finding({
    properties: { team: 'blue' },
    property_bags: { '/fixes/0': { safe: true } },
    omitted: { code_flows: 20 },
  });
  const { url } = await serve(t, () => ({ status: 200, body }));
  const { out } = await run(['findings', 'show', ID], { url });
  assert.match(out, /Properties\n +\{\n +"team": "blue"\n/);
  assert.match(out, /Properties below\n +\/fixes\/0\n +\{\n +"safe": true\n/);
  assert.match(out, /Left out +20 in code_flows\n/);
});

test('a finding shows the message of its tool first, its description after it, and no text twice', async (t) => {
  const documents = [
    { message: 'The password is written here.\nTake it out.', description: 'Passwords in code.' },
    { message: 'T', description: 'T' },
    { message: 'Both the same.', description: 'Both the same.' },
    { message: 7, description: '' },
  ];
  let serial = 0;
  const { url } = await serve(t, () => {
    serial += 1;
    return { status: 200, body: finding(documents[serial - 1] ?? {}) };
  });
  const show = async (): Promise<string> => (await run(['findings', 'show', ID], { url })).out;
  const all = await show();
  assert.match(
    all,
    /Title +T\nMessage\n +The password is written here\.\n +Take it out\.\nSeverity/,
  );
  assert.match(all, /Description +Passwords in code\.\n/);
  assert.doesNotMatch(await show(), /Message|Description/);
  const same = await show();
  assert.match(same, /Message +Both the same\.\n/);
  assert.doesNotMatch(same, /Description/);
  assert.doesNotMatch(await show(), /Message|Description/);
});
