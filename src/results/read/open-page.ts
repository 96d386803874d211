/**
 * Opens the page that a plan describes. The headers and `next_*` depend on where the page starts, how many rows it has and
 * whether more follow, so all that is known before the first byte. The rows then come chunk by chunk.
 *
 * Rows in stored order are read by row ranges. A view (filtered or sorted) is read directly while that is cheap: a first page,
 * or any page of a small result. A walk materialises the view once and then reads ranges of it, so that a page's cost depends
 * on the page and not on the result.
 */
import { isOutOfMemory } from '../../duckdb/duckdb.ts';
import { RequestError } from '../../errors/errors.ts';
import { WorkspaceUnavailable } from '../../errors/workspace-unavailable.ts';
import type { ReadLeases } from '../../leases/read-leases.ts';
import type { ResultStore } from '../../store/result-store.ts';
import type { ProjectedColumn } from '../compile/row-encoding.ts';
import type { AskedIndexes, ResultIndexes } from '../derived/indexes/result-indexes.ts';
import type { RowFiles } from '../derived/row-files/row-files.ts';
import type { RowsOf } from '../derived/row-files/rows-of.ts';
import type { ViewCache } from '../derived/views/view-cache.ts';
import type { ConcurrencyLimiter } from '../limits/concurrency-limiter.ts';
import { isCountCheap } from '../plan/count-cost.ts';
import { pageRowsMax } from '../plan/read-plan.ts';
import type { View } from '../plan/view.ts';
import type { TextFormat } from '../request/format.ts';
import { asHeavyWork } from './heavy-work.ts';
import { openViewFor, type ViewForColumns } from './narrow-view.ts';
import { type FoundReading, openFound } from './open-found.ts';
import { fitsMemory, openSlice, openViewSlice, pageOf, type SliceRequest } from './open-slice.ts';
import { isLongPage, type PageOfRows, type ReadRequest } from './page.ts';
import type { PartExclusion } from './part-exclusion.ts';
import { PartReader } from './part-reader.ts';
import type { PartReaderDeps } from './read-parts.ts';
import { projectColumns, rowSourceOf } from './row-source.ts';
import { ViewReader } from './view-reader.ts';
import { wayOf } from './way.ts';
import { depsFor, type WideReads } from './wide-reads.ts';

export interface ReadDeps extends Omit<PartReaderDeps, 'keyId' | 'open' | 'prefetch' | 'rows'>, WideReads {
  readonly store: Pick<ResultStore, 'open' | 'prefetch'>;
  readonly views: ViewCache;
  readonly indexes: Pick<ResultIndexes, 'ask'>;
  readonly rowFiles: Pick<RowFiles, 'ofResult' | 'ofView'>;
  readonly exclusion: Pick<PartExclusion, 'exclude'>;
  readonly limiter: Pick<ConcurrencyLimiter, 'acquire' | 'running' | 'waiting'>;
  /** Keep the sweep away from a result for as long as it is read, or something is made of it. */
  readonly leases: Pick<ReadLeases, 'hold' | 'during'>;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /**
   * A result with at most this many rows is filtered and sorted again for each page. For 131,072 rows that takes 10 to 20 ms,
   * less than a materialised view.
   */
  readonly directRowsMax: number;
}

/** A result with more bytes than this is not small, however few its rows. */
const DIRECT_BYTES_MAX = 64 * 1024 * 1024;

