/** Takes from a row file's rows what an answer needs: whole rows, or only the members of some columns, with their cell bytes. */
import type { ColumnType } from '../../../domain/column-type.ts';
import { fixedWidthOf } from '../../../duckdb/cell-bytes.ts';
import type { ProjectedColumn } from '../../compile/row-encoding.ts';
import { findMembers, isNull, type Members, membersOf, writeMembers } from './cut-members.ts';
import type { RowBlock } from './row-block.ts';
import type { RowFileAbout } from './row-file-format.ts';

/** A block's tables that come before those of the sized columns. */
const SIZED_TABLES = 2;
const CELL_BYTES = 1;

export interface TakenRows {
  readonly text: Buffer;
  readonly cellBytes: number;
}

export interface RowProjection {
  /** Rows `from` to `to` of the block, at least one, with the separator between them. */
  take(block: RowBlock, from: number, to: number, separator: number): TakenRows;
  cellBytes(block: RowBlock, row: number): number;
}

/** @returns undefined where the file does not know enough about its columns to cut them */
export function rowProjection(columns: readonly ProjectedColumn[], about: RowFileAbout): RowProjection | undefined {
  const wanted = columns.map(({ index }) => index);
  if (wanted.length === about.nameBytes.length && wanted.every((index, place) => index === place)) return WHOLE_ROWS;
  const { sized } = about;
  if (sized === undefined || new Set(wanted).size < wanted.length) return undefined;
  return new CutRows(columns, about.nameBytes, sized);
}

const WHOLE_ROWS: RowProjection = {
  take: (block, from, to, separator) => ({
    text: block.text(from, to, separator),
    cellBytes: block.sum(CELL_BYTES, from, to),
  }),
  cellBytes: (block, row) => block.number(CELL_BYTES, row),
};

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

  take(block: RowBlock, from: number, to: number, separator: number): TakenRows {
    // Some members of whole rows never take more than the whole rows.
    const target = Buffer.allocUnsafe(block.sum(0, from, to) + to - from);
    let at = 0;
    let cellBytes = 0;
    let start = block.start(from);
    for (let row = from; row < to; row += 1) {
      if (row > from) {
        target[at] = separator;
        at += 1;
      }
      this.#find(block, start);
      at = writeMembers(block.bytes, this.#found, this.#wanted, target, at);
      cellBytes += this.#cellBytes(block, row);
      start += block.number(0, row) + 1;
    }
    return { text: target.subarray(0, at), cellBytes };
  }

  cellBytes(block: RowBlock, row: number): number {
    this.#find(block, block.start(row));
    return this.#cellBytes(block, row);
  }

  #find(block: RowBlock, start: number): void {
    findMembers(block.bytes, start, this.#nameBytes, this.#count, this.#found);
  }

  /** The cell bytes of the row whose members were found last. */
  #cellBytes(block: RowBlock, row: number): number {
    let bytes = 0;
    for (const { member, width } of this.#fixed) {
      if (!isNull(block.bytes, this.#found.value[member] ?? 0)) bytes += width;
    }
    for (const table of this.#tables) bytes += block.number(table, row);
    return bytes;
  }
}

/** The columns whose cells vary in size. */
export function sizedColumns(types: readonly ColumnType[]): readonly number[] {
  return types.flatMap((type, index) => (fixedWidthOf(type) === undefined ? [index] : []));
}
