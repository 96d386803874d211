/**
 * Brings a catalog file to the version that this program knows. The file has its version in `user_version`, and our mark in
 * `application_id`, so neither a newer catalog nor a database of another program is written to.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { Sleep } from '../../domain/time.ts';
import { type Migration, migrationsAfter } from '../migration.ts';
import { whileBusy } from './busy.ts';
import { MIGRATIONS } from './migrations.ts';

/** "QRSC" in ASCII. */
const APPLICATION_ID = 0x51525343;

/** @throws Error in one line when the file is newer than this program, or not a catalog. */
export async function migrate(
  database: DatabaseSync,
  sleep: Sleep,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  if (pendingAfter(database, migrations).length === 0) return;
  await whileBusy(() => database.exec('begin immediate'), sleep);
  try {
    // Asked again: another process may have migrated it while this one waited for the lock.
    for (const { number, script } of pendingAfter(database, migrations)) {
      database.exec(script);
      database.exec(`pragma user_version = ${number}`);
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
  pendingAfter(database, MIGRATIONS);
}

function pendingAfter(database: DatabaseSync, migrations: readonly Migration[]): readonly Migration[] {
  const version = readPragma(database, 'user_version');
  const empty = database.prepare('select 1 from sqlite_schema limit 1').get() === undefined;
  if (!empty && readPragma(database, 'application_id') !== APPLICATION_ID) {
    throw new Error('it is a database of another program');
  }
  return migrationsAfter(version, migrations);
}

function readPragma(database: DatabaseSync, name: 'user_version' | 'application_id'): number {
  return Number(database.prepare(`pragma ${name}`).get()?.[name]);
}
