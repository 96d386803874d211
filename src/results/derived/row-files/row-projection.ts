/** Takes from a row file's rows what an answer needs: whole rows, or only the members of some columns, with their cell bytes. */
import type { ColumnType } from '../../../domain/column-type.ts';
import { fixedWidthOf } from '../../../duckdb/cell-bytes.ts';
import { FEW_COLUMNS_MAX } from '../../../duckdb/few-columns.ts';
import type { ProjectedColumn } from '../../compile/row-encoding.ts';
import { findMembers, isNull, type Members, membersOf, writeMembers } from './cut-members.ts';
import { type BlockRows, COMMA } from './row-block.ts';
import type { RowTextsAbout } from './row-file-format.ts';
import { CELL_BYTES, type RowNumbers, SIZED_TABLES, TEXT_BYTES } from './row-numbers.ts';

export interface TakenRows {
  /** In memory of its own, or in that of the blocks. */
  readonly text: Buffer;
  readonly rowCount: number;
  readonly cellBytes: number;
}

export interface RowProjection {
  /** @param rows of blocks whose texts follow each other, at least one @param separator the byte between two rows */
  take(rows: readonly BlockRows[], separator: number): TakenRows;
  cellBytes(block: BlockRows, row: number): number;
}

/** @returns undefined where the file does not know enough about its columns to cut them */
export function rowProjection(columns: readonly ProjectedColumn[], about: RowTextsAbout): RowProjection | undefined {
  const wanted = columns.map(({ index }) => index);
  if (wanted.length === about.nameBytes.length && wanted.every((index, place) => index === place)) return WHOLE_ROWS;
  const { sized } = about;
  if (sized === undefined || new Set(wanted).size < wanted.length) return undefined;
  return new CutRows(columns, about.nameBytes, sized);
}

const WHOLE_ROWS: RowProjection = {
  take: (rows, separator) => {
    const [first, last] = [rows[0], rows.at(-1)];
    if (first === undefined || last === undefined) throw new Error('there are no rows to take');
    if (separator !== COMMA) for (const block of rows) separate(block, separator);
    const start = first.start + first.numbers.textBefore(first.from);
    const text = first.text.subarray(start, last.start + last.numbers.textBefore(last.to) - 1);
    return { text, rowCount: countOf(rows), cellBytes: sumOf(rows, CELL_BYTES) };
  },
  cellBytes: ({ numbers }, row) => numbers.sum(CELL_BYTES, row, row + 1),
};

function countOf(rows: readonly BlockRows[]): number {
  return rows.reduce((sum, { from, to }) => sum + to - from, 0);
}

function sumOf(rows: readonly BlockRows[], table: number): number {
  return rows.reduce((sum, { numbers, from, to }) => sum + numbers.sum(table, from, to), 0);
}

/** Writes the separator over the comma after each row. */
function separate({ text, start, numbers, from, to }: BlockRows, separator: number): void {
  let at = start + numbers.textBefore(from);
  for (let row = from; row < to; row += 1) {
    at += numbers.number(TEXT_BYTES, row);
    text[at] = separator;
    at += 1;
  }
}

class CutRows implements RowProjection {
  readonly #nameBytes: readonly number[];
  readonly #wanted: readonly number[];
  /** The number of members to look at: all up to the last one that is wanted. */
  readonly #count: number;
  readonly #found: Members;
  readonly #fixed: readonly { readonly member: number; readonly width: number }[];
  readonly #tables: readonly number[];

  constructor(columns: readonly ProjectedColumn[], nameBytes: readonly number[], sized: readonly number[]) {
    this.#nameBytes = nameBytes;
    this.#wanted = columns.map(({ index }) => index);
    this.#count = this.#wanted.reduce((max, index) => Math.max(max, index + 1), 0);
    this.#found = membersOf(this.#count);
    const widths = columns.map(({ index, type }) => ({ member: index, width: fixedWidthOf(type) }));
    this.#fixed = widths.flatMap(({ member, width }) => (width === undefined ? [] : [{ member, width }]));
    this.#tables = widths.flatMap(({ member, width }) =>
      width === undefined ? [SIZED_TABLES + sized.indexOf(member)] : [],
    );
  }

  take(rows: readonly BlockRows[], separator: number): TakenRows {
    const rowCount = countOf(rows);
    // Some members of whole rows never take more than the whole rows.
    const target = scratch(sumOf(rows, TEXT_BYTES) + rowCount);
    let [at, cellBytes] = [0, 0];
    for (const { text, start, numbers, from, to } of rows) {
      let place = start + numbers.textBefore(from);
      for (let row = from; row < to; row += 1) {
        this.#find(text, place);
        at = writeMembers(text, this.#found, this.#wanted, target, at);
        target[at] = separator;
        at += 1;
        cellBytes += this.#cellBytes(text, numbers, row);
        place += numbers.number(TEXT_BYTES, row) + 1;
      }
    }
    return { text: Buffer.from(target.subarray(0, at - 1)), rowCount, cellBytes };
  }

  cellBytes({ text, start, numbers }: BlockRows, row: number): number {
    this.#find(text, start + numbers.textBefore(row));
    return this.#cellBytes(text, numbers, row);
  }

  #find(text: Buffer, start: number): void {
    findMembers(text, start, this.#nameBytes, this.#count, this.#found);
  }

  /** The cell bytes of the row whose members were found last. */
  #cellBytes(text: Buffer, numbers: RowNumbers, row: number): number {
    let bytes = 0;
    for (const { member, width } of this.#fixed) {
      if (!isNull(text, this.#found.value[member] ?? 0)) bytes += width;
    }
    for (const table of this.#tables) bytes += numbers.number(table, row);
    return bytes;
  }
}

/** Rows are cut into this, over and over: it takes time to use memory for the first time. */
let memory = Buffer.alloc(0);

function scratch(bytes: number): Buffer {
  if (memory.length < bytes) memory = Buffer.allocUnsafeSlow(bytes);
  return memory;
}

/** The columns whose cells vary in size; undefined where there are too many columns. */
export function sizedColumns(types: readonly ColumnType[]): readonly number[] | undefined {
  if (types.length > FEW_COLUMNS_MAX) return undefined;
  return types.flatMap((type, index) => (fixedWidthOf(type) === undefined ? [index] : []));
}
