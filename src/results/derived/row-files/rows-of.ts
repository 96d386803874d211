/**
 * The rows of one result or view that have been encoded: all of a part in its row file, or else a range of them that was read ahead for whoever
 * walks.
 */
import type { RowRange } from '../../../domain/blocks.ts';
import type { Column, Part } from '../../../domain/result-set.ts';
import { NEVER } from '../../../domain/time.ts';
import { type ProjectedColumn, ROW_SEPARATOR, type RowEncoding } from '../../compile/row-encoding.ts';
import type { OpenRowFiles } from './open-row-files.ts';
import type { RangesAhead, ReadAhead } from './ranges-ahead.ts';
import type { RowTexts, TextsOfRows, WantedRows } from './read-row-texts.ts';
import { fitRows, type ReadRow, readRange, readScattered } from './read-rows.ts';
import type { RowFile } from './row-file.ts';
import type { RowOrigin } from './row-origin.ts';
import { type RowProjection, rowProjection, sizedColumns, type TakenRows } from './row-projection.ts';

/** Who walks reads from one encoded range, in full pages from two or three, and the next ones are read meanwhile. */
const RANGES_AHEAD = 4;
/** An encoded range has all columns: where few of them are asked for, pages take less. */
const COLUMNS_SHARE_MIN = 1 / 4;

/** From every method, undefined means that DuckDB has to read the part. */
export class RowsOf {
  readonly #origin: RowOrigin;
  readonly #open: OpenRowFiles;
  readonly #ahead: RangesAhead;
  /** One encoded range could not be read, so no other is tried. */
  #isUnreadable = false;
  readonly #told: { readonly onRead: (isLarge: boolean) => void; readonly onDamaged: (error: unknown) => void };

  constructor(
    origin: RowOrigin,
    { open, rangesAhead }: { readonly open: OpenRowFiles; readonly rangesAhead: RangesAhead },
    told: { readonly onRead: (isLarge: boolean) => void; readonly onDamaged: (error: unknown) => void },
  ) {
    this.#origin = origin;
    this.#open = open;
    this.#ahead = rangesAhead;
    this.#told = told;
  }

  /** Records that rows are about to be read; row files are built once that is worth it. @param isLarge the answer is an export */
  noteRead(isLarge: boolean): void {
    this.#told.onRead(isLarge);
  }

  /** Whether the part's rows from `row` on can be read in this encoding, as far as is known before they are. @throws the signal's reason */
  async canRead(part: Part, row: number, encoding: RowEncoding, signal: AbortSignal): Promise<boolean> {
    using opened = isEncoded(encoding) ? await this.#openAt(part, row, encoding.columns, signal) : undefined;
    return opened !== undefined;
  }

  /**
   * Rows of the part, counted within it, encoded as in an answer, some at a time. It ends early where the rows that follow cannot be
   * read.
   * @throws the signal's reason
   */
  async *read(part: Part, rows: RowRange, encoding: RowEncoding, signal: AbortSignal): AsyncGenerator<TakenRows> {
    const separator = ROW_SEPARATOR[encoding.format].charCodeAt(0);
    for (let { from } = rows; from < rows.to; ) {
      using opened = isEncoded(encoding) ? await this.#openAt(part, from, encoding.columns, signal) : undefined;
      if (opened === undefined) return;
      const to = Math.min(rows.to, opened.to);
      try {
        yield* readRange(opened.texts, { from, to }, opened.projection, separator, signal);
      } catch (error) {
        await this.#remove(part, error, signal);
        return;
      }
      from = to;
    }
  }

  /** How many of the first of these rows have at most so many cell bytes, and the cell bytes of these. @throws as `read` */
  async fit(
    part: Part,
    rows: RowRange,
    columns: readonly ProjectedColumn[],
    cellBytesMax: number,
    signal: AbortSignal,
  ) {
    using opened = await this.#openAt(part, rows.from, columns, signal);
    if (opened === undefined || opened.to < rows.to) return undefined;
    try {
      return await fitRows(opened.texts, rows, opened.projection, cellBytesMax, signal);
    } catch (error) {
      await this.#remove(part, error, signal);
      return undefined;
    }
  }

  /**
   * Has the encoded ranges read that whoever walks on will need, where there is no row file.
   * @param row of the result or view, the first that was not read
   * @param isLong the page had so many rows that most row groups are decoded once: the rest of the one that it ends in is left to the next
   * page, where it is not encoded already
   * @param encoding in which the rows are read
   */
  async readOn(
    { row, isLong }: { readonly row: number; readonly isLong: boolean },
    encoding: RowEncoding,
    read: ReadRows,
  ): Promise<void> {
    if (!isEncoded(encoding) || !this.#isWorthReading(encoding.columns)) return;
    let at = isLong ? this.#nextUnread(row) : row;
    for (let left = RANGES_AHEAD; left > 0 && at !== undefined; left -= 1) {
      at = await this.#beginAt(at, encoding.columns, read);
    }
  }

  /** The row, if the encoded range that has it begins there, or is there already; else the first row after that range. */
  #nextUnread(row: number): number | undefined {
    const place = this.#placeOf(row);
    if (place === undefined) return undefined;
    const { part, rows } = place;
    return row === part.firstRow + rows.from || this.#ahead.has(part, rows) ? row : part.firstRow + rows.to;
  }

