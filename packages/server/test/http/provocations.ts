// One request for each documented error: by code where a code means the same everywhere, by
// endpoint and code otherwise. Each makes the things that it needs, so that all can run side by
// side.

import { type Endpoint, type ErrorCode, limits } from '@muster/contract';
import { callOf, type Things } from './endpoint-table.ts';
import { eventually } from '../harness.ts';
import { ctis, sarif } from './reports.ts';
import { type Answer, exchange, type Fields, ok, type Sending, send } from './wire.ts';
import {
  keyIdOf,
  move,
  newCommand,
  newKey,
  newRunner,
  operate,
  otherSecret,
  runnerCall,
  type World,
} from './world.ts';

export interface Scene {
  readonly world: World;
  readonly things: Things;
  readonly endpoint: Endpoint;
}

export type Provoke = (scene: Scene) => Promise<Answer>;

const NOWHERE = '01a1fc23-b6cf-7067-93f1-625de03b92e4';

export const goodKey = ({ world, endpoint }: Scene): string => {
  const { kind } = endpoint.auth;
  if (kind === 'runner') return world.own.runner.key;
  return kind === 'enrolment' ? world.own.enrolment : world.own.admin;
};

/** The endpoint's good call, with something changed. */
const good = async (scene: Scene, change: Partial<Sending>): Promise<Answer> => {
  const call = callOf(scene.endpoint, scene.things);
  return await send(scene.world.url, { key: goodKey(scene), ...call, ...change });
};

const pathWith = (scene: Scene, query: string): string =>
  `${callOf(scene.endpoint, scene.things).path}?${query}`;

const at = (endpoint: Endpoint, id: string): string => endpoint.path.replace('{id}', id);

const listed = (items: string): string =>
  `{"version":"1.0","metadata":{},"tool":{"name":"t"},"findings":[${items}]}`;

const logged = (items: string): string =>
  `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t"}},"results":[${items}]}]}`;

const document = ({ endpoint }: Scene, items: string): string =>
  endpoint.id === 'ingestSarif' ? logged(items) : listed(items);

/** Half a body, then the end of the client's side of the connection. */
const incomplete: Provoke = async (scene) => {
  const { path } = callOf(scene.endpoint, scene.things);
  const heard = await exchange(scene.world.url, (socket) => {
    socket.end(
      `${scene.endpoint.method} ${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${goodKey(scene)}\r\n` +
        'Content-Length: 1000\r\nConnection: close\r\n\r\n{"version":',
    );
  });
  return parseAnswer(heard);
};

/** A few bytes and then silence, until the server loses patience (limits.bodyRateWindowMs). */
const slow: Provoke = async (scene) => {
  const { path } = callOf(scene.endpoint, scene.things);
  const heard = await exchange(scene.world.url, (socket) => {
    socket.write(
      `${scene.endpoint.method} ${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${goodKey(scene)}\r\n` +
        'Content-Length: 1000000\r\nConnection: close\r\n\r\n{"version":',
    );
  });
  return parseAnswer(heard);
};

function parseAnswer(heard: string): Answer {
  const [head = '', text = ''] = heard.split('\r\n\r\n');
  const [line = '', ...rest] = head.split('\r\n');
  const headers = Object.fromEntries(
    rest.map((header) => {
      const colon = header.indexOf(':');
      return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()];
    }),
  );
  return { status: Number(line.split(' ')[1]), headers, text };
}

/** Headers promise more than is allowed: the answer comes without the body. */
const tooLarge: Provoke = async (scene) => {
  const max = scene.endpoint.bodyBytesMax ?? limits.bodyBytesMax;
  return await good(scene, {
    body: undefined,
    method: 'POST' === scene.endpoint.method ? 'POST' : scene.endpoint.method,
    headers: { 'content-length': String(max + 1) },
    headersOnly: true,
  });
};

const reusedKey: Provoke = async (scene) => {
  const headers = { 'idempotency-key': `reused-${scene.endpoint.id}` };
  await good(scene, { headers });
  return await good(scene, { headers, body: document(scene, '') });
};

/**
 * An upload that crashes its thread (poison.probe.ts) is tried several times; a repeat with the
 * same key hears its end.
 */
