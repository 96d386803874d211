/**
 * Parquet answers. Each is a file, so that it has a length, a tag and ranges: readers of Parquet ask for a file's end first and
 * then for pieces. It is made once for all who ask at the same time, and kept for a while. Kept files count with everything
 * derived, where the least recently used goes first, but never one that is being made or sent. The folder belongs to this
 * process alone. Whoever has a file open can read it to the end, even after its name is gone.
 */
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { datapointsOf } from '../../domain/datapoints.ts';
import type { Clock } from '../../domain/instant.ts';
import { orAborted } from '../../domain/or-aborted.ts';
import { RequestError } from '../../errors/errors.ts';
import { isMissing, isUnreadable } from '../../errors/system-code.ts';
import { type Removable, withRoom } from '../../files/disk-room.ts';
import { stateOf } from '../../files/file-state.ts';
import { MadeFile } from '../../files/made-file.ts';
import { makeWorkspace, workspaceFailure } from '../../files/workspace.ts';
import type { DerivedBudget } from '../derived/budget.ts';
import type { ByteSlice } from '../request/byte-range.ts';
import { type ExportedRows, fileBytesMax, type ParquetExports, type WrittenParquet } from './parquet-exports.ts';

export interface ParquetFilesOptions {
  /** Absolute path of an empty folder, for this process alone, to which the writer may write. */
  readonly directory: string;
  readonly writer: ParquetExports;
  /** The most bytes of files that are being written or sent. A file alone is always admitted, whatever its size. */
  readonly bytesMax: number;
  /** The most files that are kept, however small. */
  readonly filesMax: number;
  readonly budget: DerivedBudget;
  readonly clock: Clock;
}

/** The rows to write, held until the file is written. */
export interface ParquetContent extends AsyncDisposable {
  readonly rows: ExportedRows;
  /** Headers of every answer with this file. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ParquetFile extends WrittenParquet {
  readonly headers: Readonly<Record<string, string>>;
  readonly rowCount: number;
  readonly datapoints: number;
}

/** A file that stays readable until it is disposed of. */
export interface OpenParquetFile extends AsyncDisposable {
  readonly file: ParquetFile;
  /** The slice's bytes. Disposes of the file after them. */
  chunks(slice: ByteSlice, signal: AbortSignal): AsyncGenerator<Uint8Array>;
}

interface Entry {
  readonly name: string;
  /** Nobody will ask for it again. */
  readonly passing: boolean;
  readonly made: Promise<KeptFile>;
  /** Stops the writing when nobody waits any more. */
  readonly abandon: AbortController;
  /** The number of those who wait for it or read it. */
  users: number;
  file: KeptFile | undefined;
  usedAt: number;
}

type KeptFile = ParquetFile & {
  readonly folder: string;
  /** What the file was once it was written. */
  readonly state: string;
};

const FILE_NAME = 'rows.parquet';
const CHUNK_BYTES = 256 * 1024;

export class ParquetFiles {
  readonly #options: ParquetFilesOptions;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  /** Reserved for files that are being written. */
  #writingBytes = 0;
  #passed = 0;

  constructor(options: ParquetFilesOptions) {
    this.#options = options;
    options.budget.add(async () => this.#list());
  }

  /** Bytes on disk of the files that are being written or sent. */
  get bytes(): number {
    return this.#bytesOf(({ users }) => users > 0) + this.#writingBytes;
  }

  /** Bytes on disk of the files that nobody reads at the moment. */
  get keptBytes(): number {
    return this.#bytesOf(({ users }) => users === 0);
  }

  /** The file of this name, if it exists. */
  async find(name: string): Promise<OpenParquetFile | undefined> {
    const entry = this.#entries.get(name);
    return entry?.file === undefined ? undefined : await this.#use(entry, entry.file);
  }

  /**
   * @param name what the file's bytes depend on; undefined: the same request gets other rows next time
   * @param content opens the rows; its signal is aborted when nobody waits any more
   * @throws RequestError overloaded; what `content` and the writer throw; the signal's reason
   */
  async get(
    name: string | undefined,
    content: (signal: AbortSignal) => Promise<ParquetContent>,
    signal: AbortSignal,
  ): Promise<OpenParquetFile> {
    for (;;) {
      signal.throwIfAborted();
      const found = name === undefined ? undefined : this.#entries.get(name);
      const entry = found ?? this.#start(name, content);
      entry.users += 1;
      let made: KeptFile;
      try {
        made = await orAborted(entry.made, signal);
      } catch (error) {
        await this.#leave(entry);
        // The error is about another key's limits, so this key makes the file itself.
        if (found !== undefined && error instanceof RequestError && error.code === 'rate_limited') continue;
        throw error;
      }
      const opened = await this.#use(entry, made).finally(() => this.#leave(entry));
      if (opened !== undefined) return opened;
    }
  }

  async #use(entry: Entry, file: KeptFile): Promise<OpenParquetFile | undefined> {
    entry.users += 1;
    this.#entries.delete(entry.name);
    this.#entries.set(entry.name, entry);
    await using held = new AsyncDisposableStack();
    held.defer(() => this.#leave(entry));
    let handle: FileHandle | undefined;
    try {
      handle = await openAsWritten(file);
    } finally {
      if (handle === undefined) this.#forget(entry);
    }
    if (handle === undefined) return undefined;
    held.use(handle);
    const kept = held.move();
    const release = async () => await kept.disposeAsync();
    return {
      file,
      chunks: (slice, during) => chunksOf(handle, slice, during, release),
      [Symbol.asyncDispose]: release,
    };
  }

  #start(name: string | undefined, content: (signal: AbortSignal) => Promise<ParquetContent>): Entry {
    const abandon = new AbortController();
    this.#passed += name === undefined ? 1 : 0;
    const entry: Entry = {
      name: name ?? `passing ${this.#passed}`,
      passing: name === undefined,
      made: this.#make(content, abandon.signal),
      abandon,
      users: 0,
      file: undefined,
      usedAt: this.#options.clock(),
    };
    this.#entries.set(entry.name, entry);
    entry.made.then(
      (file) => {
        entry.file = file;
        // A failure here is not lost: the bound is enforced again the next time.
        this.#options.budget.enforce().catch(() => undefined);
        // All who waited had left by the time it was done.
        if (entry.users === 0 && this.#entries.get(entry.name) !== entry) void this.#drop(entry, file);
      },
      () => this.#forget(entry),
    );
    return entry;
  }

  async #make(content: (signal: AbortSignal) => Promise<ParquetContent>, signal: AbortSignal): Promise<KeptFile> {
    await using held = await content(signal);
    const { rows, headers } = held;
    using _ = this.#setApart(fileBytesMax(rows));
    const { directory, budget } = this.#options;
    const folder = await withRoom(budget.room, async () => {
      // Somebody may have cleared the folder above it.
      await makeWorkspace(directory);
      return await mkdtemp(join(directory, 'export-')).catch(async (error: unknown) => {
        throw await workspaceFailure(directory, error);
      });
    });
    try {
      await using file = await MadeFile.create(join(folder, FILE_NAME));
      const written = await this.#options.writer.write(rows, file, signal);
      const rowCount = rows.to - rows.from;
      const datapoints = datapointsOf(rowCount, rows.columns.length, written.cellBytes);
      return { ...written, headers, rowCount, datapoints, folder, state: (await file.written()).state };
    } catch (error) {
      const failure = await workspaceFailure(folder, error);
      // An interrupted write may leave files of other names, so the whole folder goes. If that fails, it goes when the process
      // ends.
      await removeFolder(folder);
      throw failure;
    }
  }

