/**
 * Gives memory that DuckDB has freed back to the system, in another thread. A DuckDB does this itself when it is closed, on the thread that
 * closes it: after a file with long lines the event loop would stand still for a tenth of a second. All DuckDBs of a process have one
 * allocator, and setting a limit of memory makes it give back what it can; so a small one of our own is there to be set.
 */
import { DuckDBInstance } from '@duckdb/node-api';

/** Both are as good; a setting has to change to be carried out. */
const LIMITS = ['16MB', '17MB'] as const;

interface Keeper {
  run(sql: string): Promise<unknown>;
}

export class FreedMemory {
  readonly #open: () => Promise<Keeper>;
  #turn = 0;
  #isWanted = false;
  #keeper: Promise<Keeper> | undefined;

  /** @param open opens the small DuckDB */
  constructor(open: () => Promise<Keeper>) {
    this.#open = open;
  }

  /** From now on. A process that ends soon, such as a command, need not. */
  want(): void {
    this.#isWanted = true;
  }

  /** To be called before a DuckDB is closed. Fails never: the memory is then given back by whoever closes. */
  async giveBack(): Promise<void> {
    if (!this.#isWanted) return;
    this.#keeper ??= this.#open();
    this.#turn += 1;
    await this.#keeper
      .then((keeper) => keeper.run(`SET memory_limit = '${LIMITS[this.#turn % 2]}'`))
      .catch(() => undefined);
  }
}

/** Of this process. */
export const freedMemory = new FreedMemory(openKeeper);

async function openKeeper(): Promise<Keeper> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1', memory_limit: LIMITS[0] });
  return await instance.connect();
}
