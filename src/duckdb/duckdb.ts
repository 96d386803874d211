/**
 * One embedded DuckDB, locked down: it reads and writes files only below the directories it was given, loads no
 * extension, and takes no further settings. Queries run on pooled connections and end when their signal says so.
 */
import {
  type DuckDBConnection,
  type DuckDBMaterializedResult,
  type DuckDBType,
  StatementType,
  version,
} from '@duckdb/node-api';
import { wholePercent } from '../domain/run-progress.ts';
import { letOthersRun, NEVER } from '../domain/time.ts';
import {
  closeInstance,
  type DuckDbOptions,
  forget,
  type Instance,
  openInstance,
  plan,
  restoreSpillFolder,
} from './instance.ts';
import { nativeResults } from './native-results.ts';
import { type Row, rowsOf } from './rows.ts';
import { driverValue, runStatement } from './run-statement.ts';
import type { Statement } from './statement.ts';
import { vectorBytes } from './vector-bytes.ts';

export type { DuckDbOptions } from './instance.ts';
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
/** After so many statements it is looked at. In between it may keep the footers of as many files more. */
const STATEMENTS_PER_LOOK = 50;
export class DuckDb implements AsyncDisposable {
  readonly #options: DuckDbOptions;
  #instance: Instance;
  readonly #running = new Map<DuckDBConnection, Promise<unknown>>();
  #statements = 0;
  #renewal: Promise<void> | undefined;
  /** Of those whose place another one has taken. */
  readonly #closing = new Set<Promise<void>>();
  /** The last statement that was run by one thread. */
  #byOneThread: Promise<unknown> = Promise.resolve();
  #closed = false;

  private constructor(instance: Instance, options: DuckDbOptions) {
    this.#instance = instance;
    this.#options = options;
  }

  static async open(options: DuckDbOptions): Promise<DuckDb> {
    return new DuckDb(await openInstance(options), options);
  }

  /**
   * Runs one statement and returns its rows, all of them: for answers that are known to be small, or that are one large
   * value. Results are never streamed: DuckDB ends a stream that failed as if it were whole.
   * @throws the signal's reason once it is aborted; otherwise DuckDB's error.
   */
  async query(statement: Statement, signal: AbortSignal): Promise<readonly Row[]> {
    return await this.#execute(statement, signal, (result) => rowsOf(result, statement));
  }

  /**
   * As `query`, for a statement that all threads together had no memory for: each holds what it sorts and groups. It is run by another DuckDB,
   * which has one thread and as much memory, and is closed after it; one such statement at a time.
   */
  async queryByOneThread(statement: Statement, signal: AbortSignal): Promise<readonly Row[]> {
    const run = async () => {
      this.#requireOpen(signal);
      await using other = await DuckDb.open({ ...this.#options, threads: 1 });
      return await other.query(statement, signal);
    };
    const running = this.#byOneThread.then(run);
    this.#byOneThread = running.catch(() => undefined);
    return await running;
  }

  /**
   * As `query`, for a statement that is planned longer than it runs and is asked again: its plan is kept. It reads nothing but its
   * values, and says their types (`CAST($1 AS VARCHAR[])`), so that the plan fits whatever they are.
   */
  async queryPlanned({ text, values }: Statement, signal: AbortSignal): Promise<readonly Row[]> {
    this.#requireOpen(signal);
    return await this.#using(async (instance) => {
      const kept = instance.planned.get(text);
      instance.planned.delete(text);
      const planned = kept ?? (await plan(instance, text));
      let isKept = false;
      try {
        const { connection, prepared } = planned;
        prepared.bind(values.map(driverValue));
        const rows = await this.#interruptible(connection, signal, async () => rowsOf(await prepared.run()));
        isKept = this.#isCurrent(instance) && !instance.planned.has(text) && instance.planned.size < PLANNED_MAX;
        if (isKept) instance.planned.set(text, planned);
        return rows;
      } finally {
        if (!isKept) forget(planned);
      }
    });
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
    return await this.#connected(async (connection) => {
      const prepared = await connection.prepare(text);
      const isSelect = prepared.statementType === StatementType.SELECT;
      const columnNames = Array.from({ length: prepared.columnCount }, (_, index) => prepared.columnName(index));
      prepared.destroySync();
      return { isSelect, columnNames };
    });
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
    return await this.#connected(async (connection, instance) => {
      const run = () => this.#interruptible(connection, signal, () => runStatement(connection, statement).then(take));
      try {
        return await run().catch(async (error: unknown) => {
          if (await restoreSpillFolder(instance, error)) return await run();
          throw error;
        });
      } catch (error) {
        if (isOutOfMemory(error)) {
          nativeResults.release();
          // Their memory is freed in the turn after.
          await letOthersRun();
        }
        throw error;
      }
    });
  }

  async #connected<T>(work: (connection: DuckDBConnection, instance: Instance) => Promise<T>): Promise<T> {
    return await this.#using(async (instance) => {
      const connection = instance.idle.pop() ?? (await instance.database.connect());
      try {
        return await work(connection, instance);
      } finally {
        if (this.#isCurrent(instance)) instance.idle.push(connection);
        else connection.closeSync();
      }
    });
  }

  /** Gives work the instance of this moment, and closes it afterwards if meanwhile another one has taken its place. */
  async #using<T>(work: (instance: Instance) => Promise<T>): Promise<T> {
    const instance = this.#instance;
    instance.used += 1;
    this.#statements += 1;
    if (this.#statements % STATEMENTS_PER_LOOK === 0) this.#look();
    try {
      return await work(instance);
    } finally {
      instance.used -= 1;
      this.#closeIfUnused(instance);
    }
  }

  #isCurrent(instance: Instance): boolean {
    return instance === this.#instance && !this.#closed;
  }

  #closeIfUnused(instance: Instance): void {
    if (instance === this.#instance || instance.used > 0) return;
    // What cannot be removed goes with the folder that it is in.
    const closing: Promise<void> = closeInstance(instance)
      .catch(() => undefined)
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /** What fails here is tried again at the next look. */
  #look(): void {
    const { footersBytesMax } = this.#options;
    if (footersBytesMax === undefined) return;
    this.#renewal ??= this.#renewBeyond(footersBytesMax)
      .catch(() => undefined)
      .finally(() => {
        this.#renewal = undefined;
      });
  }

  async #renewBeyond(footersBytesMax: number): Promise<void> {
    const text = "SELECT sum(memory_usage_bytes)::DOUBLE FROM duckdb_memory() WHERE tag = 'OBJECT_CACHE'";
    const [row] = await this.query({ text, values: [] }, NEVER);
    if (Number(row?.[0] ?? 0) <= footersBytesMax) return;
    const renewed = await openInstance(this.#options);
    if (this.#closed) {
      await closeInstance(renewed);
      return;
    }
    const before = this.#instance;
    this.#instance = renewed;
    // What runs on it ends there.
    this.#closeIfUnused(before);
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
      await this.#options.sleep(INTERRUPT_MILLIS, ended).catch(() => undefined);
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
    await Promise.allSettled([...this.#running.values(), this.#renewal, this.#byOneThread]);
    ended.abort();
    await closeInstance(this.#instance);
    await Promise.all(this.#closing);
  }
}
