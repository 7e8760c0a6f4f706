// A line to the server that loses answers: the request arrives whole, the server does the work, and
// the connection breaks before a byte of the answer is through. For the client this looks like work
// that was never done.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface LossyLine {
  readonly url: string;
  /** The number of swallowed answers, by `POST /path`. */
  readonly lost: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

/**
 * For each call, told apart by method, path and key, the first `losses` answers are lost, then one
 * arrives, and so on.
 */
export async function lossyLine(url: string, losses: number): Promise<LossyLine> {
  const { hostname, port } = new URL(url);
  const open = new Set<Socket>();
  const calls = new Map<string, number>();
  const lost = new Map<string, number>();
  const isNextLost = (head: string): boolean => {
    const call = /^\S+ [^\s?]+/.exec(head)?.[0] ?? '';
    const key = `${call} ${/^authorization:.*$/im.exec(head)?.[0]}`;
    const before = calls.get(key) ?? 0;
    calls.set(key, before + 1);
    const isLost = before % (losses + 1) < losses;
    if (isLost) lost.set(call, (lost.get(call) ?? 0) + 1);
    return isLost;
  };
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => socket.destroy()).on('close', () => open.delete(socket));
    }
    // The clients here make a connection for each request, and its head comes in one piece.
    client.once('data', (head: Buffer) => {
      const isLost = isNextLost(head.toString('latin1'));
      upstream.write(head);
      client.pipe(upstream);
      if (!isLost) return void upstream.pipe(client);
      upstream.once('data', () => {
        client.destroy();
        upstream.destroy();
      });
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lost,
    close: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
