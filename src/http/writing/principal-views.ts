/**
 * `GET /v1/users`, `/v1/teams` and `/v1/keys`, for administrators' keys: the lists that `qrs users list`, `teams list` and
 * `keys list` print, in pages.
 */
import type { FastifyInstance } from 'fastify';
import type { Principals, StoredKey } from '../../catalog/catalog.ts';
import { formatInstant } from '../../domain/instant.ts';
import { RequestError } from '../../errors/errors.ts';
import type { KeyTerms } from '../../keys/create-key.ts';
import { parameterOf, parseQueryString } from '../../results/request/query-string.ts';
import { queryStringOf } from '../authenticate.ts';
import { clientUrlOf } from '../client-url.ts';
import { requireScope } from './authorize.ts';

const PAGE_DEFAULT = 1000;
const PAGE_MAX = 10_000;

type Lists = Readonly<Record<'users' | 'teams' | 'keys', () => Promise<readonly object[]>>>;

export function principalViews(
  server: FastifyInstance,
  prefix: string,
  principals: Principals,
  publicUrl: string | undefined,
): void {
  for (const [name, list] of Object.entries(listsOf(principals))) {
    server.route({
      method: ['GET', 'HEAD'],
      url: `${prefix}/${name}`,
      handler: async (request, reply) => {
        if (request.principal === undefined) throw new Error('a list was reached without a key');
        requireScope(request.principal, 'admin');
        const parameters = parseQueryString(queryStringOf(request));
        const page = {
          offset: wholeNumber(parameterOf(parameters, 'offset'), 'offset', Number.MAX_SAFE_INTEGER) ?? 0,
          limit: wholeNumber(parameterOf(parameters, 'limit'), 'limit', PAGE_MAX) ?? PAGE_DEFAULT,
        };
        const body = pageOf(name, await list(), page, (publicUrl ?? clientUrlOf(request)) + prefix);
        return reply
          .header('cache-control', 'no-store')
          .header('content-type', 'application/json')
          .send(Buffer.from(JSON.stringify(body)));
      },
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
    keys: async () => (await principals.listKeys()).map(keyView),
  };
}

interface Page {
  readonly offset: number;
  readonly limit: number;
}

function pageOf(name: string, all: readonly object[], { offset, limit }: Page, base: string): object {
  const next = offset + limit;
  return {
    [name]: all.slice(offset, next),
    total: all.length,
    ...(limit > 0 &&
      next < all.length && { next_offset: next, next_uri: `${base}/${name}?limit=${limit}&offset=${next}` }),
  };
}

/** A key in a list: without the key itself and without its hash. */
export function keyView({ id, owner, createdAt, lastUsedAt, revokedAt, ...terms }: StoredKey): object {
  return {
    id,
    [owner.kind]: owner.name,
    ...termsView(terms),
    created_at: formatInstant(createdAt),
    ...(lastUsedAt !== undefined && { last_used_at: formatInstant(lastUsedAt) }),
    ...(revokedAt !== undefined && { revoked_at: formatInstant(revokedAt) }),
  };
}

export function termsView({ name, scope, expiresAt }: KeyTerms): object {
  return { name, scope, ...(expiresAt !== undefined && { expires_at: formatInstant(expiresAt) }) };
}

function wholeNumber(text: string | undefined, name: string, max: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^[0-9]{1,16}$/.test(text) && Number(text) <= max) return Number(text);
  throw new RequestError(
    'invalid_parameter',
    `${name}: found "${text.slice(0, 60)}", expected a whole number, at most ${max}`,
  );
}
