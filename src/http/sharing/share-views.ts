/** `GET …/share`: what is shared of a query, or of one execution, for whoever may change it. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Catalog } from '../../catalog/catalog.ts';
import { shareRecord } from '../../keys/key-record.ts';
import { listBody, sliceOf } from '../browsing/list-parameters.ts';
import { clientUrlOf } from '../client-url.ts';
import { jsonRoute } from '../json-route.ts';
import { writableQuery } from '../writing/authorize.ts';
import { namedBy } from './share-writes.ts';

/** @param publicUrl scheme and host of `next_uri`; undefined: as the client addressed the service */
export function shareViews(
  server: FastifyInstance,
  prefix: string,
  deps: { readonly catalog: Catalog },
  publicUrl: string | undefined,
): void {
  for (const by of ['query', 'execution'] as const) {
    jsonRoute(server, `${prefix}/${by}/:id/share`, async (request, principal, parameters) => {
      const { catalog } = deps;
      const { id } = request.params as { readonly id: string };
      const { queryId, execution } = await namedBy(by, id, principal, deps);
      await writableQuery(catalog, principal, String(queryId));
      const slice = sliceOf(parameters);
      const ofQuery = await catalog.principals.listShares(queryId);
      const all = ofQuery.filter(({ share }) => execution === undefined || share.executionId === execution.id);
      const items = all.slice(slice.offset, slice.offset + slice.limit).map(shareRecord);
      return listBody('shares', { items, total: all.length }, slice, parameters, addressOf(request, publicUrl));
    });
  }
}

function addressOf(request: FastifyRequest, publicUrl: string | undefined): string {
  const [path = ''] = request.url.split('?', 1);
  return (publicUrl ?? clientUrlOf(request)) + path.replace(/\/$/, '');
}
