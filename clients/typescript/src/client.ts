/** The client: reads results as typed rows, page by page, or as files; runs queries and waits for them. */
import { countedRows } from './counted-rows.ts';
import { ServiceError } from './errors.ts';
import { type Page, runFailed, type Table, walk } from './pages.ts';
import { type Fields, isObject, Requests } from './requests.ts';
import { addressOf, type Filter, type Parameters, requireOptions, type Target } from './target.ts';
import type { Value } from './values.ts';

export interface Options {
  /** Scheme and host of the service, with the prefix of a proxy if it has one. */
  readonly url: string;
  readonly key: string;
  /** How often a failed request is sent again if that may help; 5 when left out. */
  readonly retries?: number;
  /** Used instead of the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** In place of real waiting, for tests. */
  readonly sleep?: (millis: number, signal?: AbortSignal) => Promise<void>;
}

export interface RunOptions {
  readonly parameters?: Parameters;
  readonly signal?: AbortSignal;
}

export interface RunProgress {
  /** Of the engine's work, 0 to 100. */
  readonly percent?: number;
  readonly completedSplits?: number;
  readonly totalSplits?: number;
  /** What was read from tables. */
  readonly processedRows?: number;
  readonly processedBytes?: number;
}

export interface RunStatus {
  readonly executionId: string;
  /** Such as `QUERY_STATE_EXECUTING`. */
  readonly state: string;
  readonly isFinished: boolean;
  /** The place in the queue, while the run waits. */
  readonly queuePosition?: number;
  /** While the run goes on, and where its engine says: how far it is, as it estimates. */
  readonly progress?: RunProgress;
  /** Why the run failed. */
  readonly error?: { readonly type: string; readonly message: string };
}

export type AnyRow = Readonly<Record<string, Value>>;
export type Read = Target & Filter & { readonly signal?: AbortSignal };

const FILE_TYPES = { csv: 'text/csv', parquet: 'application/vnd.apache.parquet' } as const;
const FIRST_POLL_MILLIS = 250;
const POLL_MAX_MILLIS = 5000;

export class QueryResults {
  readonly #requests: Requests;
  readonly #sleep: NonNullable<Options['sleep']>;

  constructor({ url, key, retries = 5, sleep = wait, ...options }: Options) {
    this.#sleep = sleep;
    const given = options.fetch ?? globalThis.fetch.bind(globalThis);
    this.#requests = new Requests({ url, key, retries, sleep, fetch: given });
  }