/** @throws RequestError datapoint_limit · result_damaged · read_timeout · overloaded */
export async function openPage(
  request: ReadRequest,
  format: TextFormat,
  deps: ReadDeps,
  signal: AbortSignal,
): Promise<PageOfRows> {
  const { plan, keyId } = request;
  const executionId = request.rowsOf ?? request.executionId;
  const { store, views, limiter } = deps;
  const columns = projectColumns(plan, request.resultSet);
  const { slice, resultSet, view } = rowSourceOf(plan, request.resultSet, deps.random);
  const encoding = { columns, format, spelling: plan.spelling };
  const depsOf = (of: Pick<PartReaderDeps, 'open' | 'prefetch' | 'rows'>) =>
    depsFor(columns.length, { ...deps, keyId, ...of });
  // Rows of a sample are not read from row files, since the next sample has other rows. Nor are rows in another spelling than
  // the usual one, which is all that row files hold.
  const rowFiles = plan.spelling === 'plain' && view?.rows.kind !== 'drawn' ? deps.rowFiles : undefined;
  const rows = rowFiles?.ofResult(executionId, resultSet);
  const stored = { plan, slice, columns, resultSet };
  const storedDeps = depsOf({
    open: (...asked) => store.open(...asked),
    prefetch: (...asked) => store.prefetch(...asked),
    rows,
  });
  if (view === undefined) {
    const opened = noteRead(await openSlice(stored, new PartReader(encoding, storedDeps), signal), rows, format);
    // Without a filter every row counts.
    const page = plan.countsExactly ? { ...opened, filteredRowCount: resultSet.rowCount } : opened;
    return await acquireIfLarge(page, keyId, limiter, signal);
  }
  const reader = new ViewReader(encoding, storedDeps);
  const finding = { format, rows, reader, indexes: deps.indexes };
  const { asked, found } = await findPage(request, stored, view, finding, signal);
  const counting = { keyId, limiter, reader };
  if (found !== undefined) {
    request.tellWay(wayOf({ asked, isFound: true, resultSet }));
    return await withCount(found, stored, view, counting, signal);
  }
  const isMade = views.has(executionId, view);
  const searched = isMade
    ? { resultSet, left: undefined }
    : await deps.exclusion.exclude(executionId, resultSet, view, signal);
  const isCheap =
    slice.rowCountMax === 0 || isCheaplyRead({ ...stored, resultSet: searched.resultSet }, deps.directRowsMax);
  const isDirect = isCheap && !isMade;
  request.tellWay(wayOf({ asked, isFound: false, resultSet, left: searched.left }, isDirect ? 'search' : 'view'));
  if (isDirect) {
    const direct = { ...stored, resultSet: searched.resultSet };
    // Without rows there is nothing to read, and nothing that could follow.
    const rowless = pageOf(stored, undefined, false, undefined);
    const page = slice.rowCountMax === 0 ? rowless : await openViewSlice(direct, view, reader, signal);
    return await withCount(withKnownCount(page, asked), direct, view, counting, signal);
  }
  let made: ViewForColumns;
  try {
    made = await openView({ ...request, executionId, resultSet: searched.resultSet }, view, columns, deps, signal);
  } catch (error) {
    if (!canDoWithoutView(error, stored)) throw error;
    using _ = await limiter.acquire(keyId, signal);
    const direct = await openViewSlice(stored, view, reader, signal).catch(rethrowAs(error));
    return await withCount(direct, stored, view, counting, signal);
  }
  const { open, isNarrow } = made;
  try {
    const ofView = isNarrow ? undefined : rowFiles?.ofView(executionId, open);
    const ofParts = { open: open.openPart, prefetch: undefined, rows: ofView };
    const viewReader = new PartReader(encoding, depsOf(ofParts));
    const opened = await openSlice({ ...stored, resultSet: open.resultSet }, viewReader, signal);
    const page = noteViewRead(opened, ofView, format);
    const filteredRowCount = view.rows.kind === 'drawn' ? undefined : open.resultSet.rowCount;
    const released = { ...page, filteredRowCount, release: () => open[Symbol.dispose]() };
    return await acquireIfLarge(released, keyId, limiter, signal);
  } catch (error) {
    open[Symbol.dispose]();
    throw error;
  }
}

/** Notes that rows were read, so that row files are built once that pays. CSV does not count: it is not read from row files. */
function noteRead(page: PageOfRows, rows: RowsOf | undefined, format: TextFormat): PageOfRows {
  if (format !== 'csv' && page.rowCount > 0) rows?.noteRead(!page.small);
  return page;
}

/**
 * A walk in full pages, or an export, reads each row of a view once, which takes less than to build row files. Pages of a few rows decode a
 * whole row group each, and an export may be asked for again.
 */
function noteViewRead(page: PageOfRows, rows: RowsOf | undefined, format: TextFormat): PageOfRows {
  if (format === 'csv' || page.rowCount === 0 || rows === undefined) return page;
  // Of a walk only the first pages are read by themselves.
  const isByItself = !isLongPage(page.rowCount) && !rows.hasRangeAhead(page.offset);
  if (!page.small || isByItself) rows.noteRead(false);
  return page;
}

/** The page, if indexes find it, and what the indexes answered. */
async function findPage(
  { executionId }: ReadRequest,
  stored: SliceRequest,
  view: View,
  { indexes, ...reading }: FoundReading & { readonly rows: RowsOf | undefined } & Pick<ReadDeps, 'indexes'>,
  signal: AbortSignal,
): Promise<{ readonly asked: AskedIndexes | undefined; readonly found: PageOfRows | undefined }> {
  const { plan, slice, resultSet } = stored;
  const wanted = { offset: slice.offset, rowCountMax: Math.min(slice.rowCountMax, pageRowsMax(plan)) };
  const asked = await indexes.ask(executionId, resultSet, view, wanted, signal);
  if (asked === undefined) return { asked, found: undefined };
  // Rows that indexes find are scattered. Reading them is fast only with row files, so these are built at once.
  if (asked.kind === 'rows' && reading.format !== 'csv') reading.rows?.noteRead(true);
  return { asked, found: await openFound(stored, view, asked, reading, signal) };
}

