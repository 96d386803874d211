/**
 * A folder of derived files that outlive the process: row files and indexes of stored results. Each is written elsewhere, synced and
 * renamed into its place, so a file that is there is whole. Several processes may share the folder: what is in it, how large it is and
 * when it was used last is asked of the filesystem. A file may be removed at any time; whoever has it open goes on reading it, and lets go
 * of it, and with it of its disk, when the folder is listed next.
 */
import { open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../domain/instant.ts';
import { executionOfDerived } from '../../domain/written-names.ts';
import type { DerivedBudget, DerivedItem } from './budget.ts';

export interface DerivedFilesOptions {
  /** Absolute, and there. */
  readonly directory: string;
  /** Absolute; on the same filesystem, there and empty, and this process's own. */
  readonly staging: string;
  readonly budget: DerivedBudget;
  readonly clock: Clock;
}

/** How old the time of use that a file bears may be: less would write to the disk for each page that is read. */
const USE_MILLIS = 60_000;

export class DerivedFiles {
  readonly #options: DerivedFilesOptions;
  readonly #listeners: ((name: string) => void)[] = [];
  /** Of each file that this process has used when the time of use was last written, by name. */
  readonly #used = new Map<string, number>();
  #staged = 0;
  #bytes = 0;

  constructor(options: DerivedFilesOptions) {
    this.#options = options;
    options.budget.add(() => this.#list());
  }

  /** @param listener is told the name of each file that is gone: what is kept of it in memory, or open, may go */
  onRemoved(listener: (name: string) => void): void {
    this.#listeners.push(listener);
  }

  /** Where the file of this name is, if there is one. @param name made by `derivedName` */
  pathOf(name: string): string {
    return join(this.#options.directory, name);
  }

  /** Where to write a file that is to be published. @param name its own, so that other processes see that it is being made */
  stagingPath(name?: string): string {
    this.#staged += 1;
    return join(this.#options.staging, name ?? String(this.#staged));
  }

  /** Whether another process is writing the file of this name: each writes in a folder of its own, beside the files. */
  async isMadeElsewhere(name: string): Promise<boolean> {
    const { directory, staging } = this.#options;
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      const folder = join(directory, entry.name);
      if (!entry.isDirectory() || folder === staging) continue;
      if ((await stat(join(folder, name)).catch(() => undefined)) !== undefined) return true;
    }
    return false;
  }

  /** Gives the finished file its name, durably, in the place of any other; then older ones go until all is within the bound. */
  async publish(name: string, staged: string): Promise<void> {
    const { clock, directory, budget } = this.#options;
    const now = clock() / 1000;
    await utimes(staged, now, now);
    await sync(staged);
    await rename(staged, this.pathOf(name));
    await sync(directory);
    this.#used.set(name, clock());
    await budget.enforce();
  }

  /** Notes that the file is being used, which keeps it. */
  async touch(name: string): Promise<void> {
    const now = this.#options.clock();
    if (now - (this.#used.get(name) ?? Number.NEGATIVE_INFINITY) < USE_MILLIS) return;
    this.#used.set(name, now);
    // Another process may have removed it: then whoever reads it next finds that out.
    await utimes(this.pathOf(name), now / 1000, now / 1000).catch(() => undefined);
  }

  async remove(name: string): Promise<void> {
    await rm(this.pathOf(name), { force: true });
    this.#forget(name);
  }

  #forget(name: string): void {
    this.#used.delete(name);
    for (const listener of this.#listeners) listener(name);
  }

  /** Disk that the files took when they were counted last, whoever made them. */
  get bytes(): number {
    return this.#bytes;
  }

  async #list(): Promise<readonly DerivedItem[]> {
    const used = [...this.#used.keys()];
    const items = new Map<string, DerivedItem>();
    for (const name of await readdir(this.#options.directory)) {
      if (executionOfDerived(name) === undefined) continue;
      const found = await stat(this.pathOf(name)).catch(() => undefined);
      if (found?.isFile() !== true) continue;
      const remove = async () => {
        await this.remove(name);
        return true;
      };
      items.set(name, { bytes: found.size, usedAt: found.mtimeMs, remove });
    }
    for (const name of used) if (!items.has(name)) this.#forget(name);
    this.#bytes = items.values().reduce((sum, { bytes }) => sum + bytes, 0);
    return [...items.values()];
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
