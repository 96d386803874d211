/** Keeps row files open, up to a number of files and of bytes in memory, and remembers which do not exist. */
import { type Clock, isRecent } from '../../../domain/instant.ts';
import { sumOf } from '../../../domain/sum-of.ts';
import { RowFile, type RowFileDeps } from './row-file.ts';
import { RowFileDamaged } from './row-file-format.ts';

/** The indexes of some 170 million rows. */
const BYTES_MAX = 64 * 1024 * 1024;
/** After this long a missing file is looked for again: another process may have made it. */
const ABSENT_MILLIS = 10_000;
const ABSENT_MAX = 10_000;

export class OpenRowFiles {
  readonly #clock: Clock;
  readonly #deps: RowFileDeps;
  readonly #filesMax: number;
  /** By path, the least recently used first. */
  readonly #files = new Map<string, Promise<RowFile | undefined>>();
  readonly #opened = new Map<string, RowFile>();
  /** When each missing file was last looked for, by path. */
  readonly #absent = new Map<string, number>();

  /** @param filesMax how many it keeps open: each holds a file descriptor */
  constructor(clock: Clock, deps: RowFileDeps, filesMax: number) {
    this.#clock = clock;
    this.#deps = deps;
    this.#filesMax = filesMax;
  }

  /** @returns undefined where there is none @throws RowFileDamaged, also where the file was made from something else */
  async find(path: string, identity: string): Promise<RowFile | undefined> {
    const absentAt = this.#absent.get(path);
    if (absentAt !== undefined && isRecent(absentAt, this.#clock(), ABSENT_MILLIS)) return undefined;
    const opening = this.#files.get(path) ?? this.#begin(path, identity);
    this.#files.delete(path);
    this.#files.set(path, opening);
    try {
      return await opening;
    } catch (error) {
      if (this.#files.get(path) === opening) this.#files.delete(path);
      throw error;
    }
  }

  /** The file was removed, or another has taken its place: it is no longer read. Where nobody reads it, resolves when it is closed. */
  async forget(path: string): Promise<void> {
    const file = this.#opened.get(path);
    this.#files.delete(path);
    this.#absent.delete(path);
    this.#opened.delete(path);
    await file?.retire();
  }

  /** `forget` for every file below the folder. */
  async forgetBelow(directory: string): Promise<void> {
    const paths = [...this.#files.keys()].filter((path) => path.startsWith(`${directory}/`));
    await Promise.all(paths.map((path) => this.forget(path)));
  }

  closeAll(): void {
    for (const path of [...this.#files.keys()]) void this.forget(path);
  }

  #begin(path: string, identity: string): Promise<RowFile | undefined> {
    const opening: Promise<RowFile | undefined> = this.#open(path, identity, () => this.#files.get(path) === opening);
    return opening;
  }

  async #open(path: string, identity: string, isAwaited: () => boolean): Promise<RowFile | undefined> {
    const file = await this.#openIfThere(path);
    // Forgotten while it was being opened. Nobody would close it later, so those who wait for it go without it.
    if (!isAwaited()) {
      void file?.retire();
      return undefined;
    }
    if (file === undefined) {
      this.#files.delete(path);
      if (this.#absent.size >= ABSENT_MAX) this.#absent.clear();
      this.#absent.set(path, this.#clock());
      return undefined;
    }
    if (file.about.identity !== identity) {
      void file.retire();
      throw new RowFileDamaged('the file was made from something else');
    }
    this.#opened.set(path, file);
    this.#evict(path);
    return file;
  }

  async #openIfThere(path: string): Promise<RowFile | undefined> {
    try {
      return await RowFile.open(path, this.#deps);
    } catch (error) {
      if (error instanceof RowFileDamaged) throw error;
      // It does not exist, or cannot be opened now (no file descriptors left, for example), which is as good as absent.
      return undefined;
    }
  }

  #evict(newest: string): void {
    let bytes = sumOf(this.#opened.values(), 'byteLength');
    for (const path of this.#files.keys()) {
      if (this.#opened.size <= this.#filesMax && bytes <= BYTES_MAX) return;
      const file = this.#opened.get(path);
      if (path === newest || file === undefined) continue;
      bytes -= file.byteLength;
      void this.forget(path);
    }
  }
}
