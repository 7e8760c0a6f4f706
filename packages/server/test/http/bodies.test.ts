// Bodies (contract §2): every encoding on every kind of route, bombs, broken streams, digests, byte
// order marks. The same rules hold for bodies that are read whole (heartbeat, commands) and for
// uploads, which a worker reads.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { limits } from '@muster/contract';
import { eventually } from '../harness.ts';
import { ctis, ctisFinding } from './reports.ts';
import { type Answer, type Fields, ok, problemOf, send } from './wire.ts';
import {
  move,
  newCommand,
  newRunner,
  showCommand,
  showRunner,
  startWorld,
  type World,
} from './world.ts';

const AGENT = '/api/v1/agent';
const ENCODERS: Record<string, (bytes: Buffer) => Buffer> = {
  gzip: (bytes) => gzipSync(bytes),
  zstd: (bytes) => zstdCompressSync(bytes),
  deflate: (bytes) => deflateSync(bytes),
  br: (bytes) => brotliCompressSync(bytes),
};

let world: World;
let key: string;
before(async () => {
  world = await startWorld();
  key = world.own.runner.key;
});
after(async () => await world.stop());

const post = async (
  path: string,
  body: Buffer | readonly Buffer[],
  headers: Record<string, string> = {},
  as = key,
): Promise<Answer> =>
  await send(world.url, { method: 'POST', path: `${AGENT}${path}`, key: as, headers, body });

const json = (value: Fields): Buffer => Buffer.from(JSON.stringify(value));

let serial = 0;
/** A report unlike any other, so that no repeat is recognised. */
const freshReport = (): Fields => {
  serial += 1;
  return ctis([ctisFinding({ rule: `rule-${serial}`, path: `src/${serial}.js` })]);
};

async function held(): Promise<string> {
  const id = await newCommand(world);
  ok(await move(world, key, id, 'acknowledge'));
  return id;
}

/** Each kind of route with a body and the proof that the body was understood. */
type Deliver = (path: string, body: Buffer, as?: string) => Promise<Answer>;
const ROUTES: Record<string, (deliver: Deliver) => Promise<void>> = {
  heartbeat: async (deliver) => {
    serial += 1;
    const version = `v${serial}`;
    const runner = await newRunner(world);
    ok(await deliver('/heartbeat', json({ version }), runner.key));
    await understood(runner.id, version);
  },
  complete: async (deliver) => {
    const id = await held();
    ok(await deliver(`/commands/${id}/complete`, json({ result: { exit_code: 7 } })));
    assert.deepEqual((await showCommand(world, id))['result'], { exit_code: 7 });
  },
  check: async (deliver) => {
    const reply = ok(await deliver('/ingest/check', json({ fingerprints: ['unheard-of'] })));
    assert.deepEqual(reply, { existing: [], missing: ['unheard-of'] });
  },
  ingest: async (deliver) => {
    const receipt = ok(await deliver('/ingest', json(freshReport())), 201);
    assert.equal(receipt['findings_created'], 1);
  },
};

/**
 * Waits until the runner's version shows. Presence is written by a flush, so the server is asked
 * until then.
 */
async function understood(id: string, version: string): Promise<void> {
  await eventually(async () => {
    const runner = await showRunner(world, id);
    return (runner['reported'] as Fields | null)?.['version'] === version;
  });
}

