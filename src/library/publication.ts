/** What a producer hands over and gets back: the types of the library, the same whatever is behind them. */
import type { Readable } from 'node:stream';
import type { Execution } from '../domain/execution.ts';
import type { Progress } from '../publishing/publish.ts';

interface OfEverySource {
  /** The query that this is a run of; it must have been added (`qrs queries add`). */
  readonly queryId: number;
  /** Column to type name, for what the source cannot say: `{ amount: 'uint256' }`. */
  readonly types?: Readonly<Record<string, string>>;
  /** Named query parameters of the run. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Completes this run, begun before (`submit`); a new one when left out. Its parameters are those it was begun with. */
  readonly executionId?: string;
  /** Ends the work; nothing has changed then. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

export interface FilePublication extends OfEverySource {
  readonly source:
    | { readonly kind: 'file'; readonly path: string }
    | { readonly kind: 'stream'; readonly stream: Readable };
  /** By the file's name or first bytes when left out. */
  readonly format?: 'parquet' | 'csv' | 'ndjson';
  /** What separates the fields of a CSV file; a comma, a semicolon or a tab, as the header has it, when left out. */
  readonly delimiter?: string;
  /** Of text; UTF-8 when left out. Compressed files (gzip, zstd) are known by their first bytes. */
  readonly encoding?: 'utf-8' | 'utf-16' | 'utf-16le' | 'utf-16be' | 'latin-1' | 'windows-1252';
}

export interface RowsPublication extends OfEverySource {
  /**
   * One object for each row: each of its properties is a column, and one that is missing or undefined is null. The next row is asked
   * for when there is room for it on disk, so rows of any number take little memory.
   */
  readonly source: { readonly kind: 'rows'; readonly rows: AsyncIterable<object> | Iterable<object> };
}

export type Publication = FilePublication | RowsPublication;

export interface Submission {
  readonly queryId: number;
  readonly parameters?: Readonly<Record<string, string>>;
}

/** What those who read the results of a failed run are told. */
export interface Failure {
  readonly message: string;
  /** The kind of error, such as `syntax_error`; `execution_error` when left out. */
  readonly type?: string;
  /** Where in the query it went wrong, from 1; a column needs a line. */
  readonly line?: number;
  readonly column?: number;
}

export interface Publisher extends AsyncDisposable {
  /**
   * @returns the finished run, whose result is stored and visible
   * @throws PublishError for input that is not what it should be · ColumnTypeError for a type that is none · IllegalTransition when the
   *   run of `executionId` has ended already · LeaseLost when another process took the run over · what `rows` or `stream` failed
   *   with · the reason of `signal`. Nothing has changed then.
   */
  publish(publication: Publication): Promise<Execution>;
  /** Begins a run, in the state PENDING. @throws PublishError for parameters that are none · CatalogConflict when there is no such query */
  submit(submission: Submission): Promise<Execution>;
  /** PENDING → EXECUTING. @throws IllegalTransition from another state, and when there is no such run */
  start(executionId: string): Promise<Execution>;
  /** PENDING or EXECUTING → FAILED. @throws PublishError for an error that is none · IllegalTransition */
  fail(executionId: string, failure: Failure): Promise<Execution>;
  /** PENDING or EXECUTING → CANCELLED. @throws IllegalTransition */
  cancel(executionId: string): Promise<Execution>;
}
