/**
 * One bound for the disk that everything takes which is made from results to read them faster: materialised views, row files, indexes.
 * The least recently used goes first, whatever kind it is. None of it is needed: what is gone is made again when it is asked for.
 */
import type { Sleep } from '../../domain/time.ts';
import { isStorageFull } from '../../errors/storage-full.ts';

export interface DerivedItem {
  /** On disk. */
  readonly bytes: number;
  /** When it was used last, by the service's clock. */
  readonly usedAt: number;
  /** Removes it, unless it is one that has to stay as long as somebody reads it. @returns whether it went */
  remove(): Promise<boolean>;
}

export type ListDerived = () => Promise<readonly DerivedItem[]>;

/** How often to look at what other processes have made or removed. */
const LOOK_MILLIS = 60_000;

export class DerivedBudget {
  readonly bytesMax: number;
  readonly #kinds: ListDerived[] = [];
  #enforcing: Promise<void> | undefined;
  #again = false;
  /** Whether something had to stay that is beyond the bound: it may go when it is let go. */
  #isOver = false;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** @param list all there is of one kind now */
  add(list: ListDerived): void {
    this.#kinds.push(list);
  }

  /** Removes what was used longest ago until the rest is within the bound. To be called when something has been added. */
  async enforce(): Promise<void> {
    this.#again = true;
    this.#enforcing ??= this.#enforceWhileAsked().finally(() => {
      this.#enforcing = undefined;
    });
    await this.#enforcing;
  }

  /** Something is not used any more. What is there is only listed where it is known to be too much, as each page of a view ends with this. */
  async released(): Promise<void> {
    if (this.#isOver || this.#enforcing !== undefined) await this.enforce();
  }

  /** Looks every minute until the signal is aborted: other processes add to a shared folder, and remove what this one has open. */
  async watch(sleep: Sleep, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // What cannot be listed now is listed the next time.
      await this.enforce().catch(() => undefined);
      await sleep(LOOK_MILLIS, signal).catch(() => undefined);
    }
  }

  /** Removes all that may be removed: a full disk is better used for what somebody waits for. @returns whether there was anything */
  async giveUpIdle(): Promise<boolean> {
    const removed = await Promise.all((await this.#list()).map((item) => item.remove()));
    return removed.includes(true);
  }

  async #enforceWhileAsked(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      const items = (await this.#list()).toSorted((a, b) => a.usedAt - b.usedAt);
      let bytes = items.reduce((sum, item) => sum + item.bytes, 0);
      for (const item of items) {
        if (bytes <= this.bytesMax) break;
        if (await item.remove()) bytes -= item.bytes;
      }
      this.#isOver = bytes > this.bytesMax;
    }
  }

  async #list(): Promise<readonly DerivedItem[]> {
    return (await Promise.all(this.#kinds.map((list) => list()))).flat();
  }
}

/** The outcome of `write`; where the disk is full it is tried once more without anything derived that can go. */
export async function withRoom<T>(budget: Pick<DerivedBudget, 'giveUpIdle'>, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!isStorageFull(error) || !(await budget.giveUpIdle())) throw error;
    return await write();
  }
}
