/**
 * Opens the page that a plan describes. Headers and `next_*` depend on where the page starts, how many rows it has and whether
 * more follow, so all that is known before its first byte; the rows then come chunk by chunk.
 *
 * Stored order is read by row ranges. A view (filtered or sorted) is read directly while that is cheap: a first page, or
 * any page of a small result. A walk materialises the view and then reads ranges of that, so that the cost of a page depends on
 * the page and not on the result.
 */
import type { ResultSet } from '../../domain/result-set.ts';
import { isOutOfMemory } from '../../duckdb/duckdb.ts';
import { RequestError } from '../../errors/errors.ts';
import type { OpenObject, ResultStore } from '../../store/result-store.ts';
import type { AskedIndexes, ResultIndexes } from '../derived/indexes/result-indexes.ts';
import type { RowFiles, RowsOf } from '../derived/row-files/row-files.ts';
import type { OpenView, ViewCache } from '../derived/views/view-cache.ts';
import type { ConcurrencyLimiter } from '../limits/concurrency-limiter.ts';
import { pageRowsMax, type ReadPlan } from '../plan/read-plan.ts';
import type { View } from '../plan/view.ts';
import type { TextFormat } from '../request/format.ts';
import { openFound } from './open-found.ts';
import { openSlice, openViewSlice, type SliceRequest } from './open-slice.ts';
import type { PageOfRows, ReadRequest } from './page.ts';
import { PartReader, type PartReaderDeps } from './part-reader.ts';
import { projectColumns, rowSourceOf } from './row-source.ts';
import { wayOf } from './way.ts';
import { depsFor, type WideReads } from './wide-reads.ts';

export interface ReadDeps extends Omit<PartReaderDeps, 'keyId' | 'open' | 'rows'>, WideReads {
  readonly store: Pick<ResultStore, 'open'>;
  readonly views: ViewCache;
  readonly indexes: ResultIndexes;
  readonly rowFiles: RowFiles;
  readonly limiter: ConcurrencyLimiter;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /**
   * A result of at most so many rows is filtered and sorted again for each page. At 131,072 rows that is 10 to 20 ms, less than a
   * materialised view costs.
   */
  readonly directRowsMax: number;
}

/** However few its rows, a result of more bytes than this is not small. */
const DIRECT_BYTES_MAX = 64 * 1024 * 1024;

/** @throws RequestError datapoint_limit · result_damaged · read_timeout · overloaded */
export async function openPage(
  request: ReadRequest,
  format: TextFormat,
  deps: ReadDeps,
  signal: AbortSignal,
): Promise<PageOfRows> {
  const { executionId, plan, keyId } = request;
  const { store, views, limiter } = deps;
  const columns = projectColumns(plan, request.resultSet);
  const { slice, resultSet, view } = rowSourceOf(plan, request.resultSet, deps.random);
  const readerOf = (open: PartReaderDeps['open'], rows: RowsOf | undefined) =>
    new PartReader(
      { columns, format, spelling: plan.spelling },
      depsFor(columns.length, { ...deps, keyId, open, rows }),
    );
  // Each sample is another one; and row files hold rows as they are spelled unless somebody asks for another spelling.
  const rowFiles = plan.spelling === 'plain' && view?.rows.kind !== 'drawn' ? deps.rowFiles : undefined;
  const rows = rowFiles?.ofResult(executionId, resultSet);
  const stored = { plan, slice, columns, resultSet, reader: readerOf((...asked) => store.open(...asked), rows) };
  if (view === undefined) {
    const opened = noteRead(await openSlice(stored, signal), rows, format);
    // Without a filter all rows are kept.
    const page = plan.countsExactly ? { ...opened, filteredRowCount: resultSet.rowCount } : opened;
    return await acquireIfLarge(page, keyId, limiter, signal);
  }
  const { asked, found } = await findPage(request, stored, view, { format, rows, indexes: deps.indexes }, signal);
  const isDirect = isCheap(plan, slice.offset, resultSet, deps.directRowsMax) && !views.has(executionId, view);
  request.tellWay(wayOf(asked, found !== undefined, resultSet, isDirect ? 'search' : 'view'));
  if (found !== undefined && (!plan.countsExactly || found.filteredRowCount !== undefined)) return found;
  if (isDirect) {
    const page = withCount(await openViewSlice(stored, view, signal), asked);
    if (!plan.countsExactly || page.filteredRowCount !== undefined) return page;
  }
  let open: OpenView;
  try {
    open = await openView({ ...request, resultSet }, view, deps, signal);
  } catch (error) {
    // Whole rows are too wide to be sorted in the memory there is; the columns that are asked for may not be.
    const isTooWide = error instanceof RequestError && isOutOfMemory(error.cause);
    if (!isTooWide || plan.datapointsMax === undefined || plan.countsExactly) throw error;
    using _ = await limiter.acquire(keyId, signal);
    return await openViewSlice(stored, view, signal);
  }
  try {
    const ofView = rowFiles?.ofView(executionId, open);
    const reader = readerOf(async ({ key }) => openDerived(key), ofView);
    const opened = await openSlice({ plan, slice, columns, resultSet: open.resultSet, reader }, signal);
    const page = noteRead(opened, ofView, format);
    const released = { ...page, filteredRowCount: open.resultSet.rowCount, release: () => open[Symbol.dispose]() };
    return await acquireIfLarge(released, keyId, limiter, signal);
  } catch (error) {
    open[Symbol.dispose]();
    throw error;
  }
}

