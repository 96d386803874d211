/**
 * The embedded engine: each query gets a DuckDB of its own, locked down to the folder of source tables and the folder of
 * its output, with a view for every source table it declared. Nothing is shared between queries, so one that runs away
 * takes nothing with it.
 */
import { rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { DuckDBValue } from '@duckdb/node-api';
import { type Sleep, TimeLimit } from '../../domain/time.ts';
import { DuckDb, type Row } from '../../duckdb/duckdb.ts';
import { quoteName, quoteText } from '../../duckdb/quoting.ts';
import { type Engine, EngineError, type EngineQuery, type Materialized, type SourceTable } from '../engine.ts';
import { engineColumnType } from './engine-column-type.ts';
import { type ErrorContext, toEngineError } from './engine-errors.ts';
import { findSource, type SourceFiles } from './source-files.ts';
import { describeSource, sourceView } from './source-view.ts';

export interface DuckDbEngineOptions {
  /** Absolute; the folder of source tables (QRS_SOURCES_DIR). */
  readonly sourcesDirectory: string;
  /** Absolute; where DuckDB spills what does not fit in memory. */
  readonly tempDirectory: string;
  readonly threads: number;
  /** As DuckDB writes sizes: `1GB`. */
  readonly memoryLimit: string;
  /** As DuckDB writes sizes. */
  readonly tempSizeMax: string;
  /** The longest one query may take, milliseconds. */
  readonly timeLimitMillis: number;
  readonly sleep: Sleep;
}

/** The first line of the statement that holds the SQL; the SQL itself starts on the next. */
const LINES_BEFORE_SQL = 1;

export class DuckDbEngine implements Engine {
  readonly #options: DuckDbEngineOptions;
  /** Aborted when the engine is closed. */
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: DuckDbEngineOptions) {
    this.#options = { ...options, sourcesDirectory: resolve(options.sourcesDirectory) };
  }

  async materialize(query: EngineQuery, path: string, signal: AbortSignal): Promise<Materialized> {
    const run = this.#materialize(query, path, AbortSignal.any([signal, this.#closing.signal]));
    this.#running.add(run);
    try {
      return await run;
    } finally {
      this.#running.delete(run);
    }
  }

  async hasAny(sources: readonly SourceTable[]): Promise<boolean> {
    for (const { name } of sources) {
      try {
        await findSource(this.#options.sourcesDirectory, name);
        return true;
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
        if (error.type !== 'missing_source') return true;
      }
    }
    return false;
  }

  async #materialize(query: EngineQuery, path: string, signal: AbortSignal): Promise<Materialized> {
    signal.throwIfAborted();
    using limit = new TimeLimit(this.#options.timeLimitMillis, this.#options.sleep);
    const context: ErrorContext = { sourcesDirectory: this.#options.sourcesDirectory, linesBefore: LINES_BEFORE_SQL };
    try {
      return await this.#run(query, path, AbortSignal.any([signal, limit.signal]), context);
    } catch (error) {
      // DuckDB writes beside the file first, under a name of its own, and leaves that behind when it is interrupted.
      for (const left of [path, join(dirname(path), `tmp_${basename(path)}`)]) await rm(left, { force: true });
      signal.throwIfAborted();
      if (limit.signal.aborted) {
        throw new EngineError(
          'time_limit',
          `the query took longer than its limit of ${this.#options.timeLimitMillis} ms`,
        );
      }
      throw toEngineError(error, query.sql, context);
    }
  }

  async #run(query: EngineQuery, path: string, signal: AbortSignal, context: ErrorContext): Promise<Materialized> {
    const { sourcesDirectory, tempDirectory, threads, memoryLimit, tempSizeMax, sleep } = this.#options;
    await using duckDb = await DuckDb.open({
      threads,
      memoryLimit,
      tempDirectory,
      tempSizeMax,
      sleep,
      allowedDirectories: [sourcesDirectory, tempDirectory, dirname(path)],
    });
    const ask = (text: string, values: readonly DuckDBValue[] = []) => duckDb.query({ text, values }, signal);
    for (const source of query.sources) await this.#createView(ask, source, context);
    // A view takes a SELECT and nothing else, and is bound at once: errors of the SQL come before any work.
    await ask(`CREATE VIEW result AS\n${query.sql}`);
    const described = await ask('DESCRIBE result');
    const columns = described.map(([name, type]) => ({ name: String(name), type: engineColumnType(String(type)) }));
    const copied = await ask(`COPY (FROM result) TO ${quoteText(path)} (FORMAT parquet, COMPRESSION zstd)`);
    return { columns, rowCount: Number(copied[0]?.[0] ?? 0) };
  }

  async #createView(
    ask: (text: string) => Promise<readonly Row[]>,
    source: SourceTable,
    context: ErrorContext,
  ): Promise<void> {
    const files: SourceFiles = await findSource(this.#options.sourcesDirectory, source.name);
    const [schema = '', table = ''] = source.name.split('.');
    try {
      const described = await ask(describeSource(files));
      const found = described.map(([name, type]) => ({ name: String(name), type: String(type) }));
      const select = sourceView(source, files, found);
      await ask(`CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`);
      await ask(`CREATE VIEW ${quoteName(schema)}.${quoteName(table)} AS ${select}`);
    } catch (error) {
      if (error instanceof EngineError || !(error instanceof Error)) throw error;
      const known = toEngineError(error, '', context);
      if (known.type === 'memory_limit') throw known;
      throw new EngineError('wrong_source', `source table ${source.name} cannot be read: ${known.message}`, {
        cause: error,
      });
    }
  }

  /** Ends what is running and waits for it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new EngineError('engine_error', 'the engine is closed'));
    await Promise.allSettled(this.#running);
  }
}
