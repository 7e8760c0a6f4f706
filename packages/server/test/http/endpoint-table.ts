// One row for each endpoint of the contract: how to call it so that it works, and how it must
// answer strangers. The unauthorised matrix and the documented errors are enumerated from here; a
// test proves that no endpoint is missing.

import { type Endpoint, endpointList, pathOf } from '@muster/contract';
import { ctis, ctisFinding, sarif, sarifResult } from './reports.ts';
import { type Fields, ok, send, type Sending } from './wire.ts';
import { move, newCommand, newKey, newRunner, keyIdOf, runnerCall, type World } from './world.ts';

/** Things of the tenant `own` that paths can name. */
export interface Things {
  readonly command: string;
  readonly upload: string;
  readonly runner: string;
  readonly key: string;
  readonly finding: string;
  readonly asset: string;
  readonly scan: string;
}

export interface Row {
  /** The thing that `{id}` names. */
  readonly id?: keyof Things;
  readonly body?: (things: Things) => Fields;
  /** The answer to a caller of another tenant: `hidden` = 404, `apart` = its own, empty world. */
  readonly stranger: 'hidden' | 'apart';
  /** The answer to another runner of the same tenant; absent where that makes no difference. */
  readonly neighbour?: 'hidden';
}

const session = { scanner_name: 'semgrep', asset_type: 'repository', asset_value: 'acme/things' };

const command: Row = { id: 'command', stranger: 'hidden', neighbour: 'hidden' };
const apart: Row = { stranger: 'apart' };
const of = (id: keyof Things): Row => ({ id, stranger: 'hidden' });

export const TABLE: Readonly<Record<string, Row>> = {
  heartbeat: { ...apart, body: () => ({ name: 'test' }) },
  pollCommands: apart,
  acknowledgeCommand: command,
  startCommand: command,
  completeCommand: { ...command, body: () => ({ result: { findings_count: 1 } }) },
  failCommand: { ...command, body: () => ({ error_message: 'no' }) },
  releaseCommand: command,
  reportProgress: { ...command, body: () => ({ percent: 50, message: 'half' }) },
  appendLog: { ...command, body: () => ({ offset: 0, lines: ['one'] }) },
  startScan: { ...apart, body: () => session },
  endScan: {
    id: 'scan',
    stranger: 'hidden',
    neighbour: 'hidden',
    body: () => ({ status: 'completed' }),
  },
  showOwnScan: { id: 'scan', stranger: 'hidden', neighbour: 'hidden' },
  renewKey: apart,
  enroll: { ...apart, body: () => ({ name: 'enrolled' }) },
  v2Probe: apart,
  ingest: { ...apart, body: () => ctis([ctisFinding()], { repository: 'github.com/acme/shop' }) },
  ingestCtis: {
    ...apart,
    body: () => ctis([ctisFinding()], { repository: 'github.com/acme/shop' }),
  },
  ingestSarif: { ...apart, body: () => sarif([sarifResult()]) },
  validateReport: { ...apart, body: () => sarif([sarifResult()]) },
  uploadJob: { id: 'upload', stranger: 'hidden', neighbour: 'hidden' },
  checkFingerprints: { ...apart, body: () => ({ fingerprints: ['known-fingerprint-1'] }) },
  whoAmI: apart,
  listRunners: apart,
  showRunner: of('runner'),
  runnerMetrics: of('runner'),
  createRunner: { ...apart, body: () => ({ name: 'made by a test' }) },
  pauseRunner: of('runner'),
  drainRunner: of('runner'),
  resumeRunner: of('runner'),
  revokeRunner: of('runner'),
  listKeys: apart,
  createKey: { stranger: 'hidden', body: (things) => ({ runner_id: things.runner }) },
  revokeKey: of('key'),
  rollKey: { ...of('key'), body: () => ({}) },
  changeKey: { ...of('key'), body: () => ({ expires_in: null }) },
  listEnrolmentTokens: apart,
  createEnrolmentToken: { ...apart, body: () => ({}) },
  listCommands: apart,
  showCommand: of('command'),
  createCommand: {
    stranger: 'hidden',
    body: (things) => ({ type: 'scan', payload: { scanner: 'semgrep' }, runner_id: things.runner }),
  },
  cancelCommand: of('command'),
  commandWaiting: of('command'),
  commandLog: of('command'),
  listScans: apart,
  showScan: of('scan'),
  listUploads: apart,
  showUpload: of('upload'),
  listUploadRejections: of('upload'),
  listFindings: apart,
  showFinding: of('finding'),
  changeFinding: { ...of('finding'), body: () => ({ status: 'confirmed' }) },
  listAssets: apart,
  showAsset: of('asset'),
  listAssetComponents: of('asset'),
  listAssetRelationships: of('asset'),
  listAssetEndpoints: of('asset'),
  healthz: apart,
  readyz: apart,
  metrics: apart,
  openapi: apart,
  docs: apart,
};

export const rowOf = (endpoint: Endpoint): Row => {
  const row = TABLE[endpoint.id];
  if (row === undefined) throw new Error(`${endpoint.id} has no row in endpoint-table.ts`);
  return row;
};

/** A call that would work with a good key. */
export function callOf(endpoint: Endpoint, things: Things): Sending {
  const row = rowOf(endpoint);
  const path = pathOf(endpoint, row.id === undefined ? {} : { id: things[row.id] });
  const body = row.body?.(things) ?? (endpoint.method === 'GET' ? undefined : '');
  return { method: endpoint.method, path, body };
}

export const withAuth = (kind: Endpoint['auth']['kind']): Endpoint[] =>
  endpointList.filter((endpoint) => endpoint.auth.kind === kind);

/**
 * Makes a thing of every kind in the tenant `own`; the command is pinned to its runner, the upload
 * came from that runner.
 */
export async function makeThings(world: World): Promise<Things> {
  const { id, key } = world.own.runner;
  const finding = ctisFinding({ fingerprint: 'known-fingerprint-1' });
  const report = ctis([finding], { repository: 'github.com/acme/things' });
  const receipt = ok(await runnerCall(world, key, '/ingest', report), 201);
  const command = await newCommand(world, { runner_id: id });
  ok(await move(world, key, command, 'acknowledge'));
  const scan = ok(await runnerCall(world, key, '/scans', session), 201);
  const victim = await newRunner(world, 'victim');
  const first = async (path: string): Promise<string> => {
    const page = ok(await send(world.url, { path, key: world.own.viewer }));
    return String((page['items'] as Fields[])[0]?.['id']);
  };
  return {
    command,
    upload: String(receipt['upload_id']),
    scan: String(scan['scan_id']),
    runner: victim.id,
    key: keyIdOf(await newKey(world, victim.id)),
    finding: await first('/api/v1/findings'),
    asset: await first('/api/v1/assets'),
  };
}
