/**
 * A folder of derived files that outlive the process: row files and indexes of stored results. A file is written elsewhere,
 * synced, and renamed into its place, so every file here is whole. Several processes may share the folder: its files, their
 * sizes and their last uses are read from the file system. A file may be removed at any time. Whoever has it open reads on, and
 * closes it when the folder is listed next; only then is its disk space free.
 */
import { mkdir, readdir, rename, rm, rmdir, stat, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Clock } from '../../domain/instant.ts';
import { sumOf } from '../../domain/sum-of.ts';
import { executionOfDerived } from '../../domain/written-names.ts';
import { hasCode } from '../../errors/system-code.ts';
import type { Removable } from '../../files/disk-room.ts';
import { syncPath } from '../../files/sync-path.ts';
import type { DerivedBudget } from './budget.ts';

export interface DerivedFilesOptions {
  /** Absolute path of a folder that exists. */
  readonly directory: string;
  /** Absolute path of an empty folder in it, for this process alone. */
  readonly staging: string;
  readonly budget: DerivedBudget;
  readonly clock: Clock;
}

/** A file's time of use is written at most this often. More often would mean a write for each page that is read. */
const USE_MILLIS = 60_000;

export class DerivedFiles {
  readonly #options: DerivedFilesOptions;
  readonly #listeners: ((name: string) => Promise<void>)[] = [];
  /** When the time of use was last written, by file name, for each file that this process has used. */
  readonly #used = new Map<string, number>();
  #staged = 0;
  #bytes = 0;

  constructor(options: DerivedFilesOptions) {
    this.#options = options;
    options.budget.add(() => this.#list());
  }

  /**
   * @param listener told the name of each file that is gone, so that caches drop and close it; resolves when the file is closed, where nobody
   *   reads it
   */
  onRemoved(listener: (name: string) => Promise<void>): void {
    this.#listeners.push(listener);
  }

  /** The path of the file with this name, whether it exists or not. @param name made by `derivedName` */
  pathOf(name: string): string {
    return join(this.#options.directory, name);
  }

  /**
   * Where to write a file before it is published.
   * @param name the file's own, so that other processes see that it is being made
   */
  stagingPath(name?: string): string {
    this.#staged += 1;
    return join(this.#options.staging, name ?? String(this.#staged));
  }

  /** Whether another process is writing the file. Each process writes in a folder of its own, beside the files. */
  async isMadeElsewhere(name: string): Promise<boolean> {
    const { directory, staging } = this.#options;
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      const folder = join(directory, entry.name);
      if (!entry.isDirectory() || folder === staging) continue;
      if ((await stat(join(folder, name)).catch(() => undefined)) !== undefined) return true;
    }
    return false;
  }

  /** Moves the finished file to its name, durably; a file or an empty folder of that name is replaced. Then files go until the rest fits the bound. */
  async publish(name: string, staged: string): Promise<void> {
    const { clock, directory, budget } = this.#options;
    const now = clock() / 1000;
    await utimes(staged, now, now);
    await syncPath(staged);
    await renameOver(staged, this.pathOf(name));
    await syncPath(directory);
    this.#used.set(name, clock());
    await budget.enforce();
  }

  /** Records a use of the file, which keeps it from being removed soon. */
  async touch(name: string): Promise<void> {
    const now = this.#options.clock();
    if (now - (this.#used.get(name) ?? Number.NEGATIVE_INFINITY) < USE_MILLIS) return;
    this.#used.set(name, now);
    // Another process may have removed the file. Its next reader finds that out.
    await utimes(this.pathOf(name), now / 1000, now / 1000).catch(() => undefined);
  }

  /** Its disk space is free when this resolves, unless somebody reads it. */
  async remove(name: string): Promise<void> {
    await rm(this.pathOf(name), { force: true });
    await this.#forget(name);
  }

  async #forget(name: string): Promise<void> {
    this.#used.delete(name);
    await Promise.all(this.#listeners.map((listener) => listener(name)));
  }

  /** Bytes on disk of all files at the last count, whoever made them. */
  get bytes(): number {
    return this.#bytes;
  }

  async #list(): Promise<readonly Removable[]> {
    const used = [...this.#used.keys()];
    const items = new Map<string, Removable>();
    for (const name of await this.#names()) {
      if (executionOfDerived(name) === undefined) continue;
      const found = await stat(this.pathOf(name)).catch(() => undefined);
      if (found?.isFile() !== true) continue;
      const remove = async () => {
        await this.remove(name);
        return true;
      };
      items.set(name, { bytes: found.size, usedAt: found.mtimeMs, remove });
    }
    for (const name of used) if (!items.has(name)) await this.#forget(name);
    this.#bytes = sumOf(items.values(), 'bytes');
    return [...items.values()];
  }

  async #names(): Promise<readonly string[]> {
    const { directory, staging } = this.#options;
    const names = await readdir(directory).catch((error: unknown): string[] => {
      if (!hasCode(error, 'ENOENT')) throw error;
      return [];
    });
    // Somebody may have cleared it. What is made from now on needs this folder, which is in it.
    if (!names.includes(basename(staging))) await mkdir(staging, { recursive: true, mode: 0o700 });
    return names;
  }
}

async function renameOver(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!hasCode(error, 'EISDIR', 'ENOTEMPTY', 'EEXIST')) throw error;
    // What somebody has put into it is not ours to remove.
    await rmdir(to).catch((cause: unknown) => {
      throw new Error(`${to} is a folder, in the place of a file that the service makes: remove it`, { cause });
    });
    await rename(from, to);
  }
}
