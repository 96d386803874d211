/**
 * `/healthz`: the process is alive. `/readyz`: it can do its work, because a write to the catalog commits, its schema is ours, the store
 * is ours and writable, and the service is not about to stop. Neither needs a key.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { RequestError } from '../errors/errors.ts';
import type { InFlightRequests } from './in-flight-requests.ts';
import type { Readiness } from './readiness.ts';

export interface HealthDeps {
  readonly readiness: Readiness;
  /** Results of which parts are missing from the store, as far as it is known: no reason to send requests elsewhere. */
  readonly missingResults: () => number;
}

const OPEN_PATHS: ReadonlySet<string> = new Set([
  '',
  '/healthz',
  '/readyz',
  '/metrics',
  '/openapi.json',
  '/docs',
  '/llms.txt',
  '/usage',
]);

/** Everything below is open: the documentation, and the pages of the explorer, which ask the API with the visitor's key. */
const OPEN_FOLDERS = ['/docs/', '/explorer/', '/queries/', '/executions/'];

/** Whether an address is answered without a key (contract §1: health, metrics and documentation). */
export function isOpenPath({ method, url }: Pick<FastifyRequest, 'method' | 'url'>): boolean {
  const path = (url.split('?', 1)[0] ?? '').replace(/\/$/, '');
  const isOpen = OPEN_PATHS.has(path) || OPEN_FOLDERS.some((folder) => path.startsWith(folder));
  return isOpen && (method === 'GET' || method === 'HEAD');
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
