/**
 * Row files: what has been encoded once is not encoded again. JSON and NDJSON are read from a part's row file where there is
 * one; only the time shows the difference. Where there is none, or it turns out to be damaged, DuckDB reads the part. A result
 * or view gets row files when it is read a second time, or exported.
 */
import type { RowRange } from '../../../domain/blocks.ts';
import type { Part, ResultSet } from '../../../domain/result-set.ts';
import { Turns } from '../../../domain/turns.ts';
import type { ResultStore } from '../../../store/result-store.ts';
import { type ProjectedColumn, ROW_SEPARATOR, type RowEncoding } from '../../compile/row-encoding.ts';
import { BuildQueue, type BuildQueueOptions, type Wanted } from '../build-queue.ts';
import type { DerivedFiles } from '../derived-files.ts';
import type { OpenView } from '../views/view-cache.ts';
import { OpenRowFiles } from './open-row-files.ts';
import { fitRows, type ReadRow, readRange, readScattered } from './read-rows.ts';
import type { RowFile } from './row-file.ts';
import { type RowOrigin, storedOrigin, viewOrigin } from './row-origin.ts';
import { type RowProjection, rowProjection, type TakenRows } from './row-projection.ts';
import { type RowFileBuilding, wantedRowFiles } from './wanted-row-files.ts';

export interface RowFilesOptions extends Omit<RowFileBuilding, 'open'>, BuildQueueOptions<Wanted> {
  readonly files: DerivedFiles;
  readonly store: Pick<ResultStore, 'open'>;
  /** The versions of everything that encodes values: another version may spell a value differently. */
  readonly encoder: string;
  /** Results with fewer rows get no row files; undefined: nothing does. */
  readonly rowsMin: number | undefined;
  readonly onDamaged: (executionId: string, error: unknown) => void;
}

/** At most this many results are remembered as having been read once. */
const READ_ONCE_MAX = 10_000;

export class RowFiles implements AsyncDisposable {
  readonly #options: RowFilesOptions;
  readonly #open: OpenRowFiles;
  readonly #queue: BuildQueue<Wanted>;
  readonly #readOnce = new Set<string>();
  readonly #known = new WeakMap<ResultSet, RowsOf>();

  constructor(options: RowFilesOptions) {
    this.#options = options;
    this.#open = new OpenRowFiles(options.clock, {
      turns: new Turns(),
      monotonic: options.monotonic,
    });
    this.#queue = new BuildQueue(options);
    options.files.onRemoved((name) => this.#open.forget(options.files.pathOf(name)));
  }

  ofResult(executionId: string, resultSet: ResultSet): RowsOf | undefined {
    return this.#of(resultSet, () => storedOrigin(executionId, resultSet, this.#options));
  }

  ofView(executionId: string, view: OpenView): RowsOf | undefined {
    return this.#of(view.resultSet, () => viewOrigin(executionId, view));
  }

  /** All files below the folder are being removed. */
  forgetBelow(directory: string): void {
    this.#open.forgetBelow(directory);
  }

  /** @returns undefined where there are no row files and never will be */
  #of(resultSet: ResultSet, originOf: () => RowOrigin): RowsOf | undefined {
    const { rowsMin, onDamaged } = this.#options;
    if (rowsMin === undefined || resultSet.rowCount < rowsMin) return undefined;
    const known = this.#known.get(resultSet);
    if (known !== undefined) return known;
    const origin = originOf();
    const rows = new RowsOf(origin, this.#open, {
      onRead: (isLarge) => this.#noteRead(origin, isLarge),
      onDamaged: (error) => onDamaged(origin.executionId, error),
    });
    this.#known.set(resultSet, rows);
    return rows;
  }

  #noteRead(origin: RowOrigin, isLarge: boolean): void {
    if (isLarge || this.#readOnce.has(origin.id)) {
      this.#queue.want(wantedRowFiles(origin, { ...this.#options, open: this.#open }));
      return;
    }
    if (this.#readOnce.size >= READ_ONCE_MAX) this.#readOnce.clear();
    this.#readOnce.add(origin.id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue[Symbol.asyncDispose]();
    this.#open.closeAll();
  }
}

