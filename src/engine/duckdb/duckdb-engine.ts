/**
 * The embedded engine: each query gets a DuckDB of its own in a process of its own (sandbox.ts), locked down to the source
 * tables that it names and the file of its rows. Nothing is shared between queries, so one that runs away takes nothing with it.
 */
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Column } from '../../domain/result-set.ts';
import type { RunProgress } from '../../domain/run-progress.ts';
import { type Sleep, TimeLimit } from '../../domain/time.ts';
import { type Engine, EngineError, type EngineQuery, type Materialized, type SourceTable } from '../engine.ts';
import { partPath } from '../part-path.ts';
import { runInSandbox } from './sandbox.ts';
import { findSource } from './source-files.ts';

export interface DuckDbEngineOptions {
  /** Absolute; the folder of source tables (QRS_SOURCES_DIR). */
  readonly sourcesDirectory: string;
  /** Absolute; where DuckDB spills what does not fit in memory. */
  readonly tempDirectory: string;
  readonly threads: number;
  readonly memoryBytes: number;
  /** How much one query may spill. */
  readonly tempBytesMax: number;
  /** How large the file of an answer may be. */
  readonly resultBytesMax: number;
  /** The longest one query may take, milliseconds. */
  readonly timeLimitMillis: number;
  readonly sleep: Sleep;
}

export class DuckDbEngine implements Engine {
  readonly #options: DuckDbEngineOptions;
  /** Aborted when the engine is closed. */
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: DuckDbEngineOptions) {
    this.#options = { ...options, sourcesDirectory: resolve(options.sourcesDirectory) };
  }

  async materialize(
    query: EngineQuery,
    path: string,
    signal: AbortSignal,
    told?: (progress: RunProgress) => void,
  ): Promise<Materialized> {
    try {
      return await this.#tracked(query, path, signal, told);
    } catch (error) {
      for (const left of [path, partPath(path)]) await rm(left, { force: true });
      throw error;
    }
  }

  async check(query: EngineQuery, signal: AbortSignal): Promise<readonly Column[] | undefined> {
    const { columns } = await this.#tracked(query, undefined, signal);
    return columns.length === 0 ? undefined : columns;
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

  async #tracked(
    query: EngineQuery,
    path: string | undefined,
    signal: AbortSignal,
    told?: (progress: RunProgress) => void,
  ): Promise<Materialized> {
    const run = this.#run(query, path, AbortSignal.any([signal, this.#closing.signal]), told);
    this.#running.add(run);
    try {
      return await run;
    } finally {
      this.#running.delete(run);
    }
  }

  async #run(
    query: EngineQuery,
    path: string | undefined,
    signal: AbortSignal,
    told: (progress: RunProgress) => void = () => undefined,
  ): Promise<Materialized> {
    const { sourcesDirectory, threads, memoryBytes, tempBytesMax, timeLimitMillis, sleep } = this.#options;
    signal.throwIfAborted();
    using limit = new TimeLimit(timeLimitMillis, sleep);
    const job = {
      ...query,
      ...(path !== undefined && { path }),
      sourcesDirectory,
      threads,
      memoryLimit: `${Math.floor(memoryBytes)}B`,
      tempSizeMax: `${tempBytesMax}B`,
    };
    try {
      return await runInSandbox(job, { ...this.#options, told }, AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (!limit.signal.aborted) throw error;
      throw new EngineError('time_limit', `the query took longer than its limit of ${timeLimitMillis} ms`);
    }
  }

  /** Ends what is running and waits for it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new EngineError('engine_error', 'the engine is closed'));
    await Promise.allSettled(this.#running);
  }
}
