// The bare server with which heartbeats are compared: Fastify as it comes, one route, which parses
// the JSON body and answers with a JSON document of the size of Muster's answer. No authentication,
// nothing stored.

import Fastify from 'fastify';
import { serveOrders } from './child.ts';

export interface EchoOrder {
  /** The path to answer on, and the body to answer with. */
  readonly path: string;
  readonly reply: object;
}

serveOrders<EchoOrder, string>(async ({ path, reply }) => {
  const app = Fastify();
  app.post(path, async () => reply);
  return await app.listen({ host: '127.0.0.1', port: 0 });
});