  /** Page by page, as the service cuts them. @throws ServiceError · IncompleteResult · RunFailed, if there is no result */
  pages<Row = AnyRow>(read: Read): AsyncGenerator<Page<Row>, void, undefined> {
    return walk<Row>(this.#requests, read, read, read.signal);
  }

  /** Row by row; a page is in memory at a time. @throws as pages */
  async *rows<Row = AnyRow>(read: Read): AsyncGenerator<Row, void, undefined> {
    for await (const page of this.pages<Row>(read)) yield* page.rows;
  }

  /** All rows at once, in memory. @throws as pages */
  async read<Row = AnyRow>(read: Read): Promise<Table<Row>> {
    let first: Page<Row> | undefined;
    const rows: Row[] = [];
    for await (const page of this.pages<Row>(read)) {
      first ??= page;
      for (const row of page.rows) rows.push(row);
    }
    if (first === undefined) throw new Error('a walk has at least one page');
    return { ...first, rows };
  }

  /** The bytes of a CSV file with these rows. The stream fails if the connection does, or with IncompleteResult. @throws ServiceError */
  csv(read: Read): Promise<ReadableStream<Uint8Array>> {
    return this.#file('csv', read);
  }

  /** The bytes of a Parquet file with these rows. The stream fails if the connection does. @throws ServiceError */
  parquet(read: Read): Promise<ReadableStream<Uint8Array>> {
    return this.#file('parquet', read);
  }

  /** Runs a query, waits until it has ended, and reads its rows. @throws RunFailed · ServiceError · IncompleteResult; TypeError for what is no option, before anything is run */
  async runQuery<Row = AnyRow>(query: number, { signal, ...run }: RunOptions & Filter = {}): Promise<Table<Row>> {
    requireOptions(run);
    const execution = await this.execute(query, { ...run, ...(signal && { signal }) });
    const { state, error } = await this.finished(execution, signal);
    if (!state.startsWith('QUERY_STATE_COMPLETED')) throw runFailed(execution, state, error);
    const { parameters: _, ...filter } = run;
    return await this.read<Row>({ execution, ...filter, ...(signal && { signal }) });
  }

  /** Starts a run without waiting for it. @returns its execution id @throws ServiceError */
  async execute(query: number, { parameters, signal }: RunOptions = {}): Promise<string> {
    // JSON has no bigints; as text, every digit arrives.
    const given = Object.entries(parameters ?? {}).map(([name, value]) => [
      name,
      typeof value === 'bigint' ? String(value) : value,
    ]);
    const body = parameters === undefined ? {} : { query_parameters: Object.fromEntries(given) };
    return runOf(
      await this.#requests.post(`/v1/query/${encodeURIComponent(query)}/execute`, body, signal),
      'execution_id',
    ).execution_id;
  }

  /** @throws ServiceError */
  async status(execution: string, signal?: AbortSignal): Promise<RunStatus> {
    const body = await this.#requests.get(`/v1/execution/${encodeURIComponent(execution)}/status`, signal);
    const { execution_id, state } = runOf(body, 'execution_id', 'state');
    const { queue_position, progress, error } = body;
    if ([progress, error].some((told) => told !== undefined && !isObject(told))) throw notOfService();
    return {
      executionId: execution_id,
      state,
      isFinished: body.is_execution_finished === true,
      ...(queue_position !== undefined && { queuePosition: Number(queue_position) }),
      ...(progress !== undefined && { progress: progressOf(progress as Readonly<Record<string, number>>) }),
      ...(error !== undefined && { error: error as NonNullable<RunStatus['error']> }),
    };
  }

  /** Waits until a run has ended, in whatever state. Polls with growing pauses. @throws ServiceError · the reason of the signal */
  async finished(execution: string, signal?: AbortSignal): Promise<RunStatus> {
    for (let pause = FIRST_POLL_MILLIS; ; pause = Math.min(POLL_MAX_MILLIS, pause * 1.5)) {
      const status = await this.status(execution, signal);
      if (status.isFinished) return status;
      await this.#sleep(pause, signal);
    }
  }

  /** @throws ServiceError if the run has ended already */
  async cancel(execution: string, signal?: AbortSignal): Promise<void> {
    await this.#requests.post(`/v1/execution/${encodeURIComponent(execution)}/cancel`, {}, signal);
  }

  async #file(format: 'csv' | 'parquet', read: Read): Promise<ReadableStream<Uint8Array>> {
    // A file is wanted whole, so the limit of datapoints is lifted.
    const more = { format, ignore_max_datapoints_per_request: 'true' };
    const { body, headers } = await this.#requests.open(addressOf(read, read, more), FILE_TYPES[format], read.signal);
    const bytes = body ?? new ReadableStream({ start: (controller) => controller.close() });
    // Of a Parquet file that is cut nothing can be read.
    return format === 'csv' ? countedRows(bytes, headers.get('x-service-row-count')) : bytes;
  }
}

/** @throws ServiceError when a text is missing that every answer about a run has: something else than the service has answered */
function runOf<Name extends string>(body: Fields, ...names: readonly Name[]): Readonly<Record<Name, string>> {
  if (names.every((name) => typeof body[name] === 'string')) return body as Readonly<Record<Name, string>>;
  throw notOfService();
}

function notOfService(): ServiceError {
  return new ServiceError('the answer is not one of this service: check the address');
}

function progressOf(told: Readonly<Record<string, number>>): RunProgress {
  const { percent, completed_splits, total_splits, processed_rows, processed_bytes } = told;
  return {
    ...(percent !== undefined && { percent }),
    ...(completed_splits !== undefined && { completedSplits: completed_splits }),
    ...(total_splits !== undefined && { totalSplits: total_splits }),
    ...(processed_rows !== undefined && { processedRows: processed_rows }),
    ...(processed_bytes !== undefined && { processedBytes: processed_bytes }),
  };
}

async function wait(millis: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, millis);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