const poisonous: Provoke = async (scene) => {
  const change = {
    path: pathWith(scene, 'category=crash'),
    headers: { 'idempotency-key': `poison-${scene.endpoint.id}` },
  };
  return await eventually(async () => {
    const answer = await good(scene, change);
    return answer.status !== 202 && answer;
  });
};

/** A fresh runner hands in: the refusals of one test must not limit another's. */
const BY_CODE: Partial<Record<ErrorCode, Provoke>> = {
  unauthorized: async (scene) =>
    await good(scene, { key: otherSecret(goodKey(scene)), headers: fromAnotherAddress() }),
  forbidden: async (scene) => await good(scene, { key: scene.world.own.viewer }),
  invalid_json: async (scene) => await good(scene, { body: '{"a":' }),
  invalid_body: async (scene) => await good(scene, { body: '[]' }),
  rate_limited: async (scene) => await refusedOften(scene),
  body_too_large: tooLarge,
  unsupported_encoding: async (scene) =>
    await good(scene, { headers: { 'content-encoding': 'compress' } }),
  invalid_encoding: async (scene) =>
    await good(scene, { headers: { 'content-encoding': 'gzip' }, body: 'this is no gzip' }),
  not_found: async (scene) => await good(scene, { path: at(scene.endpoint, NOWHERE) }),
  incomplete_body: incomplete,
  slow_body: slow,
  invalid_digest: async (scene) =>
    await good(scene, { headers: { 'content-digest': 'sha-256=nonsense' } }),
  digest_mismatch: async (scene) =>
    await good(scene, { headers: { 'content-digest': `sha-256=:${'A'.repeat(43)}=:` } }),
  idempotency_key_reused: reusedKey,
  unsupported_sarif_version: async (scene) =>
    await good(scene, { body: { version: '2.0.0', runs: [] } }),
  unsupported_ctis_version: async (scene) =>
    await good(scene, { body: { version: '2.0', metadata: {}, findings: [] } }),
  not_sarif: async (scene) =>
    await good(scene, {
      headers: { 'content-type': 'application/sarif+json' },
      body: { version: '2.1.0', runs: 'none' },
    }),
  not_ctis: async (scene) => await good(scene, { body: '[1, 2]' }),
  not_gitleaks: async (scene) =>
    await good(scene, { headers: { 'content-type': 'application/vnd.gitleaks+json' } }),
  processing_failed: poisonous,
  report_refused: async (scene) => await good(scene, { body: document(scene, '7, 8, 9') }),
};

/** One item too many; the content of the items doesn't matter. */
const manyItems: Provoke = async (scene) => {
  const items = `${'{},'.repeat(limits.uploadItemsMax)}{}`;
  return await good(scene, { body: document(scene, items) });
};

let strangers = 0;

/** A peer address of its own for each refusal, through the trusted proxy that this world has. */
const fromAnotherAddress = (): Record<string, string> => {
  strangers += 1;
  return { 'x-forwarded-for': `198.51.100.${strangers % 250}` };
};

/** More refused credentials than the budget, from one address. */
const refusedOften: Provoke = async (scene) => {
  const attempt = { key: 'nonsense', headers: fromAnotherAddress() };
  let answer = await good(scene, attempt);
  while (answer.status === 401) answer = await good(scene, attempt);
  return answer;
};

const verbOf = (endpoint: Endpoint): string => endpoint.path.split('/').at(-1) ?? '';

/** A command that `first` took; another runner comes along. */
const claimed: Provoke = async ({ world, endpoint }) => {
  const id = await newCommand(world);
  ok(await move(world, world.own.runner.key, id, 'acknowledge'));
  const { key } = await newRunner(world);
  return await move(world, key, id, verbOf(endpoint));
};

/** The caller held the command once; it was given back, and another runner has it now. */
const formerHolder: Provoke = async ({ world, endpoint }) => {
  const id = await newCommand(world);
  ok(await move(world, world.own.runner.key, id, 'acknowledge'));
  ok(await move(world, world.own.runner.key, id, 'release'));
  const { key } = await newRunner(world);
  ok(await move(world, key, id, 'acknowledge'));
  const verb = verbOf(endpoint);
  // A repeated release is a repeat: there only the number of another attempt shows the difference.
  const body = verb === 'release' ? { attempt: 2 } : {};
  return await move(world, world.own.runner.key, id, verb, body);
};

