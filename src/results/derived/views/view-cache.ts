/**
 * Materialised views: a walk under `filters` or `sort_by` reads its pages from one. A view is written once for all who ask at the same time, in the
 * queue of heavy work. The number of views is bounded, and their bytes count with everything derived: the least recently used goes first, but never
 * one that is being read. The folder belongs to this process alone and starts empty, so nothing half-written is ever read. A view whose files
 * somebody has removed, or written into, is made anew.
 */
import { rm } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { Clock } from '../../../domain/instant.ts';
import { orAborted } from '../../../domain/or-aborted.ts';
import { allRowsOf, type Part, type ResultSet, VIEW_PART_ROWS } from '../../../domain/result-set.ts';
import { sumOf } from '../../../domain/sum-of.ts';
import type { Sleep } from '../../../domain/time.ts';
import type { DuckDb } from '../../../duckdb/duckdb.ts';
import { MadeIsGone } from '../../../errors/workspace-unavailable.ts';
import { type Removable, withRoom } from '../../../files/disk-room.ts';
import { requireWritten } from '../../../files/file-state.ts';
import { makeWorkspace, workspaceFailure } from '../../../files/workspace.ts';
import type { OpenObject, ResultStore } from '../../../store/result-store.ts';
import { viewIdentity } from '../../compile/view.ts';
import { openAll } from '../../limits/open-all.ts';
import { withinMillis } from '../../limits/time-limit.ts';
import type { WorkQueue } from '../../limits/work-queue.ts';
import type { View } from '../../plan/view.ts';
import { readFailure } from '../../read-failure.ts';
import type { DerivedBudget } from '../budget.ts';
import { type MaterializedView, materializeView, type ViewDestination, type ViewSource } from './materialize-view.ts';

export interface ViewCacheOptions {
  /** Absolute path of an empty folder, for this process alone. */
  readonly directory: string;
  readonly budget: DerivedBudget;
  readonly clock: Clock;
  /** The most views: each is a folder, which costs something even with few rows. */
  readonly viewsMax: number;
  readonly store: Pick<ResultStore, 'open'>;
  readonly duckDb: DuckDb;
  readonly queue: WorkQueue;
  readonly millisMax: number;
  readonly sleep: Sleep;
  /** Told the folder of each view that is removed. */
  readonly onRemoved: (directory: string) => Promise<void>;
}

/** Writes the parts of a view into an empty folder. */
export type MakeView = (duckDb: DuckDb, destination: ViewDestination, signal: AbortSignal) => Promise<MaterializedView>;

/** A view that stays until it is disposed of. The keys of its parts are absolute paths. */
export interface OpenView extends Disposable {
  /** No other view has it. */
  readonly identity: string;
  readonly resultSet: ResultSet;
  /** Of the difference of two results: how many rows of each change it has. */
  readonly counts?: Readonly<Record<string, number>>;
  /** A part's file, which stays as long as the view is open. @throws MadeIsGone where it is not what was made */
  openPart(part: Part): Promise<OpenObject>;
  /** Keeps the view longer; undefined where it is gone. */
  hold(): Disposable | undefined;
  /** Adds the bytes of files made from the view, which are beside its parts and go with it. */
  grew(bytes: number): void;
}

interface Entry {
  readonly identity: string;
  readonly made: Promise<MaterializedView>;
  readonly directory: string;
  /** The number of those who wait for it or read it. */
  users: number;
  /** Stops the making when nobody waits any more. */
  readonly abandon: AbortController;
  /** Nobody will ask for it again, as of a sample, or its files are not what they were: it is removed once it has been read. */
  passing: boolean;
  /** 0 until it is made. */
  bytes: number;
  usedAt: number;
}

interface Making {
  readonly make: MakeView;
  /** Nobody will ask for it again. */
  readonly isPassing: boolean;
}

export class ViewCache implements AsyncDisposable {
  readonly #options: ViewCacheOptions;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  /** Views that are being made or removed: closing waits for them. */
  readonly #unsettled = new Set<Promise<void>>();
  #made = 0;

