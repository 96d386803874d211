/**
 * The engine on Trino: a query runs on the cluster, over the tables that the service's user there may read, and its rows are fetched by the
 * client protocol and written to a Parquet file here.
 *
 *   one SELECT? → bind parameters → submit, follow → rows as JSON on disk → DuckDB: values, types → Parquet
 *
 * Rows are never written by Trino itself: CREATE TABLE AS drops the order, and its table formats lack types.
 */
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Column } from '../../domain/result-set.ts';
import type { RunProgress } from '../../domain/run-progress.ts';
import { TimeLimit } from '../../domain/time.ts';
import { fieldProblem, nameProblem } from '../../duckdb/parquet-value.ts';
import { quoteText } from '../../duckdb/quoting.ts';
import { type Engine, EngineError, type EngineQuery, type Materialized, type SourceTable } from '../engine.ts';
import { partPath } from '../part-path.ts';
import { bindParameters } from '../sql/bind-parameters.ts';
import { requireOwnNames } from '../sql/column-names.ts';
import { Coordinator, QueryGone, type TrinoAddress } from './coordinator.ts';
import { requireOneSelect } from './one-select.ts';
import { RowSpool } from './row-spool.ts';
import { type SentText, sentText } from './sent-text.ts';
import { type ProtocolColumn, runStatement, StatementFailed, type StatementText } from './statement-protocol.ts';
import { timeLimitError, toEngineError } from './trino-errors.ts';
import { TRINO_PARAMETERS } from './trino-parameters.ts';
import { wireTypeOf } from './trino-types.ts';
import { columnsOf, type WireColumn, type WriteOptions, writeRows } from './write-rows.ts';

export interface TrinoEngineOptions extends WriteOptions {
  readonly address: TrinoAddress;
  /** How large the rows of an answer may be on disk, as they come and as Parquet each. */
  readonly resultBytesMax: number;
  /** The longest one query may take, its rows included, milliseconds. */
  readonly timeLimitMillis: number;
  /** The most memory that Trino may take for one query, on all its machines; undefined: as Trino is configured. */
  readonly queryMemoryBytes: number | undefined;
}

/** A query that a coordinator forgot is run once more, since it changes nothing. */
const FORGOTTEN_MAX = 2;
/** Errors of a coordinator that answers before it can run anything, or before it has found its machines. */
const NOT_READY = ['SERVER_STARTING_UP', 'SERVER_SHUTTING_DOWN', 'NO_NODES_AVAILABLE'];
const NOT_READY_PAUSE_MILLIS = 1000;
const NOT_READY_PAUSES_MAX = 60;

