/**
 * Row files: what has been encoded once is not encoded again. JSON and NDJSON are read from a part's row file where there is
 * one; only the time shows the difference. Where there is none, or it turns out to be damaged, DuckDB reads the part. A result
 * or view gets row files when it is read a second time, or exported.
 */
import type { ResultSet } from '../../../domain/result-set.ts';
import { Turns } from '../../../domain/turns.ts';
import type { ResultStore } from '../../../store/result-store.ts';
import { BuildQueue, type BuildQueueOptions, type Wanted } from '../build-queue.ts';
import type { DerivedFiles } from '../derived-files.ts';
import type { OpenView } from '../views/view-cache.ts';
import { OpenRowFiles } from './open-row-files.ts';
import type { RangesAhead } from './ranges-ahead.ts';
import { type RowOrigin, storedOrigin, viewOrigin } from './row-origin.ts';
import { RowsOf } from './rows-of.ts';
import { type RowFileBuilding, wantedRowFiles } from './wanted-row-files.ts';

export interface RowFilesOptions extends Omit<RowFileBuilding, 'open'>, BuildQueueOptions<Wanted> {
  readonly files: DerivedFiles;
  readonly store: Pick<ResultStore, 'open'>;
  /** The versions of everything that encodes values: another version may spell a value differently. */
  readonly encoder: string;
  /** Results with fewer rows get no row files; undefined: nothing does. */
  readonly rowsMin: number | undefined;
  readonly rangesAhead: RangesAhead;
  /** How many are kept open for the next read. */
  readonly openFilesMax: number;
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
    const deps = { turns: new Turns(), monotonic: options.monotonic };
    this.#open = new OpenRowFiles(options.clock, deps, options.openFilesMax);
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
  async forgetBelow(directory: string): Promise<void> {
    await this.#open.forgetBelow(directory);
  }

  /** @returns undefined where there are no row files and never will be */
  #of(resultSet: ResultSet, originOf: () => RowOrigin): RowsOf | undefined {
    const { rowsMin, rangesAhead, onDamaged } = this.#options;
    if (rowsMin === undefined || resultSet.rowCount < rowsMin) return undefined;
    const known = this.#known.get(resultSet);
    if (known !== undefined) return known;
    const origin = originOf();
    const wanted = wantedRowFiles(origin, { ...this.#options, open: this.#open });
    const rows = new RowsOf(
      origin,
      { open: this.#open, rangesAhead },
      {
        onRead: (isLarge) => this.#noteRead(wanted, isLarge),
        onDamaged: (error) => {
          this.#queue.forget(origin.id);
          onDamaged(origin.executionId, error);
        },
      },
    );
    this.#known.set(resultSet, rows);
    return rows;
  }

  #noteRead(wanted: Wanted, isLarge: boolean): void {
    if (isLarge || this.#readOnce.has(wanted.id)) {
      this.#queue.want(wanted);
      return;
    }
    if (this.#readOnce.size >= READ_ONCE_MAX) this.#readOnce.clear();
    this.#readOnce.add(wanted.id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue[Symbol.asyncDispose]();
    this.#open.closeAll();
  }
}
