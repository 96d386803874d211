/**
 * The catalog in one SQLite file, which any number of processes of one machine may share. It has a write-ahead log, so readers and the
 * writer do not wait for each other, and every commit is synced to disk, so a result outlives a power cut. This thread reads, another one
 * writes, and a third makes lists (dialect.ts).
 */
import { accessSync, closeSync, constants, existsSync, openSync, realpathSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Kysely, sql } from 'kysely';
import type { Clock } from '../../domain/instant.ts';
import type { Sleep } from '../../domain/time.ts';
import { NotReady } from '../../errors/not-ready.ts';
import { CATALOG_BYTES_MIN, catalogAdvice } from '../../errors/startup-error.ts';
import { hasCode } from '../../errors/system-code.ts';
import { makeFolder } from '../../files/make-folder.ts';
import type { Catalog } from '../catalog.ts';
import { KyselyCatalog } from '../kysely/kysely-catalog.ts';
import type { CatalogTables } from '../kysely/tables.ts';
import { isBusy, whileBusy } from './busy.ts';
import { NodeSqliteDialect, type SqliteConnections } from './dialect.ts';
import { migrate, requireOurs } from './migrate.ts';
import { LATEST } from './migrations.ts';
import { type OpenedFile, openedFiles, requireOpened } from './opened-files.ts';
import { SqliteWriter } from './writer.ts';

/** Commits take milliseconds (a sync to disk). Whoever holds the lock for so long is stuck. */
const BUSY_MILLIS_MAX = 10_000;

/** How many are named. */
const DAMAGES_MAX = 3;

export interface SqliteCatalogOptions {
  /** Of this host, as of all processes that share the file. */
  readonly clock: Clock;
  /** Waits between two attempts to get a lock that another process has. */
  readonly sleep: Sleep;
  /** For tests: every commit takes so much longer. */
  readonly commitMillis?: number;
}

/**
 * Opens the catalog file, made readable by its owner alone when there is none, and brings it to this version.
 * @throws Error in one line: not a catalog, made by a newer release, not writable.
 */
export async function openSqliteCatalog(
  path: string,
  { clock, sleep, commitMillis = 0 }: SqliteCatalogOptions,
): Promise<Catalog> {
  try {
    await makeFolder(dirname(path));
    makeFile(path);
    const database = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: 0 });
    try {
      await whileBusy(() => database.exec('pragma journal_mode = wal'), sleep);
      database.exec('pragma synchronous = full');
      await migrate(database, { clock, sleep });
      // From here on this connection only reads.
      database.exec('pragma query_only = on');
      // By now it has its log: it has been read.
      const files = openedFiles(path);
      const writer = new SqliteWriter({ path, files, busyMillis: BUSY_MILLIS_MAX, commitMillis });
      const lister = new SqliteWriter({ path, files, busyMillis: BUSY_MILLIS_MAX, commitMillis: 0, onlyReads: true });
      return new SqliteCatalog(path, { files, reader: database, writer, lister, sleep }, clock);
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const freeBytes = freeBytesAt(dirname(path));
    const text = `cannot open the catalog ${path}: ${message}${catalogAdvice(error, freeBytes)}`;
    const failure = new Error(text, { cause: error });
    // SQLite does not say that this is why.
    throw (freeBytes ?? CATALOG_BYTES_MIN) < CATALOG_BYTES_MIN ? Object.assign(failure, { code: 'ENOSPC' }) : failure;
  }
}

/**
 * A file that is there is never opened here. To close it would give up the locks of all who have it open in this process, and whoever else
 * closes the catalog then, with a SQLite before 3.51, takes away the log that they write to: what they commit is lost.
 */
function makeFile(path: string): void {
  // SQLite gives its log files the permissions of the catalog file, so it is enough to set them here.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  // Of its log SQLite says only that it cannot be opened.
  const file = realpathSync(path);
  for (const one of [file, `${file}-wal`, `${file}-shm`]) {
    if (statSync(one, { throwIfNoEntry: false })?.isDirectory()) throw new Error(`${one} is a folder`);
    try {
      accessSync(one, constants.R_OK | constants.W_OK);
    } catch (error) {
      // Whoever closes the catalog as the last one takes the log away, at any moment.
      if (!hasCode(error, 'ENOENT')) throw error;
    }
  }
}

interface OpenedCatalog extends Required<SqliteConnections> {
  readonly files: readonly OpenedFile[];
  readonly lister: SqliteWriter;
}

class SqliteCatalog extends KyselyCatalog implements Catalog {
  readonly #path: string;
  readonly #files: readonly OpenedFile[];
  readonly #reader: DatabaseSync;
  readonly #writer: SqliteWriter;
  readonly #lister: SqliteWriter;
  readonly #sleep: Sleep;
  readonly #dataVersion: StatementSync;
  readonly #changes: StatementSync;
  #seenDataVersion: unknown;
  #version = 0;

  constructor(path: string, { files, reader, writer, lister, sleep }: OpenedCatalog, clock: Clock) {
    const dialect = new NodeSqliteDialect({ reader, writer, sleep });
    const lists = new Kysely<CatalogTables>({ dialect: new NodeSqliteDialect({ writer: lister, sleep }) });
    super(new Kysely<CatalogTables>({ dialect }), () => sql<number>`${clock()}`, LATEST, lists);
    this.#lister = lister;
    this.#path = path;
    this.#files = files;
    this.#reader = reader;
    this.#writer = writer;
    this.#sleep = sleep;
    this.#dataVersion = reader.prepare('pragma data_version');
    this.#changes = reader.prepare('select count from changes');
  }

  async check(): Promise<void> {
    requireOpened(this.#path, this.#files);
    try {
      requireOurs(this.#reader);
      await this.probe();
    } catch (error) {
      throw new NotReady(error instanceof Error ? error.message : String(error), { cause: error });
    }
  }

  async verify(): Promise<void> {
    // The indexes, too: a run that is missing from an index is never found.
    const check = sql<{ integrity_check: string }>`pragma integrity_check(${sql.lit(DAMAGES_MAX)})`;
    const said = await check.execute(this.db).catch((error: unknown) => {
      throw new Error(`the catalog ${this.#path} is damaged: ${(error as Error).message}`, { cause: error });
    });
    const found = said.rows.map((row) => row.integrity_check).join('; ');
    if (found !== 'ok') throw new Error(`the catalog ${this.#path} is damaged: ${found.split('\n').join(' ')}`);
  }

  /**
   * Takes a microsecond if nobody has committed anything: `data_version` changes with the commits of all other connections, the writer's
   * included. If it has changed, the count of changes says whether an answer may depend on them.
   */
  version(): number | Promise<number> {
    const ask = () => this.#countChanges();
    try {
      return ask();
    } catch (error) {
      if (!isBusy(error)) throw error;
      return whileBusy(ask, this.#sleep);
    }
  }

  #countChanges(): number {
    const dataVersion = this.#dataVersion.get()?.data_version;
    if (dataVersion !== this.#seenDataVersion) {
      this.#version = Number(this.#changes.get()?.count);
      this.#seenDataVersion = dataVersion;
    }
    return this.#version;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lister.close();
    await this.db.destroy();
    // Kysely closes only what it has used. The writer goes last, so that its thread makes the checkpoint, not this one.
    if (this.#reader.isOpen) this.#reader.close();
    await this.#writer.close();
  }
}

/** Free bytes on the disk of a folder; undefined if they cannot be told. */
function freeBytesAt(folder: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}
