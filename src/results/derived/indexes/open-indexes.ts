/**
 * Keeps index files open for the next look-up, within a bound on memory and on their number. The least recently used is closed
 * first, and none while it is read.
 */

import { sumOf } from '../../../domain/sum-of.ts';
import { isMissing, isUnreadable } from '../../../errors/system-code.ts';
import { IndexFile } from './index-file.ts';

const BYTES_MAX = 64 * 1024 * 1024;

/** An index that stays open until it is disposed of. */
export interface HeldIndex extends Disposable {
  readonly file: IndexFile;
}

interface Entry {
  readonly opening: Promise<IndexFile>;
  bytes: number;
  users: number;
  isForgotten: boolean;
}

export class OpenIndexes {
  /** By path, least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #monotonic: () => number;
  readonly #filesMax: number;

  /** @param monotonic milliseconds @param filesMax how many it keeps open: each holds a file descriptor */
  constructor(monotonic: () => number, filesMax: number) {
    this.#monotonic = monotonic;
    this.#filesMax = filesMax;
  }

  /** Bytes of memory that open indexes take, about. */
  get bytes(): number {
    return sumOf(this.#entries.values(), 'bytes');
  }

  /**
   * @param identity of the index that is meant: a file may have been put in another's place
   * @returns undefined where there is no such file, or none that can be opened
   * @throws IndexDamaged; the file system's error
   */
  async hold({ path, identity }: { readonly path: string; readonly identity: string }): Promise<HeldIndex | undefined> {
    const entry = this.#entries.get(path) ?? {
      opening: IndexFile.open(path, identity, this.#monotonic),
      bytes: 0,
      users: 0,
      isForgotten: false,
    };
    this.#entries.delete(path);
    this.#entries.set(path, entry);
    entry.users += 1;
    try {
      const file = await entry.opening;
      entry.bytes = file.memoryBytes;
      const held = new DisposableStack();
      held.defer(() => this.#leave(entry));
      this.#closeOldest();
      return { file, [Symbol.dispose]: () => held.dispose() };
    } catch (error) {
      this.#leave(entry);
      if (this.#entries.get(path) === entry) this.#entries.delete(path);
      if (isNoReadableFile(error)) return undefined;
      throw error;
    }
  }

  /** Closes the file; the next use opens it again. Where nobody uses it now, resolves when it is closed. */
  async forget(path: string): Promise<void> {
    const entry = this.#entries.get(path);
    if (entry === undefined) return;
    this.#entries.delete(path);
    entry.isForgotten = true;
    if (entry.users === 0) await close(entry);
  }

  closeAll(): void {
    for (const path of [...this.#entries.keys()]) void this.forget(path);
  }

  #leave(entry: Entry): void {
    entry.users -= 1;
    if (entry.users === 0 && entry.isForgotten) void close(entry);
  }

  #closeOldest(): void {
    for (const [path, { users }] of [...this.#entries]) {
      if (this.bytes <= BYTES_MAX && this.#entries.size <= this.#filesMax) return;
      if (users === 0) void this.forget(path);
    }
  }
}

/** Whether it says that there is no file that can be read. */
export function isNoReadableFile(error: unknown): boolean {
  return isMissing(error) || isUnreadable(error);
}

async function close({ opening }: Entry): Promise<void> {
  // A file that failed to open need not be closed. One that fails to close is closed with the process.
  await opening.then(async (file) => await file[Symbol.asyncDispose]()).catch(() => undefined);
}
