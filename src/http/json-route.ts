/** A route that answers a key with JSON of what is so at this moment: no cache may keep it. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Principal } from '../domain/principal.ts';
import { parseQueryString, type QueryParameters } from '../results/request/query-string.ts';
import { principalOf, queryStringOf } from './authenticate.ts';

export function jsonRoute(
  server: FastifyInstance,
  url: string,
  bodyOf: (request: FastifyRequest, principal: Principal, parameters: QueryParameters) => Promise<object>,
): void {
  server.route({
    method: ['GET', 'HEAD'],
    url,
    handler: async (request, reply) => {
      const body = await bodyOf(request, principalOf(request), parseQueryString(queryStringOf(request)));
      return reply
        .header('cache-control', 'no-store')
        .header('content-type', 'application/json')
        .send(Buffer.from(JSON.stringify(body)));
    },
  });
}
