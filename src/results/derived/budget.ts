/**
 * One disk bound for everything that is made from results to read them faster: materialised views, row files, indexes. The
 * least recently used goes first, of whatever kind. None of it is needed: what was removed is made again when it is asked for.
 */
import { sumOf } from '../../domain/sum-of.ts';
import type { Sleep } from '../../domain/time.ts';
import { DiskRoom, type ListRemovable, type Removable } from '../../files/disk-room.ts';

/** How often to look for what other processes have made or removed. */
const LOOK_MILLIS = 60_000;

export class DerivedBudget {
  readonly bytesMax: number;
  readonly room: DiskRoom;
  readonly #kinds: ListRemovable[] = [];
  #enforcing: Promise<void> | undefined;
  #again = false;
  /** Whether something beyond the bound had to stay because it was in use. It may go once it is released. */
  #isOver = false;

  /** @param room on a full disk all that is derived may go */
  constructor(bytesMax: number, room = new DiskRoom()) {
    this.bytesMax = bytesMax;
    this.room = room;
    room.add(() => this.#list());
  }

  /** @param list lists everything of one kind that there is now */
  add(list: ListRemovable): void {
    this.#kinds.push(list);
  }

  /** Removes the least recently used until the rest fits the bound. Called when something was added. */
  async enforce(): Promise<void> {
    this.#again = true;
    this.#enforcing ??= this.#enforceWhileAsked().finally(() => {
      this.#enforcing = undefined;
    });
    await this.#enforcing;
  }

  /**
   * Something is no longer in use. Nothing is listed unless too much is known to be there: every page of a view ends with this
   * call.
   */
  async released(): Promise<void> {
    if (this.#isOver || this.#enforcing !== undefined) await this.enforce();
  }

  /**
   * Enforces the bound every minute until the signal is aborted. Other processes add files to a shared folder, and remove files
   * that this one has open.
   */
  async watch(sleep: Sleep, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // A failed listing is tried again the next time.
      await this.enforce().catch(() => undefined);
      await sleep(LOOK_MILLIS, signal).catch(() => undefined);
    }
  }

  async #enforceWhileAsked(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      const items = (await this.#list()).toSorted((a, b) => a.usedAt - b.usedAt);
      let bytes = sumOf(items, 'bytes');
      for (const item of items) {
        if (bytes <= this.bytesMax) break;
        if (await item.remove()) bytes -= item.bytes;
      }
      this.#isOver = bytes > this.bytesMax;
    }
  }

  async #list(): Promise<readonly Removable[]> {
    return (await Promise.all(this.#kinds.map((list) => list()))).flat();
  }
}
