/** The types of the library: what a producer passes in and gets back. */
import type { Readable } from 'node:stream';
import type { Execution } from '../domain/execution.ts';
import type { Progress as WorkProgress } from '../publishing/publish.ts';

/** Over HTTP: the phase `sending`, with what has been sent so far. On a data directory: the phases of the work itself. */
export type Progress =
  | WorkProgress
  | { readonly phase: 'sending'; readonly bytes: number; readonly bytesTotal: number };

interface OfEverySource {
  /** The query that this is a run of; it must have been added (`qrs queries add`). */
  readonly queryId: number;
  /** Column to type name, for what the source cannot say: `{ amount: 'uint256' }`. */
  readonly types?: Readonly<Record<string, string>>;
  /** Named query parameters of the run. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Completes this run, which `submit` began; when left out, a new run is made. The run keeps the parameters of its `submit`. */
  readonly executionId?: string;
  /** Stops the work; then nothing has changed. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

export interface FilePublication extends OfEverySource {
  readonly source:
    | { readonly kind: 'file'; readonly path: string }
    | { readonly kind: 'stream'; readonly stream: Readable };
  /** When left out, the file's name or first bytes decide. */
  readonly format?: 'parquet' | 'csv' | 'ndjson';
  /** What separates the fields of a CSV file. When left out, the header decides: comma, semicolon or tab. */
  readonly delimiter?: string;
  /** The encoding of text; UTF-8 when left out. Compressed files (gzip, zstd) are recognised by their first bytes. */
  readonly encoding?: 'utf-8' | 'utf-16' | 'utf-16le' | 'utf-16be' | 'latin-1' | 'windows-1252';
}

export interface RowsPublication extends OfEverySource {
  /**
   * One object for each row. Each property is a column; a missing or undefined one is null. Rows are
   * asked for only as fast as they are written to disk, so any number of rows takes little memory.
   */
  readonly source: { readonly kind: 'rows'; readonly rows: AsyncIterable<object> | Iterable<object> };
}

export type Publication = FilePublication | RowsPublication;

export interface Submission {
  readonly queryId: number;
  readonly parameters?: Readonly<Record<string, string>>;
}

/** The error of a failed run, as its readers see it. */
export interface Failure {
  readonly message: string;
  /** The kind of error, such as `syntax_error`; `execution_error` when left out. */
  readonly type?: string;
  /** The place of the error in the query, counted from 1. A column needs a line. */
  readonly line?: number;
  readonly column?: number;
}

export interface Publisher extends AsyncDisposable {
  /**
   * @returns the finished run, whose result is stored and visible
   * @throws PublishError for invalid input · ColumnTypeError for an unknown type · IllegalTransition when the run of `executionId` has
   *   ended already · LeaseLost when another process took the run over · what `rows` or `stream` fails with · the reason of `signal`.
   *   Then nothing has changed.
   */
  publish(publication: Publication): Promise<Execution>;
  /** Begins a run, in the state PENDING. @throws PublishError for invalid parameters · CatalogConflict when there is no such query */
  submit(submission: Submission): Promise<Execution>;
  /** PENDING → EXECUTING. @throws IllegalTransition from another state, and when there is no such run */
  start(executionId: string): Promise<Execution>;
  /** PENDING or EXECUTING → FAILED. @throws PublishError for an invalid error · IllegalTransition */
  fail(executionId: string, failure: Failure): Promise<Execution>;
  /** PENDING or EXECUTING → CANCELLED. @throws IllegalTransition */
  cancel(executionId: string): Promise<Execution>;
}
