/**
 * Opens the page that a plan describes. What the page is (where it starts, how many rows, whether more follow) is known before
 * its first byte, because headers and `next_*` depend on it; the rows then come chunk by chunk.
 *
 * Stored order is read by row ranges. A view (filtered or sorted) is read directly while that is cheap: a first page, or
 * any page of a small result. A walk materialises it and then reads ranges as well, so that a page costs what a page is,
 * not what the result is.
 */
import { cellBytesWithin } from '../domain/datapoints.ts';
import type { ResultSet } from '../domain/result-set.ts';
import { samplePositions } from '../domain/sample.ts';
import type { DuckDb } from '../duckdb/duckdb.ts';
import type { OpenObject, ResultStore } from '../store/result-store.ts';
import type { Admission } from './admission.ts';
import type { ProjectedColumn } from './compile.ts';
import type { View } from './compile-view.ts';
import { type Chunk, PartReader, rangesOf } from './part-reader.ts';
import { datapointRefusal, pageRowsMax, type ReadPlan } from './plan.ts';
import type { Format } from './request.ts';
import type { OpenView, ViewCache } from './view-cache.ts';
import type { WorkQueue } from './work-queue.ts';

export interface ReadDeps {
  readonly store: ResultStore;
  readonly duckDb: DuckDb;
  readonly views: ViewCache;
  readonly admission: Admission;
  /** Where long reads take turns, one range at a time, so that they leave room for small pages. */
  readonly exports: WorkQueue;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** The longest that one statement may take. */
  readonly statementMillisMax: number;
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
  /** At most one chunk will come. */
  readonly small: boolean;
  /** Reads the rows, in order. To be called once. @throws what a read throws, also after some chunks */
  chunks(signal: AbortSignal): AsyncGenerator<Chunk>;
  /** Gives back what the page holds on to. */
  release(): void;
}

/** Up to here a view is sorted or filtered anew for each page: 10 to 20 ms, less than a materialised view costs. */
const SMALL_RESULT_ROWS = 131_072;
const SMALL_RESULT_BYTES = 64 * 1024 * 1024;

/** @throws RequestError datapoint_limit · result_damaged · read_timeout · overloaded */
export async function openPage(
  executionId: string,
  plan: ReadPlan,
  resultSet: ResultSet,
  format: Format,
  keyId: string,
  deps: ReadDeps,
  signal: AbortSignal,
): Promise<PageOfRows> {
  const columns = plan.projection.flatMap((index): readonly ProjectedColumn[] => {
    const column = resultSet.columns[index];
    return column === undefined ? [] : [{ ...column, index }];
  });
  const { store } = deps;
  const stored = new PartReader(columns, format, { ...deps, open: (part, during) => store.open(part, during) });
  const { selection } = plan;
  const slice = selection.kind === 'slice' ? selection : { offset: 0, rowCountMax: selection.rowCount };
  const drawn = selection.kind === 'sample' ? sampleSource(resultSet, selection.rowCount) : resultSet;
  const view = selection.kind === 'slice' ? selection.view : sampleView(selection, drawn, deps.random);
  if (view === undefined)
    return admitted(await openSlice(plan, slice, columns, resultSet, stored, signal), keyId, deps);
  if (isCheap(plan, slice.offset, drawn) && !deps.views.has(executionId, view)) {
    return await openViewSlice(plan, slice, view, columns, drawn, stored, signal);
  }
  const derived = new PartReader(columns, format, { ...deps, open: async ({ key }) => derivedObject(key) });
  const open = await openView(executionId, drawn, view, keyId, deps, signal);
  try {
    const page = await openSlice(plan, slice, columns, open.resultSet, derived, signal);
    const released = { ...page, filteredRowCount: open.resultSet.rowCount, release: () => open[Symbol.dispose]() };
    return admitted(released, keyId, deps);
  } catch (error) {
    open[Symbol.dispose]();
    throw error;
  }
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
  if (deps.views.has(executionId, view)) return await deps.views.get(executionId, resultSet, view, signal);
  using _ = deps.admission.enter(keyId);
  return await deps.views.get(executionId, resultSet, view, signal);
}

/** A page of more than one range is an export: it is let in or refused here, before its first byte. */
function admitted(page: PageOfRows, keyId: string, deps: ReadDeps): PageOfRows {
  if (page.small) return page;
  const entry = deps.admission.enter(keyId);
  return {
    ...page,
    release: () => {
      entry[Symbol.dispose]();
      page.release();
    },
  };
}

interface Slice {
  readonly offset: number;
  readonly rowCountMax: number;
}

async function openSlice(
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
  const ranges = rangesOf(resultSet.parts, from, to);
  return {
    columns,
    offset: slice.offset,
    rowCount: to - from,
    // Asked for no rows, there is no page to continue.
    more: to > from && to < total,
    filteredRowCount: undefined,
    small: ranges.length <= 1,
    chunks: (during) => reader.ranges(ranges, during),
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

function isCheap(plan: ReadPlan, offset: number, resultSet: ResultSet): boolean {
  if (resultSet.rowCount <= SMALL_RESULT_ROWS && resultSet.cellBytes <= SMALL_RESULT_BYTES) return true;
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
  const positions = samplePositions(selection.rowCount, resultSet.rowCount, random);
  const firstRows = resultSet.parts.map((part) => part.firstRow);
  return { rows: { kind: 'at', positions, firstRows }, sortKeys: selection.sortKeys };
}

/** A view's part is kept by the view being open. */
function derivedObject(path: string): OpenObject {
  return { path, [Symbol.asyncDispose]: async () => undefined };
}
