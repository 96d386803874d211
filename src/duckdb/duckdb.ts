/**
 * One embedded DuckDB, locked down: it reads and writes files only below the directories it was given, loads no
 * extension, and takes no further settings. Queries run on pooled connections and end when their signal says so.
 */
import {
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBMaterializedResult,
  type DuckDBPreparedStatement,
  type DuckDBType,
  type DuckDBValue,
  listValue,
  StatementType,
  version,
} from '@duckdb/node-api';
import { wholePercent } from '../domain/run-progress.ts';
import { letOthersRun, type Sleep } from '../domain/time.ts';
import { escapeGlob } from './escape-glob.ts';
import { freedMemory } from './freed-memory.ts';
import { nativeResults } from './native-results.ts';
import { quoteText } from './quoting.ts';
import { type Row, rowsOf } from './rows.ts';
import type { ParameterValue, Statement } from './statement.ts';
import { vectorBytes } from './vector-bytes.ts';

export interface DuckDbOptions {
  readonly threads: number;
  /** As DuckDB writes sizes: `512MB`. */
  readonly memoryLimit: string;
  /** Absolute; where DuckDB spills what does not fit in memory. */
  readonly tempDirectory: string;
  /** Absolute; the only places where files may be read or written. */
  readonly allowedDirectories: readonly string[];
  /** Absolute; files that may be read or written besides. */
  readonly allowedPaths?: readonly string[];
  /** As DuckDB writes sizes: how much may be spilled to `tempDirectory`. */
  readonly tempSizeMax: string;
  /** Whether it is to know how far a statement is that runs alone (`percentDone`). */
  readonly knowsProgress?: true;
  readonly sleep: Sleep;
}

export type { Row } from './rows.ts';

export interface DescribedColumn {
  readonly name: string;
  readonly type: DuckDBType;
}

export interface PreparedText {
  readonly isSelect: boolean;
  readonly columnNames: readonly string[];
}

/** Whether a statement ended because it did not fit into the memory that its DuckDB may take. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Out of Memory Error');
}

/** The version of the engine: another one may spell a value in another way. */
export function duckDbVersion(): string {
  return version();
}

/** What it takes of the machine now. */
export interface DuckDbUse {
  readonly memoryBytes: number;
  /** On disk, of what statements that run need and that did not fit into memory. */
  readonly spilledBytes: number;
}

/** DuckDB forgets an interrupt that comes while it still plans the statement, so it is told again until it has ended. */
const INTERRUPT_MILLIS = 20;
/** Each keeps some hundred kilobytes. */
const PLANNED_MAX = 8;

export class DuckDb implements AsyncDisposable {
  readonly #instance: DuckDBInstance;
  readonly #sleep: Sleep;
  readonly #idle: DuckDBConnection[] = [];
  readonly #running = new Map<DuckDBConnection, Promise<unknown>>();
  /** Statements that nobody runs now, planned already, by their text: each on a connection of its own. */
  readonly #planned = new Map<string, PlannedStatement>();
  #closed = false;

  private constructor(instance: DuckDBInstance, sleep: Sleep) {
    this.#instance = instance;
    this.#sleep = sleep;
  }

