/**
 * The catalog in one SQLite file, shared by any number of processes of one machine: write-ahead log (readers and the one
 * writer do not wait for each other), and a sync to disk at every commit, so that a result outlives a power cut.
 */
import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { catalogAdvice } from '../../errors/start-failure.ts';
import { makeFolder } from '../../files/make-folder.ts';
import type { Catalog } from '../catalog.ts';
import { KyselyExecutions } from '../kysely/executions.ts';
import { KyselyLeases } from '../kysely/leases.ts';
import { KyselyPrincipals } from '../kysely/principals.ts';
import { KyselyQueries } from '../kysely/queries.ts';
import type { CatalogTables } from '../kysely/tables.ts';
import { KyselyTicks } from '../kysely/ticks.ts';
import { KyselyUsage } from '../kysely/usage.ts';
import { isBusy, whileBusy } from './busy.ts';
import { NodeSqliteDialect } from './dialect.ts';
import { migrate } from './migrate.ts';

/**
 * Opens the catalog file, made readable by its owner alone when there is none, and brings it to this version.
 * @throws Error in one line: not a catalog, made by a newer release, not writable.
 */
export async function openSqliteCatalog(path: string): Promise<Catalog> {
  try {
    await makeFolder(dirname(path));
    // SQLite gives its log files the permissions of the catalog file, so making that one first settles all three.
    closeSync(openSync(path, 'a', 0o600));
    const database = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: 0 });
    try {
      await whileBusy(() => database.exec('pragma journal_mode = wal'));
      database.exec('pragma synchronous = full');
      await migrate(database);
      return new SqliteCatalog(database);
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot open the catalog ${path}: ${message}${catalogAdvice(error)}`, { cause: error });
  }
}

class SqliteCatalog implements Catalog {
  readonly principals: KyselyPrincipals;
  readonly queries: KyselyQueries;
  readonly executions: KyselyExecutions;
  readonly leases: KyselyLeases;
  readonly ticks: KyselyTicks;
  readonly usage: KyselyUsage;
  readonly #database: DatabaseSync;
  readonly #db: Kysely<CatalogTables>;
  readonly #dataVersion: StatementSync;
  #foreignVersion: unknown;
  #version = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#dataVersion = database.prepare('pragma data_version');
    const onWrite = () => {
      this.#version += 1;
    };
    this.#db = new Kysely<CatalogTables>({ dialect: new NodeSqliteDialect(database, onWrite) });
    this.principals = new KyselyPrincipals(this.#db);
    this.queries = new KyselyQueries(this.#db);
    this.executions = new KyselyExecutions(this.#db);
    this.leases = new KyselyLeases(this.#db);
    this.ticks = new KyselyTicks(this.#db);
    this.usage = new KyselyUsage(this.#db);
  }

  async check(): Promise<void> {
    // A transaction begins by taking the write lock, which proves that the file can be written, and leaves no trace.
    await this.#db.transaction().execute(async () => {});
  }

  /** Costs a microsecond: `data_version` moves with the commits of others, our own are counted by the dialect. */
  version(): number | Promise<number> {
    const ask = () => this.#versionOf(this.#dataVersion.get()?.data_version);
    try {
      return ask();
    } catch (error) {
      if (!isBusy(error)) throw error;
      return whileBusy(ask);
    }
  }

  #versionOf(foreignVersion: unknown): number {
    if (foreignVersion !== this.#foreignVersion) {
      this.#foreignVersion = foreignVersion;
      this.#version += 1;
    }
    return this.#version;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#db.destroy();
    // Kysely closes only what it has used.
    if (this.#database.isOpen) this.#database.close();
  }
}
