/**
 * Builds row files in the background: those of one result or view after another, one part at a time, none beyond a number of results that
 * wait. Nobody waits for a file: what cannot be built now is read by DuckDB, and tried again when it is asked for later.
 */
import { rm } from 'node:fs/promises';
import type { Clock } from '../../../domain/instant.ts';
import type { Part } from '../../../domain/result-set.ts';
import { NoRowFile, type RowFileOrder } from './build-row-file.ts';
import type { OpenRowFiles } from './open-row-files.ts';
import type { RowOrigin } from './row-origin.ts';

/** What builds them, apart from this process. */
export interface RowFileBuilder {
  /** @returns bytes of the file @throws NoRowFile; what building throws; an error where the builder ended */
  build(order: RowFileOrder, signal: AbortSignal): Promise<number>;
  /** Nothing is to be built for now. */
  rest(): void;
}

export interface BuiltRowFiles {
  readonly executionId: string;
  readonly files: number;
  readonly bytes: number;
  readonly millis: number;
}

export interface RowFileQueueOptions {
  readonly open: OpenRowFiles;
  readonly builder: RowFileBuilder;
  /** The most that all row files may take together. */
  readonly bytesMax: number;
  readonly clock: Clock;
  readonly monotonic: () => number;
  readonly onBuilt: (built: BuiltRowFiles) => void;
  readonly onFailed: (executionId: string, error: unknown) => void;
}

/** More do not wait: they are wanted again when they are read again. */
const WAITING_MAX = 100;
/** What was built, or could not be, is not looked at again for so long. */
const AGAIN_MILLIS = 600_000;
const TRIED_MAX = 10_000;
/** The most of the room that the part takes itself; of small parts a footer may be more. */
const PART_BYTES_FACTOR = 2;
const SMALL_FILE_BYTES = 1024 * 1024;

export class RowFileQueue implements AsyncDisposable {
  readonly #options: RowFileQueueOptions;
  readonly #waiting = new Map<string, RowOrigin>();
  /** When each was built last, or could not be, by the origin's id. */
  readonly #tried = new Map<string, number>();
  readonly #over = new AbortController();
  #running: Promise<void> | undefined;
  #current: string | undefined;

  constructor(options: RowFileQueueOptions) {
    this.#options = options;
  }

  /** Builds the row files of what is often read, if that has not just been tried. */
  want(origin: RowOrigin): void {
    const triedAt = this.#tried.get(origin.id);
    if (triedAt !== undefined && this.#options.clock() - triedAt < AGAIN_MILLIS) return;
    if (this.#waiting.has(origin.id) || this.#current === origin.id || this.#waiting.size >= WAITING_MAX) return;
    if (this.#over.signal.aborted) return;
    this.#waiting.set(origin.id, origin);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      this.#options.builder.rest();
    });
  }

  /** Resolves when nothing waits to be built. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new Error('the service stops'));
    await this.#running;
  }

  async #run(): Promise<void> {
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      const [id, origin] = next;
      this.#waiting.delete(id);
      this.#current = id;
      await this.#buildAll(origin);
      this.#current = undefined;
      if (this.#tried.size >= TRIED_MAX) this.#tried.clear();
      this.#tried.set(id, this.#options.clock());
      if (this.#over.signal.aborted) return;
    }
  }

  async #buildAll(origin: RowOrigin): Promise<void> {
    const { monotonic, bytesMax, onBuilt, onFailed } = this.#options;
    const { executionId, resultSet } = origin;
    const stored = resultSet.parts.reduce((sum, { objectBytes }) => sum + objectBytes, 0);
    if (stored > bytesMax) return;
    const start = monotonic();
    let files = 0;
    let bytes = 0;
    try {
      using held = origin.hold();
      if (held === undefined) return;
      for (const part of resultSet.parts) {
        const built = await this.#buildOne(origin, part);
        files += built > 0 ? 1 : 0;
        bytes += built;
      }
    } catch (error) {
      if (!this.#over.signal.aborted) onFailed(executionId, error);
      return;
    }
    if (files > 0) onBuilt({ executionId, files, bytes, millis: monotonic() - start });
  }

  /** @returns the bytes of the file, 0 where none was made */
  async #buildOne(origin: RowOrigin, part: Part): Promise<number> {
    const { open, builder } = this.#options;
    const { signal } = this.#over;
    const { path, identity } = origin.fileOf(part);
    open.forget(path);
    if ((await open.find(path, identity).catch(() => undefined)) !== undefined) return 0;
    if (await origin.isMadeElsewhere(part)) return 0;
    const staged = origin.stagingPath(part);
    try {
      await using object = await origin.open(part, signal);
      const { rowCount, cellBytes, objectBytes } = part;
      const { columns } = origin.resultSet;
      const bytesMax = Math.max(SMALL_FILE_BYTES, PART_BYTES_FACTOR * objectBytes);
      const order = { part: object.path, path: staged, identity, columns, rowCount, cellBytes, bytesMax };
      const bytes = await builder.build(order, signal);
      await origin.publish(part, staged, bytes);
      open.forget(path);
      return bytes;
    } catch (error) {
      await rm(staged, { force: true });
      if (error instanceof NoRowFile) return 0;
      throw error;
    }
  }
}
