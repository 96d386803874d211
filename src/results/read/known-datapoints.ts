/** What rows cost, as far as it can be told without reading them. */
import { datapointsOf } from '../../domain/datapoints.ts';
import { type ResultSet, widestRowOf } from '../../domain/result-set.ts';
import { fixedWidthOf } from '../../duckdb/cell-bytes.ts';
import type { ProjectedColumn } from '../compile/row-encoding.ts';

/**
 * The datapoints of so many rows. If no row can have more cell bytes than its cells are worth, they are the cells; if the rows are the
 * whole result with all of its columns, their cell bytes are known.
 * @param source what the rows are of: a result, or a view of it
 * @returns undefined where the rows have to be read for it
 */
export function knownDatapoints(
  rowCount: number,
  columns: readonly ProjectedColumn[],
  source: ResultSet,
): number | undefined {
  const rowBytesMax = Math.min(widestRowOf(source.parts), widthOf(columns));
  if (rowCount === 0 || datapointsOf(1, columns.length, rowBytesMax) === columns.length)
    return rowCount * columns.length;
  const isWhole = rowCount === source.rowCount && columns.length === source.columns.length;
  return isWhole ? datapointsOf(rowCount, columns.length, source.cellBytes) : undefined;
}

/** The most cell bytes of a row with these columns; Infinity where a column has values of any length. */
function widthOf(columns: readonly ProjectedColumn[]): number {
  return columns.reduce((sum, { type }) => sum + (fixedWidthOf(type) ?? Number.POSITIVE_INFINITY), 0);
}
