/**
 * Walks from page to page along `next_uri` and counts: the pages must follow each other without a gap, be of one run, and together have
 * as many rows as the service announced. Anything else is an error, never a short answer.
 */
import { IncompleteResult, RunFailed } from './errors.ts';
import { type Fields, isObject, type Requests } from './requests.ts';
import { addressOf, type Filter, type Target } from './target.ts';
import { readerOf, type Value } from './values.ts';

export interface Column {
  readonly name: string;
  /** As the service has it: `uint256`, `timestamp(3)`. */
  readonly type: string;
}

export interface Page<Row> {
  readonly executionId: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** Of all pages together. */
  readonly rowCount: number;
  /** Whether the result was cut when it was stored. */
  readonly isPartial: boolean;
}

/** All pages in one. */
export type Table<Row> = Page<Row>;

type Values = Record<string, Value>;

interface Metadata {
  readonly column_names: readonly string[];
  readonly column_types: readonly string[];
  readonly row_count: number;
  readonly total_row_count: number;
  readonly filtered_row_count?: number;
}

export async function* walk<Row>(
  requests: Requests,
  target: Target,
  filter: Filter,
  signal?: AbortSignal,
): AsyncGenerator<Page<Row>, void, undefined> {
  const isNarrowed = filter.filters !== undefined || filter.search !== undefined;
  // Integers beyond 2^53 come as text, so none is rounded to a double.
  const more = { format: 'json', bigints: 'string', ...(isNarrowed && { count: 'exact' }) };
  let next: string | undefined = addressOf(target, filter, more);
  let [execution, wanted, seen] = ['', 0, 0];
  while (next !== undefined) {
    const body: Fields = await requests.get(next, signal);
    const page: Received<Row> = pageOf(body, filter);
    if (execution === '') {
      execution = page.executionId;
      // The service's limit is for one page; the caller's is for all pages together.
      wanted = Math.min(filter.limit ?? Number.POSITIVE_INFINITY, page.available);
    }
    if (page.executionId !== execution) throw new IncompleteResult('the pages are of several runs');
    const rows = page.rows.slice(0, wanted - seen);
    seen += page.rows.length;
    next = nextOf(body, seen, page, filter);
    if (next === undefined && seen < wanted) throw incomplete(seen, page);
    if (seen >= wanted) next = undefined;
    yield { executionId: execution, columns: page.columns, rows, rowCount: wanted, isPartial: page.isPartial };
  }
}

/** @returns the address of the next page; undefined on the last @throws IncompleteResult */
function nextOf<Row>(body: Fields, seen: number, page: Received<Row>, filter: Filter): string | undefined {
  const { next_uri, next_offset } = body as { readonly next_uri?: string; readonly next_offset?: number };
  const follows =
    next_uri === undefined ||
    (typeof next_uri === 'string' &&
      page.rows.length > 0 &&
      seen < page.available &&
      next_offset === (filter.offset ?? 0) + seen);
  if (!follows || seen > page.available) throw incomplete(seen, page, next_offset);
  return next_uri;
}

function incomplete<Row>(seen: number, page: Received<Row>, next?: number): IncompleteResult {
  const said = `${seen} rows have come of ${page.executionId}, of ${page.available} that the service said there are`;
  return new IncompleteResult(next === undefined ? said : `${said}, and the next begin at ${next}`);
}

interface Received<Row> extends Omit<Page<Row>, 'rowCount'> {
  /** How many rows the service announces from the offset on. */
  readonly available: number;
}

function pageOf<Row>(body: Fields, filter: Filter): Received<Row> {
  const { execution_id: executionId, state, result, error } = body;
  if (typeof executionId !== 'string' || typeof state !== 'string') {
    throw new IncompleteResult('the answer is not one of this service: check the address');
  }
  if (result === undefined) throw runFailed(executionId, state, error);
  if (!isResult(result)) {
    throw new IncompleteResult(`the result of ${executionId} is not as this service gives one: check the address`);
  }
  const { metadata, rows } = result;
  const columns = metadata.column_names.map((name, i) => ({ name, type: metadata.column_types[i] ?? '' }));
  if (metadata.row_count !== rows.length) {
    throw new IncompleteResult(`a page has ${rows.length} rows, of ${metadata.row_count} that it says it has`);
  }
  return {
    executionId,
    columns,
    rows: typed(rows, columns, executionId) as readonly Row[],
    available: availableOf(metadata, filter),
    isPartial: state === 'QUERY_STATE_COMPLETED_PARTIAL',
  };
}

export function runFailed(executionId: string, state: string, error: unknown): RunFailed {
  const { message = `the run ${executionId} has no result: ${state}` } = (error ?? {}) as { readonly message?: string };
  return new RunFailed(message, executionId, state);
}

function availableOf({ total_row_count: total, filtered_row_count: filtered }: Metadata, filter: Filter): number {
  if (filter.sampleCount !== undefined) return Math.min(filter.sampleCount, total);
  return Math.max(0, (filtered ?? total) - (filter.offset ?? 0));
}

/** Whether it has all that is read of it: another program, or a proxy that changes answers, may have written it. */
function isResult(given: unknown): given is { readonly metadata: Metadata; readonly rows: readonly Values[] } {
  if (!isObject(given) || !isObject(given.metadata) || !Array.isArray(given.rows)) return false;
  const { column_names, column_types, row_count, total_row_count, filtered_row_count = 0 } = given.metadata;
  return (
    isTexts(column_names) &&
    isTexts(column_types) &&
    column_names.length === column_types.length &&
    [row_count, total_row_count, filtered_row_count].every(Number.isSafeInteger) &&
    given.rows.every(isObject)
  );
}

function isTexts(given: unknown): given is readonly string[] {
  return Array.isArray(given) && given.every((text) => typeof text === 'string');
}

function typed(rows: readonly Values[], columns: readonly Column[], executionId: string): readonly Values[] {
  const readers = columns.map(({ name, type }) => ({ name, type, read: readerOf(type) }));
  for (const row of rows) {
    for (const { name, type, read } of readers) {
      const value = Object.hasOwn(row, name) ? readValue(row[name], read) : undefined;
      if (value === undefined) throw new IncompleteResult(`a row of ${executionId} has no ${type} in "${name}"`);
      row[name] = value;
    }
  }
  return rows;
}

/** Undefined for a value that is none of its type. */
function readValue(given: Value | undefined, read: ReturnType<typeof readerOf>): Value | undefined {
  try {
    return read === undefined ? given : read(given);
  } catch {
    return undefined;
  }
}
