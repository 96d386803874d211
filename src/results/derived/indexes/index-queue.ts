/** Builds indexes in the background, one at a time, none beyond a number that wait. Nobody waits for one: until it is there rows are searched. */
import { access, rm } from 'node:fs/promises';
import type { Clock } from '../../../domain/instant.ts';
import { allRowsOf } from '../../../domain/result-set.ts';
import type { ResultStore } from '../../../store/result-store.ts';
import type { DerivedFiles } from '../derived-files.ts';
import type { IndexBuild } from './build-index.ts';
import type { IndexOrigin } from './index-origin.ts';

/** What builds them, apart from this process. */
export interface IndexBuilder {
  /** @returns bytes of the file @throws what building throws; an error where the builder ended */
  build(order: IndexBuild, signal: AbortSignal): Promise<number>;
  /** Nothing is to be built for now. */
  rest(): void;
}

export interface BuiltIndex {
  readonly executionId: string;
  /** Its place among the result's. */
  readonly column: number;
  readonly bytes: number;
  readonly millis: number;
}

export interface IndexQueueOptions {
  readonly files: Pick<DerivedFiles, 'pathOf' | 'publish' | 'stagingPath'>;
  readonly builder: IndexBuilder;
  readonly store: Pick<ResultStore, 'open'>;
  /** The most that all derived files may take together. */
  readonly bytesMax: number;
  readonly clock: Clock;
  readonly monotonic: () => number;
  readonly onBuilt: (built: BuiltIndex) => void;
  readonly onFailed: (executionId: string, error: unknown) => void;
}

const WAITING_MAX = 100;
/** What was built and is gone again, or could not be built, is not tried again for so long. */
const AGAIN_MILLIS = 600_000;
const TRIED_MAX = 10_000;
/** The most of the room that the result takes itself; of small results more. */
const BYTES_FACTOR = 2;
const SMALL_FILE_BYTES = 1024 * 1024;

/** Why a column has no index, for good. */
class NoIndex extends Error {}

export class IndexQueue implements AsyncDisposable {
  readonly #options: IndexQueueOptions;
  /** By name. */
  readonly #waiting = new Map<string, IndexOrigin>();
  /** When building was last tried, by name. */
  readonly #tried = new Map<string, number>();
  /** Those that can never be built, by name. */
  readonly #refused = new Set<string>();
  readonly #over = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: IndexQueueOptions) {
    this.#options = options;
  }

  /** Builds the index, unless that has just been tried. */
  want(origin: IndexOrigin): void {
    const now = this.#options.clock();
    const { name } = origin;
    if (this.#refused.has(name)) return;
    if (now - (this.#tried.get(name) ?? Number.NEGATIVE_INFINITY) < AGAIN_MILLIS) return;
    if (this.#waiting.size >= WAITING_MAX || this.#over.signal.aborted) return;
    if (this.#tried.size >= TRIED_MAX) this.#tried.clear();
    this.#tried.set(name, now);
    this.#waiting.set(name, origin);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      this.#options.builder.rest();
    });
  }

  /** It was damaged: it may be built again as soon as it is wanted. */
  forget(name: string): void {
    if (!this.#waiting.has(name)) this.#tried.delete(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new Error('the service stops'));
    await this.#running;
  }

  async #run(): Promise<void> {
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      const [name, origin] = next;
      await this.#build(origin).catch((error: unknown) => {
        if (error instanceof NoIndex) this.#refuse(name);
        if (!this.#over.signal.aborted) this.#options.onFailed(origin.executionId, error);
      });
      this.#waiting.delete(name);
      if (this.#over.signal.aborted) return;
    }
  }

  #refuse(name: string): void {
    if (this.#refused.size >= TRIED_MAX) this.#refused.clear();
    this.#refused.add(name);
  }

  async #build({ executionId, resultSet, column, name }: IndexOrigin): Promise<void> {
    const { files, builder, store, bytesMax, monotonic, onBuilt } = this.#options;
    const { signal } = this.#over;
    // Another process may have built it.
    if (await isThere(files.pathOf(name))) return;
    const start = monotonic();
    const staged = files.stagingPath();
    await using objects = new AsyncDisposableStack();
    try {
      const paths: string[] = [];
      for (const part of resultSet.parts) {
        paths.push(objects.use(await store.open(part, allRowsOf(part), signal)).path);
      }
      const bytes = await builder.build(
        {
          paths,
          firstRows: resultSet.parts.map(({ firstRow }) => firstRow),
          rowCount: resultSet.rowCount,
          column: { index: column.index, type: column.type },
          destination: staged,
        },
        signal,
      );
      const stored = resultSet.parts.reduce((sum, { objectBytes }) => sum + objectBytes, 0);
      if (bytes > Math.min(bytesMax, Math.max(SMALL_FILE_BYTES, BYTES_FACTOR * stored))) {
        throw new NoIndex(
          `it would take ${bytes} bytes, where the result takes ${stored} and all may take ${bytesMax}`,
        );
      }
      await files.publish(name, staged);
      onBuilt({ executionId, column: column.index, bytes, millis: monotonic() - start });
    } finally {
      await rm(staged, { force: true });
    }
  }
}

async function isThere(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
