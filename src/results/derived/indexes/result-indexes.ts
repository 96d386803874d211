/**
 * The indexes of results: asked about each view that is read, and built for columns that are asked about again. A damaged index
 * is removed. Whatever is wrong with an index, rows are searched without it.
 */
import type { ResultSet } from '../../../domain/result-set.ts';
import type { ColumnRef } from '../../plan/predicate.ts';
import type { View } from '../../plan/view.ts';
import { BuildQueue, type BuildQueueOptions } from '../build-queue.ts';
import type { DerivedFiles } from '../derived-files.ts';
import { answerView, type IndexAnswer, searchOfView, type WantedPlaces } from './answer-view.ts';
import { IndexDamaged } from './index-format.ts';
import type { IndexLookUp } from './index-look-up.ts';
import { type IndexOrigin, indexOrigin } from './index-origin.ts';
import { OpenIndexes } from './open-indexes.ts';
import { columnsOf, isIndexable } from './search.ts';
import { type IndexBuilding, type WantedIndex, wantedIndex } from './wanted-index.ts';

export interface ResultIndexesOptions extends IndexBuilding, BuildQueueOptions<WantedIndex> {
  readonly files: Pick<DerivedFiles, 'onRemoved' | 'remove' | 'touch'> & IndexBuilding['files'];
  /** A column gets an index at its this-many-th use; undefined: none ever does. */
  readonly uses: number | undefined;
  /** Searching a result of fewer rows is as fast. */
  readonly rowsMin: number;
  /** How many are kept open for the next look-up. */
  readonly openFilesMax: number;
  readonly onDamaged: (executionId: string, error: unknown) => void;
}

/** The indexes' answer, and which columns' indexes gave it. */
export type AskedIndexes = IndexAnswer & {
  /** The columns whose indexes were asked. */
  readonly columns: readonly ColumnRef[];
};

/** The uses of at most this many columns are remembered. */
const USED_MAX = 10_000;

export class ResultIndexes implements AsyncDisposable {
  readonly #options: ResultIndexesOptions;
  readonly #open: OpenIndexes;
  readonly #queue: BuildQueue<WantedIndex>;
  /** How often each index was asked for, by its file name. */
  readonly #uses = new Map<string, number>();

  constructor(options: ResultIndexesOptions) {
    this.#options = options;
    this.#open = new OpenIndexes(options.monotonic, options.openFilesMax);
    this.#queue = new BuildQueue(options);
    options.files.onRemoved((name) => this.#open.forget(options.files.pathOf(name)));
  }

  /** Bytes of memory that open indexes take, about. */
  get bytes(): number {
    return this.#open.bytes;
  }

  /** @returns undefined where the result gets no indexes, or no column of the view can have one @throws the signal's reason */
  async ask(
    executionId: string,
    resultSet: ResultSet,
    view: View,
    wanted: WantedPlaces,
    signal: AbortSignal,
  ): Promise<AskedIndexes | undefined> {
    const { uses, rowsMin, onDamaged, onFailed, files } = this.#options;
    if (uses === undefined || resultSet.rowCount < rowsMin || view.rows.kind === 'drawn') return undefined;
    const search = searchOfView(view);
    const origins = columnsAsked(view, columnsOf(search)).map((column) => indexOrigin(executionId, resultSet, column));
    if (origins.length === 0 && search.kind !== 'nothing') return undefined;
    using held = new DisposableStack();
    const lookUps = new Map<number, IndexLookUp>();
    const columns: ColumnRef[] = [];
    try {
      for (const origin of origins) {
        const path = files.pathOf(origin.name);
        const index = await this.#open.hold({ path, identity: origin.identity });
        if (index === undefined) {
          // Of a walk, only its first page: what follows is read from the view, which is there as soon as an index would be.
          if (wanted.offset === 0) this.#use(origin);
          continue;
        }
        void files.touch(origin.name);
        lookUps.set(origin.column.index, held.use(index).file.lookUp());
        columns.push(origin.column);
      }
      const answer = await answerView(view, search, lookUps, wanted);
      return { ...answer, columns };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof IndexDamaged) {
        // It does not matter which of them is damaged: all are made again.
        for (const { name } of origins) {
          await files.remove(name).catch(() => undefined);
          this.#queue.forget(name);
        }
        onDamaged(executionId, error);
      } else onFailed(executionId, error);
      return undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue[Symbol.asyncDispose]();
    this.#open.closeAll();
  }

  #use(origin: IndexOrigin): void {
    const { name } = origin;
    const used = (this.#uses.get(name) ?? 0) + 1;
    if (this.#uses.size >= USED_MAX) this.#uses.clear();
    this.#uses.set(name, used);
    if (used >= (this.#options.uses ?? Number.POSITIVE_INFINITY)) this.#queue.want(wantedIndex(origin, this.#options));
  }
}

/** The columns of the filter and of the order, each once, that can have an index. */
function columnsAsked({ sortKeys }: View, filtered: readonly ColumnRef[]): readonly ColumnRef[] {
  const sorted = sortKeys.map(({ columnIndex: index, type }) => ({ index, type }));
  const all = [...filtered, ...sorted].filter(({ type }) => isIndexable(type));
  return all.filter(({ index }, at) => all.findIndex((other) => other.index === index) === at);
}
