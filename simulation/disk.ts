/**
 * The local disks of the simulated machines: one tree of files in memory, each machine's below `/simulated/<machine>/`. While a
 * simulation runs, the functions of `node:fs/promises` that the coordinating parts call lead here, and turns of the event loop
 * (`setImmediate`) are events of the scheduler. So the parts run as they are, and yet wait for nothing real.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { Party, Scheduler } from './scheduler.ts';
import type { LocalFiles } from './store.ts';

const ROOT = '/simulated/';
const ACCESS_MILLIS = 0.5;
const TURN_MILLIS = 0.05;

/** The process that has a machine at the moment. */
export type FindParty = (machine: string) => Party | undefined;

export function folderOf(machine: string): string {
  return `${ROOT}${machine}`;
}

export class SimulatedDisks implements LocalFiles {
  readonly #scheduler: Scheduler;
  readonly #partyOf: FindParty;
  readonly #files = new Map<string, Buffer>();
  readonly #folders = new Set<string>();

  constructor(scheduler: Scheduler, partyOf: FindParty) {
    this.#scheduler = scheduler;
    this.#partyOf = partyOf;
  }

  /** Paths below a folder, in order. */
  below(folder: string): readonly string[] {
    return [...this.#folders, ...this.#files.keys()].filter((path) => path.startsWith(`${folder}/`)).sort();
  }

  async readFile(path: string): Promise<Buffer> {
    await this.#access('read', path);
    return this.#files.get(path) ?? missing(path);
  }

  async writeFile(path: string, bytes: Buffer): Promise<void> {
    await this.#access('write', path);
    this.#files.set(path, bytes);
  }

  async mkdir(path: string): Promise<void> {
    await this.#access('mkdir', path);
    this.#folders.add(path);
  }

  async rm(path: string): Promise<void> {
    await this.#access('rm', path);
    for (const below of this.below(path)) {
      this.#files.delete(below);
      this.#folders.delete(below);
    }
    this.#files.delete(path);
    this.#folders.delete(path);
  }

  async readdir(path: string): Promise<readonly Partial<fs.Dirent>[]> {
    await this.#access('readdir', path);
    const names = new Set(this.below(path).map((below) => below.slice(path.length + 1).split('/')[0] ?? ''));
    if (names.size === 0 && !this.#folders.has(path)) missing(path);
    const isFile = (name: string) => this.#files.has(`${path}/${name}`);
    return [...names].map((name) => ({ name, isFile: () => isFile(name), isDirectory: () => !isFile(name) }));
  }

  async lstat(path: string): Promise<Partial<fs.Stats>> {
    await this.#access('lstat', path);
    return { size: this.#files.get(path)?.length ?? missing(path) };
  }

  async #access(what: string, path: string): Promise<void> {
    const machine = path.startsWith(ROOT) ? path.slice(ROOT.length).split('/')[0] : undefined;
    const party = machine === undefined ? undefined : this.#partyOf(machine);
    if (party === undefined) throw new Error(`${what} ${path}: not a path of a simulated machine`);
    await this.#scheduler.after(party, ACCESS_MILLIS, `${what} ${path.slice(ROOT.length)}`);
  }
}

function missing(path: string): never {
  throw Object.assign(new Error(`ENOENT: no such file or directory, '${path}'`), { code: 'ENOENT' });
}

/** Puts the simulated disks and turns in the place of the real ones, in this process, until it is disposed of. */
export function replaceReal(scheduler: Scheduler, disks: SimulatedDisks): Disposable {
  const { promises } = fs;
  const real = { mkdir: promises.mkdir, rm: promises.rm, readdir: promises.readdir, lstat: promises.lstat };
  const realSetImmediate = globalThis.setImmediate;
  const { mkdir, rm, readdir, lstat } = disks;
  const simulated = {
    mkdir: mkdir.bind(disks),
    rm: rm.bind(disks),
    readdir: readdir.bind(disks),
    lstat: lstat.bind(disks),
  };
  Object.assign(promises, simulated);
  syncBuiltinESMExports();
  const turn = (run: () => void) =>
    scheduler.schedule({ delayMillis: (scheduler.random.below(1000) / 1000) * TURN_MILLIS, name: 'a turn', run });
  Object.assign(globalThis, { setImmediate: turn });
  return {
    [Symbol.dispose]() {
      Object.assign(promises, real);
      Object.assign(globalThis, { setImmediate: realSetImmediate });
      syncBuiltinESMExports();
    },
  };
}
