/**
 * Opens the page that a plan describes. What the page is (where it starts, how many rows, whether more follow) is known before
 * its first byte, because headers and `next_*` depend on it; the rows then come chunk by chunk.
 *
 * Stored order is read by row ranges. A view (filtered or sorted) is read directly while that is cheap: a first page, or
 * any page of a small result. A walk materialises it and then reads ranges as well, so that a page costs what a page is,
 * not what the result is.
 */
import { cellBytesWithin } from '../../domain/datapoints.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import { randomSeed } from '../../domain/sample.ts';
import { type DuckDb, isOutOfMemory } from '../../duckdb/duckdb.ts';
import { RequestError } from '../../errors/errors.ts';
import type { OpenObject, ResultStore } from '../../store/result-store.ts';
import type { ProjectedColumn } from '../compile/range.ts';
import type { OpenView, ViewCache } from '../derived/views/view-cache.ts';
import type { ConcurrencyLimiter } from '../limits/concurrency-limiter.ts';
import type { WorkQueue } from '../limits/work-queue.ts';
import { datapointRefusal, pageRowsMax, type ReadPlan } from '../plan/read-plan.ts';
import type { View } from '../plan/view.ts';
import type { TextFormat } from '../request/format.ts';
import { type Chunk, type ChunkSize, EXPORT_RANGE_ROWS, PAGE_RANGE_ROWS, PartReader, rangesOf } from './part-reader.ts';

export interface ReadDeps {
  readonly store: Pick<ResultStore, 'open'>;
  /** Reads ranges of rows, each with one thread, several at a time. */
  readonly pageDuckDb: DuckDb;
  readonly pageTurns: WorkQueue;
  /** Where first pages of views and samples take turns. */
  readonly searches: WorkQueue;
  readonly rangesAtOnce: number;
  /** Searches many rows: first pages of views, samples; with all threads. */
  readonly duckDb: DuckDb;
  readonly views: ViewCache;
  readonly limiter: ConcurrencyLimiter;
  /** Where long reads take turns, one range at a time, so that they leave room for small pages. */
  readonly exports: WorkQueue;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Milliseconds that only ever grow. */
  readonly monotonic: () => number;
  readonly sleep: (millis: number, signal: AbortSignal) => Promise<void>;
  /** The longest that one statement may take. */
  readonly statementMillisMax: number;
  /**
   * A view of a result of so many rows is made anew for each page. At 131,072 that is 10 to 20 ms, less than a
   * materialised view costs.
   */
  readonly directRowsMax: number;
}

/** The rows of an answer, before they are read. */
export interface PageOfRows {
  readonly columns: readonly ProjectedColumn[];
  readonly offset: number;
  readonly rowCount: number;
  /** Rows follow after this page. */
  readonly more: boolean;
  /** How many rows the filter keeps in all, where that is known. */
  readonly filteredRowCount: number | undefined;
  /** The answer is held in memory and sent at once; a larger one is an export, sent as it is read. */
  readonly small: boolean;
  /** Reads the rows, in order. Each call reads anew.
   * @param skipped sizes of the first chunks, known from before: these come without bytes
   * @throws what a read throws, also after some chunks */
  chunks(signal: AbortSignal, skipped?: readonly ChunkSize[]): AsyncGenerator<Chunk>;
  /** Gives back what the page holds on to. */
  release(): void;
}

/** The largest answer that is made in memory; a page at the default datapoint limit is 5 to 25 MB. */
const BUFFERED_BYTES_MAX = 32 * 1024 * 1024;
/** However few its rows, a result of more bytes is not small. */
const DIRECT_BYTES_MAX = 64 * 1024 * 1024;

