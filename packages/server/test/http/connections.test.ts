// Connections that never become a request: garbage, headers that are too large or never end, bodies
// that break off. Each gets one whole problem document where it can be told anything, and in any
// case its descriptor is given back.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { createServer } from '../../src/http/server.ts';
import { createLogger } from '../../src/lib/log.ts';
import { eventually } from '../harness.ts';
import { type Answer, exchange, fieldsOf } from './wire.ts';

const MEMBERS = ['type', 'title', 'detail', 'instance', 'code', 'error', 'message', 'request_id'];

function answerOf(heard: string): Answer {
  const [head = '', text = ''] = heard.split('\r\n\r\n');
  const [line = '', ...rest] = head.split('\r\n');
  const headers = Object.fromEntries(
    rest.map((header) => header.toLowerCase().split(/: (.*)/, 2) as [string, string]),
  );
  return { status: Number(line.split(' ')[1]), headers, text };
}

function problemIn(heard: string, status: number, code: string): void {
  const answer = answerOf(heard);
  assert.equal(answer.status, status, heard);
  assert.match(String(answer.headers['content-type']), /^application\/problem\+json/);
  assert.equal(answer.headers['connection'], 'close');
  const problem = fieldsOf(answer);
  for (const name of MEMBERS) assert.ok(problem[name], `${name} is missing in ${answer.text}`);
  assert.equal(problem['status'], status);
  assert.equal(problem['code'], code);
  assert.equal(answer.headers['x-request-id'], problem['request_id']);
}

describe('connections that never become a request', { concurrency: false }, () => {
  let app: FastifyInstance;
  let url: string;
  before(async () => {
    app = createServer({
      log: createLogger('silent'),
      trustedProxies: [],
      tls: null,
      newRequestId: () => 'made-by-the-test',
      onAnswer: () => undefined,
    });
    app.get('/here/:id', async () => ({}));
    await app.listen({ host: '127.0.0.1', port: 0 });
    url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  });
  after(async () => await app.close());

  const openConnections = async (): Promise<number> =>
    await new Promise((resolve, reject) => {
      app.server.getConnections((error, count) =>
        error === null ? resolve(count) : reject(error),
      );
    });

  /** A peer that sends this text, never hangs up, and ignores every answer. */
  const stubborn = async (text: string): Promise<Socket> => {
    const socket = connect({ port: Number(new URL(url).port), allowHalfOpen: true });
    socket.on('error', () => undefined).resume();
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  };

  test('garbage is answered once, and its descriptor is given back though the peer stays', async () => {
    const peers = await Promise.all(
      ['NONSENSE\r\n\r\n', '\u0016\u0003\u0001\u0002', 'GET / HTTP/9.9\r\n\r\n'].map(stubborn),
    );
    await eventually(async () => (await openConnections()) === 0);
    for (const peer of peers) peer.destroy();
  });

  test('a peer that hangs up in the middle of its headers leaves nothing behind', async () => {
    const peer = await stubborn('GET /here/1 HTTP/1.1\r\nHost: te');
    peer.end();
    await eventually(async () => (await openConnections()) === 0);
    peer.destroy();
  });

  test('no HTTP is 400, too large headers are 431, each as a whole problem document', async () => {
    const garbage = await exchange(url, (socket) => void socket.write('NONSENSE\r\n\r\n'));
    problemIn(garbage, 400, 'invalid_parameter');
    const large = `GET / HTTP/1.1\r\nHost: t\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`;
    problemIn(await exchange(url, (socket) => void socket.write(large)), 431, 'invalid_parameter');
  });

  test('headers that don’t come are 408', async () => {
    const accepted = once(app.server, 'connection') as Promise<[Socket]>;
    const heard = await exchange(url, async (socket) => {
      socket.write('GET / HTTP/1.1\r\n');
      const error = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      app.server.emit('clientError', error, (await accepted)[0]);
    });
    problemIn(heard, 408, 'slow_body');
  });

  test('headers have their time, bodies have no end of it', () => {
    const { headersTimeout, requestTimeout } = app.server;
    assert.equal(headersTimeout, 30_000);
    assert.equal(requestTimeout, 0);
  });

  test('what the router itself refuses is a problem document, too', async () => {
    for (const [path, status, code] of [
      ['/here/%zz', 400, 'invalid_parameter'],
      [`/here/${'x'.repeat(2000)}`, 404, 'not_found'],
    ] as const) {
      const head = `GET ${path}?a=b HTTP/1.1\r\nHost: t\r\nConnection: close\r\nX-Request-ID: mine\r\n\r\n`;
      const heard = await exchange(url, (socket) => void socket.write(head));
      problemIn(heard, status, code);
      const answer = answerOf(heard);
      assert.equal(answer.headers['x-request-id'], 'mine');
      assert.equal(fieldsOf(answer)['instance'], path);
    }
  });
});