/** Of CSV nothing is noted: it is not read out of row files. */
function noteRead(page: PageOfRows, rows: RowsOf | undefined, format: TextFormat): PageOfRows {
  if (format !== 'csv' && page.rowCount > 0) rows?.noteRead(!page.small);
  return page;
}

/** The page as far as indexes find it, and what they know. */
async function findPage(
  { executionId }: ReadRequest,
  stored: SliceRequest,
  view: View,
  {
    format,
    rows,
    indexes,
  }: { readonly format: TextFormat; readonly rows: RowsOf | undefined } & Pick<ReadDeps, 'indexes'>,
  signal: AbortSignal,
): Promise<{ readonly asked: AskedIndexes | undefined; readonly found: PageOfRows | undefined }> {
  const { plan, slice, resultSet } = stored;
  const wanted = { offset: slice.offset, rowCountMax: Math.min(slice.rowCountMax, pageRowsMax(plan)) };
  const asked = await indexes.ask(executionId, resultSet, view, wanted, signal);
  if (asked === undefined) return { asked, found: undefined };
  // Rows that indexes find are read where they are: that is worth little without row files, so these are made at once.
  if (asked.kind === 'rows' && format !== 'csv') rows?.noteRead(true);
  return { asked, found: await openFound(stored, view, asked, { format, rows }, signal) };
}

/** Indexes may know how many rows there are, though these have been searched. */
function withCount(page: PageOfRows, asked: AskedIndexes | undefined): PageOfRows {
  const rowCount = asked?.kind === 'none' ? asked.rowCount : undefined;
  return { ...page, filteredRowCount: page.filteredRowCount ?? rowCount };
}

/** Making a view is heavy; reading one that is there is not. */
async function openView(
  { executionId, resultSet, keyId }: ReadRequest,
  view: View,
  { views, limiter }: Pick<ReadDeps, 'views' | 'limiter'>,
  signal: AbortSignal,
): Promise<OpenView> {
  if (views.has(executionId, view)) return await views.get(executionId, resultSet, view, keyId, signal);
  using _ = await limiter.acquire(keyId, signal);
  return await views.get(executionId, resultSet, view, keyId, signal);
}

/** A page of more than one range is an export: it is let in or refused here, before its first byte. */
async function acquireIfLarge(
  page: PageOfRows,
  keyId: string,
  limiter: ConcurrencyLimiter,
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

function isCheap(plan: ReadPlan, offset: number, resultSet: ResultSet, directRowsMax: number): boolean {
  if (resultSet.rowCount <= directRowsMax && resultSet.cellBytes <= DIRECT_BYTES_MAX) return true;
  return plan.datapointsMax !== undefined && offset === 0;
}

/** The file of a view's part. It stays as long as the view is open. */
export function openDerived(path: string): OpenObject {
  return { path, [Symbol.asyncDispose]: async () => undefined };
}