/** @throws RequestError datapoint_limit · result_damaged · read_timeout · overloaded */
export async function openPage(
  executionId: string,
  plan: ReadPlan,
  resultSet: ResultSet,
  format: TextFormat,
  keyId: string,
  deps: ReadDeps,
  signal: AbortSignal,
): Promise<PageOfRows> {
  const columns = projectColumns(plan, resultSet);
  const { store } = deps;
  const stored = new PartReader(columns, format, { ...deps, keyId, open: (...asked) => store.open(...asked) });
  const { slice, drawn, view } = askedFor(plan, resultSet, deps.random);
  if (view === undefined)
    return await acquireIfLarge(await openSlice(plan, slice, columns, resultSet, stored, signal), keyId, deps, signal);
  if (isCheap(plan, slice.offset, drawn, deps.directRowsMax) && !deps.views.has(executionId, view)) {
    return await openViewSlice(plan, slice, view, columns, drawn, stored, signal);
  }
  const derived = new PartReader(columns, format, { ...deps, keyId, open: async ({ key }) => openDerived(key) });
  let open: OpenView;
  try {
    open = await openView(executionId, drawn, view, keyId, deps, signal);
  } catch (error) {
    // Whole rows are too wide to be sorted in the memory there is; those columns that are asked for may not be.
    const isTooWide = error instanceof RequestError && isOutOfMemory(error.cause);
    if (!isTooWide || plan.datapointsMax === undefined) throw error;
    using _ = await deps.limiter.acquire(keyId, signal);
    return await openViewSlice(plan, slice, view, columns, drawn, stored, signal);
  }
  try {
    const page = await openSlice(plan, slice, columns, open.resultSet, derived, signal);
    const released = { ...page, filteredRowCount: open.resultSet.rowCount, release: () => open[Symbol.dispose]() };
    return await acquireIfLarge(released, keyId, deps, signal);
  } catch (error) {
    open[Symbol.dispose]();
    throw error;
  }
}

export function projectColumns(plan: ReadPlan, resultSet: ResultSet): readonly ProjectedColumn[] {
  return plan.projection.flatMap((index): readonly ProjectedColumn[] => {
    const column = resultSet.columns[index];
    return column === undefined ? [] : [{ ...column, index }];
  });
}

export interface AskedFor {
  readonly slice: Slice;
  /** What the rows are taken from: the result, or the part of it that a sample is drawn from. */
  readonly drawn: ResultSet;
  /** Undefined: the stored rows in their order. */
  readonly view: View | undefined;
}

export function askedFor({ selection }: ReadPlan, resultSet: ResultSet, random: () => number): AskedFor {
  if (selection.kind === 'slice') return { slice: selection, drawn: resultSet, view: selection.view };
  const drawn = sampleSource(resultSet, selection.rowCount);
  const slice = { offset: 0, rowCountMax: selection.rowCount };
  return { slice, drawn, view: sampleView(selection, drawn, random) };
}

/** Making a view is heavy; reading one that is there is not. */
async function openView(
  executionId: string,
  resultSet: ResultSet,
  view: View,
  keyId: string,
  deps: ReadDeps,
  signal: AbortSignal,
): Promise<OpenView> {
  if (deps.views.has(executionId, view)) return await deps.views.get(executionId, resultSet, view, keyId, signal);
  using _ = await deps.limiter.acquire(keyId, signal);
  return await deps.views.get(executionId, resultSet, view, keyId, signal);
}

/** A page of more than one range is an export: it is let in or refused here, before its first byte. */
async function acquireIfLarge(
  page: PageOfRows,
  keyId: string,
  deps: ReadDeps,
  signal: AbortSignal,
): Promise<PageOfRows> {
  if (page.small) return page;
  const entry = await deps.limiter.acquire(keyId, signal);
  return {
    ...page,
    release: () => {
      entry[Symbol.dispose]();
      page.release();
    },
  };
}

export interface Slice {
  readonly offset: number;
  readonly rowCountMax: number;
}