/** The row files of one result or view. From every method, undefined means that DuckDB has to read the part. */
export class RowsOf {
  readonly #origin: RowOrigin;
  readonly #open: OpenRowFiles;
  readonly #told: { readonly onRead: (isLarge: boolean) => void; readonly onDamaged: (error: unknown) => void };

  constructor(
    origin: RowOrigin,
    open: OpenRowFiles,
    told: { readonly onRead: (isLarge: boolean) => void; readonly onDamaged: (error: unknown) => void },
  ) {
    this.#origin = origin;
    this.#open = open;
    this.#told = told;
  }

  /** Records that rows are about to be read; row files are built once that is worth it. @param isLarge the answer is an export */
  noteRead(isLarge: boolean): void {
    this.#told.onRead(isLarge);
  }

  /** Whether the part's rows can be read in this encoding, as far as is known before they are. @throws the signal's reason */
  async canRead(part: Part, encoding: RowEncoding, signal: AbortSignal): Promise<boolean> {
    using opened = isEncoded(encoding) ? await this.#openFile(part, encoding.columns, signal) : undefined;
    return opened !== undefined;
  }

  /**
   * Rows of the part, counted within it, encoded as in an answer, some at a time. It ends early where the rows that follow cannot be
   * read.
   * @throws the signal's reason
   */
  async *read(part: Part, rows: RowRange, encoding: RowEncoding, signal: AbortSignal): AsyncGenerator<TakenRows> {
    using opened = isEncoded(encoding) ? await this.#openFile(part, encoding.columns, signal) : undefined;
    if (opened === undefined) return;
    const separator = ROW_SEPARATOR[encoding.format].charCodeAt(0);
    try {
      yield* readRange(opened.file, rows, opened.projection, separator, signal);
    } catch (error) {
      await this.#remove(part, error, signal);
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
    return await this.#from(part, columns, signal, ({ file, projection }) =>
      fitRows(file, rows, projection, cellBytesMax, signal),
    );
  }

  /**
   * Rows from anywhere in the result, in the order of their positions.
   * @param positions ascending, none twice
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
      const rows = await this.#from(part, columns, signal, ({ file, projection }) =>
        readScattered(file, within, projection, signal),
      );
      if (rows === undefined) return undefined;
      for (const row of rows) read.push(row);
    }
    return read;
  }

  async #from<T>(
    part: Part,
    columns: readonly ProjectedColumn[],
    signal: AbortSignal,
    read: (opened: Opened) => Promise<T>,
  ): Promise<T | undefined> {
    using opened = await this.#openFile(part, columns, signal);
    try {
      return opened && (await read(opened));
    } catch (error) {
      await this.#remove(part, error, signal);
      return undefined;
    }
  }

  /** The part's row file, which stays open until it is disposed of. */
  async #openFile(part: Part, columns: readonly ProjectedColumn[], signal: AbortSignal): Promise<Opened | undefined> {
    try {
      const { path, identity } = this.#origin.fileOf(part);
      const file = await this.#open.find(path, identity);
      const projection = file && rowProjection(columns, file.about);
      if (file === undefined || projection === undefined) return undefined;
      const reading = file.reading();
      if (reading === undefined) return undefined;
      void this.#origin.touch(part);
      return { file, projection, [Symbol.dispose]: () => reading[Symbol.dispose]() };
    } catch (error) {
      await this.#remove(part, error, signal);
      return undefined;
    }
  }

  /** Whatever is wrong with the row file, the part itself can be read. @throws the signal's reason */
  async #remove(part: Part, error: unknown, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#open.forget(this.#origin.fileOf(part).path);
    await this.#origin.remove(part).catch(() => undefined);
    this.#told.onDamaged(error);
  }
}

interface Opened extends Disposable {
  readonly file: RowFile;
  readonly projection: RowProjection;
}

/** Whether row files have rows in this encoding. */
function isEncoded({ format, spelling }: RowEncoding): boolean {
  return format !== 'csv' && (spelling === undefined || spelling === 'plain');
}
