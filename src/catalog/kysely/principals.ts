/** Users, teams and the keys that act for them, in any SQL database that Kysely speaks. */
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Instant } from '../../domain/instant.ts';
import type { Owner } from '../../domain/principal.ts';
import type { Share } from '../../domain/share.ts';
import {
  CatalogConflict,
  type KeyUse,
  type NewKey,
  type Principals,
  type StoredKey,
  type StoredShare,
} from '../catalog.ts';
import { type CatalogTables, type KeyRow, ownerColumns, ownerOf } from './tables.ts';
import { transact } from './transact.ts';

export class KyselyPrincipals implements Principals {
  readonly #db: Kysely<CatalogTables>;

  constructor(db: Kysely<CatalogTables>) {
    this.#db = db;
  }

  async addUser(name: string, at: Instant): Promise<void> {
    const added = await this.#db
      .insertInto('users')
      .values({ name, created_at: at, removed_at: null })
      .onConflict((conflict) =>
        conflict
          .column('name')
          .doUpdateSet({ created_at: at, removed_at: null })
          .where('users.removed_at', 'is not', null),
      )
      .returning('name')
      .executeTakeFirst();
    if (added === undefined) throw new CatalogConflict(`there is a user "${name}" already`);
  }

  async removeUser(name: string, at: Instant): Promise<void> {
    await transact(this.#db, async (trx) => {
      await requireOwner(trx, { kind: 'user', name });
      const owned = await trx.selectFrom('queries').select('id').where('user_name', '=', name).orderBy('id').execute();
      if (owned.length > 0)
        throw new CatalogConflict(
          stillOwns(
            name,
            owned.map(({ id }) => id),
          ),
        );
      await trx.deleteFrom('team_members').where('user_name', '=', name).execute();
      await trx
        .updateTable('api_keys')
        .set({ revoked_at: at })
        .where('user_name', '=', name)
        .where('revoked_at', 'is', null)
        .execute();
      await trx.deleteFrom('webhooks').where('user_name', '=', name).execute();
      await trx.updateTable('users').set({ removed_at: at }).where('name', '=', name).execute();
    });
  }

  async addTeam(name: string, members: readonly string[], at: Instant): Promise<void> {
    await transact(this.#db, async (trx) => {
      const added = await trx
        .insertInto('teams')
        .values({ name, created_at: at })
        .onConflict((conflict) => conflict.doNothing())
        .returning('name')
        .executeTakeFirst();
      if (added === undefined) throw new CatalogConflict(`there is a team "${name}" already`);
      for (const member of new Set(members)) {
        await requireOwner(trx, { kind: 'user', name: member });
        await trx.insertInto('team_members').values({ user_name: member, team_name: name }).execute();
      }
    });
  }

  async addTeamMember(team: string, user: string): Promise<boolean> {
    return await transact(this.#db, async (trx) => {
      await requireOwner(trx, { kind: 'team', name: team });
      await requireOwner(trx, { kind: 'user', name: user });
      const added = await trx
        .insertInto('team_members')
        .values({ user_name: user, team_name: team })
        .onConflict((conflict) => conflict.doNothing())
        .returning('user_name')
        .executeTakeFirst();
      return added !== undefined;
    });
  }

  async removeTeamMember(team: string, user: string): Promise<boolean> {
    return await transact(this.#db, async (trx) => {
      await requireOwner(trx, { kind: 'team', name: team });
      const removed = await trx
        .deleteFrom('team_members')
        .where('team_name', '=', team)
        .where('user_name', '=', user)
        .returning('user_name')
        .executeTakeFirst();
      return removed !== undefined;
    });
  }

  async listUsers(): Promise<readonly { readonly name: string; readonly createdAt: Instant }[]> {
    const rows = await this.#db
      .selectFrom('users')
      .selectAll()
      .where('removed_at', 'is', null)
      .orderBy('name')
      .execute();
    return rows.map((row) => ({ name: row.name, createdAt: row.created_at }));
  }

  async listTeams(): Promise<
    readonly { readonly name: string; readonly members: readonly string[]; readonly createdAt: Instant }[]
  > {
    const rows = await this.#db
      .selectFrom('teams')
      .leftJoin('team_members', 'team_members.team_name', 'teams.name')
      .select(['teams.name', 'teams.created_at', 'team_members.user_name'])
      .orderBy('teams.name')
      .orderBy('team_members.user_name')
      .execute();
    const teams = new Map<string, { name: string; members: string[]; createdAt: Instant }>();
    for (const row of rows) {
      const team = teams.get(row.name) ?? { name: row.name, members: [], createdAt: row.created_at };
      if (row.user_name !== null) team.members.push(row.user_name);
      teams.set(row.name, team);
    }
    return [...teams.values()];
  }

  async addKey(key: NewKey): Promise<void> {
    await transact(this.#db, async (trx) => {
      await requireOwner(trx, key.owner);
      const added = await trx
        .insertInto('api_keys')
        .values({
          id: key.id,
          hash: key.hash,
          ...ownerColumns(key.owner),
          name: key.name ?? null,
          created_at: key.createdAt,
          revoked_at: null,
          scope: key.scope ?? 'read',
          expires_at: key.expiresAt ?? null,
          shared_query_id: key.share?.queryId ?? null,
          share: key.share === undefined ? null : JSON.stringify(key.share),
        })
        .onConflict((conflict) => conflict.doNothing())
        .returning('id')
        .executeTakeFirst();
      if (added === undefined) throw new CatalogConflict(`there is a key ${key.id} already`);
    });
  }

  async listKeys(): Promise<readonly StoredKey[]> {
    const rows = await this.#keys().where('api_keys.share', 'is', null).execute();
    return rows.map(storedKeyOf);
  }

  async listShares(queryId?: number): Promise<readonly StoredShare[]> {
    const shares = this.#keys().where('api_keys.share', 'is not', null);
    const rows = await (queryId === undefined ? shares : shares.where('shared_query_id', '=', queryId)).execute();
    return rows.flatMap((row) => (row.share === null ? [] : { ...storedKeyOf(row), share: shareOf(row.share) }));
  }

  #keys() {
    return this.#db
      .selectFrom('api_keys')
      .leftJoin('key_uses', 'key_uses.key_id', 'api_keys.id')
      .selectAll('api_keys')
      .select('key_uses.last_used_at')
      .orderBy('created_at')
      .orderBy('id');
  }

  async revokeKey(id: string, at: Instant): Promise<boolean> {
    // A transaction, so that it waits for those that have looked at the key and not committed yet.
    return await transact(this.#db, async (trx) => {
      const revoked = await trx
        .updateTable('api_keys')
        .set({ revoked_at: at })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .returning('id')
        .executeTakeFirst();
      return revoked !== undefined;
    });
  }

  async recordKeyUses(uses: readonly KeyUse[]): Promise<void> {
    if (uses.length === 0) return;
    await transact(this.#db, async (trx) => {
      for (const { keyId, at } of uses) {
        // A database that failed over may have lost the key.
        await trx
          .insertInto('key_uses')
          .columns(['key_id', 'last_used_at'])
          .expression((eb) =>
            eb
              .selectFrom('api_keys')
              .select(['id', sql<number>`cast(${at} as bigint)`.as('at')])
              .where('id', '=', keyId),
          )
          .onConflict((conflict) =>
            conflict.column('key_id').doUpdateSet({ last_used_at: at }).where('key_uses.last_used_at', '<', at),
          )
          .execute();
      }
    });
  }

  async findPrincipalByKeyHash(hash: string): ReturnType<Principals['findPrincipalByKeyHash']> {
    return await this.#findKey('api_keys.hash', hash);
  }

  async findPrincipalByKeyId(id: string): ReturnType<Principals['findPrincipalByKeyId']> {
    return (await this.#findKey('api_keys.id', id))?.principal;
  }

  async #findKey(by: 'api_keys.id' | 'api_keys.hash', value: string): ReturnType<Principals['findPrincipalByKeyHash']> {
    // One statement, so that a key and the teams of its user are read as they stood at one moment.
    const rows = await this.#db
      .selectFrom('api_keys')
      .leftJoin('team_members', 'team_members.user_name', 'api_keys.user_name')
      .select([
        'api_keys.id',
        'api_keys.hash',
        'api_keys.user_name',
        'api_keys.team_name',
        'api_keys.scope',
        'api_keys.expires_at',
        'api_keys.share',
        'team_members.team_name as member_of',
      ])
      .where(by, '=', value)
      .where('api_keys.revoked_at', 'is', null)
      .orderBy('team_members.team_name')
      .execute();
    const key = rows[0];
    if (key === undefined) return undefined;
    const owner = ownerOf(key);
    const teams = owner.kind === 'team' ? [owner.name] : rows.flatMap((row) => row.member_of ?? []);
    const expiry = key.expires_at !== null && { expiresAt: key.expires_at };
    const share = key.share !== null && { share: shareOf(key.share) };
    return { principal: { keyId: key.id, owner, teams, scope: key.scope, ...expiry, ...share }, hash: key.hash };
  }
}

