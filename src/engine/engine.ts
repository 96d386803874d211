/**
 * The engine: runs the SQL of a query over source tables and leaves the answer as one Parquet file. A seam: one interface,
 * implementations in sibling folders (duckdb/, trino/), one contract suite (test/contract/engine.ts) that runs over each.
 *
 * The SQL is a user's, and hostile: an engine reads source tables and nothing else, whatever the SQL says. On Trino these are the tables
 * that its access control lets the service's user read.
 */
import type { ColumnType } from '../domain/column-type.ts';
import type { ParameterValue } from '../domain/parameter-values.ts';
import type { Column } from '../domain/result-set.ts';
import type { RunProgress } from '../domain/run-progress.ts';

export interface Engine extends AsyncDisposable {
  /**
   * Runs one SELECT and writes its rows, in its order, to a new Parquet file at `path` (absolute; its folder exists).
   * Nothing is left at `path` when it fails. Memory and time are bounded by the engine's own limits.
   * @returns the columns as the SQL names and types them. Compare these with what was promised, not the file's: Parquet
   *   has no whole numbers over 64 bits and would pass them off as doubles.
   * @param told how far it is, now and then, where the engine knows; not after this has ended
   * @throws EngineError; the signal's reason once it is aborted.
   */
  materialize(
    query: EngineQuery,
    path: string,
    signal: AbortSignal,
    told?: (progress: RunProgress) => void,
  ): Promise<Materialized>;
  /**
   * Whether the query could be run: one SELECT, each `{{name}}` where a value can stand, and columns that exist in those of its
   * source tables that are there. Nothing is run.
   * @returns its columns; undefined where source tables are missing
   * @throws as `materialize` does, but for those
   */
  check(query: EngineQuery, signal: AbortSignal): Promise<readonly Column[] | undefined>;
  /**
   * Whether any of the tables is there, readable or not: none means that nobody has set up what reads them. True, too, where the
   * engine cannot tell.
   * @throws the signal's reason once it is aborted
   */
  hasAny(sources: readonly SourceTable[], signal: AbortSignal): Promise<boolean>;
}

export interface EngineQuery {
  /** One SELECT. `{{name}}` stands for the value of the parameter of that name. */
  readonly sql: string;
  readonly parameters?: readonly ParameterValue[];
  /** Tables whose columns are declared; of other tables the SQL sees the columns that they have. */
  readonly sources: readonly SourceTable[];
}

export interface Materialized {
  /** Some are texts in the file: see `isWrittenAsText`. */
  readonly columns: readonly Column[];
  readonly rowCount: number;
}

/** Parquet has no type for them: whole numbers over 64 bits, intervals, times with a zone. */
export function isWrittenAsText({ type }: Pick<Column, 'type'>): boolean {
  return ['hugeint', 'uint256', 'interval'].includes(type.kind) || (type.kind === 'time' && type.withZone);
}

/**
 * A table outside the service, and the columns of it that are read. A uint256 may be kept as text of decimal digits; what
 * the SQL sees casts to DECIMAL(38, 0) exactly, and one beyond that fails the query.
 */
export interface SourceTable {
  /** `schema.table`, lower case. */
  readonly name: string;
  readonly columns: readonly SourceColumn[];
}

export interface SourceColumn {
  readonly name: string;
  readonly type: ColumnType;
}

export type EngineErrorType =
  /** The SQL cannot be read, or names what does not exist. */
  | 'syntax_error'
  /** A source table is not there. */
  | 'missing_source'
  /** A source table is there, but cannot be read or lacks a column. */
  | 'wrong_source'
  /** The query ran and failed: a value that cannot be converted, a number out of range. */
  | 'execution_error'
  /** The columns are not those that were promised. */
  | 'column_mismatch'
  | 'memory_limit'
  | 'time_limit'
  /** The answer takes more disk than one may. */
  | 'result_limit'
  /** The engine cannot be reached, or failed in a way that has no better name. */
  | 'engine_error';

/** Why a query gave no result: for the error of the failed execution, so it names no path of this machine. */
export class EngineError extends Error {
  readonly type: EngineErrorType;
  /** Where in the SQL, from 1. */
  readonly line: number | undefined;
  readonly column: number | undefined;

  constructor(
    type: EngineErrorType,
    message: string,
    more: { readonly line?: number | undefined; readonly column?: number | undefined; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.type = type;
    this.line = more.line;
    this.column = more.column;
  }
}

/** The engine does not answer at the moment, after all retries. */
export class EngineUnavailable extends EngineError {
  constructor(message: string, cause: unknown) {
    super('engine_error', message, { cause });
  }
}
