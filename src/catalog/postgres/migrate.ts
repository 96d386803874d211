/**
 * Brings a PostgreSQL catalog to the version that this program knows. When several processes start at once, one migrates and the others
 * wait. All steps are one transaction, so a catalog is never between two versions.
 */
import type { ClientBase } from 'pg';
import { CLOCKS_APART_MILLIS } from '../../domain/instant.ts';
import { LIVE_MILLIS } from '../../domain/replica.ts';
import {
  type CatalogState,
  type Migration,
  migrationsAfter,
  type RunningReplica,
  requireNoneLeftBehind,
  usableFromAfter,
} from '../migration.ts';
import { MIGRATIONS } from './migrations.ts';

/** "QRSC" in ASCII: the first half of our advisory locks. The second is a hash of the schema. */
export const LOCKS = 0x51525343;

/**
 * @param client whose statements no limit of time ends: a step may rewrite a large table, and others wait for it
 * @throws Error in one line when the catalog is newer than this program, or the schema holds tables of another
 */
export async function migrate(client: ClientBase, migrations: readonly Migration[] = MIGRATIONS): Promise<void> {
  if (migrationsAfter(await stateOf(client), migrations).length === 0) return;
  await client.query('begin');
  try {
    await client.query('select pg_advisory_xact_lock($1, hashtext(current_schema()))', [LOCKS]);
    // Asked again: another process may have migrated it while this one waited for the lock.
    const state = await stateOf(client);
    const steps = migrationsAfter(state, migrations);
    requireNoneLeftBehind(steps, state.replicas);
    for (const { number, script } of steps) {
      await client.query(script);
      await client.query('create table if not exists catalog_version (version bigint not null)');
      await client.query('delete from catalog_version');
      await client.query('insert into catalog_version values ($1)', [number]);
    }
    const usableFrom = usableFromAfter(steps);
    if (usableFrom !== undefined && (await tablesOf(client)).tables.includes('compatibility')) {
      await client.query('update compatibility set usable_from = $1', [usableFrom]);
    }
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** @throws Error in one line when another process has migrated the catalog to a newer version meanwhile, or its tables are gone */
export async function requireOurs(client: ClientBase): Promise<void> {
  const pending = migrationsAfter(await stateOf(client), MIGRATIONS);
  if (pending.length > 0) throw new Error('its tables are gone');
}

async function stateOf(client: ClientBase): Promise<CatalogState> {
  const { schema, tables } = await tablesOf(client);
  if (schema === null) throw new Error('its schema is not there: create it, or name another in `search_path`');
  if (tables.length === 0) return { version: 0, usableFrom: 0, replicas: [] };
  if (!tables.includes('catalog_version')) {
    throw new Error(
      `the schema ${schema} has a table "executions" that is not a catalog's: give the catalog a schema of its own`,
    );
  }
  const { rows: versions } = await client.query<{ version: number | string }>('select version from catalog_version');
  const version = Number(versions[0]?.version ?? 0);
  if (!tables.includes('compatibility')) return { version, usableFrom: version, replicas: [] };
  const { rows } = await client.query<{ usable_from: number | string }>('select usable_from from compatibility');
  const { rows: replicas } = await client.query<RunningReplica>(
    `select name, version, knows::integer from replicas
     where last_seen > qrs_now() - $1 and last_seen <= qrs_now() + $2 order by name`,
    [LIVE_MILLIS, CLOCKS_APART_MILLIS],
  );
  return { version, usableFrom: Number(rows[0]?.usable_from ?? version), replicas };
}

/** Those of a catalog that tell of it, and one that shows that there is one. */
const TELLING = ['catalog_version', 'compatibility', 'executions'];

async function tablesOf(
  client: ClientBase,
): Promise<{ readonly schema: string | null; readonly tables: readonly string[] }> {
  // Read from `pg_class`: `to_regclass` may still give its answer from before another process made the tables.
  const { rows } = await client.query<{ schema: string | null; tables: readonly string[] }>(
    `select current_schema() as schema, array(select relname::text from pg_class
     where relnamespace = to_regnamespace(quote_ident(current_schema())) and relname = any ($1)) as tables`,
    [TELLING],
  );
  return rows[0] ?? { schema: null, tables: [] };
}
