/**
 * Keeps local copies of remote objects: sparse files, each as long as its object, holding the blocks that reads have needed. A block is
 * hashed while it is written and may be read only when the hash fits, and once more when it has been read, where the file has changed since.
 * The files belong to this process and are removed with it; the least recently used are deleted when all together exceed the limit.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RowRange } from '../../domain/blocks.ts';
import type { Clock, Instant } from '../../domain/instant.ts';
import { SharedWork } from '../../domain/shared-work.ts';
import { sideBySide } from '../../domain/side-by-side.ts';
import { isStorageFull } from '../../errors/storage-full.ts';
import { StoreUnavailable } from '../../errors/store-unavailable.ts';
import { hasCode } from '../../errors/system-code.ts';
import { MadeIsGone } from '../../errors/workspace-unavailable.ts';
import { type BlockHasher, blockHasher, wholeHasher } from '../../files/block-checksums.ts';
import { type DiskRoom, type Removable, withRoom } from '../../files/disk-room.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { writeAll } from '../../files/write-all.ts';
import { ObjectDamaged, type ObjectRef, type OpenObject } from '../result-store.ts';
import { VerifiedFiles } from '../verified-files.ts';
import { type CachedFile, isInUse, missingOf, nameOf, noteChange, type Stretch } from './cached-file.ts';
import { RequestLimit } from './request-limit.ts';

const FILES_MAX = 20_000;
/** Blocks of one read that are fetched at the same time. */
const FETCHES_MAX = 8;
/** Blocks that are fetched ahead at the same time, for all readers together. Reads that wait for their blocks do not wait for these. */
const PREFETCHES_MAX = 8;
/** Room on a full disk for a file that has no blocks yet, and for the first ones. */
const MAKING_BYTES = 1_000_000;
/** How often a block is asked for: what the store sends may be damaged on the way, or break off. */
const ATTEMPTS_MAX = 2;

/** Bytes of an object, in order. @throws ObjectDamaged when there is none, or it has another length */
export type FetchBytes = (
  object: ObjectRef,
  offset: number,
  bytes: number,
  signal: AbortSignal,
) => AsyncIterable<Uint8Array>;

export interface ReadCacheOptions {
  /** A folder of this process alone. */
  readonly folder: string;
  /** Of all files together. Files that are being read may exceed it. */
  readonly bytesMax: number;
  readonly fetch: FetchBytes;
  /** What is removed on a full disk: files that nobody reads, these and others. Without it a fetch fails there. */
  readonly room?: { readonly disk: DiskRoom; readonly clock: Clock };
}

export class ReadCache implements AsyncDisposable {
  readonly #options: ReadCacheOptions;
  /** The least recently used come first. */
  readonly #files = new Map<string, CachedFile>();
  readonly #making = new SharedWork<CachedFile>();
  readonly #fetching = new SharedWork<void>();
  /** Blocks that are being written, by file and place. */
  readonly #writing = new Map<string, Promise<void>>();
  readonly #prefetches = new RequestLimit(PREFETCHES_MAX);
  readonly #verified = new VerifiedFiles();
  /** Of blocks that are being fetched ahead. */
  #prefetchBytes = 0;
  #bytes = 0;
  #isClosed = false;

