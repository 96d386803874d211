/**
 * `GET /v1/users`, `/v1/teams` and `/v1/keys`, for administrators' keys: the lists that `qrs users list`, `teams list` and
 * `keys list` print, in pages.
 */
import type { FastifyInstance } from 'fastify';
import type { Principals } from '../../catalog/catalog.ts';
import { formatInstant } from '../../domain/instant.ts';
import { keyRecord } from '../../keys/key-record.ts';
import { listBody, sliceOf } from '../browsing/list-parameters.ts';
import { addressOf } from '../client-url.ts';
import { jsonRoute } from '../json-route.ts';
import { requireScope } from './authorize.ts';

const PAGE = { default: 1000, max: 10_000 };

type Lists = Readonly<Record<'users' | 'teams' | 'keys', () => Promise<readonly object[]>>>;

export function principalViews(
  server: FastifyInstance,
  prefix: string,
  principals: Principals,
  publicUrl: string | undefined,
): void {
  for (const [name, list] of Object.entries(listsOf(principals))) {
    jsonRoute(server, `${prefix}/${name}`, async (request, principal, parameters) => {
      requireScope(principal, 'admin');
      const slice = sliceOf(parameters, PAGE);
      const all = await list();
      const items = all.slice(slice.offset, slice.offset + slice.limit);
      return listBody(name, { items, total: all.length }, slice, parameters, addressOf(request, publicUrl));
    });
  }
}

function listsOf(principals: Principals): Lists {
  return {
    users: async () =>
      (await principals.listUsers()).map(({ name, createdAt }) => ({ name, created_at: formatInstant(createdAt) })),
    teams: async () =>
      (await principals.listTeams()).map(({ name, members, createdAt }) => ({
        name,
        members,
        created_at: formatInstant(createdAt),
      })),
    keys: async () => (await principals.listKeys()).map(keyRecord),
  };
}