for (const [route, prove] of Object.entries(ROUTES)) {
  describe(`bodies of ${route}`, { concurrency: true }, () => {
    for (const [encoding, encode] of Object.entries(ENCODERS)) {
      test(`${route} takes a body in ${encoding}`, async () => {
        await prove((path, body, as) =>
          post(path, encode(body), { 'content-encoding': encoding }, as),
        );
      });
    }

    test(`${route} takes identity, an empty encoding, x-gzip and any case`, async () => {
      await prove((path, body, as) => post(path, body, { 'content-encoding': 'identity' }, as));
      await prove((path, body, as) =>
        post(path, gzipSync(body), { 'content-encoding': 'GZIP' }, as),
      );
      await prove((path, body, as) =>
        post(path, gzipSync(body), { 'content-encoding': 'x-gzip' }, as),
      );
    });

    test(`${route} takes a chunked body without a length, in small pieces`, async () => {
      const pieces = (body: Buffer): Buffer[] =>
        Array.from({ length: Math.ceil(body.length / 7) }, (_, n) =>
          body.subarray(n * 7, n * 7 + 7),
        );
      await prove((path, body, as) => post(path, pieces(body), {}, as));
      const headers = { 'content-encoding': 'zstd' };
      await prove((path, body, as) => post(path, pieces(zstdCompressSync(body)), headers, as));
    });

    test(`${route} tolerates a byte order mark`, async () => {
      await prove((path, body, as) =>
        post(path, Buffer.concat([Buffer.from('\ufeff'), body]), {}, as),
      );
    });

    test(`${route} takes a gzip of several members`, async () => {
      const halves = (body: Buffer): Buffer =>
        Buffer.concat([gzipSync(body.subarray(0, 9)), gzipSync(body.subarray(9))]);
      await prove((path, body, as) => post(path, halves(body), { 'content-encoding': 'gzip' }, as));
    });
  });
}

const BOMB_BYTES = 16 * 1024 * 1024;
const BOMBS = Object.entries(ENCODERS).map(
  ([name, encode]) => [name, encode(Buffer.alloc(BOMB_BYTES, ' '))] as const,
);

/** An envelope with a window of 16 MiB. */
const WIDE = zstdCompressSync(
  json({ version: '1.0', metadata: {}, filler: 'x'.repeat(17 * 1024 * 1024) }),
  { params: { [constants.ZSTD_c_windowLog]: 24, [constants.ZSTD_c_contentSizeFlag]: 0 } },
);

const PATHS: Record<string, () => Promise<string>> = {
  heartbeat: async () => '/heartbeat',
  complete: async () => `/commands/${await held()}/complete`,
  check: async () => '/ingest/check',
  ingest: async () => '/ingest',
  'ingest/sarif': async () => '/ingest/sarif',
};

for (const [route, pathOf] of Object.entries(PATHS)) {
  describe(`broken bodies of ${route}`, { concurrency: true }, () => {
    test(`${route} refuses other encodings with 415 and says which it takes`, async () => {
      for (const encoding of ['compress', 'gzip, zstd', 'lz4', 'gzip;q=1']) {
        const answer = await post(await pathOf(), json({}), { 'content-encoding': encoding });
        problemOf(answer, 'unsupported_encoding');
        const taken = String(answer.headers['accept-encoding']);
        for (const name of ['gzip', 'zstd', 'deflate', 'br']) assert.ok(taken.includes(name));
      }
    });

    test(`${route} refuses a body that was cut in the middle of its encoding`, async () => {
      const filler = createHash('sha512').update(route).digest('hex').repeat(3);
      const whole = json({ ...freshReport(), fingerprints: [], result: filler });
      for (const [encoding, encode] of Object.entries(ENCODERS)) {
        const bytes = encode(whole);
        const cut = bytes.subarray(0, Math.floor(bytes.length / 2));
        const answer = await post(await pathOf(), cut, { 'content-encoding': encoding });
        problemOf(answer, 'invalid_encoding');
      }
    });

    test(`${route} refuses what is not in the encoding it claims`, async () => {
      for (const encoding of Object.keys(ENCODERS)) {
        const bytes = Buffer.from('certainly not compressed');
        const answer = await post(await pathOf(), bytes, { 'content-encoding': encoding });
        problemOf(answer, 'invalid_encoding');
      }
    });

    test(`${route} refuses garbage behind an encoding's end, instead of leaving it out silently`, async () => {
      for (const [encoding, encode] of Object.entries(ENCODERS)) {
        const bytes = Buffer.concat([encode(json(freshReport())), Buffer.from('garbage')]);
        const headers = { 'content-encoding': encoding };
        problemOf(await post(await pathOf(), bytes, headers), 'invalid_encoding');
        const pieces = [...bytes].map((byte) => Buffer.from([byte]));
        problemOf(await post(await pathOf(), pieces, headers), 'invalid_encoding');
      }
    });

    test(`${route} refuses bombs in every encoding with 413`, async () => {
      for (const [encoding, bomb] of BOMBS) {
        assert.ok(BOMB_BYTES > bomb.length * limits.decompressionRatioMax, encoding);
        const answer = await post(await pathOf(), bomb, { 'content-encoding': encoding });
        problemOf(answer, 'body_too_large');
      }
    });

    test(`${route} refuses a zstd frame that wants a window of more than 8 MiB`, async () => {
      const answer = await post(await pathOf(), WIDE, { 'content-encoding': 'zstd' });
      assert.ok([400, 413].includes(answer.status), `${answer.status}: ${answer.text}`);
      problemOf(answer, answer.status === 400 ? 'invalid_encoding' : 'body_too_large');
    });

    test(`${route} refuses JSON that is nested too deep, names the place, stays up`, async () => {
      const deep = `{"version":"1.0","metadata":{},"x":${'['.repeat(5000)}${']'.repeat(5000)}}`;
      const problem = problemOf(await post(await pathOf(), Buffer.from(deep)), 'invalid_json');
      assert.match(String(problem['detail']), /line 1/);
    });
  });
}

