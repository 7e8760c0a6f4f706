// A way to a PostgreSQL server that a test can cut and mend: a proxy on this machine. While the way
// is cut, open connections break and no new one gets through, as when the server is stopped or the
// network is gone.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface CutOff {
  /** The database, as it is reached through the proxy. */
  readonly url: string;
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

/** Puts itself between Muster and the database of `url`. */
export async function cutOff(url: string): Promise<CutOff> {
  const target = new URL(url);
  const open = new Set<Socket>();
  let isCut = false;
  const keep = (socket: Socket): void => {
    open.add(socket);
    // A break on one side ends the other.
    socket.on('error', () => socket.destroy()).on('close', () => open.delete(socket));
  };
  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    const upstream = connect(Number(target.port), target.hostname);
    keep(client);
    keep(upstream);
    client.pipe(upstream).pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(url);
  through.port = String((server.address() as AddressInfo).port);
  const breakOff = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: through.href,
    cut: () => {
      isCut = true;
      breakOff();
    },
    mend: () => {
      isCut = false;
    },
    close: async () => {
      breakOff();
      server.close();
      await once(server, 'close');
    },
  };
}
