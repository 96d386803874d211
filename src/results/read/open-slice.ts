/**
 * Opens a slice of rows as a page: a slice in the order of parts (stored ones, or a view's), or of a view that is read
 * directly.
 */
import { cellBytesWithin, datapointsOf } from '../../domain/datapoints.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import { estimatedBytes, type ProjectedColumn } from '../compile/row-encoding.ts';
import type { ViewSlice } from '../compile/view.ts';
import { datapointRefusal, pageRowsMax, type ReadPlan } from '../plan/read-plan.ts';
import type { View } from '../plan/view.ts';
import type { Chunk } from './chunk.ts';
import { knownDatapoints } from './known-datapoints.ts';
import type { PageOfRows } from './page.ts';
import { EXPORT_RANGE_ROWS, PAGE_RANGE_ROWS, rangesOf } from './part-ranges.ts';
import type { PartReader } from './part-reader.ts';
import type { Slice } from './row-source.ts';
import type { ReadSlice, ViewReader } from './view-reader.ts';

/** A slice to open. */
export interface SliceRequest {
  readonly plan: ReadPlan;
  readonly slice: Slice;
  readonly columns: readonly ProjectedColumn[];
  /** The result, or view, that the slice is cut from. */
  readonly resultSet: ResultSet;
}

/** The largest answer that is held in memory. A page at the default datapoint limit is 5 to 25 MB. */
export const BUFFERED_BYTES_MAX = 32 * 1024 * 1024;

/** @throws RequestError datapoint_limit, and what a read throws */
export async function openSlice(
  { plan, slice, columns, resultSet }: SliceRequest,
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
  const small = ofPage.length <= 1 || fitsMemory(columns, resultSet, to - from);
  const ranges = small ? ofPage : rangesOf(resultSet.parts, from, to, EXPORT_RANGE_ROWS, columns.length);
  return {
    columns,
    offset: slice.offset,
    rowCount: to - from,
    datapoints: knownDatapoints(to - from, columns, resultSet),
    // A page without rows has no page after it.
    more: to > from && to < total,
    filteredRowCount: undefined,
    small,
    chunks: (during, skipped) => reader.ranges(ranges, !small, during, skipped),
    wasLight: () => !reader.hasAskedDuckDb,
    readOn: () => reader.readOn({ from, to }),
    release: () => undefined,
  };
}

/** Reads a slice of the view at once: such a page is small. @throws as `openSlice` */
export async function openViewSlice(
  request: SliceRequest,
  view: View,
  reader: ViewReader,
  signal: AbortSignal,
): Promise<PageOfRows> {
  return pageOfSlice(request, await reader.slice(request.resultSet.parts, view, wantedOf(request), signal));
}

/** What is to be read of a view: at most as many rows as the page may have, and as there are. */
export function wantedOf({ plan, slice, resultSet }: SliceRequest): ViewSlice {
  return {
    offset: Math.min(slice.offset, resultSet.rowCount),
    rowCountMax: Math.min(slice.rowCountMax, pageRowsMax(plan), resultSet.rowCount),
    cellBytesMax: plan.datapointsMax === undefined ? undefined : cellBytesWithin(plan.datapointsMax),
  };
}

/** A slice of a view as a page. If it ends with the view's last row, the view's row count is known. @throws RequestError datapoint_limit */
export function pageOfSlice(request: SliceRequest, { chunk, more }: ReadSlice): PageOfRows {
  const { offset } = request.slice;
  const rowCount = chunk?.rowCount ?? 0;
  const isCounted = !more && (rowCount > 0 || offset === 0);
  return pageOf(request, chunk, more, isCounted ? offset + rowCount : undefined);
}

/**
 * A page that has been read whole.
 * @param filteredRowCount undefined where it is not known
 * @throws RequestError datapoint_limit
 */
export function pageOf(
  { plan, slice, columns }: Pick<SliceRequest, 'plan' | 'slice' | 'columns'>,
  chunk: Chunk | undefined,
  more: boolean,
  filteredRowCount: number | undefined,
): PageOfRows {
  const rowCount = chunk?.rowCount ?? 0;
  if (more && rowCount < slice.rowCountMax && plan.atLimit === 'refuse') throw datapointRefusal(plan);
  return {
    columns,
    offset: slice.offset,
    rowCount,
    datapoints: datapointsOf(rowCount, columns.length, chunk?.cellBytes ?? 0),
    more: more && rowCount > 0,
    filteredRowCount,
    small: true,
    chunks: async function* () {
      if (chunk !== undefined) yield chunk;
    },
    release: () => undefined,
  };
}

/** Whether so many rows of the result fit into memory, as far as their size is known. */
export function fitsMemory(columns: readonly ProjectedColumn[], resultSet: ResultSet, rowCount: number): boolean {
  const cellBytes = (rowCount * resultSet.cellBytes) / Math.max(1, resultSet.rowCount);
  return estimatedBytes(columns, rowCount, cellBytes) <= BUFFERED_BYTES_MAX;
}
