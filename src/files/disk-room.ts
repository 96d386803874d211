/**
 * Room on the disk of the data directory. Much of what is there can be made or fetched again: on a disk that is full, what somebody waits for
 * comes first.
 */
import { isStorageFull } from '../errors/storage-full.ts';

/** Something on disk that can be had again. */
export interface Removable {
  /** On disk. */
  readonly bytes: number;
  /** The time of its last use, by the service's clock. */
  readonly usedAt: number;
  /** Removes it, unless it must stay because somebody reads it. @returns whether it was removed */
  remove(): Promise<boolean>;
}

export type ListRemovable = () => Promise<readonly Removable[]>;

export class DiskRoom {
  readonly #kinds: ListRemovable[] = [];
  #making: Promise<boolean> | undefined;
  #timesMade = 0;
  /** Of all who wait. */
  #wanted = 0;

  /** @param list lists everything of one kind that there is now */
  add(list: ListRemovable): void {
    this.#kinds.push(list);
  }

  /** How often something was removed. */
  get timesMade(): number {
    return this.#timesMade;
  }

  /**
   * Removes what nobody reads, the least recently used first. Whoever asks while that is being done waits for it.
   * @param bytes so many are enough
   * @returns whether anything went
   */
  async make(bytes = Number.POSITIVE_INFINITY): Promise<boolean> {
    this.#wanted = Math.max(this.#wanted, bytes);
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
      this.#wanted = 0;
    });
    return await this.#making;
  }

  /** What cannot be listed or removed stays. Whoever needs the room is told of that, and not of this. */
  async #make(): Promise<boolean> {
    const items = await Promise.all(this.#kinds.map((list) => list().catch(() => [])));
    let [gone, went] = [0, false];
    for (const item of items.flat().toSorted((a, b) => a.usedAt - b.usedAt)) {
      if (gone >= this.#wanted) break;
      if (!(await item.remove().catch(() => false))) continue;
      gone += item.bytes;
      went = true;
    }
    if (went) this.#timesMade += 1;
    return went;
  }
}

/**
 * The outcome of the work. Where it fails because the disk is full, what can be had again is removed, and the work is tried once more.
 * @param bytes that it may need; all that can go goes where it is not known
 */
export async function withRoom<T>(room: DiskRoom, work: () => Promise<T>, bytes?: number): Promise<T> {
  const before = room.timesMade;
  try {
    return await work();
  } catch (error) {
    if (!isStorageFull(error)) throw error;
    const went = await room.make(bytes);
    // Others may have had it removed meanwhile.
    if (!went && room.timesMade === before) throw error;
    return await work();
  }
}
