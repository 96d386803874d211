/**
 * Brings a catalog file to the version that this program knows. The file has its version in `user_version`, and our mark in
 * `application_id`, so neither a newer catalog nor a database of another program is written to.
 */
import type { DatabaseSync } from 'node:sqlite';
import { CLOCKS_APART_MILLIS, type Clock, type Instant } from '../../domain/instant.ts';
import { LIVE_MILLIS } from '../../domain/replica.ts';
import type { Sleep } from '../../domain/time.ts';
import {
  type CatalogState,
  type Migration,
  migrationsAfter,
  type RunningReplica,
  requireNoneLeftBehind,
  usableFromAfter,
} from '../migration.ts';
import { whileBusy } from './busy.ts';
import { MIGRATIONS } from './migrations.ts';

/** "QRSC" in ASCII. */
const APPLICATION_ID = 0x51525343;

export interface MigrateEffects {
  readonly clock: Clock;
  readonly sleep: Sleep;
}

/** @throws Error in one line when the file is newer than this program, or not a catalog, or a replica could not go on after it. */
export async function migrate(
  database: DatabaseSync,
  { clock, sleep }: MigrateEffects,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  if (migrationsAfter(stateOf(database), migrations).length === 0) return;
  await whileBusy(() => database.exec('begin immediate'), sleep);
  try {
    // Asked again: another process may have migrated it while this one waited for the lock.
    const state = stateOf(database);
    const steps = migrationsAfter(state, migrations);
    if (steps.length > 0) requireNoneLeftBehind(steps, replicasIn(database, clock()));
    for (const { number, script } of steps) {
      database.exec(script);
      database.exec(`pragma user_version = ${number}`);
    }
    const usableFrom = usableFromAfter(steps);
    if (usableFrom !== undefined && hasTable(database, 'compatibility')) {
      database.prepare('update compatibility set usable_from = ?').run(usableFrom);
    }
    database.exec(`pragma application_id = ${APPLICATION_ID}`);
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

/** @throws Error in one line when another process has brought the file to a newer version meanwhile, or it is no catalog */
export function requireOurs(database: DatabaseSync): void {
  migrationsAfter(stateOf(database), MIGRATIONS);
}

function stateOf(database: DatabaseSync): Pick<CatalogState, 'version' | 'usableFrom'> {
  const version = readPragma(database, 'user_version');
  const empty = database.prepare('select 1 from sqlite_schema limit 1').get() === undefined;
  if (!empty && readPragma(database, 'application_id') !== APPLICATION_ID) {
    throw new Error('it is a database of another program');
  }
  if (!hasTable(database, 'compatibility')) return { version, usableFrom: version };
  return { version, usableFrom: Number(database.prepare('select usable_from from compatibility').get()?.usable_from) };
}

function replicasIn(database: DatabaseSync, now: Instant): readonly RunningReplica[] {
  if (!hasTable(database, 'replicas')) return [];
  const rows = database.prepare(
    'select name, version, knows from replicas where last_seen > ? and last_seen <= ? order by name',
  );
  return rows.all(now - LIVE_MILLIS, now + CLOCKS_APART_MILLIS) as unknown as readonly RunningReplica[];
}

function hasTable(database: DatabaseSync, name: string): boolean {
  return database.prepare("select 1 from sqlite_schema where type = 'table' and name = ?").get(name) !== undefined;
}

function readPragma(database: DatabaseSync, name: 'user_version' | 'application_id'): number {
  return Number(database.prepare(`pragma ${name}`).get()?.[name]);
}