  static async open(options: DuckDbOptions): Promise<DuckDb> {
    const instance = await DuckDBInstance.create(':memory:', {
      threads: String(options.threads),
      memory_limit: options.memoryLimit,
      temp_directory: options.tempDirectory,
      max_temp_directory_size: options.tempSizeMax,
    });
    const connection = await instance.connect();
    // In both spellings: DuckDB compares a path as it was given, before it reads it as a pattern.
    const allowed = new Set(options.allowedDirectories.flatMap((directory) => [directory, escapeGlob(directory)]));
    const directories = [...allowed].map((d) => quoteText(d.endsWith('/') ? d : `${d}/`)).join(', ');
    const paths = (options.allowedPaths ?? []).flatMap((path) => [path, escapeGlob(path)]);
    for (const statement of [
      // A timestamp with time zone prints in the session's zone; ours is always UTC.
      `SET GLOBAL TimeZone = 'UTC'`,
      // Without it every query reads the footer of every file again: 3 ms against 1 ms for a small page.
      `SET parquet_metadata_cache = true`,
      // The default, and what stored order rests on where a statement does not ask for it (row-order.ts).
      `SET preserve_insertion_order = true`,
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
    const duckDb = new DuckDb(instance, options.sleep);
    duckDb.#idle.push(connection);
    return duckDb;
  }

  /**
   * Runs one statement and returns its rows, all of them: for answers that are known to be small, or that are one large
   * value. Results are never streamed: DuckDB ends a stream that failed as if it were whole.
   * @throws the signal's reason once it is aborted; otherwise DuckDB's error.
   */
  async query(statement: Statement, signal: AbortSignal): Promise<readonly Row[]> {
    return await this.#execute(statement, signal, rowsOf);
  }

  /**
   * As `query`, for a statement that is planned longer than it runs and is asked again: its plan is kept. It reads nothing but its
   * values, and says their types (`CAST($1 AS VARCHAR[])`), so that the plan fits whatever they are.
   */
  async queryPlanned({ text, values }: Statement, signal: AbortSignal): Promise<readonly Row[]> {
    this.#requireOpen(signal);
    const planned = this.#planned.get(text) ?? (await this.#plan(text));
    this.#planned.delete(text);
    let isKept = false;
    try {
      const { connection, prepared } = planned;
      prepared.bind(values.map(driverValue));
      const rows = await this.#interruptible(connection, signal, async () => rowsOf(await prepared.run()));
      isKept = !this.#closed && !this.#planned.has(text) && this.#planned.size < PLANNED_MAX;
      if (isKept) this.#planned.set(text, planned);
      return rows;
    } finally {
      if (!isKept) forget(planned);
    }
  }

  async #plan(text: string): Promise<PlannedStatement> {
    const connection = await this.#instance.connect();
    try {
      return { connection, prepared: await connection.prepare(text) };
    } catch (error) {
      connection.closeSync();
      throw error;
    }
  }

  /**
   * The values of each column of a statement, one after another as DuckDB holds them: little-endian, of fixed width, none of them null.
   * @throws as `query` does; TypeError where values have no fixed width
   */
  async fixedColumns(statement: Statement, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    return await this.#execute(statement, signal, (result) => {
      const chunks = Array.from({ length: result.chunkCount }, (_, index) => result.getChunk(index));
      return Array.from({ length: result.columnCount }, (_, column) =>
        Buffer.concat(chunks.map((chunk) => vectorBytes(chunk.getColumnVector(column)))),
      );
    });
  }

  /**
   * The columns that a statement answers with, in order, as DuckDB names and types them. The statement is run: let it
   * end in LIMIT 0. @throws as `query` does.
   */
  async describe(statement: Statement, signal: AbortSignal): Promise<readonly DescribedColumn[]> {
    return await this.#execute(statement, signal, (result) => {
      const types = result.columnTypes();
      return result.columnNames().flatMap((name, index) => {
        const type = types[index];
        return type === undefined ? [] : [{ name, type }];
      });
    });
  }

  /**
   * What a statement would be, without running it: whether it is a SELECT, and the names of its columns, where they do not depend
   * on values that are not bound yet.
   * @throws DuckDB's error where it cannot be read or names what does not exist
   */
  async prepare(text: string): Promise<PreparedText> {
    const connection = this.#idle.pop() ?? (await this.#instance.connect());
    try {
      const prepared = await connection.prepare(text);
      const isSelect = prepared.statementType === StatementType.SELECT;
      const columnNames = Array.from({ length: prepared.columnCount }, (_, index) => prepared.columnName(index));
      prepared.destroySync();
      return { isSelect, columnNames };
    } finally {
      this.#idle.push(connection);
    }
  }

  /** How far the one statement is that runs, in whole percent, as DuckDB estimates it. */
  percentDone(): number | undefined {
    const [connection] = this.#running.keys();
    const percent = wholePercent(connection?.progress.percentage ?? 0);
    // It says 0 as well where it cannot tell.
    return percent === 0 ? undefined : percent;
  }

  /** @throws as `query` does */
  async use(signal: AbortSignal): Promise<DuckDbUse> {
    const text = 'SELECT sum(memory_usage_bytes)::DOUBLE, sum(temporary_storage_bytes)::DOUBLE FROM duckdb_memory()';
    const [row] = await this.query({ text, values: [] }, signal);
    return { memoryBytes: Number(row?.[0]), spilledBytes: Number(row?.[1]) };
  }

  async #execute<T>(
    statement: Statement,
    signal: AbortSignal,
    take: (result: DuckDBMaterializedResult) => T | Promise<T>,
  ): Promise<T> {
    this.#requireOpen(signal);
    const connection = this.#idle.pop() ?? (await this.#instance.connect());
    try {
      return await this.#interruptible(connection, signal, () => runStatement(connection, statement).then(take));
    } catch (error) {
      if (isOutOfMemory(error)) {
        nativeResults.release();
        // Their memory is freed in the turn after.
        await letOthersRun();
      }
      throw error;
    } finally {
      if (this.#closed) connection.closeSync();
      else this.#idle.push(connection);
    }
  }

  #requireOpen(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (this.#closed) throw new Error('DuckDB is closed');
  }

  async #interruptible<T>(connection: DuckDBConnection, signal: AbortSignal, start: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    // Made when it is needed: aborting one makes an error, with its stack, and that for each of thousands of statements.
    let ended: AbortController | undefined;
    const interrupt = () => {
      ended = new AbortController();
      void this.#interruptUntil(ended.signal, () => connection.interrupt());
    };
    signal.addEventListener('abort', interrupt, { once: true });
    const run = start();
    this.#running.set(connection, run);
    try {
      const taken = await run;
      signal.throwIfAborted();
      return taken;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', interrupt);
      ended?.abort();
      this.#running.delete(connection);
    }
  }

  async #interruptUntil(ended: AbortSignal, interrupt: () => void): Promise<void> {
    while (!ended.aborted) {
      interrupt();
      // Waiting ends with an error once the statement has ended.
      await this.#sleep(INTERRUPT_MILLIS, ended).catch(() => undefined);
    }
  }

  /** Interrupts what is running, waits for it to end, and frees everything (closing under a running query never returns). */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const ended = new AbortController();
    void this.#interruptUntil(ended.signal, () => {
      for (const connection of this.#running.keys()) connection.interrupt();
    });
    await Promise.allSettled(this.#running.values());
    ended.abort();
    for (const planned of this.#planned.values()) forget(planned);
    this.#planned.clear();
    for (const connection of this.#idle.splice(0)) connection.closeSync();
    await freedMemory.giveBack();
    this.#instance.closeSync();
  }
}

interface PlannedStatement {
  readonly connection: DuckDBConnection;
  readonly prepared: DuckDBPreparedStatement;
}

function forget({ connection, prepared }: PlannedStatement): void {
  prepared.destroySync();
  connection.closeSync();
}

/** Each step waits for a thread and then for the event loop, so there are no more of them than it takes. */
async function runStatement(
  connection: DuckDBConnection,
  { text, values }: Statement,
): Promise<DuckDBMaterializedResult> {
  const prepared = await connection.prepare(text);
  try {
    prepared.bind(values.map(driverValue));
    return await prepared.run();
  } finally {
    prepared.destroySync();
  }
}

/** A value of a statement as the driver takes it. */
export function driverValue(value: ParameterValue): DuckDBValue {
  return isList(value) ? listValue(value) : value;
}

function isList(value: ParameterValue): value is Extract<ParameterValue, readonly unknown[]> {
  return Array.isArray(value);
}
