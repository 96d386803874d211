/** Reads rows of one part from its row file. Bytes and cell bytes are the same as when DuckDB reads the part. */
import type { RowRange } from '../../../domain/blocks.ts';
import { giveBack } from '../../give-back.ts';
import type { TextsOfRows } from './read-row-texts.ts';
import { type BlockRows, COMMA } from './row-block.ts';
import type { RowFile } from './row-file.ts';
import type { RowProjection, TakenRows } from './row-projection.ts';

/**
 * The rows of a range in order, some at a time, each time with separators between them and none at the ends, in memory that is the reader's.
 * @param separator the byte between two rows
 * @throws RowFileDamaged; the signal's reason
 */
export function readRange(
  texts: TextsOfRows,
  { from, to }: RowRange,
  projection: RowProjection,
  separator: number,
  signal: AbortSignal,
): AsyncGenerator<TakenRows> {
  const take = (rows: readonly BlockRows[]) => {
    const taken = projection.take(rows, separator);
    const ofBlocks = rows[0]?.text;
    if (ofBlocks !== undefined && ofBlocks.buffer !== taken.text.buffer) giveBack(ofBlocks);
    return taken;
  };
  return texts.read(from, to, take, signal);
}

/**
 * How many of the range's first rows have at most `cellBytesMax` together, and the cell bytes of these.
 * @throws as `readRange`
 */
export async function fitRows(
  texts: TextsOfRows,
  { from, to }: RowRange,
  projection: RowProjection,
  cellBytesMax: number,
  signal: AbortSignal,
): Promise<{ readonly rowCount: number; readonly cellBytes: number }> {
  let rowCount = 0;
  let cellBytes = 0;
  const take = (rows: readonly BlockRows[]) => {
    for (const block of rows) {
      for (let row = block.from; row < block.to; row += 1) {
        const bytes = projection.cellBytes(block, row);
        if (cellBytes + bytes > cellBytesMax) return false;
        cellBytes += bytes;
        rowCount += 1;
      }
    }
    return true;
  };
  const takeAndGiveBack = (rows: readonly BlockRows[]) => {
    const allFit = take(rows);
    if (rows[0] !== undefined) giveBack(rows[0].text);
    return allFit;
  };
  for await (const allFit of texts.read(from, to, takeAndGiveBack, signal)) if (!allFit) break;
  return { rowCount, cellBytes };
}

/** One row that `readScattered` was asked for. */
export interface ReadRow {
  readonly text: Uint8Array;
  readonly cellBytes: number;
}

/** @param rows rows of the part, ascending, none twice @returns them in that order @throws as `readRange` */
export async function readScattered(
  file: RowFile,
  rows: readonly number[],
  projection: RowProjection,
  signal: AbortSignal,
): Promise<readonly ReadRow[]> {
  const read: ReadRow[] = [];
  const take = (row: BlockRows) => {
    const { text, cellBytes } = projection.take([row], COMMA);
    // A copy: a view would keep the whole block in memory as long as the row.
    read.push({ text: Buffer.from(text), cellBytes });
  };
  await file.readRows(rows, take, signal);
  return read;
}