  #setApart(bytes: number): Disposable {
    if (this.bytes > 0 && this.bytes + bytes > this.#options.bytesMax) {
      throw new RequestError('overloaded', 'too many Parquet files are being sent; try again in some seconds');
    }
    this.#writingBytes += bytes;
    return {
      [Symbol.dispose]: () => {
        this.#writingBytes -= bytes;
      },
    };
  }

  async #leave(entry: Entry): Promise<void> {
    entry.users -= 1;
    entry.usedAt = this.#options.clock();
    if (entry.users > 0) return;
    if (entry.file === undefined) {
      this.#forget(entry);
      entry.abandon.abort(new Error('nobody waits for the file any more'));
    } else if (entry.passing || this.#entries.get(entry.name) !== entry) {
      await this.#drop(entry, entry.file);
    }
    await this.#evict();
    await this.#options.budget.released().catch(() => undefined);
  }

  /** Removes files beyond their number. Bytes beyond the bound are removed where everything derived is counted. */
  async #evict(): Promise<void> {
    for (const entry of [...this.#entries.values()]) {
      if (this.#entries.size <= this.#options.filesMax) break;
      if (entry.file !== undefined && entry.users === 0) await this.#drop(entry, entry.file);
    }
  }

  #list(): readonly Removable[] {
    return [...this.#entries.values()].flatMap((entry) => {
      const { file, usedAt } = entry;
      if (file === undefined) return [];
      const remove = async () => {
        if (entry.users > 0) return false;
        await this.#drop(entry, file);
        return true;
      };
      return [{ bytes: file.bytes, usedAt, remove }];
    });
  }

  #forget(entry: Entry): void {
    if (this.#entries.get(entry.name) === entry) this.#entries.delete(entry.name);
  }

  async #drop(entry: Entry, { folder }: KeptFile): Promise<void> {
    this.#forget(entry);
    await removeFolder(folder);
  }

  #bytesOf(which: (entry: Entry) => boolean): number {
    return [...this.#entries.values()].filter(which).reduce((sum, { file }) => sum + (file?.bytes ?? 0), 0);
  }
}

/** Undefined where the file is gone, out of reach, or another, though nobody here did that: then it is made again. */
async function openAsWritten({ folder, state }: KeptFile): Promise<FileHandle | undefined> {
  await using held = new AsyncDisposableStack();
  try {
    const handle = held.use(await open(join(folder, FILE_NAME)));
    if (stateOf(await handle.stat({ bigint: true })) !== state) return undefined;
    held.move();
    return handle;
  } catch (error) {
    if (isMissing(error) || isUnreadable(error)) return undefined;
    throw error;
  }
}

async function* chunksOf(
  handle: FileHandle,
  { from, to }: ByteSlice,
  signal: AbortSignal,
  release: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  try {
    for (let at = from; at < to; ) {
      signal.throwIfAborted();
      const length = Math.min(CHUNK_BYTES, to - at);
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, at);
      if (bytesRead === 0) throw new Error('a Parquet file is shorter than it was written');
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  } finally {
    await release();
  }
}

async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch(() => undefined);
}
