/**
 * `/healthz`: the process is alive. `/readyz`: it can do its work, because a write to the catalog commits, its schema is ours, the store
 * is ours and writable, and the service is not about to stop. Neither needs a key.
 */
import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify';
import { RequestError } from '../errors/errors.ts';
import type { InFlightRequests } from './in-flight-requests.ts';
import type { Readiness } from './readiness.ts';

export interface HealthDeps {
  readonly readiness: Readiness;
  /** Results of which parts are missing from the store, as far as it is known: no reason to send requests elsewhere. */
  readonly missingResults: () => number;
}

export function healthRoutes(
  server: FastifyInstance,
  deps: HealthDeps,
  inFlight: Pick<InFlightRequests, 'stopping'>,
): void {
  const method = ['GET', 'HEAD'];
  server.route({ method, url: '/healthz', handler: (_request, reply) => now(reply, { status: 'ok' }) });
  const ready: RouteHandlerMethod = async (_request, reply) => {
    if (inFlight.stopping) throw new RequestError('shutting_down', 'not ready: stopping');
    const missing = [...(await deps.readiness.missing())];
    const results = deps.missingResults();
    if (missing.length === 0) return now(reply, { status: 'ready', ...(results > 0 && { missing_results: results }) });
    throw new RequestError('not_ready', `not ready: ${missing.map(([name, why]) => `the ${name}: ${why}`).join('; ')}`);
  };
  server.route({ method, url: '/readyz', handler: ready });
}

/** How it is at this moment: a cache that kept it would say so of a service that is gone. */
function now(reply: FastifyReply, body: object): FastifyReply {
  return reply.header('cache-control', 'no-store').send(body);
}
