/** `GET /metrics`, in Prometheus' text format. It needs no key: let a proxy keep it from strangers. */
import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../observation/metrics.ts';

export function metricsRoute(server: FastifyInstance, metrics: Pick<Metrics, 'contentType' | 'text'>): void {
  server.route({
    method: ['GET', 'HEAD'],
    url: '/metrics',
    handler: async (_request, reply) => {
      const text = await metrics.text();
      return reply.header('content-type', metrics.contentType).header('cache-control', 'no-store').send(text);
    },
  });
}
