/**
 * DuckDBs that are used one after the other by pieces of work that each need one for themselves, and only for some milliseconds:
 * opening and closing one takes longer than such a piece. One whose work failed is closed, since what it failed with may have left it
 * in any state; one that nobody needed for a while gives its memory back.
 */
import { Later, type Sleep } from '../domain/time.ts';
import type { DuckDb } from './duckdb.ts';

export interface WarmDuckDbOptions {
  readonly open: () => Promise<DuckDb>;
  readonly sleep: Sleep;
}

/** What it has kept of files that are gone is kept no longer than that. */
const USES_MAX = 1000;
const IDLE_MILLIS = 30_000;

interface Warm {
  readonly duckDb: DuckDb;
  uses: number;
}

interface Idle {
  readonly warm: Warm;
  readonly closing: Later;
}

export class WarmDuckDbs implements AsyncDisposable {
  readonly #options: WarmDuckDbOptions;
  readonly #idle: Idle[] = [];
  #closed = false;

  constructor(options: WarmDuckDbOptions) {
    this.#options = options;
  }

  /** Gives `work` a DuckDB that nobody else uses meanwhile. */
  async use<T>(work: (duckDb: DuckDb) => Promise<T>): Promise<T> {
    const warm = this.#take() ?? { duckDb: await this.#options.open(), uses: 0 };
    let done = false;
    try {
      const result = await work(warm.duckDb);
      done = true;
      return result;
    } finally {
      warm.uses += 1;
      if (done && !this.#closed && warm.uses < USES_MAX) this.#keep(warm);
      else await warm.duckDb[Symbol.asyncDispose]();
    }
  }

  #take(): Warm | undefined {
    const idle = this.#idle.pop();
    idle?.closing[Symbol.dispose]();
    return idle?.warm;
  }

  #keep(warm: Warm): void {
    const closing = new Later(IDLE_MILLIS, this.#options.sleep, () => {
      this.#idle.splice(this.#idle.indexOf(idle), 1);
      void warm.duckDb[Symbol.asyncDispose]();
    });
    const idle = { warm, closing };
    this.#idle.push(idle);
  }

  /** Closes those that nobody uses; each of the others is closed when its work is done. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (let warm = this.#take(); warm !== undefined; warm = this.#take()) await warm.duckDb[Symbol.asyncDispose]();
  }
}