export class TrinoEngine implements Engine {
  readonly #options: TrinoEngineOptions;
  readonly #coordinator: Coordinator;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: TrinoEngineOptions) {
    this.#options = options;
    this.#coordinator = new Coordinator(options.address, options.sleep);
  }

  async materialize(
    query: EngineQuery,
    path: string,
    signal: AbortSignal,
    told: Told = () => undefined,
  ): Promise<Materialized> {
    const text = this.#textOf(query, 'whole');
    let percent: number | undefined;
    const hear: Told = (progress) => {
      percent = progress.percent;
      told(progress);
    };
    try {
      return await this.#limited(
        signal,
        (working) => this.#materialize(query, text, { path, told: hear }, working),
        () => percent,
      );
    } catch (error) {
      for (const left of [path, partPath(path)]) await rm(left, { force: true });
      throw error;
    }
  }

  async check(query: EngineQuery, signal: AbortSignal): Promise<readonly Column[] | undefined> {
    const text = this.#textOf(query, 'no_rows');
    try {
      return await this.#limited(signal, async (working) => {
        const { columns } = await this.#collect(query, text, undefined, working);
        return columnsOf(columns);
      });
    } catch (error) {
      if (error instanceof EngineError && error.type === 'missing_source') return undefined;
      throw error;
    }
  }

  async hasAny(sources: readonly SourceTable[], signal: AbortSignal): Promise<boolean> {
    if (sources.length === 0) return false;
    const named = sources.map(({ name }) => {
      const [schema = '', table = ''] = name.split('.');
      return `(${quoteText(schema)}, ${quoteText(table)})`;
    });
    const sql = `SELECT 1 AS found FROM information_schema.tables WHERE (table_schema, table_name) IN (${named.join(', ')}) LIMIT 1`;
    const query = { sql, sources: [] };
    try {
      return await this.#limited(signal, async (working) => {
        const { rowCount } = await this.#collect(query, this.#textOf(query, 'whole'), undefined, working);
        return rowCount > 0;
      });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof EngineError)) throw error;
      // What cannot be asked for is not taken for missing: the run that needs it says what is wrong.
      return true;
    }
  }

  /** Ends what is running and waits for it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new EngineError('engine_error', 'the engine is closed'));
    await Promise.allSettled(this.#running);
    this.#coordinator[Symbol.dispose]();
  }

  /** @throws EngineError where the SQL is no query, or a parameter cannot stand where it stands */
  #textOf({ sql, parameters }: EngineQuery, rows: 'whole' | 'no_rows'): SentText {
    const bound = bindParameters(sql, parameters ?? [], TRINO_PARAMETERS);
    requireOneSelect(sql);
    return sentText(sql, bound, rows);
  }

  /** @param percentDone of a query that takes too long */
  async #limited<T>(
    signal: AbortSignal,
    work: (working: AbortSignal) => Promise<T>,
    percentDone: () => number | undefined = () => undefined,
  ): Promise<T> {
    const ended = AbortSignal.any([signal, this.#closing.signal]);
    const { timeLimitMillis, sleep } = this.#options;
    ended.throwIfAborted();
    using limit = new TimeLimit(timeLimitMillis, sleep);
    const running = work(AbortSignal.any([ended, limit.signal]));
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      ended.throwIfAborted();
      if (limit.signal.aborted) throw timeLimitError(timeLimitMillis, percentDone());
      throw error;
    } finally {
      this.#running.delete(running);
    }
  }

  async #materialize(
    query: EngineQuery,
    text: SentText,
    { path, told }: { readonly path: string; readonly told: Told },
    signal: AbortSignal,
  ): Promise<Materialized> {
    const { tempDirectory, resultBytesMax } = this.#options;
    await mkdir(tempDirectory, { recursive: true, mode: 0o700 });
    const folder = await mkdtemp(join(tempDirectory, 'query-'));
    try {
      const { columns, rowCount, paths } = await this.#collect(query, text, { folder, told }, signal);
      const written = await writeRows(columns, { folder, paths }, path, this.#options, signal);
      if (written !== rowCount) {
        throw new EngineError('engine_error', `Trino said it gave ${rowCount} rows, and ${written} came`);
      }
      if ((await stat(path)).size > resultBytesMax) {
        throw new EngineError(
          'result_limit',
          `the rows take more than ${resultBytesMax} bytes on disk (QRS_ENGINE_RESULT_MAX)`,
        );
      }
      return { columns: columnsOf(columns), rowCount };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Runs the statement to its end. Without a folder its rows are only counted. */
  async #collect(
    query: EngineQuery,
    text: SentText,
    target: Target | undefined,
    signal: AbortSignal,
  ): Promise<Collected> {
    let [forgotten, pauses] = [0, 0];
    for (let tries = 1; ; tries += 1) {
      try {
        const tried = target && { ...target, folder: await triedIn(target.folder, tries) };
        return await this.#collectOnce(query, text, tried, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof QueryGone) {
          forgotten += 1;
          if (forgotten < FORGOTTEN_MAX) continue;
          const message = 'Trino was started anew while it ran the query; run it again';
          throw new EngineError('engine_error', message, { cause: error });
        }
        if (!(error instanceof StatementFailed)) throw error;
        if (!NOT_READY.includes(error.error.errorName) || pauses === NOT_READY_PAUSES_MAX) {
          throw toEngineError(error.error, { ...text, timeLimitMillis: this.#options.timeLimitMillis });
        }
        pauses += 1;
        await this.#options.sleep(NOT_READY_PAUSE_MILLIS, signal);
      }
    }
  }

  async #collectOnce(
    query: EngineQuery,
    text: SentText,
    target: Target | undefined,
    signal: AbortSignal,
  ): Promise<Collected> {
    const { resultBytesMax, sleep } = this.#options;
    const spool = target && new RowSpool({ folder: target.folder, bytesMax: resultBytesMax });
    let columns: readonly WireColumn[] | undefined;
    let rowCount = 0;
    try {
      for await (const answer of runStatement(this.#coordinator, this.#statement(text), sleep, signal)) {
        if (columns === undefined && answer.columns !== undefined) columns = wireColumns(answer.columns, query.sql);
        if (answer.progress !== undefined) target?.told(answer.progress);
        rowCount += answer.rowCount + answer.segments.reduce((sum, segment) => sum + segment.rowCount, 0);
        if (spool === undefined) continue;
        if (answer.rows !== undefined) await spool.addRows(answer.rows, answer.rowCount);
        if (answer.segments.length > 0) await spool.addSegments(answer.segments, this.#coordinator, signal);
      }
      if (columns === undefined) throw new EngineError('engine_error', 'Trino named no columns');
      return { columns, rowCount, paths: (await spool?.finish()) ?? [] };
    } catch (error) {
      await spool?.abandon();
      throw error;
    }
  }

  #statement({ text }: SentText): StatementText {
    const { timeLimitMillis, queryMemoryBytes } = this.#options;
    const session = {
      // For the case that this process ends, and nobody is left to cancel the query.
      query_max_run_time: `${timeLimitMillis}ms`,
      ...(queryMemoryBytes !== undefined && { query_max_memory: `${queryMemoryBytes}B` }),
    };
    return { sql: text, session };
  }
}

type Told = (progress: RunProgress) => void;

/** Where the rows go, and who is told how far the query is. */
interface Target {
  readonly folder: string;
  readonly told: Told;
}

interface Collected {
  readonly columns: readonly WireColumn[];
  readonly rowCount: number;
  readonly paths: readonly string[];
}

/** Each try has a folder of its own: of the one before, some rows may lie there. */
async function triedIn(folder: string, tries: number): Promise<string> {
  const path = join(folder, `rows-${tries}`);
  await mkdir(path, { mode: 0o700 });
  return path;
}

/** @throws EngineError where a result cannot have such columns */
function wireColumns(columns: readonly ProtocolColumn[], sql: string): readonly WireColumn[] {
  const names = columns.map(({ name }) => name);
  requireOwnNames(names, sql);
  const wired = columns.map(({ name, signature }) => ({ name, wire: wireTypeOf(name, signature) }));
  const problem =
    nameProblem(names) ??
    columnsOf(wired)
      .map(({ type }) => fieldProblem(type))
      .find((found) => found !== undefined);
  if (problem !== undefined) throw new EngineError('syntax_error', `a result ${problem}: name them in the SQL`);
  return wired;
}