  constructor(options: ViewCacheOptions) {
    this.#options = options;
    options.budget.add(async () => this.#list());
  }

  /** Bytes on disk of the finished views. */
  get bytes(): number {
    return sumOf(this.#entries.values(), 'bytes');
  }

  /** Whether the view is made already, so that any page of it is cheap. */
  has(executionId: string, view: View): boolean {
    return this.hasMade(viewIdentity(executionId, view));
  }

  /**
   * With all columns, or some alone where these are named.
   * @param identity no other view has it
   * @param keyId whose queue turn it takes if the view has to be made
   * @throws RequestError overloaded; the signal's reason; what making the view throws
   */
  async get(
    identity: string,
    source: Omit<ViewSource, 'paths'>,
    keyId: string,
    signal: AbortSignal,
  ): Promise<OpenView> {
    const making = { make: this.#viewOf(source), isPassing: source.view.rows.kind === 'drawn' };
    return await this.#open(identity, making, keyId, signal);
  }

  /**
   * The same, of rows that are made in another way, such as the difference of two results.
   * @param identity no view has it
   */
  async getMade(identity: string, make: MakeView, keyId: string, signal: AbortSignal): Promise<OpenView> {
    return await this.#open(identity, { make, isPassing: false }, keyId, signal);
  }

  /** Whether it is made already. @param identity as for `get` and `getMade` */
  hasMade(identity: string): boolean {
    return (this.#entries.get(identity)?.bytes ?? 0) > 0;
  }

  /** A part of a view that is open; the view stays as long as the part is open. @throws MadeIsGone where the view is gone */
  async openPart({ key: path }: Pick<Part, 'key'>): Promise<OpenObject> {
    const entry = this.#entries.values().find(({ directory }) => path.startsWith(`${directory}/`));
    if (entry === undefined) throw new MadeIsGone(`${path}: the view that it is a part of is gone`);
    entry.users += 1;
    using held = new DisposableStack();
    held.use(this.#held(entry));
    const opened = await this.#openFile(entry, path);
    const kept = held.move();
    return { ...opened, [Symbol.asyncDispose]: async () => kept.dispose() };
  }

  async #openFile(entry: Entry, path: string): Promise<OpenObject> {
    await this.#requireFile(entry, path);
    const requireIntact = () => this.#requireFile(entry, path);
    return { path, requireIntact, [Symbol.asyncDispose]: async () => undefined };
  }

  /** Else the next who asks for the view has it made anew. */
  async #requireFile(entry: Entry, path: string): Promise<void> {
    const { files } = await entry.made;
    try {
      await requireWritten(files.find((file) => file.path === path) ?? { path, state: '' });
    } catch (error) {
      this.#forget(entry);
      entry.passing = true;
      throw error;
    }
  }

  async #open(identity: string, making: Making, keyId: string, signal: AbortSignal): Promise<OpenView> {
    signal.throwIfAborted();
    const entry = this.#entries.get(identity) ?? this.#start(identity, making, keyId);
    this.#entries.delete(identity);
    this.#entries.set(identity, entry);
    entry.users += 1;
    entry.usedAt = this.#options.clock();
    try {
      const { resultSet, counts } = await orAborted(entry.made, signal);
      return {
        ...this.#held(entry),
        identity,
        resultSet,
        ...(counts !== undefined && { counts }),
        openPart: ({ key }) => this.#openFile(entry, key),
        hold: () => {
          if (this.#entries.get(identity) !== entry) return undefined;
          entry.users += 1;
          return this.#held(entry);
        },
        grew: (bytes) => {
          entry.bytes += bytes;
          this.#added();
        },
      };
    } catch (error) {
      this.#leave(entry);
      throw error;
    }
  }

  /** Stops what is being made. Resolves when nothing is written or removed any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { abandon } of this.#entries.values()) abandon.abort(new Error('the service stops'));
    while (this.#unsettled.size > 0) await Promise.allSettled(this.#unsettled);
  }

  #start(identity: string, { make, isPassing }: Making, keyId: string): Entry {
    this.#made += 1;
    const directory = join(this.#options.directory, `${identity}-${this.#made}`);
    const abandon = new AbortController();
    const making = this.#options.queue.run(keyId, () => this.#make(directory, make, abandon.signal), abandon.signal);
    const entry: Entry = {
      identity,
      made: making,
      directory,
      users: 0,
      abandon,
      passing: isPassing,
      bytes: 0,
      usedAt: this.#options.clock(),
    };
    const settled = making.then(
      async ({ resultSet: { parts } }) => {
        // At least 1 byte, since 0 means that the view is not made yet.
        entry.bytes = sumOf(parts, 'objectBytes') || 1;
        // All who waited had left by the time it was made.
        if (this.#entries.get(identity) !== entry) await this.#drop(entry);
        else this.#added();
      },
      () => this.#drop(entry),
    );
    this.#follow(settled);
    return entry;
  }

  /** Counts as one of its users until disposed of. */
  #held(entry: Entry): Disposable {
    let released = false;
    return {
      [Symbol.dispose]: () => {
        if (!released) this.#leave(entry);
        released = true;
      },
    };
  }

  #leave(entry: Entry): void {
    entry.users -= 1;
    if (entry.users === 0 && entry.bytes === 0) {
      this.#forget(entry);
      entry.abandon.abort(new Error('nobody waits for the view any more'));
    } else if (entry.users === 0 && entry.passing) {
      void this.#drop(entry);
    }
    entry.usedAt = this.#options.clock();
    this.#evict();
    // A failure here is not lost: the bound is enforced again the next time.
    this.#options.budget.released().catch(() => undefined);
  }

  #added(): void {
    this.#evict();
    this.#options.budget.enforce().catch(() => undefined);
  }