describe('Content-Digest', { concurrency: true }, () => {
  const digest = (algorithm: 'sha256' | 'sha512', bytes: Buffer): string =>
    `${algorithm.replace('sha', 'sha-')}=:${createHash(algorithm).update(bytes).digest('base64')}:`;

  for (const path of ['/ingest', '/heartbeat', '/ingest/check']) {
    test(`${path} verifies Content-Digest over the bytes as sent`, async () => {
      const body = path === '/ingest' ? freshReport() : { fingerprints: [] };
      const bytes = gzipSync(json(body));
      const good = `${digest('sha256', bytes)}, ${digest('sha512', bytes)}`;
      const headers = { 'content-encoding': 'gzip', 'content-digest': good };
      const answer = await post(path, bytes, headers);
      assert.ok(answer.status < 300, answer.text);
      const wrong = { ...headers, 'content-digest': digest('sha256', json(body)) };
      problemOf(await post(path, bytes, wrong), 'digest_mismatch');
    });

    test(`${path} refuses a Content-Digest that can't be read, leaves out unknown ones`, async () => {
      const bytes = json(path === '/ingest' ? freshReport() : { fingerprints: [] });
      problemOf(await post(path, bytes, { 'content-digest': 'sha-256=abc' }), 'invalid_digest');
      const unknown = { 'content-digest': `crc32c=:AAAAAA==:, ${digest('sha256', bytes)}` };
      const answer = await post(path, bytes, unknown);
      assert.ok(answer.status < 300, answer.text);
    });
  }
});

describe('hostile JSON', { concurrency: true }, () => {
  test('`__proto__` is data, and NUL and lone surrogates are replaced, not refused', async () => {
    const text =
      '{"version":"1.0","metadata":{},"tool":{"name":"t"},"findings":[{"type":"vulnerability",' +
      '"title":"a\\u0000b\\ud800c","severity":"low","rule_id":"r","__proto__":{"polluted":1},' +
      '"location":{"path":"p\\u0000.js","start_line":1}}]}';
    const receipt = ok(await post('/ingest', Buffer.from(text)), 201);
    assert.equal(receipt['findings_created'], 1);
    assert.equal(({} as Fields)['polluted'], undefined);
  });

  test('an upload without a body, and one that is no object, are the sender’s mistake', async () => {
    problemOf(await post('/ingest', Buffer.alloc(0)), 'invalid_json');
    problemOf(await post('/ingest', Buffer.from('null')), 'not_ctis');
    problemOf(await post('/ingest/sarif', Buffer.from('"text"')), 'not_sarif');
    problemOf(await post('/ingest', Buffer.from('{"a":1}{"b":2}')), 'invalid_json');
  });
});