/** Indexes may know the number of rows even where they could not find the rows. */
function withKnownCount(page: PageOfRows, asked: AskedIndexes | undefined): PageOfRows {
  const rowCount = asked?.kind === 'none' ? asked.rowCount : undefined;
  return { ...page, filteredRowCount: page.filteredRowCount ?? rowCount };
}

/** The page with the number of rows that match, if it was asked for or costs little. */
async function withCount(
  page: PageOfRows,
  { plan, resultSet }: SliceRequest,
  view: View,
  { keyId, limiter, reader }: { readonly reader: ViewReader; readonly keyId: string } & Pick<ReadDeps, 'limiter'>,
  signal: AbortSignal,
): Promise<PageOfRows> {
  // A sample is drawn from all rows: none are matched.
  if (view.rows.kind === 'drawn') return { ...page, filteredRowCount: undefined };
  if (page.filteredRowCount !== undefined) return page;
  if (view.rows.kind === 'all') return { ...page, filteredRowCount: resultSet.rowCount };
  const isCheap = isCountCheap(view.rows.predicate, resultSet);
  if (!isCheap && !plan.countsExactly) return page;
  using _ = isCheap ? undefined : await limiter.acquire(keyId, signal);
  return { ...page, filteredRowCount: await reader.count(resultSet.parts, view, signal) };
}

/** The view, made for this read unless it is there. */
async function openView(
  request: ReadRequest,
  view: View,
  columns: readonly ProjectedColumn[],
  { views, limiter, leases }: Pick<ReadDeps, 'views' | 'limiter' | 'leases'>,
  signal: AbortSignal,
): Promise<ViewForColumns> {
  const { executionId, keyId } = request;
  if (views.has(executionId, view)) return await openViewFor(request, view, columns, views, signal);
  const make = () => openViewFor(request, view, columns, views, signal);
  return await asHeavyWork({ executionIds: [executionId], keyId }, { limiter, leases }, signal, make);
}

/** A page of several ranges is an export. The limiter admits or refuses it here, before its first byte. */
async function acquireIfLarge(
  page: PageOfRows,
  keyId: string,
  limiter: ReadDeps['limiter'],
  signal: AbortSignal,
): Promise<PageOfRows> {
  if (page.small) return page;
  const entry = await limiter.acquire(keyId, signal);
  return {
    ...page,
    release: () => {
      entry[Symbol.dispose]();
      page.release();
    },
  };
}

/**
 * Rethrows the first error where both are for want of something: that a view has no folder to be written to, and that the read without a view
 * has not enough memory. The folder is what can be mended.
 */
function rethrowAs(first: unknown): (error: unknown) => never {
  return (error) => {
    const isForWant =
      first instanceof WorkspaceUnavailable && error instanceof RequestError && isOutOfMemory(error.cause);
    throw isForWant ? first : error;
  };
}

/** Whether the page can be read directly, where the view for it cannot be made. */
function canDoWithoutView(error: unknown, { plan, slice, columns, resultSet }: SliceRequest): boolean {
  if (error instanceof WorkspaceUnavailable) {
    const rowsMax = Math.min(resultSet.rowCount, slice.rowCountMax, pageRowsMax(plan));
    return plan.datapointsMax !== undefined || fitsMemory(columns, resultSet, rowsMax);
  }
  // Whole rows are too wide to sort in the memory there is. The columns asked for may not be too wide.
  const isTooWide = error instanceof RequestError && isOutOfMemory(error.cause);
  return isTooWide && plan.datapointsMax !== undefined && !plan.countsExactly;
}

function isCheaplyRead({ plan, slice, columns, resultSet }: SliceRequest, directRowsMax: number): boolean {
  if (plan.datapointsMax !== undefined && slice.offset === 0) return true;
  if (resultSet.rowCount > directRowsMax || resultSet.cellBytes > DIRECT_BYTES_MAX) return false;
  // What is read directly is held in memory, names of cells included, also of cells that have no bytes.
  return fitsMemory(columns, resultSet, Math.min(resultSet.rowCount, slice.rowCountMax, pageRowsMax(plan)));
}