  #forget(entry: Entry): void {
    if (this.#entries.get(entry.identity) === entry) this.#entries.delete(entry.identity);
  }

  /** Removes views beyond their number. Bytes beyond the bound are removed where everything derived is counted. */
  #evict(): void {
    for (const entry of [...this.#entries.values()]) {
      if (this.#entries.size <= this.#options.viewsMax) break;
      if (isIdle(entry)) void this.#drop(entry);
    }
  }

  #list(): readonly Removable[] {
    return [...this.#entries.values()].map((entry) => ({
      bytes: entry.bytes,
      usedAt: entry.usedAt,
      remove: async () => {
        if (!isIdle(entry)) return false;
        await this.#drop(entry);
        return true;
      },
    }));
  }

  async #drop(entry: Entry): Promise<void> {
    this.#forget(entry);
    const removing = this.#remove(entry);
    this.#follow(removing);
    await removing;
  }

  #follow(work: Promise<void>): void {
    const followed = work.finally(() => this.#unsettled.delete(followed));
    this.#unsettled.add(followed);
  }

  async #remove(entry: Entry): Promise<void> {
    const closed = this.#options.onRemoved(entry.directory);
    // A folder that cannot be removed now is removed with the process's whole folder at its end.
    await rm(entry.directory, { recursive: true, force: true }).catch(() => undefined);
    await closed;
  }

  #viewOf(source: Omit<ViewSource, 'paths'>): MakeView {
    const { store } = this.#options;
    return async (duckDb, destination, signal) => {
      await using objects = new AsyncDisposableStack();
      // A part of a view, where this is a view of a difference; keys of stored parts are relative.
      const open = async (part: Part, opening: AbortSignal) =>
        isAbsolute(part.key) ? await this.openPart(part) : await store.open(part, allRowsOf(part), opening);
      const { paths, during } = await openAll(source.resultSet.parts, open, objects, signal);
      return await during(() => materializeView(duckDb, { ...source, paths }, destination, signal));
    };
  }

  async #make(directory: string, make: MakeView, signal: AbortSignal): Promise<MaterializedView> {
    const { duckDb, millisMax, sleep, budget } = this.#options;
    return await withinMillis({ millisMax, duckDb, sleep }, signal, async (within) => {
      try {
        return await withRoom(budget.room, async () => {
          await makeWorkspace(this.#options.directory);
          await rm(directory, { recursive: true, force: true });
          await makeWorkspace(directory);
          const making = make(duckDb, { directory, partRows: VIEW_PART_ROWS }, within);
          return await making.catch(async (error: unknown) => {
            throw await workspaceFailure(directory, error);
          });
        });
      } catch (error) {
        throw readFailure(error);
      }
    });
  }
}

function isIdle({ users, bytes }: Entry): boolean {
  return users === 0 && bytes > 0;
}