const wrongState: Provoke = async ({ world, endpoint }) => {
  const id = await newCommand(world);
  await operate(world, world.own.admin, `/api/v1/commands/${id}/cancel`, undefined, 200);
  return await move(world, world.own.runner.key, id, verbOf(endpoint));
};

const conflict: Provoke = async ({ world, endpoint }) => {
  const id = await newCommand(world);
  const { key } = world.own.runner;
  ok(await move(world, key, id, 'acknowledge'));
  ok(await move(world, key, id, verbOf(endpoint), { result: 1, error_message: 'one' }));
  return await move(world, key, id, verbOf(endpoint), { result: 2, error_message: 'two' });
};

const paused: Provoke = async ({ world }) => {
  const { id: runner, key } = await newRunner(world);
  const id = await newCommand(world);
  await operate(world, world.own.admin, `/api/v1/runners/${runner}/pause`, undefined, 200);
  return await move(world, key, id, 'acknowledge');
};

const revokedRunner: Provoke = async ({ world, endpoint }) => {
  const { id } = await newRunner(world);
  await operate(world, world.own.admin, `/api/v1/runners/${id}/revoke`, undefined, 200);
  const path = endpoint.path.replace('{id}', id);
  return await send(world.url, { method: 'POST', path, key: world.own.admin });
};

/** Dead keys stay dead. */
const revokedKey: Provoke = async ({ world, endpoint }) => {
  const runner = await newRunner(world);
  const id = keyIdOf(runner.key);
  await operate(world, world.own.admin, `/api/v1/keys/${id}/revoke`, undefined, 200);
  const body = endpoint.id === 'changeKey' ? { expires_in: 60 } : {};
  const path = endpoint.path.replace('{id}', id);
  return await send(world.url, { method: endpoint.method, path, key: world.own.admin, body });
};

const renewedWithoutScope: Provoke = async ({ world }) => {
  const key = await newKey(world, (await newRunner(world)).id, { scopes: ['ingest'] });
  return await runnerCall(world, key, '/renew');
};

const renewedTooOften: Provoke = async ({ world }) => {
  const { key } = await newRunner(world);
  let answer = await runnerCall(world, key, '/renew');
  while (answer.status === 200) answer = await runnerCall(world, key, '/renew');
  return answer;
};

const finishedCommand: Provoke = async ({ world }) => {
  const id = await newCommand(world);
  ok(await move(world, world.own.runner.key, id, 'acknowledge'));
  ok(await move(world, world.own.runner.key, id, 'complete', {}));
  const path = `/api/v1/commands/${id}/cancel`;
  return await send(world.url, { method: 'POST', path, key: world.own.admin });
};

/** Lines of a log that don't begin where the others ended. */
const GAP = { offset: 7, lines: ['seven'] };

const writing = ['reportProgress', 'appendLog'].flatMap((id) => {
  const body = id === 'appendLog' ? { offset: 0, lines: [] } : {};
  const write = async (world: World, key: string, command: string): Promise<Answer> =>
    await move(world, key, command, id === 'appendLog' ? 'logs' : 'progress', body);
  const claimed: Provoke = async ({ world }) => {
    const command = await newCommand(world);
    ok(await move(world, world.own.runner.key, command, 'acknowledge'));
    return await write(world, (await newRunner(world)).key, command);
  };
  const former: Provoke = async ({ world }) => {
    const command = await newCommand(world);
    ok(await move(world, world.own.runner.key, command, 'acknowledge'));
    ok(await move(world, world.own.runner.key, command, 'release'));
    ok(await move(world, (await newRunner(world)).key, command, 'acknowledge'));
    return await write(world, world.own.runner.key, command);
  };
  const unclaimed: Provoke = async ({ world }) =>
    await write(world, world.own.runner.key, await newCommand(world));
  return [
    [`${id} command_claimed`, claimed] as const,
    [`${id} lease_lost`, former] as const,
    [`${id} invalid_transition`, unclaimed] as const,
  ];
});

