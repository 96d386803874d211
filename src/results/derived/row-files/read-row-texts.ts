/** Rows of parts as text, as row files and encoded ranges have them. */
import type { RowRange } from '../../../domain/blocks.ts';
import type { Column } from '../../../domain/result-set.ts';
import type { DuckDb, Row } from '../../../duckdb/duckdb.ts';
import { FEW_COLUMNS_MAX } from '../../../duckdb/few-columns.ts';
import { compileFit, type ReadMode } from '../../compile/range.ts';
import { projectAll } from '../../compile/row-encoding.ts';
import { compileNameBytes, compileRowTexts } from '../../compile/row-texts.ts';
import type { BlockRows } from './row-block.ts';
import type { RowTextsAbout } from './row-file-format.ts';
import { sizedColumns } from './row-projection.ts';

export interface RowTexts {
  readonly about: RowTextsAbout;
  /** With a comma after each row. */
  readonly text: Uint8Array;
  /** For each row: bytes of its text, its cell bytes, and the cell bytes of each sized column. */
  readonly numbers: readonly Uint32Array[];
}

/** Rows of a part, counted within it, that are wanted as text if they are not too wide. */
export interface WantedRows extends RowRange {
  /** Of all of them; undefined where they are known to have no more. */
  readonly cellBytesMax: number | undefined;
}

/** Where rows of a part are read from as text: a row file, or an encoded range. */
export interface TextsOfRows {
  readonly about: RowTextsAbout;
  /**
   * Reads rows `from` to `to` of the part, in order, some blocks at a time.
   * @param take gets rows whose texts follow each other in memory of their own, which is then its own
   * @throws RowFileDamaged; the signal's reason
   */
  read<T>(from: number, to: number, take: (rows: readonly BlockRows[]) => T, signal: AbortSignal): AsyncGenerator<T>;
  /** Keeps it open until it is disposed of; undefined where it is closed already. */
  reading(): Disposable | undefined;
}

export async function readAbout(
  duckDb: DuckDb,
  columns: readonly Column[],
  signal: AbortSignal,
): Promise<RowTextsAbout> {
  const [names] = await duckDb.query(compileNameBytes(columns), signal);
  return { nameBytes: [...numbersOf(names?.[0])], sized: sizedColumns(columns.map(({ type }) => type)) };
}

/**
 * Looks how wide the rows are before they are encoded: where all wide rows of a part lie together, these may be hundreds of megabytes.
 * @param part path of its file
 * @throws where the rows have more cell bytes than is wanted
 */
export async function requireNarrow(
  duckDb: DuckDb,
  { part, columns }: { readonly part: string; readonly columns: readonly Column[] },
  { from, to, cellBytesMax }: WantedRows,
  signal: AbortSignal,
): Promise<void> {
  if (cellBytesMax === undefined) return;
  const all = projectAll(columns);
  const [row] = await duckDb.query(compileFit(all, { path: part, from, to }, cellBytesMax), signal);
  if (Number(row?.[0] ?? 0) < to - from) throw new Error('the rows are too wide');
}

/** @param part path of its file @throws where it has fewer rows */
export async function readRowTexts(
  duckDb: DuckDb,
  { part, columns }: { readonly part: string; readonly columns: readonly Column[] },
  about: RowTextsAbout,
  { from, to }: RowRange,
  signal: AbortSignal,
): Promise<RowTexts> {
  const readIn = async (mode: ReadMode): Promise<Row> => {
    const statement = compileRowTexts(columns, about.sized ?? [], { path: part, from, to }, mode);
    const [row] = await duckDb.query(statement, signal);
    return row ?? [];
  };
  let row = await readIn(columns.length > FEW_COLUMNS_MAX ? 'safe' : 'fast');
  if (row[2] !== true) row = await readIn('safe');
  const [text, rowCount, , ...lists] = row;
  if (!(text instanceof Uint8Array) || Number(rowCount) !== to - from) {
    throw new Error(`${Number(rowCount ?? 0)} rows where ${to - from} are stored`);
  }
  return { about, text, numbers: lists.map(numbersOf) };
}

/** Numbers out of a list as the driver returns it. */
function numbersOf(list: unknown): Uint32Array {
  if (!(list instanceof Uint32Array)) throw new Error('a list is missing');
  return list;
}
