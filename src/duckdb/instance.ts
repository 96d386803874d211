/** A DuckDB with its connections: how it is opened, locked down, and closed. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance, type DuckDBPreparedStatement } from '@duckdb/node-api';
import type { Sleep } from '../domain/time.ts';
import { escapeGlob } from './escape-glob.ts';
import { freedMemory } from './freed-memory.ts';
import { quoteText } from './quoting.ts';

export interface DuckDbOptions {
  readonly threads: number;
  /** As DuckDB writes sizes: `512MB`. */
  readonly memoryLimit: string;
  /** Absolute; in a folder of its own in there DuckDB spills what does not fit in memory. */
  readonly tempDirectory: string;
  /** Absolute; the only places where files may be read or written. */
  readonly allowedDirectories: readonly string[];
  /** Absolute; files that may be read or written besides. */
  readonly allowedPaths?: readonly string[];
  /** As DuckDB writes sizes: how much may be spilled to `tempDirectory`. */
  readonly tempSizeMax: string;
  /** Whether it is to know how far a statement is that runs alone (`percentDone`). */
  readonly knowsProgress?: true;
  /**
   * DuckDB keeps the footer of every file that it has ever read, also of those that are gone, until its memory is full; and they take six
   * times what it counts: 108 MB, counted as 17. Beyond this number, as it counts, another one takes its place. Undefined: never, for one with
   * tables of its own, or that is soon closed.
   */
  readonly footersBytesMax?: number;
  readonly sleep: Sleep;
}

/** A DuckDB with its connections. */
export interface Instance {
  readonly database: DuckDBInstance;
  /** What it spills. */
  readonly folder: string;
  readonly idle: DuckDBConnection[];
  /** Statements that nobody runs now, planned already, by their text: each on a connection of its own. */
  readonly planned: Map<string, PlannedStatement>;
  /** How many statements have a connection, or wait for one. */
  used: number;
}

export interface PlannedStatement {
  readonly connection: DuckDBConnection;
  readonly prepared: DuckDBPreparedStatement;
}

export async function openInstance(options: DuckDbOptions): Promise<Instance> {
  await mkdir(options.tempDirectory, { recursive: true, mode: 0o700 });
  // Of two that spill into one folder each writes over what the other has there.
  const folder = await mkdtemp(join(options.tempDirectory, 'spilled-'));
  const database = await DuckDBInstance.create(':memory:', {
    threads: String(options.threads),
    memory_limit: options.memoryLimit,
    temp_directory: folder,
  });
  const connection = await database.connect();
  // In both spellings: DuckDB compares a path as it was given, before it reads it as a pattern.
  const allowed = new Set(options.allowedDirectories.flatMap((directory) => [directory, escapeGlob(directory)]));
  const directories = [...allowed].map((d) => quoteText(d.endsWith('/') ? d : `${d}/`)).join(', ');
  const paths = (options.allowedPaths ?? []).flatMap((path) => [path, escapeGlob(path)]);
  for (const statement of [
    // A timestamp with time zone prints in the session's zone; ours is always UTC.
    `SET GLOBAL TimeZone = 'UTC'`,
    // Without it every query reads the footer of every file again: 3.4 ms of computing time against 1.5 for a small page. Not only of this
    // connection.
    `SET GLOBAL parquet_metadata_cache = true`,
    // The default, and what stored order rests on where a statement does not ask for it (row-order.ts).
    `SET preserve_insertion_order = true`,
    // Here, since DuckDB forgets it as an option: then 90 % of what the disk has free when something is first spilled would be the bound,
    // for good, and none of a disk that is full at that moment.
    `SET GLOBAL max_temp_directory_size = ${quoteText(options.tempSizeMax)}`,
    // It keeps pieces of each file ever read, also of deleted ones; the system's own cache does as well.
    `SET GLOBAL enable_external_file_cache = false`,
    // Memory that is not needed any more is given back also while nothing runs.
    `SET GLOBAL allocator_background_threads = true`,
    `SET GLOBAL autoinstall_known_extensions = false`,
    `SET GLOBAL autoload_known_extensions = false`,
    // Of this connection alone.
    ...(options.knowsProgress ? ['SET enable_progress_bar = true', 'SET enable_progress_bar_print = false'] : []),
    `SET allowed_directories = [${directories}]`,
    `SET allowed_paths = [${paths.map(quoteText).join(', ')}]`,
    // The order matters: after the second line nothing outside can be reached, after the third nothing can be undone.
    `SET enable_external_access = false`,
    `SET lock_configuration = true`,
  ]) {
    await connection.run(statement);
  }
  return { database, folder, idle: [connection], planned: new Map(), used: 0 };
}

/**
 * Makes the folder that is spilled into anew, where a statement failed since it was gone: DuckDB would not, and no later statement could
 * spill either.
 * @returns whether that was why the statement failed
 */
export async function restoreSpillFolder({ folder }: Instance, error: unknown): Promise<boolean> {
  const message = error instanceof Error ? error.message : '';
  if (!message.includes(folder) || !message.includes('No such file or directory')) return false;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return true;
}

/** Nobody uses it any more. */
export async function closeInstance({ database, folder, idle, planned }: Instance): Promise<void> {
  for (const statement of planned.values()) forget(statement);
  planned.clear();
  for (const connection of idle.splice(0)) connection.closeSync();
  await freedMemory.giveBack();
  database.closeSync();
  await rm(folder, { recursive: true, force: true });
}

/** On a connection of its own. */
export async function plan({ database }: Instance, text: string): Promise<PlannedStatement> {
  const connection = await database.connect();
  try {
    return { connection, prepared: await connection.prepare(text) };
  } catch (error) {
    connection.closeSync();
    throw error;
  }
}

export function forget({ connection, prepared }: PlannedStatement): void {
  prepared.destroySync();
  connection.closeSync();
}
