/**
 * Opens a page of a view whose rows indexes have found. The rows are read where they are: from row files, or by DuckDB if they
 * are in few row groups. In other cases nothing is opened here, and all rows are searched, which is then as fast. Nor is an
 * answer opened here that is too large for memory.
 */
import { type ResultSet, ROW_GROUP_ROWS } from '../../domain/result-set.ts';
import { ROW_SEPARATOR } from '../compile/row-encoding.ts';
import type { AskedIndexes } from '../derived/indexes/result-indexes.ts';
import type { ReadRow } from '../derived/row-files/read-rows.ts';
import type { RowsOf } from '../derived/row-files/rows-of.ts';
import type { View } from '../plan/view.ts';
import type { TextFormat } from '../request/format.ts';
import type { Chunk } from './chunk.ts';
import { locate } from './locate.ts';
import { fitsMemory, pageOf, pageOfSlice, type SliceRequest, wantedOf } from './open-slice.ts';
import type { PageOfRows } from './page.ts';
import type { ViewReader } from './view-reader.ts';

/** Reading from a larger share of a result's row groups takes as long as searching all of them. */
const NEAR_SHARE = 1 / 8;
const NEAR_GROUPS_MIN = 4;
/** Encoded rows are read in steps of this many, until there are enough. */
const STEP_ROWS = 64;

/** How rows that have been found are read. */
export interface FoundReading {
  /** Of the answer. */
  readonly format: TextFormat;
  /** Rows that were encoded before; undefined where none were. */
  readonly rows: Pick<RowsOf, 'readRows'> | undefined;
  readonly reader: Pick<ViewReader, 'among'>;
}

/**
 * @returns undefined where the rows have to be searched
 * @throws RequestError datapoint_limit, and what a read throws
 */
export async function openFound(
  stored: SliceRequest,
  view: View,
  asked: AskedIndexes,
  { format, rows, reader }: FoundReading,
  signal: AbortSignal,
): Promise<PageOfRows | undefined> {
  const { slice, resultSet } = stored;
  if (asked.kind === 'none') return undefined;
  const { positions } = asked;
  const rowCount = asked.kind === 'rows' ? asked.rowCount : 0;
  if (positions.length === 0) return pageOf(stored, undefined, false, rowCount);
  if (!fitsMemory(stored.columns, resultSet, positions.length)) return undefined;
  const wanted = wantedOf(stored);
  if (asked.kind === 'candidates') {
    if (!areNear(positions, resultSet)) return undefined;
    return pageOfSlice(stored, await reader.among(resultSet.parts, view, wanted, positions, signal));
  }
  const { cellBytesMax } = wanted;
  const reading = format === 'csv' || rows === undefined ? undefined : { rows, columns: stored.columns, cellBytesMax };
  const encoded = reading && (await readEnough(positions, reading, signal));
  let chunk: Chunk | undefined;
  if (encoded !== undefined) chunk = chunkOf(encoded, format, cellBytesMax);
  else {
    const inOrder = positions.toSorted();
    if (!areNear(inOrder, resultSet)) return undefined;
    const found = { rows: { kind: 'all' }, sortKeys: view.sortKeys } as const;
    const all = { offset: 0, rowCountMax: positions.length, cellBytesMax };
    chunk = (await reader.among(resultSet.parts, found, all, inOrder, signal)).chunk;
  }
  return pageOf(stored, chunk, slice.offset + (chunk?.rowCount ?? 0) < rowCount, rowCount);
}

interface EncodedReading {
  readonly rows: Pick<RowsOf, 'readRows'>;
  readonly columns: SliceRequest['columns'];
  readonly cellBytesMax: number | undefined;
}

/**
 * The encoded rows at these positions, in the order of the positions: as many as fit, and perhaps a few more. Undefined where
 * some are missing.
 */
async function readEnough(
  positions: Uint32Array,
  { rows, columns, cellBytesMax = Number.POSITIVE_INFINITY }: EncodedReading,
  signal: AbortSignal,
): Promise<readonly ReadRow[] | undefined> {
  const read: ReadRow[] = [];
  let cellBytes = 0;
  for (let from = 0; from < positions.length && cellBytes <= cellBytesMax; from += STEP_ROWS) {
    const step = positions.subarray(from, from + STEP_ROWS);
    const inOrder = step.toSorted();
    const encoded = await rows.readRows([...inOrder], columns, signal);
    if (encoded === undefined) return undefined;
    const byPosition = new Map(encoded.map((row, index) => [inOrder[index] ?? 0, row]));
    for (const position of step) {
      const row = requireRow(byPosition.get(position));
      read.push(row);
      cellBytes += row.cellBytes;
    }
  }
  return read;
}

function areNear(positions: Uint32Array, { parts, rowCount }: ResultSet): boolean {
  const near = Math.max(NEAR_GROUPS_MIN, NEAR_SHARE * Math.ceil(rowCount / ROW_GROUP_ROWS));
  let groups = 0;
  for (const { rows } of locate(parts, positions)) {
    groups += new Set(rows.map((row) => Math.floor(row / ROW_GROUP_ROWS))).size;
  }
  return groups <= near;
}

/** As many of the rows as fit, at least one. */
function chunkOf(rows: readonly ReadRow[], format: TextFormat, cellBytesMax = Number.POSITIVE_INFINITY): Chunk {
  const separator = Buffer.from(ROW_SEPARATOR[format]);
  const texts: Uint8Array[] = [];
  let [rowCount, cellBytes] = [0, 0];
  for (const row of rows) {
    if (rowCount > 0 && cellBytes + row.cellBytes > cellBytesMax) break;
    if (rowCount > 0) texts.push(separator);
    texts.push(row.text);
    rowCount += 1;
    cellBytes += row.cellBytes;
  }
  return { byteChunks: [Buffer.concat(texts)], rowCount, cellBytes };
}

function requireRow(row: ReadRow | undefined): ReadRow {
  if (row === undefined) throw new Error('a row that an index has found is not there');
  return row;
}
