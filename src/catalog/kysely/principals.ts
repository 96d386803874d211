/** Users, teams and the keys that act for them, in any SQL database that Kysely speaks. */
import type { Kysely, Transaction } from 'kysely';
import type { Instant } from '../../domain/instant.ts';
import type { Owner } from '../../domain/principal.ts';
import { CatalogConflict, type NewKey, type Principals, type StoredKey } from '../catalog.ts';
import { type CatalogTables, ownerColumns, ownerOf } from './tables.ts';

export class KyselyPrincipals implements Principals {
  readonly #db: Kysely<CatalogTables>;

  constructor(db: Kysely<CatalogTables>) {
    this.#db = db;
  }

  async addUser(name: string, at: Instant): Promise<void> {
    const added = await this.#db
      .insertInto('users')
      .values({ name, created_at: at })
      .onConflict((conflict) => conflict.doNothing())
      .returning('name')
      .executeTakeFirst();
    if (added === undefined) throw new CatalogConflict(`there is a user "${name}" already`);
  }

  async addTeam(name: string, members: readonly string[], at: Instant): Promise<void> {
    await this.#db.transaction().execute(async (trx) => {
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

  async listUsers(): Promise<readonly { readonly name: string; readonly createdAt: Instant }[]> {
    const rows = await this.#db.selectFrom('users').selectAll().orderBy('name').execute();
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
    await this.#db.transaction().execute(async (trx) => {
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
        })
        .onConflict((conflict) => conflict.doNothing())
        .returning('id')
        .executeTakeFirst();
      if (added === undefined) throw new CatalogConflict(`there is a key ${key.id} already`);
    });
  }

  async listKeys(): Promise<readonly StoredKey[]> {
    const rows = await this.#db.selectFrom('api_keys').selectAll().orderBy('created_at').orderBy('id').execute();
    return rows.map((row) => ({
      id: row.id,
      hash: row.hash,
      owner: ownerOf(row),
      createdAt: row.created_at,
      ...(row.name !== null && { name: row.name }),
      ...(row.revoked_at !== null && { revokedAt: row.revoked_at }),
    }));
  }

  async revokeKey(id: string, at: Instant): Promise<boolean> {
    const revoked = await this.#db
      .updateTable('api_keys')
      .set({ revoked_at: at })
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .returning('id')
      .executeTakeFirst();
    return revoked !== undefined;
  }

  async findPrincipalByKeyHash(hash: string): ReturnType<Principals['findPrincipalByKeyHash']> {
    // One statement, so that a key and the teams of its user are read as they stood at one moment.
    const rows = await this.#db
      .selectFrom('api_keys')
      .leftJoin('team_members', 'team_members.user_name', 'api_keys.user_name')
      .select([
        'api_keys.id',
        'api_keys.hash',
        'api_keys.user_name',
        'api_keys.team_name',
        'team_members.team_name as member_of',
      ])
      .where('api_keys.hash', '=', hash)
      .where('api_keys.revoked_at', 'is', null)
      .orderBy('team_members.team_name')
      .execute();
    const key = rows[0];
    if (key === undefined) return undefined;
    const owner = ownerOf(key);
    const teams = owner.kind === 'team' ? [owner.name] : rows.flatMap((row) => row.member_of ?? []);
    return { principal: { keyId: key.id, owner, teams }, hash: key.hash };
  }
}

/** @throws CatalogConflict when there is no such user or team. */
export async function requireOwner(trx: Transaction<CatalogTables>, owner: Owner): Promise<void> {
  const found = await trx
    .selectFrom(owner.kind === 'user' ? 'users' : 'teams')
    .select('name')
    .where('name', '=', owner.name)
    .executeTakeFirst();
  if (found === undefined) throw new CatalogConflict(`there is no ${owner.kind} "${owner.name}"`);
}