  constructor(options: ReadCacheOptions) {
    this.#options = options;
    options.room?.disk.add(async () => this.#list());
  }

  /** On disk. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A file that holds what a read of these rows needs. It stays until it is released. @throws ObjectDamaged; the signal's reason */
  async open(object: ObjectRef, rows: RowRange, signal: AbortSignal): Promise<OpenObject> {
    const name = nameOf(object);
    const file = await this.#use(name, object, signal);
    const release = () => this.#release(name, file);
    try {
      const fetch = (block: Stretch) => this.#join(name, file, object, block, signal);
      await sideBySide(missingOf(file, object, rows), FETCHES_MAX, fetch);
    } catch (error) {
      await release();
      throw error;
    }
    let isReleased = false;
    return {
      path: file.path,
      requireIntact: async () => {
        await this.#verified.requireIntact(object, file.path, rows).catch(async (error: unknown) => {
          throw await this.#spoiled(name, file, error);
        });
      },
      [Symbol.asyncDispose]: async () => {
        if (isReleased) return;
        isReleased = true;
        await release();
      },
    };
  }

  /**
   * Fetches what a read of these rows will need, while there is room for it beside the files that are being read. Of an object without blocks,
   * which can only be fetched whole, nothing is fetched.
   */
  async prefetch(object: ObjectRef, rows: RowRange, signal: AbortSignal): Promise<void> {
    if (object.blocks === undefined) return;
    const name = nameOf(object);
    const file = await this.#use(name, object, signal);
    try {
      await sideBySide(missingOf(file, object, rows), PREFETCHES_MAX, async (block) => {
        using _ = await this.#prefetches.enter(signal);
        using room = await this.#roomFor(block);
        if (room !== undefined) await this.#join(name, file, object, block, signal);
      });
    } finally {
      await this.#release(name, file);
    }
  }

  /** To be called when the object was deleted. Reads in progress may end. */
  async forget(key: string): Promise<void> {
    for (const [name, file] of this.#files) if (name.startsWith(`${key} `)) await this.#forget(name, file);
    this.#verified.forget(key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const [name, file] of this.#files) await this.#remove(name, file);
  }

  /** The object's file, marked as in use. A file that somebody else has written to is not used again. */
  async #use(name: string, object: ObjectRef, signal: AbortSignal): Promise<CachedFile> {
    const known = this.#files.get(name);
    if (known !== undefined) {
      const found = await stat(known.path, { bigint: true }).catch(() => undefined);
      const isOurs = known.fetches > 0 || found?.ctimeNs === known.changedAt;
      if (found === undefined || !isOurs || known.isCut) await this.#forget(name, known);
    }
    for (;;) {
      const make = () => this.#inRoom(MAKING_BYTES, async () => await this.#make(name, object));
      const file = this.#files.get(name) ?? (await this.#making.join(name, make, signal));
      // It may have been deleted already to make room.
      if (this.#files.get(name) !== file) continue;
      file.users += 1;
      file.usedAt = this.#now();
      this.#files.delete(name);
      this.#files.set(name, file);
      return file;
    }
  }

  async #make(name: string, { objectBytes, blocks }: ObjectRef): Promise<CachedFile> {
    const path = join(this.#options.folder, `${randomUUID()}.parquet`);
    await using handle = await open(path, 'wx', 0o600).catch(async (error: unknown) => {
      if (!hasCode(error, 'ENOENT') || this.#isClosed) throw error;
      // Somebody has removed what was fetched, and the folder with it.
      await makeFolder(this.#options.folder);
      return await open(path, 'wx', 0o600);
    });
    await handle.truncate(objectBytes);
    const { ctimeNs: changedAt } = await handle.stat({ bigint: true });
    const known = { blocks: new Uint8Array(blocks?.bytes.length ?? 1), bytes: 0, changedAt, isCut: false };
    const file = { path, ...known, users: 0, fetches: 0, usedAt: this.#now() };
    this.#files.set(name, file);
    return file;
  }

  async #release(name: string, file: CachedFile): Promise<void> {
    file.users -= 1;
    await this.#removeIfForgotten(name, file);
    await this.#makeRoom(0);
  }

  /** Fetches the block, or waits for whoever is fetching it. */
  async #join(name: string, file: CachedFile, object: ObjectRef, block: Stretch, signal: AbortSignal): Promise<void> {
    if (file.blocks[block.index] === 1) return;
    const place = `${file.path} ${block.index}`;
    const fetch = (during: AbortSignal) => this.#alone(place, () => this.#fetch(name, file, object, block, during));
    await this.#fetching.join(place, fetch, signal);
  }

  /** One writer at a time: a fetch that everybody has left may still be writing what nobody has checked. */
  async #alone(place: string, work: () => Promise<void>): Promise<void> {
    for (let other = this.#writing.get(place); other !== undefined; other = this.#writing.get(place)) await other;
    const ended = Promise.withResolvers<void>();
    this.#writing.set(place, ended.promise);
    try {
      await work();
    } finally {
      this.#writing.delete(place);
      ended.resolve();
    }
  }

  /** Goes on for a moment after whoever wanted it has left: until then the file stays. */
  async #fetch(name: string, file: CachedFile, object: ObjectRef, block: Stretch, signal: AbortSignal): Promise<void> {
    if (file.blocks[block.index] === 1) return;
    signal.throwIfAborted();
    file.fetches += 1;
    try {
      await this.#makeRoom(block.bytes);
      await using handle = await open(file.path, 'r+').catch(async (error: unknown) => {
        throw hasCode(error, 'ENOENT') && !this.#isClosed ? await this.#spoiled(name, file, error) : error;
      });
      await using _ = { [Symbol.asyncDispose]: () => noteChange(file, handle, object) };
      await this.#inRoom(block.bytes, async () => await this.#writeIntact(handle, object, block, signal));
      file.blocks[block.index] = 1;
      file.bytes += block.bytes;
      this.#bytes += block.bytes;
    } catch (error) {
      // Bytes of a failed fetch are in no count. A file that has no others goes; on a full disk every file that has such bytes goes.
      if ((file.bytes === 0 || isStorageFull(error)) && this.#files.get(name) === file) this.#files.delete(name);
      throw error;
    } finally {
      file.fetches -= 1;
      await this.#removeIfForgotten(name, file);
    }
  }

  async #writeIntact(handle: FileHandle, object: ObjectRef, block: Stretch, signal: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const isLast = attempt === ATTEMPTS_MAX;
      const write = this.#write(handle, object, block, signal);
      const isIntact = await (isLast ? write : write.catch(falseIfAway));
      if (isIntact) return;
      if (!isLast) continue;
      const last = block.offset + block.bytes - 1;
      throw new ObjectDamaged(object.key, `its bytes ${block.offset} to ${last} are not what was stored there`);
    }
  }

  async #inRoom<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    const disk = this.#options.room?.disk;
    // As much again, so that what follows has room, too.
    return disk === undefined ? await work() : await withRoom(disk, work, 2 * bytes);
  }

  #now(): Instant {
    return this.#options.room?.clock() ?? 0;
  }

  /** @returns whether the fetched bytes are those that were stored */
  async #write(handle: FileHandle, object: ObjectRef, block: Stretch, signal: AbortSignal): Promise<boolean> {
    const hasher: BlockHasher =
      object.blocks === undefined ? wholeHasher(object.sha256) : blockHasher(object.blocks, block.index);
    let at = 0;
    for await (const chunk of this.#options.fetch(object, block.offset, block.bytes, signal)) {
      signal.throwIfAborted();
      if (at + chunk.length > block.bytes) return false;
      hasher.update(chunk);
      await writeAll(handle, chunk, block.offset + at);
      at += chunk.length;
    }
    return at === block.bytes && hasher.isIntact();
  }

  /** Deletes files that nobody reads until there is room for so many more bytes. Files being read stay, however large. */
  async #makeRoom(bytes: number): Promise<void> {
    const { bytesMax } = this.#options;
    for (const [name, file] of this.#files) {
      if (this.#bytes + bytes <= bytesMax && this.#files.size <= FILES_MAX) return;
      if (!isInUse(file)) await this.#remove(name, file);
    }
  }

  /** Room within the limit for a block that is fetched ahead, until it is disposed of; undefined where files that are read take it up. */
  async #roomFor({ bytes }: Stretch): Promise<Disposable | undefined> {
    await this.#makeRoom(this.#prefetchBytes + bytes);
    if (this.#bytes + this.#prefetchBytes + bytes > this.#options.bytesMax) return undefined;
    this.#prefetchBytes += bytes;
    return {
      [Symbol.dispose]: () => {
        this.#prefetchBytes -= bytes;
      },
    };
  }

  #list(): readonly Removable[] {
    return [...this.#files].map(([name, file]) => ({
      bytes: file.bytes,
      usedAt: file.usedAt,
      remove: async () => {
        if (isInUse(file) || this.#files.get(name) !== file) return false;
        await this.#remove(name, file);
        return true;
      },
    }));
  }

  /** Somebody else has removed it, or written into it. It is deleted, so that whoever reads from it notices, and fetched anew. */
  async #spoiled(name: string, file: CachedFile, cause: unknown): Promise<MadeIsGone> {
    await this.#remove(name, file);
    return new MadeIsGone(`${file.path} is gone, or not what was fetched`, { cause });
  }

  async #forget(name: string, file: CachedFile): Promise<void> {
    if (this.#files.get(name) === file) this.#files.delete(name);
    await this.#removeIfForgotten(name, file);
  }

  /** Deletes a forgotten file once nobody uses it. */
  async #removeIfForgotten(name: string, file: CachedFile): Promise<void> {
    if (!isInUse(file) && this.#files.get(name) !== file) await this.#remove(name, file);
  }

  async #remove(name: string, file: CachedFile): Promise<void> {
    if (this.#files.get(name) === file) this.#files.delete(name);
    this.#bytes -= file.bytes;
    file.bytes = 0;
    await rm(file.path, { force: true });
  }
}

/** The connection may have broken in the middle of the block. */
function falseIfAway(error: unknown): boolean {
  if (error instanceof StoreUnavailable) return false;
  throw error;
}
