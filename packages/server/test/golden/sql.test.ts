// The text of every non-trivial query, per dialect, checked in: the diff shows the effect of a
// change to a query function on the SQL of both databases. Recorded without a database. Update
// with: npm run golden.

import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { golden } from '../../../../tools/golden.ts';
import * as commandLog from '../../src/commands/log/command-log.queries.ts';
import * as history from '../../src/commands/command-history.queries.ts';
import * as commandUploads from '../../src/commands/command-uploads.queries.ts';
import * as commands from '../../src/commands/command.queries.ts';
import * as pending from '../../src/commands/pending.queries.ts';
import * as wake from '../../src/commands/poll/wake.queries.ts';
import type { Db } from '../../src/db/db.ts';
import { RESOLVED_BY_ABSENCE } from '../../src/findings/finding.machine.ts';
import * as findings from '../../src/findings/findings.queries.ts';
import * as inventory from '../../src/findings/inventory.queries.ts';
import * as metrics from '../../src/heartbeat/metrics.queries.ts';
import * as presence from '../../src/heartbeat/presence.queries.ts';
import * as components from '../../src/ingest/store/component.queries.ts';
import * as ingested from '../../src/ingest/store/finding.queries.ts';
import * as frame from '../../src/ingest/store/inventory.queries.ts';
import * as scopes from '../../src/ingest/store/scope.queries.ts';
import * as links from '../../src/ingest/store/link.queries.ts';
import * as rejections from '../../src/ingest/store/rejection.queries.ts';
import * as retention from '../../src/ingest/store/retention.queries.ts';
import * as work from '../../src/ingest/store/upload-work.queries.ts';
import * as uploads from '../../src/ingest/store/upload.queries.ts';
import * as keyScopes from '../../src/keys/key-scopes.queries.ts';
import * as keys from '../../src/keys/keys.queries.ts';
import * as scans from '../../src/scans/scan-session.queries.ts';
import * as runners from '../../src/keys/runner.queries.ts';
import { BACKENDS } from '../harness.ts';
import { recorded, withSqlitePlans } from './plans.ts';

const ID = '01900000-0000-7000-8000-000000000000';
const ANALYSIS = { tool: 'tool', category: '' };
const seenAgain = (findings: number): ingested.SeenAgain => ({
  tenant_id: ID,
  ref_id: ID,
  last_seen_at: 1,
  last_commit: null,
  last_upload_id: ID,
  present: 1,
  findingIds: Array.from({ length: findings }, () => ID),
});
const SCOPE = { assetId: ID, ...ANALYSIS };
const ASSET = { kind_class: 'repository', value: 'a' };
const UPLOAD = { tenant_id: ID, id: ID, lease_holder: ID, attempt: 1 };
const COMMAND = { tenant_id: ID, id: ID, status: 'running', attempt: 1, holder_id: ID, cancel_requested_at: null, log_lines: 1, log_dropped: 0 } as const;

const LEASE = { tenant_id: ID, id: ID, status: 'running', holder_id: ID, attempt: 1, lease_until: 2 } as const;

const SIGN = {
  tenant_id: ID,
  id: ID,
  presence: 'online',
  last_seen_at: 1,
  interval_ms: 1,
  is_ci: 0,
} as const;
const METRICS = { tenant_id: ID, runner_id: ID, step_ms: 60_000, starts_at: 1 };
const REPORT = {
  version: null,
  hostname: null,
  region: null,
  reported: '{}',
  reported_at: 1,
  clock_skew_ms: null,
  installation: null,
  cloned_until: null,
};

const ALL_FINDINGS: findings.FindingPageQuery = {
  statuses: null,
  branch: null,
  severity: null,
  assetIds: null,
  tool: null,
  ruleId: null,
  pathStart: null,
  after: null,
  limit: 10,
};

