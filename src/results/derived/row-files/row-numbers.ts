/**
 * What a row file knows of the rows of a block in numbers: the bytes of each row's text, its cell bytes, and the cell bytes of each
 * sized column. They are not compressed, since they are small: each table has numbers of as many bytes as its largest needs.
 */

/** Of each row: the bytes of its text, without the comma after it. */
export const TEXT_BYTES = 0;
export const CELL_BYTES = 1;
/** The tables that come before those of the sized columns. */
export const SIZED_TABLES = 2;

const WIDTHS = [1, 2, 4] as const;

/** @param tables each with a number for each row, of which `from` to `to` are packed */
export function packNumbers(tables: readonly ArrayLike<number>[], from: number, to: number): Buffer {
  const widths = tables.map((numbers) => {
    let max = 0;
    for (let row = from; row < to; row += 1) if ((numbers[row] ?? 0) > max) max = numbers[row] ?? 0;
    return WIDTHS.find((width) => max < 256 ** width) ?? 4;
  });
  const packed = Buffer.allocUnsafe(
    tables.length + (to - from) * widths.reduce<number>((sum, width) => sum + width, 0),
  );
  let at = 0;
  for (const width of widths) at = packed.writeUInt8(width, at);
  for (const [table, numbers] of tables.entries()) {
    const width = widths[table] ?? 4;
    for (let row = from; row < to; row += 1) {
      const number = numbers[row] ?? 0;
      if (width === 4) packed.writeUInt32LE(number, at);
      else {
        packed[at] = number;
        if (width === 2) packed[at + 1] = number >> 8;
      }
      at += width;
    }
  }
  return packed;
}

export class RowNumbers {
  readonly #bytes: Buffer;
  readonly #widths: readonly number[];
  /** Where each table begins, and where the last one ends. */
  readonly #starts: readonly number[];

  /** @param bytes begin with the numbers of so many rows; whether they are what was written has to be checked */
  constructor(bytes: Buffer, rows: number, tables: number) {
    this.#bytes = bytes;
    const widths: number[] = [];
    const starts = [tables];
    let end = tables;
    for (let table = 0; table < tables; table += 1) {
      const width = bytes[table] ?? 0;
      widths.push(width);
      end += width * rows;
      starts.push(end);
    }
    this.#widths = widths;
    this.#starts = starts;
  }

  /** Of all the numbers. */
  get byteLength(): number {
    return this.#starts.at(-1) ?? 0;
  }

  /** As they are stored. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.byteLength);
  }

  number(table: number, row: number): number {
    return this.sum(table, row, row + 1);
  }

  /** The sum over rows `from` to `to`. */
  sum(table: number, from: number, to: number): number {
    const bytes = this.#bytes;
    const width = this.#widths[table] ?? 0;
    const start = this.#starts[table] ?? 0;
    const end = start + width * to;
    let sum = 0;
    if (width === 1) {
      for (let at = start + from; at < end; at += 1) sum += bytes[at] ?? 0;
    } else if (width === 2) {
      for (let at = start + 2 * from; at < end; at += 2) sum += (bytes[at] ?? 0) + 256 * (bytes[at + 1] ?? 0);
    } else {
      for (let at = start + width * from; at < end; at += width) sum += bytes.readUInt32LE(at);
    }
    return sum;
  }

  /** The bytes of the text before this row, with a comma after each row. */
  textBefore(row: number): number {
    return this.sum(TEXT_BYTES, 0, row) + row;
  }
}
