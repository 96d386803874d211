/**
 * Datapoints: what consumers are charged by and limited in (contract §2). An answer costs its cells, or a hundredth of
 * its cell bytes where its cells are wide.
 */
const BYTES_PER_DATAPOINT = 100;

export function datapointsOf(rowCount: number, columnCount: number, cellBytes: number): number {
  return Math.max(rowCount * columnCount, Math.ceil(cellBytes / BYTES_PER_DATAPOINT));
}

/** The most cell bytes that an answer of at most `datapointsMax` may have. */
export function cellBytesWithin(datapointsMax: number): number {
  return datapointsMax * BYTES_PER_DATAPOINT;
}

/** The most rows of `columnCount` columns that an answer of at most `datapointsMax` may have, by cells alone. */
export function rowsWithin(datapointsMax: number, columnCount: number): number {
  return columnCount === 0 ? datapointsMax : Math.floor(datapointsMax / columnCount);
}
