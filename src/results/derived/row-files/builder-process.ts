/**
 * Runs the child process that builds row files and indexes, one at a time, at lowest priority and with its own memory limit.
 * The service goes on if the child dies. The child is started when there is something to build, and ended when there has been nothing for a
 * minute.
 */
import { constants } from 'node:os';
import type { ChildEnd } from '../../../children/child.ts';
import { type Child, startChild } from '../../../children/start-child.ts';
import { Later, type Sleep } from '../../../domain/time.ts';
import type { DuckDbOptions } from '../../../duckdb/duckdb.ts';
import { COMPILED_CODE } from '../../../files/compiled-code.ts';
import { NotBuildable } from '../build-queue.ts';
import type { IndexBuild } from '../indexes/build-index.ts';
import type { IndexBuilder } from '../indexes/wanted-index.ts';
import type { RowFileOrder } from './build-row-file.ts';
import type { RowFileBuilder } from './wanted-row-files.ts';

/** Options of the child's DuckDB. */
export type BuilderOptions = Omit<DuckDbOptions, 'sleep'>;

/** What the child is told: first its options, then one order after another. */
export type BuilderMessage = { readonly kind: 'open'; readonly options: BuilderOptions } | BuilderOrder;

export type BuilderOrder =
  | { readonly kind: 'row-file'; readonly order: RowFileOrder }
  | { readonly kind: 'index'; readonly order: IndexBuild };

/** The child's answer to an order. `code` is the error code of a system failure, such as a full disk. */
export type BuilderAnswer =
  | { readonly kind: 'built'; readonly bytes: number }
  | { readonly kind: 'none'; readonly why: string }
  | { readonly kind: 'failed'; readonly message: string; readonly code: string | undefined };

export interface BuilderProcessOptions {
  /** The child's program, and its Node flags. */
  readonly program: string;
  readonly flags: readonly string[];
  readonly duckDb: BuilderOptions;
  readonly sleep: Sleep;
}

/** libuv threads in the child: enough for DuckDB and two files. A waiting thread costs nothing. */
const THREADS = '4';
/** Results come and are read all the time, and to start a child takes longer than to build a small file. */
const REST_MILLIS = 60_000;

export class BuilderProcess implements RowFileBuilder, IndexBuilder, AsyncDisposable {
  readonly #options: BuilderProcessOptions;
  #child: Child | undefined;
  /** Who waits for an answer, and whose. */
  #asked: { readonly child: Child; readonly answer: PromiseWithResolvers<BuilderAnswer> } | undefined;
  /** Children that were ended and have not exited yet. */
  readonly #ending = new Set<Promise<ChildEnd>>();
  /** While it has nothing to do. */
  #rest: Later | undefined;
  /** Orders that are in work or waiting. */
  #orders = 0;
  /** Resolves when the last order has ended. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(options: BuilderProcessOptions) {
    this.#options = options;
  }

  /** The running child's process id, if there is one. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async buildRowFile(order: RowFileOrder, signal: AbortSignal): Promise<number> {
    return await this.#inTurn({ kind: 'row-file', order }, signal);
  }

  async buildIndex(order: IndexBuild, signal: AbortSignal): Promise<number> {
    return await this.#inTurn({ kind: 'index', order }, signal);
  }

  async #inTurn(order: BuilderOrder, signal: AbortSignal): Promise<number> {
    this.#orders += 1;
    const building = this.#line.then(async () => await this.#build(order, signal));
    this.#line = building.catch(() => undefined);
    try {
      return await building;
    } finally {
      this.#orders -= 1;
    }
  }

  async #build(order: BuilderOrder, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    this.#rest?.[Symbol.dispose]();
    const child = this.#child ?? this.#start();
    const answer = Promise.withResolvers<BuilderAnswer>();
    this.#asked = { child, answer };
    const abort = () => {
      answer.reject(signal.reason);
      this.#end();
    };
    signal.addEventListener('abort', abort, { once: true });
    try {
      child.send(order satisfies BuilderMessage);
      return bytesOf(await answer.promise);
    } finally {
      signal.removeEventListener('abort', abort);
      this.#asked = undefined;
    }
  }

  /** Nothing waits to be built: in a minute the process ends, unless somebody has something to build by then. */
  rest(): void {
    if (this.#orders > 0 || this.#child === undefined) return;
    this.#rest?.[Symbol.dispose]();
    this.#rest = new Later(REST_MILLIS, this.#options.sleep, () => this.#end());
  }

  /** Resolves when no child is left that could still write. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#rest?.[Symbol.dispose]();
    this.#end();
    await Promise.all(this.#ending);
  }

  #start(): Child {
    const { program, flags, duckDb } = this.#options;
    const child = startChild(
      {
        program,
        flags,
        env: { UV_THREADPOOL_SIZE: THREADS, NODE_COMPILE_CACHE: COMPILED_CODE },
        // Small pages beside it took 1.02 times as long as alone at nice 19, 1.29 times at 10, and 1.45 times at 5 (p95).
        priority: constants.priority.PRIORITY_LOW,
      },
      { onMessage: (answer) => this.#asked?.answer.resolve(answer as BuilderAnswer) },
    );
    this.#child = child;
    void child.ended.then(({ code, signal, error }) => {
      if (this.#child === child) this.#child = undefined;
      if (this.#asked?.child !== child) return;
      this.#asked.answer.reject(error ?? new Error(`the process that builds derived files ended (${signal ?? code})`));
    });
    child.send({ kind: 'open', options: duckDb } satisfies BuilderMessage);
    return child;
  }

  /** Kills the child. Whoever ordered its unfinished file removes it. */
  #end(): void {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    const ending = child.ended.finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    child.kill();
  }
}

function bytesOf(answer: BuilderAnswer): number {
  switch (answer.kind) {
    case 'built':
      return answer.bytes;
    case 'none':
      throw new NotBuildable(answer.why);
    case 'failed':
      throw Object.assign(new Error(answer.message), answer.code !== undefined && { code: answer.code });
    default:
      return answer satisfies never;
  }
}