export async function openSlice(
  plan: ReadPlan,
  slice: Slice,
  columns: readonly ProjectedColumn[],
  resultSet: ResultSet,
  reader: PartReader,
  signal: AbortSignal,
): Promise<PageOfRows> {
  const total = resultSet.rowCount;
  const from = Math.min(slice.offset, total);
  const wanted = Math.min(total, from + slice.rowCountMax);
  let to = Math.min(wanted, from + pageRowsMax(plan));
  if (plan.datapointsMax !== undefined) {
    to = await reader.fit(resultSet.parts, from, to, cellBytesWithin(plan.datapointsMax), signal);
  }
  if (to < wanted && plan.atLimit === 'refuse') throw datapointRefusal(plan);
  const ofPage = rangesOf(resultSet.parts, from, to, PAGE_RANGE_ROWS, columns.length);
  const small = ofPage.length <= 1 || estimatedBytes(columns, resultSet, to - from) <= BUFFERED_BYTES_MAX;
  const ranges = small ? ofPage : rangesOf(resultSet.parts, from, to, EXPORT_RANGE_ROWS, columns.length);
  return {
    columns,
    offset: slice.offset,
    rowCount: to - from,
    // Asked for no rows, there is no page to continue.
    more: to > from && to < total,
    filteredRowCount: undefined,
    small,
    chunks: (during, skipped) => reader.ranges(ranges, !small, during, skipped),
    release: () => undefined,
  };
}

async function openViewSlice(
  plan: ReadPlan,
  slice: Slice,
  view: View,
  columns: readonly ProjectedColumn[],
  resultSet: ResultSet,
  reader: PartReader,
  signal: AbortSignal,
): Promise<PageOfRows> {
  const rowCountMax = Math.min(slice.rowCountMax, pageRowsMax(plan), resultSet.rowCount);
  const cellBytesMax = plan.datapointsMax === undefined ? undefined : cellBytesWithin(plan.datapointsMax);
  const wanted = { offset: Math.min(slice.offset, resultSet.rowCount), rowCountMax, cellBytesMax };
  const { chunk, more } = await reader.viewSlice(resultSet.parts, view, wanted, signal);
  const rowCount = chunk?.rowCount ?? 0;
  if (more && rowCount < slice.rowCountMax && plan.atLimit === 'refuse') throw datapointRefusal(plan);
  return {
    columns,
    offset: slice.offset,
    rowCount,
    more: more && rowCount > 0,
    filteredRowCount: more || (rowCount === 0 && slice.offset > 0) ? undefined : slice.offset + rowCount,
    small: true,
    chunks: async function* () {
      if (chunk !== undefined) yield chunk;
    },
    release: () => undefined,
  };
}

/** About what the rows take as JSON: each repeats the names, and text and numbers take about twice their cell bytes. */
function estimatedBytes(columns: readonly ProjectedColumn[], resultSet: ResultSet, rowCount: number): number {
  const names = columns.reduce((sum, { name }) => sum + name.length + 4, 0);
  return rowCount * (names + (2 * resultSet.cellBytes) / Math.max(1, resultSet.rowCount));
}

function isCheap(plan: ReadPlan, offset: number, resultSet: ResultSet, directRowsMax: number): boolean {
  if (resultSet.rowCount <= directRowsMax && resultSet.cellBytes <= DIRECT_BYTES_MAX) return true;
  return plan.datapointsMax !== undefined && offset === 0;
}

/** Where a sample of so many rows is drawn from: the pre-sample while it has enough, for a random part of it is as random. */
function sampleSource(resultSet: ResultSet, rowCount: number): ResultSet {
  const { preSample } = resultSet;
  if (preSample === undefined || rowCount > preSample.rowCount) return resultSet;
  return { ...resultSet, rowCount: preSample.rowCount, cellBytes: preSample.cellBytes, parts: [preSample] };
}

function sampleView(
  selection: { readonly rowCount: number; readonly sortKeys: View['sortKeys'] },
  resultSet: ResultSet,
  random: () => number,
): View {
  const draw = { seed: randomSeed(random), count: selection.rowCount, total: resultSet.rowCount };
  const firstRows = resultSet.parts.map((part) => part.firstRow);
  return { rows: { kind: 'drawn', draw, firstRows }, sortKeys: selection.sortKeys };
}

/** A view's part is kept by the view being open. */
export function openDerived(path: string): OpenObject {
  return { path, [Symbol.asyncDispose]: async () => undefined };
}