const otherEnd: Provoke = async ({ world }) => {
  const { key } = world.own.runner;
  const body = { scanner_name: 'other', asset_type: 'host', asset_value: 'ended twice' };
  const id = String(ok(await runnerCall(world, key, '/scans', body), 201)['scan_id']);
  const end = async (status: string): Promise<Answer> =>
    await send(world.url, {
      method: 'PATCH',
      path: `/api/v1/agent/scans/${id}`,
      key,
      body: { status },
    });
  ok(await end('completed'));
  return await end('failed');
};

/**
 * Transitions take a body that is no JSON for no body (RP §5.3); a body that nests too deep is
 * refused all the same.
 */
const nested: Provoke = async (scene) =>
  await good(scene, { body: '['.repeat(200) + ']'.repeat(200) });

const withBody =
  (body: Fields): Provoke =>
  async (scene) =>
    await good(scene, { body });

const withQuery =
  (query: string): Provoke =>
  async (scene) =>
    await good(scene, { path: pathWith(scene, query) });

const asRole =
  (role: 'viewer' | 'analyst'): Provoke =>
  async (scene) =>
    await good(scene, { key: scene.world.own[role] });

const transitions = ['acknowledge', 'start', 'complete', 'fail', 'release'].flatMap((verb) => [
  [`${verb}Command command_claimed`, claimed] as const,
  [`${verb}Command lease_lost`, formerHolder] as const,
  [`${verb}Command invalid_transition`, wrongState] as const,
  [`${verb}Command transition_conflict`, conflict] as const,
  [`${verb}Command invalid_json`, nested] as const,
]);

const uploads = ['ingest', 'ingestCtis', 'ingestSarif', 'validateReport'].flatMap((id) => [
  [`${id} invalid_parameter`, withQuery('default_branch=perhaps')] as const,
  [`${id} too_many_items`, manyItems] as const,
]);

const CASES: Readonly<Record<string, Provoke>> = {
  ...Object.fromEntries(transitions),
  ...Object.fromEntries(uploads),
  ...Object.fromEntries(writing),
  'appendLog log_gap': withBody(GAP),
  'endScan transition_conflict': otherEnd,
  'commandWaiting invalid_parameter': withQuery('limit=none'),
  'commandLog invalid_parameter': withQuery('offset=none'),
  'acknowledgeCommand runner_paused': paused,
  'renewKey rate_limited': renewedTooOften,
  'renewKey not_found': renewedWithoutScope,
  'rollKey invalid_transition': revokedKey,
  'changeKey invalid_transition': revokedKey,
  'pauseRunner invalid_transition': revokedRunner,
  'drainRunner invalid_transition': revokedRunner,
  'resumeRunner invalid_transition': revokedRunner,
  'cancelCommand invalid_transition': finishedCommand,
  'runnerMetrics invalid_parameter': withQuery('step=61'),
  'uploadJob invalid_parameter': withQuery('wait=soon'),
  'checkFingerprints too_many_items': withBody({
    fingerprints: Array.from({ length: limits.fingerprintsCheckMax + 1 }, (_, n) => `fp-${n}`),
  }),
  'metrics not_found': async (scene) =>
    await good(scene, { headers: { 'x-forwarded-for': '203.0.113.7' } }),
  'createKey not_found': withBody({ runner_id: NOWHERE }),
  'createCommand not_found': withBody({
    type: 'scan',
    payload: { scanner: 'semgrep' },
    runner_id: NOWHERE,
  }),
  'createCommand invalid_body': withBody({ type: 'scan', payload: 'not an object' }),
  'ingestSarif not_sarif': withBody(ctis([])),
  'ingestSarif report_refused': withBody({
    ...sarif([]),
    runs: [{ tool: { driver: { name: 't' } }, results: [1, 2] }],
  }),
  'createRunner forbidden': asRole('analyst'),
};

/** How to provoke a documented error, or null when nobody has written that down. */
export function provocationOf(endpoint: Endpoint, code: ErrorCode): Provoke | null {
  const own = CASES[`${endpoint.id} ${code}`];
  if (own !== undefined) return own;
  const isList = endpoint.id.startsWith('list');
  if (isList && code === 'invalid_parameter') return withQuery('limit=none');
  return BY_CODE[code] ?? null;
}
