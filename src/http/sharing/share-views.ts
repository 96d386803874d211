/** `GET …/share`: what is shared of a query, or of one execution, for whoever may change it. */
import type { FastifyInstance } from 'fastify';
import type { StoredShare } from '../../catalog/catalog.ts';
import { type Instant, isExpired } from '../../domain/instant.ts';
import { shareRecord } from '../../keys/key-record.ts';
import { booleanOf, listBody, sliceOf } from '../browsing/list-parameters.ts';
import { addressOf } from '../client-url.ts';
import { jsonRoute } from '../json-route.ts';
import { requireOwn, requireScope } from '../writing/authorize.ts';
import type { WriteDeps } from '../writing/write-request.ts';
import { namedBy } from './share-writes.ts';

/** @param publicUrl scheme and host of `next_uri`; undefined: as the client addressed the service */
export function shareViews(
  server: FastifyInstance,
  prefix: string,
  deps: WriteDeps,
  publicUrl: string | undefined,
): void {
  for (const by of ['query', 'execution'] as const) {
    jsonRoute(server, `${prefix}/${by}/:id/share`, async (request, principal, parameters) => {
      requireScope(principal, 'write');
      const { catalog, clock } = deps;
      const { id } = request.params as { readonly id: string };
      const { query, execution } = await namedBy(by, id, principal, deps);
      requireOwn(principal, query);
      const slice = sliceOf(parameters);
      const ofQuery = await catalog.principals.listShares(query.id);
      const isActive = booleanOf(parameters, 'active');
      const all = ofQuery.filter(
        (stored) =>
          (execution === undefined || stored.share.executionId === execution.id) &&
          (isActive === undefined || isActive === isShown(stored, clock())),
      );
      const items = all.slice(slice.offset, slice.offset + slice.limit).map(shareRecord);
      return listBody('shares', { items, total: all.length }, slice, parameters, addressOf(request, publicUrl));
    });
  }
}

function isShown({ revokedAt, expiresAt }: StoredShare, now: Instant): boolean {
  return revokedAt === undefined && !isExpired(expiresAt, now);
}