const QUERIES: Readonly<Record<string, (db: Db) => Promise<unknown>>> = {
  'commands: pending for one': (db) => pending.pendingFor(db, ID, ID, null, 10),
  'commands: pending for one, next page': (db) =>
    pending.pendingFor(db, ID, ID, { id: ID, priority: 2 }, 10),
  'commands: pending by ids': (db) => pending.pendingByIds(db, ID, [ID, ID], 1),
  'commands: ended': (db) => history.endedCommands(db, 1, { completed_at: 1, id: ID }, 10),
  'commands: some lines of a log': (db) => history.deleteSomeLogLines(db, ID, ID, 10),
  'commands: delete': (db) => history.deleteCommands(db, ID, [ID]),
  'scans: delete some': (db) => scans.deleteSomeSessions(db, 1, 10),
  'scans: of a place': (db) =>
    scans.sessionsOf(db, { tenant_id: ID, place_digest: Buffer.alloc(32) }, 'completed', 0, 1),
  'keys: delete unused': (db) => keys.deleteSomeUnusedKeys(db, 1, 2, 10),
  'commands: due among': (db) => pending.dueAmong(db, ID, [ID, ID], 1),
  'commands: held by': (db) => commands.heldBy(db, ID, [ID, ID]),
  'commands: ready since': (db) => wake.readySince(db, { ready_at: 1, id: null }, 2, 10),
  'commands: ready since, next page': (db) =>
    wake.readySince(db, { ready_at: 1, id: ID }, 2, 10),
  'commands: ready among': (db) => wake.readyAmong(db, [{ tenantId: ID, id: ID }], 1),
  'commands: uploads for one': (db) => commandUploads.uploadsFor(db, ID, ID, [ID], 10),
  'commands: grow a log': (db) => commandLog.growLog(db, COMMAND as unknown as commands.CommandRow, 2, 20, 0),
  'commands: lines of a log': (db) => commandLog.readLogLines(db, ID, ID, 10, 100),
  'keys: of several runners': (db) => keyScopes.goodKeysOf(db, ID, [ID, ID]),
  'commands: waiting for anybody': (db) => pending.waitingGroups(db, ID, 1, 10),
  'commands: who has something of its own': (db) => pending.pinnedRunners(db, ID, 10),
  'commands: how much of its own': (db) => pending.countPinned(db, ID, ID, 1, 10),
  'commands: how many wait': (db) => pending.countPending(db, ID),
  'commands: cancel requests': (db) => commands.cancelRequests(db, ID),
  'commands: drop what was given back': (db) => commands.forgetReleased(db, COMMAND, ID, 2),
  'commands: guarded move': (db) => commands.moveCommand(db, COMMAND, { status: 'completed' }),
  'commands: held leases': (db) => commands.heldLeases(db),
  'commands: extend leases': (db) => commands.saveLeases(db, [LEASE]),
  'commands: lost leases': (db) => commands.lostCommands(db, 1, 10),
  'commands: what nobody may take': (db) => pending.orphaned(db, 10),
  'commands: what is outdated': (db) => pending.outdated(db, 1, 10),
  'commands: end what waits': (db) =>
    pending.endPending(db, ID, [ID, ID], { status: 'expired', reason: null, completed_at: 1 }),
  'keys: revoke': (db) => keys.revokeKeyRow(db, ID, 'key'),
  'commands: page': (db) =>
    commands.pageCommands(db, ID, { status: 'pending', type: 'scan', runnerId: ID, after: ID, limit: 10 }),
  'keys: find credential': (db) => keys.findCredential(db, 'key'),
  'keys: prove': (db) => keys.proveKey(db, ID, 'key', 1),
  'keys: take an enrolment use': (db) => keys.takeEnrolmentUse(db, ID, 'key'),
  'keys: page': (db) =>
    keys.pageKeys(db, ID, { kinds: ['runner'], runnerId: ID, after: { createdAt: 1, keyId: 'k' }, limit: 10 }),
  'runners: lock': (db) => runners.lockRunner(db, ID, ID),
  'runners: page': (db) =>
    runners.pageRunners(db, ID, { admin: 'active', presence: 'online', namePart: 'a', after: ID, limit: 10 }),
  'presence: watched': (db) => presence.watchedRunners(db, 1, 2),
  'presence: mark silent': (db) =>
    presence.markSilent(db, { tenant_id: ID, id: ID, last_seen_at: 1 }, 'offline', 2),
  'presence: a change of state': (db) => presence.setPresence(db, ID, ID, 'online', 1),
  'presence: flush': (db) =>
    presence.flushPresence(db, [{ ...SIGN, ...REPORT }], [SIGN]),
  'presence: lengthen the grace of keys': (db) => presence.lengthenGrace(db, ID, [ID, ID], 1),
  'presence: heard last': (db) => presence.lockHeard(db, ID, [ID]),
  'presence: times of a clock that was set back': (db) =>
    presence.bringBack(db, { tenant_id: ID, id: ID }, 1),
  'presence: flush of key use': (db) =>
    presence.flushKeyUse(db, [{ tenant_id: ID, key_id: 'k', last_used_at: 1, last_used_from: '::1' }]),
  'uploads: who waits': (db) => work.uploadFlows(db, 1),
  'uploads: claim': (db) => work.claimUpload(db, { tenant_id: ID, runner_id: ID }, ID, 1, 2),
  'metrics: lock': (db) => metrics.lockMetricRows(db, [METRICS]),
  'metrics: save': (db) => metrics.saveMetricRows(db, [{ ...METRICS, samples: '{}' }]),
  'metrics: take what is old': (db) => metrics.takeOldMetrics(db, 60_000, 1, 10),
  'metrics: delete': (db) => metrics.deleteMetricRows(db, [METRICS]),
  'metrics: read': (db) => metrics.readMetrics(db, ID, ID, 60_000, 1, 2),
  'uploads: extend lease': (db) => work.extendLease(db, UPLOAD, 2, { items_done: 1 }),
  'uploads: requeue': (db) =>
    work.requeueUpload(db, UPLOAD, { notBefore: 2, fault: 'error', attempts: 1 }),
  'uploads: one runner’s in turn': (db) => uploads.holdRunner(db, ID, ID),
  'uploads: the same before': (db) =>
    uploads.sameUploads(
      db,
      { tenant_id: ID, id: ID, runner_id: ID, context_digest: new Uint8Array(32) },
      new Uint8Array(32),
      1,
    ),
  'commands: scans of a runner': (db) => commands.heldScans(db, ID, ID, 20),
  'uploads: analyses that it is the newest of': (db) => uploads.countNewestAnalyses(db, ID, ID),
  'uploads: ended among': (db) => uploads.endedAmong(db, [{ tenantId: ID, uploadId: ID }]),
  'uploads: in flight': (db) => uploads.inFlight(db, ID),
  'uploads: held by a worker': (db) => work.heldBy(db, ID),
  'uploads: a chunk': (db) => uploads.insertChunk(db, ID, ID, 0, new Uint8Array(1)),
  'uploads: newest page': (db) => uploads.pageUploads(db, ID, { state: null, runnerId: null, after: ID, limit: 10 }),
  'retention: give up one': (db) => retention.giveUp(db, ID, ID, 1),
  'retention: give up the quiet': (db) => retention.giveUpQuiet(db, 1, 2),
  'retention: next given up': (db) => retention.nextGivenUp(db),
  'retention: next ended dry run': (db) => retention.nextEndedDryRun(db),
  'retention: next stale': (db) => retention.nextStale(db, 1),
  'retention: unwanted now': (db) => retention.unwantedNow(db, ID, ID),
  'retention: some chunks': (db) => retention.deleteSomeChunks(db, ID, ID, 16),
  'retention: some rejections': (db) => retention.deleteSomeRejections(db, ID, ID, 16),
  'retention: some dry runs': (db) => retention.deleteSomeDryRuns(db, 1, 10),
  'uploads: rejections': (db) => rejections.rejectionsPage(db, ID, ID, -1, 10),
  'scopes: take': (db) => scopes.takeScopes(db, { tenant_id: ID, id: ID }, [SCOPE, SCOPE], 1, 2),
  'scopes: extend': (db) => scopes.extendScopes(db, ID, ID, 1, 2),
  'scopes: push aside': (db) =>
    scopes.pushAside(db, { tenant_id: ID, id: ID }, [SCOPE, SCOPE], 1),
  'scopes: held by others': (db) => scopes.scopesOfOthers(db, { tenant_id: ID, id: ID }, [ID, ID], 1),
  'scopes: free': (db) => scopes.freeScopes(db, ID, ID),
  'uploads: a batch and its guard': (db) => work.insertBatch(db, UPLOAD, 1, '{}'),
  'analyses: of places': (db) =>
    frame.analysesOf(db, ID, [{ ref_id: ID, tool: 'tool', category: '' }]),
  'analyses: on a ref': (db) => frame.analysesOnRef(db, ID, ID),
  'uploads: an earlier one that waits': (db) =>
    work.hasEarlierWaiting(db, { tenant_id: ID, runner_id: ID, id: ID }),
  'uploads: a report of a command': (db) =>
    work.hasReportOfCommand(db, { tenant_id: ID, runner_id: ID, id: ID, command_id: ID }),
  'analyses: save': (db) =>
    frame.saveAnalyses(db, [
      {
        tenant_id: ID,
        ref_id: ID,
        tool: 'tool',
        category: '',
        last_upload_id: ID,
        last_seen_at: 1,
        commit_sha: null,
        coverage: 'full',
        scanner: null,
        held_digest: null,
        held_count: 0,
      },
    ]),
  'ingest: findings of a scope': (db) =>
    ingested.findingsOfScopes(db, ID, { ...ANALYSIS, assetIds: [ID] }, ID, 10),
  'ingest: findings of several scopes': (db) =>
    ingested.findingsOfScopes(db, ID, { ...ANALYSIS, assetIds: [ID, ID] }, null, 10),
  'ingest: what may have moved': (db) => ingested.findingsById(db, ID, [ID, ID]),
  'ingest: seen again on a ref': (db) => ingested.updateSightings(db, [seenAgain(8)]),
  'ingest: seen again on several refs': (db) =>
    ingested.updateSightings(db, [seenAgain(1), seenAgain(1)]),
  'ingest: seen on a ref': (db) =>
    ingested.saveSightings(db, [
      {
        tenant_id: ID,
        ref_id: ID,
        finding_id: ID,
        present: 1,
        first_seen_at: 1,
        first_commit: null,
        last_seen_at: 1,
        last_commit: null,
        last_upload_id: ID,
      },
    ]),
  'ingest: sightings on the refs of one destination': (db) =>
    ingested.sightingsOnRefs(db, ID, [ID, ID], [ID, ID]),
  'ingest: sightings on the refs of several destinations': (db) =>
    ingested.sightingsOnRefs(db, ID, [ID, ID, ID], [ID, ID]),
  'ingest: gone from a ref': (db) =>
    ingested.markAbsent(db, [{ tenant_id: ID, ref_id: ID, finding_id: ID }]),
  'ingest: lock what is active': (db) => ingested.lockActive(db, ID, [ID, ID]),
  'ingest: resolve as fixed': (db) => ingested.resolveFixed(db, ID, [ID], RESOLVED_BY_ABSENCE, 1),
  'findings: page': (db) =>
    findings.pageFindings(db, ID, {
      statuses: [{ status: 'open' }],
      branch: null,
      severity: 1,
      assetIds: [ID],
      tool: 'tool',
      ruleId: 'R1',
      pathStart: 'src/',
      after: { severity: 1, id: ID },
      limit: 10,
    }),
  'findings: first page of all': (db) => findings.pageFindings(db, ID, ALL_FINDINGS),
  'findings: what is open on default branches': (db) =>
    findings.pageFindings(db, ID, {
      ...ALL_FINDINGS,
      statuses: [{ status: 'open' }],
      branch: 'default',
    }),
  'findings: what is open on default branches, next page': (db) =>
    findings.pageFindings(db, ID, {
      ...ALL_FINDINGS,
      statuses: [{ status: 'open' }],
      branch: 'default',
      after: { severity: 1, id: ID },
    }),
  'findings: what is open on a branch of many assets': (db) =>
    findings.pageFindings(db, ID, {
      ...ALL_FINDINGS,
      statuses: [{ status: 'open' }],
      branch: { name: 'next' },
    }),
  'findings: what is active on a branch of some assets': (db) =>
    findings.pageFindings(db, ID, {
      ...ALL_FINDINGS,
      statuses: [
        { status: 'open' },
        { status: 'confirmed' },
        { status: 'resolved', resolution: 'fixed' },
      ],
      branch: { name: 'next' },
      assetIds: [ID, ID],
    }),
  'findings: assets with a branch': (db) => findings.assetsWithRef(db, ID, 'next', 21),
  'findings: refs of one': (db) =>
    findings.findingRefs(db, ID, { asset_id: ID, id: ID } as findings.FindingRow),
  'findings: set status': (db) =>
    findings.setStatus(
      db,
      { tenant_id: ID, id: ID, status: 'open' },
      { status: 'confirmed', resolution: null, status_by: 'x', status_at: 1, accepted_until: null },
    ),
  'assets: page': (db) =>
    findings.pageAssets(db, ID, { kind: 'repository', valuePart: 'a', after: ID, limit: 10 }),
  'assets: components': (db) =>
    inventory.pageComponents(db, ID, { assetId: ID, after: 'a', limit: 10 }),
  'assets: endpoints': (db) => inventory.pageEndpoints(db, ID, { assetId: ID, after: 'a', limit: 10 }),
  'assets: relationships out': (db) =>
    inventory.pageRelationships(db, ID, {
      assetId: ID,
      side: 'from_asset_id',
      after: { type: 't', otherId: ID },
      limit: 10,
    }),
  'assets: relationships in': (db) =>
    inventory.pageRelationships(db, ID, {
      assetId: ID,
      side: 'to_asset_id',
      after: { type: 't', otherId: ID },
      limit: 10,
    }),
  'assets: lock': (db) => frame.lockAssets(db, ID, [ID, ID]),
  'assets: lock default refs': (db) => frame.lockDefaultRefs(db, ID, [ID, ID]),
  'assets: refs by name': (db) => frame.refsByName(db, ID, [ID, ID], ['main', 'next']),
  'assets: save endpoints': (db) =>
    frame.saveEndpoints(db, [
      {
        tenant_id: ID,
        asset_id: ID,
        identity: 'a',
        document: '{}',
        first_seen_at: 1,
        last_seen_at: 1,
      },
    ]),
  'assets: edges of components': (db) =>
    components.storedComponents(db, { tenant_id: ID, id: ID }, ['a', 'b']),
  'assets: count components': (db) =>
    components.countComponents(db, { tenant_id: ID, id: ID }, ['a', 'b']),
  'assets: by value': (db) => frame.assetsByValue(db, ID, [ASSET, ASSET]),
  'assets: count relationships': (db) =>
    links.countRelationships(db, [
      { tenant_id: ID, from_asset_id: ID, type: 't', to_asset_id: ID },
      { tenant_id: ID, from_asset_id: ID, type: 'u', to_asset_id: ID },
    ]),
  'assets: count endpoints': (db) =>
    links.countEndpoints(db, [
      { tenant_id: ID, asset_id: ID, identity: 'a' },
      { tenant_id: ID, asset_id: ID, identity: 'b' },
    ]),
  'assets: save facts': (db) =>
    frame.saveAssetFacts(db, [{ tenant_id: ID, id: ID, attributes: '{}', attributes_at: 1, criticality: null }]),
};

for (const backend of BACKENDS) {
  test(`the SQL that ${backend} gets is the checked-in one`, async () => {
    const parts: string[] = [];
    for (const [title, run] of Object.entries(QUERIES)) {
      const texts = (await recorded(backend, run)).map((query) => query.sql);
      parts.push(`-- ${title}\n${texts.join('\n')}\n`);
    }
    golden(fileURLToPath(new URL(`./${backend}.sql`, import.meta.url)), parts.join('\n'));
  });
}

test('every query on SQLite is planned as checked in, by an index where there is one', async () => {
  await withSqlitePlans((stepsOf) => {
    const plans = readFileSync(new URL('./sqlite.sql', import.meta.url), 'utf8')
      .split('\n')
      .map((line) => {
        if (line === '' || line.startsWith('-- ')) return line;
        return stepsOf(line)
          .map((step) => `  ${step}`)
          .join('\n');
      });
    golden(fileURLToPath(new URL('./sqlite-plans.txt', import.meta.url)), plans.join('\n'));
  });
});
