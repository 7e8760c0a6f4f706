// Every paged list of the operators' API, with the pages whose plans are checked in: by endpoint,
// then by the query parameters that a page is asked with ('' is the first page without a filter). A
// new list or parameter gets its line in LISTS. Called by list-plans.test.ts, filled-postgres.ts.

import * as commands from '../../src/commands/command.queries.ts';
import type { Db } from '../../src/db/db.ts';
import * as findings from '../../src/findings/findings.queries.ts';
import * as inventory from '../../src/findings/inventory.queries.ts';
import * as rejections from '../../src/ingest/store/rejection.queries.ts';
import * as uploads from '../../src/ingest/store/upload.queries.ts';
import * as keys from '../../src/keys/keys.queries.ts';
import * as runners from '../../src/keys/runner.queries.ts';
import * as scans from '../../src/scans/scan-session.queries.ts';

/** Ids of the rows that a test fills tables with: the same for row `n` of each table. */
export const idOf = (n: number): string =>
  `01900000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

/** The tenant, the asset that has an inventory and the upload that has rejections. */
export const TENANT_ID = idOf(0);

/** The row in the middle, after which a further page begins. */
export const MIDDLE = 2500;

const limit = 10;
const after = idOf(MIDDLE);

type Run = (db: Db) => Promise<unknown>;
export type Pages = Readonly<Record<string, Run>>;

const findingPage =
  (filter: Partial<findings.FindingPageQuery>): Run =>
  (db) =>
    findings.pageFindings(db, TENANT_ID, {
      status: null,
      severity: null,
      assetId: null,
      tool: null,
      ruleId: null,
      pathStart: null,
      after: null,
      limit,
      ...filter,
    });

const FINDING_AFTER = { severity: 2, id: after };

const runnerPage =
  (filter: Partial<runners.RunnerPageQuery>): Run =>
  (db) =>
    runners.pageRunners(db, TENANT_ID, {
      admin: null,
      presence: null,
      namePart: null,
      after: null,
      limit,
      ...filter,
    });

const keyPage =
  (filter: Partial<keys.KeyPageQuery>, kinds: keys.KeyPageQuery['kinds']): Run =>
  (db) =>
    keys.pageKeys(db, TENANT_ID, { kinds, runnerId: null, after: null, limit, ...filter });

const KEY_KINDS = ['runner', 'operator'] as const;
const KEY_AFTER = { createdAt: MIDDLE, keyId: `k${MIDDLE}` };

const commandPage =
  (filter: Partial<commands.CommandPageQuery>): Run =>
  (db) =>
    commands.pageCommands(db, TENANT_ID, {
      status: null,
      type: null,
      runnerId: null,
      after: null,
      limit,
      ...filter,
    });

const uploadPage =
  (filter: Partial<uploads.UploadPageQuery>): Run =>
  (db) =>
    uploads.pageUploads(db, TENANT_ID, {
      state: null,
      runnerId: null,
      after: null,
      limit,
      ...filter,
    });

const scanPage =
  (filter: Partial<scans.SessionPageQuery>): Run =>
  (db) =>
    scans.pageSessions(db, TENANT_ID, {
      status: null,
      runnerId: null,
      after: null,
      limit,
      ...filter,
    });

const assetPage =
  (filter: Partial<findings.AssetPageQuery>): Run =>
  (db) =>
    findings.pageAssets(db, TENANT_ID, {
      kind: null,
      valuePart: null,
      after: null,
      limit,
      ...filter,
    });

const relationshipPage =
  (side: 'from_asset_id' | 'to_asset_id', isFirst: boolean): Run =>
  (db) =>
    inventory.pageRelationships(db, TENANT_ID, {
      assetId: TENANT_ID,
      side,
      after: isFirst ? null : { type: 'x', otherId: after },
      limit,
    });

const OF_ONE_ASSET = { assetId: TENANT_ID, limit };

export const LISTS: Readonly<Record<string, Pages>> = {
  listFindings: {
    '': findingPage({}),
    after: findingPage({ after: FINDING_AFTER }),
    status: findingPage({ status: 'open' }),
    'status after': findingPage({ status: 'open', after: FINDING_AFTER }),
    severity: findingPage({ severity: 1 }),
    'severity after': findingPage({ severity: 2, after: FINDING_AFTER }),
    'status severity': findingPage({ status: 'open', severity: 1 }),
    asset_id: findingPage({ assetId: idOf(1) }),
    'asset_id status': findingPage({ assetId: idOf(1), status: 'open' }),
    tool: findingPage({ tool: 'x' }),
    rule_id: findingPage({ ruleId: 'R7' }),
    path: findingPage({ pathStart: 'src/' }),
  },
  listRunners: {
    '': runnerPage({}),
    after: runnerPage({ after }),
    admin: runnerPage({ admin: 'active' }),
    presence: runnerPage({ presence: 'online' }),
    name: runnerPage({ namePart: 'x' }),
  },
  commandWaiting: { '': runnerPage({}), after: runnerPage({ after }) },
  listKeys: {
    '': keyPage({}, KEY_KINDS),
    after: keyPage({ after: KEY_AFTER }, KEY_KINDS),
    runner_id: keyPage({ runnerId: idOf(1) }, KEY_KINDS),
  },
  listEnrolmentTokens: {
    '': keyPage({}, ['enrolment']),
    after: keyPage({ after: KEY_AFTER }, ['enrolment']),
  },
  listCommands: {
    '': commandPage({}),
    after: commandPage({ after }),
    status: commandPage({ status: 'completed' }),
    type: commandPage({ type: 'x' }),
    runner_id: commandPage({ runnerId: idOf(1) }),
  },
  listUploads: {
    '': uploadPage({}),
    after: uploadPage({ after }),
    state: uploadPage({ state: 'processed' }),
    runner_id: uploadPage({ runnerId: idOf(1) }),
  },
  listUploadRejections: {
    '': (db) => rejections.rejectionsPage(db, TENANT_ID, TENANT_ID, -1, limit),
    after: (db) => rejections.rejectionsPage(db, TENANT_ID, TENANT_ID, MIDDLE, limit),
  },
  listScans: {
    '': scanPage({}),
    after: scanPage({ after }),
    status: scanPage({ status: 'running' }),
    runner_id: scanPage({ runnerId: idOf(1) }),
  },
  listAssets: {
    '': assetPage({}),
    after: assetPage({ after }),
    kind: assetPage({ kind: 'repository' }),
    value: assetPage({ valuePart: 'v' }),
  },
  listAssetComponents: {
    '': (db) => inventory.pageComponents(db, TENANT_ID, { ...OF_ONE_ASSET, after: null }),
    after: (db) => inventory.pageComponents(db, TENANT_ID, { ...OF_ONE_ASSET, after: 'c2500' }),
  },
  listAssetEndpoints: {
    '': (db) => inventory.pageEndpoints(db, TENANT_ID, { ...OF_ONE_ASSET, after: null }),
    after: (db) => inventory.pageEndpoints(db, TENANT_ID, { ...OF_ONE_ASSET, after: 'c2500' }),
  },
  listAssetRelationships: {
    '': relationshipPage('from_asset_id', true),
    after: relationshipPage('from_asset_id', false),
    direction: relationshipPage('to_asset_id', true),
    'direction after': relationshipPage('to_asset_id', false),
  },
};

/**
 * The pages that are sorted on SQLite, by endpoint and parameters, with the little that is sorted.
 * All others come from an index in their order.
 */
export const SORTED: Readonly<Record<string, string>> = {
  'listFindings asset_id': 'the findings of one asset',
  'listFindings asset_id status': 'the findings of one asset',
  'listKeys runner_id': 'the keys of one runner',
};