function storedKeyOf(row: KeyRow & { readonly last_used_at: number | null }): StoredKey {
  return {
    id: row.id,
    hash: row.hash,
    owner: ownerOf(row),
    scope: row.scope,
    createdAt: row.created_at,
    ...(row.name !== null && { name: row.name }),
    ...(row.expires_at !== null && { expiresAt: row.expires_at }),
    ...(row.last_used_at !== null && { lastUsedAt: row.last_used_at }),
    ...(row.revoked_at !== null && { revokedAt: row.revoked_at }),
  };
}

function shareOf(json: string): Share {
  return JSON.parse(json) as Share;
}

/** How many ids an error names. */
const NAMED_MAX = 5;

function stillOwns(name: string, ids: readonly number[]): string {
  const more = ids.length > NAMED_MAX ? ` and ${ids.length - NAMED_MAX} more` : '';
  const named = `${ids.slice(0, NAMED_MAX).join(', ')}${more}`;
  const [what, them] = ids.length === 1 ? ['query', 'it'] : ['queries', 'them'];
  return `the user "${name}" owns ${what} ${named}: give ${them} to another owner first, or only revoke the user's keys`;
}

/** @throws CatalogConflict when there is no such user or team. */
export async function requireOwner(trx: Transaction<CatalogTables>, { kind, name }: Owner): Promise<void> {
  const found =
    kind === 'user'
      ? trx.selectFrom('users').select('name').where('name', '=', name).where('removed_at', 'is', null)
      : trx.selectFrom('teams').select('name').where('name', '=', name);
  if ((await found.executeTakeFirst()) === undefined) throw new CatalogConflict(`there is no ${kind} "${name}"`);
}
