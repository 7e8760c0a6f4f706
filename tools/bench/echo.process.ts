// The bare thing that heartbeats are compared with: Fastify as it comes, one route, which parses the JSON body and
// answers with a JSON document of the size that Muster answers with. No authentication, nothing stored.

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
