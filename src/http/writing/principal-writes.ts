/**
 * Users, teams and keys over HTTP, for administrators' keys (contract §9): what the commands `qrs users`, `teams` and `keys`
 * do.
 */
import type { Principals } from '../../catalog/catalog.ts';
import { formatInstant, type Instant } from '../../domain/instant.ts';
import { KEY_NAME_LENGTH_MAX, LIFETIME_MILLIS_MAX } from '../../domain/key.ts';
import type { Owner } from '../../domain/principal.ts';
import { isPrincipalName, PRINCIPAL_NAME_RULE } from '../../domain/principal-name.ts';
import { SCOPES } from '../../domain/scope.ts';
import { RequestError } from '../../errors/errors.ts';
import type { CreateKey } from '../../keys/create-key.ts';
import { termsRecord } from '../../keys/key-record.ts';
import { bad, integer, list, oneOf, type ReadField, readFields, required, text } from './fields.ts';
import { type JsonHandler, jsonWrite, type WriteDeps, type WriteRoute } from './write-request.ts';

export interface PrincipalWritesDeps extends WriteDeps {
  /** @throws CatalogConflict when the owner is unknown */
  readonly createKey: CreateKey;
}

const MEMBERS_MAX = 1000;
/** In which a key or a share expires: `expires_in`. */
export const LIFETIME_SECONDS = integer(1, LIFETIME_MILLIS_MAX / 1000, ' of seconds');

export function principalWrites(deps: PrincipalWritesDeps): readonly WriteRoute[] {
  const route = (method: WriteRoute['method'], path: string, handle: JsonHandler) =>
    jsonWrite(method, path, 'admin', handle);
  return [
    route('POST', '/users', addingUser(deps)),
    route(
      'DELETE',
      '/users/:name',
      removing(deps, (principals, name, now) => principals.removeUser(name, now)),
    ),
    route('POST', '/teams', addingTeam(deps)),
    route(
      'PUT',
      '/teams/:name/members/:user',
      member((principals, team, user) => principals.addTeamMember(team, user)),
    ),
    route(
      'DELETE',
      '/teams/:name/members/:user',
      member((principals, team, user) => principals.removeTeamMember(team, user)),
    ),
    route('POST', '/keys', addingKey(deps)),
    route(
      'DELETE',
      '/keys/:name',
      removing(deps, async (principals, name, now) => {
        if (await principals.revokeKey(name, now)) return;
        throw new RequestError('conflict', `there is no key ${name} that is not revoked already`);
      }),
    ),
  ];
}

function addingUser({ clock }: PrincipalWritesDeps): JsonHandler {
  return async ({ body, commit }) => {
    const name = required(readFields(await body(), { name: NAME }).name, 'name');
    return await commit(async ({ principals }) => {
      const now = clock();
      await principals.addUser(name, now);
      return { status: 201, body: { name, created_at: formatInstant(now) } };
    });
  };
}

function addingTeam({ clock }: PrincipalWritesDeps): JsonHandler {
  return async ({ body, commit }) => {
    const fields = readFields(await body(), { name: NAME, members: list(NAME, MEMBERS_MAX) });
    const name = required(fields.name, 'name');
    const members = [...new Set(fields.members)].sort();
    return await commit(async ({ principals }) => {
      const now = clock();
      await principals.addTeam(name, members, now);
      return { status: 201, body: { name, members, created_at: formatInstant(now) } };
    });
  };
}

/** The new key is only in the answer. What is kept under an idempotency key says which key was made, and never contains it. */
function addingKey({ clock, createKey }: PrincipalWritesDeps): JsonHandler {
  return async ({ body, commit }) => {
    const fields = readFields(await body(), {
      user: NAME,
      team: NAME,
      name: text(1, KEY_NAME_LENGTH_MAX),
      scope: oneOf(SCOPES),
      expires_in: LIFETIME_SECONDS,
    });
    const owner = ownerOf(fields);
    const { name, scope = 'read', expires_in } = fields;
    return await commit(async ({ principals }) => {
      const now = clock();
      const terms = {
        scope,
        ...(name !== undefined && { name }),
        ...(expires_in !== undefined && { expiresAt: now + expires_in * 1000 }),
      };
      const { id, key } = await createKey(principals, owner, terms, now);
      const kept = { id, [owner.kind]: owner.name, ...termsRecord(terms), created_at: formatInstant(now) };
      return { status: 201, body: { ...kept, key }, kept };
    });
  };
}

function removing(
  { clock }: WriteDeps,
  remove: (principals: Principals, name: string, now: Instant) => Promise<void>,
): JsonHandler {
  return async ({ path, body, commit }) => {
    readFields(await body(), {});
    return await commit(async ({ principals }) => {
      await remove(principals, path.name ?? '', clock());
      return { status: 200, body: { success: true } };
    });
  };
}

function member(change: (principals: Principals, team: string, user: string) => Promise<boolean>): JsonHandler {
  return async ({ path, body, commit }) => {
    readFields(await body(), {});
    return await commit(async ({ principals }) => {
      const changed = await change(principals, path.name ?? '', path.user ?? '');
      return { status: 200, body: { success: true, changed } };
    });
  };
}

function ownerOf({ user, team }: { readonly user?: string; readonly team?: string }): Owner {
  if (user !== undefined && team === undefined) return { kind: 'user', name: user };
  if (team !== undefined && user === undefined) return { kind: 'team', name: team };
  throw new RequestError('invalid_body', 'user, team: expected one of the two');
}

const NAME: ReadField<string> = (value, name) => {
  if (typeof value === 'string' && isPrincipalName(value)) return value;
  throw bad(name, value, PRINCIPAL_NAME_RULE);
};