  #isWorthReading(projected: readonly ProjectedColumn[]): boolean {
    const { columns } = this.#origin.resultSet;
    const about = {
      nameBytes: columns.map(({ name }) => name.length),
      sized: sizedColumns(columns.map(({ type }) => type)),
    };
    return projected.length >= columns.length * COLUMNS_SHARE_MIN && rowProjection(projected, about) !== undefined;
  }

  /** Whether the encoded range with this row of the result or view is there or being read. */
  hasRangeAhead(row: number): boolean {
    const place = this.#placeOf(row);
    return place !== undefined && this.#ahead.has(place.part, place.rows);
  }

  /** @returns the first row after the encoded range; undefined where nothing is to be read there */
  async #beginAt(row: number, projected: readonly ProjectedColumn[], read: ReadRows): Promise<number | undefined> {
    const place = this.#placeOf(row);
    if (place === undefined || this.#isUnreadable) return undefined;
    const { part, rows } = place;
    const next = part.firstRow + rows.to;
    if (this.#ahead.has(part, rows)) return next;
    using file = await this.#openFile(part, projected, NEVER);
    if (file !== undefined) return undefined;
    const { columns } = this.#origin.resultSet;
    const readHeld: ReadAhead = async (wanted, signal) => {
      // A view may be removed meanwhile, but for this.
      using held = this.#origin.hold();
      if (held === undefined) throw new Error('the rows are gone');
      return await read(part, columns, wanted, signal);
    };
    this.#ahead.begin(part, columns, rows, readHeld, () => {
      this.#isUnreadable = true;
    });
    return next;
  }

  /** Where the encoded range is that has this row; undefined where there is no such row, or rows are too wide. */
  #placeOf(row: number): { readonly part: Part; readonly rows: RowRange } | undefined {
    const { columns, parts } = this.#origin.resultSet;
    const part = parts.find(({ firstRow, rowCount }) => row >= firstRow && row < firstRow + rowCount);
    const rows = part && this.#ahead.around(part, columns, row - part.firstRow);
    return part && rows && { part, rows };
  }

  /**
   * Rows from anywhere in the result, in the order of their positions.
   * @param positions ascending, none twice
   * @returns undefined where some of them cannot be read here
   * @throws as `read`
   */
  async readRows(
    positions: readonly number[],
    columns: readonly ProjectedColumn[],
    signal: AbortSignal,
  ): Promise<readonly ReadRow[] | undefined> {
    const read: ReadRow[] = [];
    let at = 0;
    for (const part of this.#origin.resultSet.parts) {
      const end = part.firstRow + part.rowCount;
      const within: number[] = [];
      for (; at < positions.length && (positions[at] ?? end) < end; at += 1) {
        within.push((positions[at] ?? 0) - part.firstRow);
      }
      if (within.length === 0) continue;
      const rows = await this.#scattered(part, within, columns, signal);
      if (rows === undefined) return undefined;
      for (const row of rows) read.push(row);
    }
    return read;
  }

  async #scattered(
    part: Part,
    rows: readonly number[],
    columns: readonly ProjectedColumn[],
    signal: AbortSignal,
  ): Promise<readonly ReadRow[] | undefined> {
    using opened = await this.#openFile(part, columns, signal);
    try {
      return opened && (await readScattered(opened.texts, rows, opened.projection, signal));
    } catch (error) {
      await this.#remove(part, error, signal);
      return undefined;
    }
  }

  /** What has the part's row file, or else an encoded range: stays open until it is disposed of. */
  async #openAt(
    part: Part,
    row: number,
    columns: readonly ProjectedColumn[],
    signal: AbortSignal,
  ): Promise<Opened<TextsOfRows> | undefined> {
    const opened = await this.#openFile(part, columns, signal);
    if (opened !== undefined) return opened;
    const rows = this.#ahead.around(part, this.#origin.resultSet.columns, row);
    const encoded = rows && (await this.#ahead.find(part, rows, signal));
    return encoded && openedOf(encoded, columns, encoded.rows.to);
  }

  /** The part's row file. */
  async #openFile(
    part: Part,
    columns: readonly ProjectedColumn[],
    signal: AbortSignal,
  ): Promise<Opened<RowFile> | undefined> {
    try {
      const { path, identity } = this.#origin.fileOf(part);
      const file = await this.#open.find(path, identity);
      const opened = file && openedOf(file, columns, part.rowCount);
      if (opened !== undefined) void this.#origin.touch(part);
      return opened;
    } catch (error) {
      await this.#remove(part, error, signal);
      return undefined;
    }
  }

  /** Whatever is wrong with the row file, the part itself can be read. @throws the signal's reason */
  async #remove(part: Part, error: unknown, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    void this.#open.forget(this.#origin.fileOf(part).path);
    await this.#origin.remove(part).catch(() => undefined);
    this.#told.onDamaged(error);
  }
}

interface Opened<T extends TextsOfRows> extends Disposable {
  readonly texts: T;
  /** The first row, counted within the part, that it does not have. */
  readonly to: number;
  readonly projection: RowProjection;
}

function openedOf<T extends TextsOfRows>(
  texts: T,
  columns: readonly ProjectedColumn[],
  to: number,
): Opened<T> | undefined {
  const projection = rowProjection(columns, texts.about);
  const reading = projection && texts.reading();
  if (projection === undefined || reading === undefined) return undefined;
  return { texts, to, projection, [Symbol.dispose]: () => reading[Symbol.dispose]() };
}

/** Reads rows of a part as text, all columns of it. @throws where they are too wide */
export type ReadRows = (
  part: Part,
  columns: readonly Column[],
  rows: WantedRows,
  signal: AbortSignal,
) => Promise<RowTexts>;

/** Whether row files have rows in this encoding. */
function isEncoded({ format, spelling }: RowEncoding): boolean {
  return format !== 'csv' && (spelling === undefined || spelling === 'plain');
}
