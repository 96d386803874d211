/**
 * Brings a PostgreSQL catalog to the version that this program knows. When several processes start at once, one migrates and the others
 * wait. All steps are one transaction, so a catalog is never between two versions.
 */
import type { ClientBase } from 'pg';
import { type Migration, migrationsAfter } from '../migration.ts';
import { MIGRATIONS } from './migrations.ts';

/** "QRSC" in ASCII: the first half of our advisory locks. The second is a hash of the schema. */
export const LOCKS = 0x51525343;

/** @throws Error in one line when the catalog is newer than this program, or the schema holds tables of another */
export async function migrate(client: ClientBase, migrations: readonly Migration[] = MIGRATIONS): Promise<void> {
  if ((await pendingAfter(client, migrations)).length === 0) return;
  await client.query('begin');
  try {
    await client.query('select pg_advisory_xact_lock($1, hashtext(current_schema()))', [LOCKS]);
    // Asked again: another process may have migrated it while this one waited for the lock.
    for (const { number, script } of await pendingAfter(client, migrations)) {
      await client.query(script);
      await client.query('create table if not exists catalog_version (version bigint not null)');
      await client.query('delete from catalog_version');
      await client.query('insert into catalog_version values ($1)', [number]);
    }
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** @throws Error in one line when another process has migrated the catalog to a newer version meanwhile, or its tables are gone */
export async function requireOurs(client: ClientBase): Promise<void> {
  const pending = await pendingAfter(client, MIGRATIONS);
  if (pending.length > 0) throw new Error('its tables are gone');
}

async function pendingAfter(client: ClientBase, migrations: readonly Migration[]): Promise<readonly Migration[]> {
  return migrationsAfter(await findVersion(client), migrations);
}

/** 0: there is no catalog yet. */
async function findVersion(client: ClientBase): Promise<number> {
  // Read from `pg_class`: `to_regclass` may still give its answer from before another process made the tables.
  const { rows: found } = await client.query<{ schema: string | null; tables: readonly string[] }>(
    `select current_schema() as schema, array(select relname::text from pg_class
     where relnamespace = to_regnamespace(quote_ident(current_schema())) and relname in ('catalog_version', 'executions')) as tables`,
  );
  const { schema, tables } = found[0] ?? { schema: null, tables: [] };
  if (schema === null) throw new Error('its schema is not there: create it, or name another in `search_path`');
  if (tables.length === 0) return 0;
  if (!tables.includes('catalog_version')) {
    throw new Error(
      `the schema ${schema} has a table "executions" that is not a catalog's: give the catalog a schema of its own`,
    );
  }
  const { rows } = await client.query<{ version: number | string }>('select version from catalog_version');
  return Number(rows[0]?.version ?? 0);
}
