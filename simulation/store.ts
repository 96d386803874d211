/**
 * The simulated result store: one bucket that all processes share, and what each of them sees of it over a network that delays, loses and
 * doubles. As in S3, an object appears whole or not at all, and reads see every write that ended before them. What a read needs is
 * compared with the manifest's hashes and laid into a local file, as every store does it.
 */
import { createHash } from 'node:crypto';
import { blocksOfRows, listBlocks, type RowRange } from '../src/domain/blocks.ts';
import type { Instant } from '../src/domain/instant.ts';
import { StoreUnavailable } from '../src/errors/store-unavailable.ts';
import { blockHasher } from '../src/files/block-checksums.ts';
import { objectPath } from '../src/store/object-path.ts';
import { OpenObjects } from '../src/store/open-objects.ts';
import {
  ObjectDamaged,
  ObjectExists,
  type ObjectRef,
  type OpenObject,
  type ResultStore,
  type StoredObject,
} from '../src/store/result-store.ts';
import type { Host } from './host.ts';
import type { Network } from './network.ts';

/** Local files of a process: simulated ones, or real ones in the tests of the contract. */
export interface LocalFiles {
  readFile(path: string): Promise<Buffer>;
  writeFile(path: string, bytes: Buffer): Promise<void>;
  rm(path: string): Promise<void>;
}

/** Where a process is. */
export interface StorePlace {
  readonly host: Host;
  readonly files: LocalFiles;
  /** What is read lies here meanwhile. */
  readonly folder: string;
}

export interface BucketObject {
  readonly bytes: Buffer;
  readonly modifiedAt: Instant;
}

/** What all processes share. Invariants listen to what is about to change. */
export class Bucket {
  readonly objects = new Map<string, BucketObject>();
  installation: string | undefined;
  onDelete: (key: string) => void = () => undefined;

  /** @returns false when something is there already, which stays */
  putIfNothingIsThere(key: string, object: BucketObject): boolean {
    if (this.objects.has(key)) return false;
    this.objects.set(key, object);
    return true;
  }

  delete(key: string): void {
    if (!this.objects.delete(key)) return;
    this.onDelete(key);
  }
}

const ATTEMPTS_MAX = 3;

export class SimulatedStore implements ResultStore {
  readonly #bucket: Bucket;
  readonly #network: Network;
  readonly #host: Host;
  readonly #files: LocalFiles;
  readonly #folder: string;
  readonly #opened = new OpenObjects();
  #reads = 0;

  constructor(bucket: Bucket, network: Network, { host, files, folder }: StorePlace) {
    this.#bucket = bucket;
    this.#network = network;
    this.#host = host;
    this.#files = files;
    this.#folder = folder;
  }

  async check(): Promise<void> {
    await this.#ask('check', () => undefined);
  }

  /** Nothing is refused. */
  async checkList(): Promise<void> {}

  async findInstallation(): Promise<string | undefined> {
    return await this.#ask('find installation', () => this.#bucket.installation);
  }

  async setInstallation(id: string): Promise<void> {
    await this.#ask('set installation', () => {
      this.#bucket.installation = id;
    });
  }

  async put(key: string, path: string, signal: AbortSignal): Promise<void> {
    objectPath('/', key);
    signal.throwIfAborted();
    const bytes = await this.#files.readFile(path);
    signal.throwIfAborted();
    const { scheduler } = this.#network;
    const isPut = await this.#ask(`put ${key}`, () =>
      this.#bucket.putIfNothingIsThere(key, { bytes, modifiedAt: Math.floor(scheduler.now) }),
    );
    if (!isPut) {
      const there = await this.#ask(`get ${key}`, () => this.#bucket.objects.get(key));
      if (there?.bytes.equals(bytes) !== true) throw new ObjectExists(key);
    }
    signal.throwIfAborted();
    await this.#files.rm(path);
  }

  async open(object: ObjectRef, rows: RowRange, signal: AbortSignal): Promise<OpenObject> {
    objectPath('/', object.key);
    signal.throwIfAborted();
    const opened = await this.#opened.open(object.key);
    try {
      const bytes = await this.#fetch(object, signal);
      requireIntact(object, bytes, rows);
      this.#reads += 1;
      const path = `${this.#folder}/read-${this.#reads}`;
      await this.#files.writeFile(path, bytes);
      let isReleased = false;
      const release = async () => {
        opened[Symbol.dispose]();
        if (isReleased) return;
        isReleased = true;
        await this.#files.rm(path);
      };
      return { path, [Symbol.asyncDispose]: release };
    } catch (error) {
      opened[Symbol.dispose]();
      throw error;
    }
  }

  /** Nothing of it is kept between two reads. */
  async prefetch(): Promise<void> {}

  async verify(object: ObjectRef, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const bytes = await this.#fetch(object, signal);
    requireIntact({ ...object, blocks: undefined }, bytes, { from: 0, to: Number.POSITIVE_INFINITY });
    requireIntact(object, bytes, { from: 0, to: Number.POSITIVE_INFINITY });
  }

  async findMissing(keys: readonly string[]): Promise<readonly string[]> {
    return await this.#ask('find missing', () => keys.filter((key) => !this.#bucket.objects.has(key)));
  }

  async findUnreadable(): Promise<readonly string[]> {
    return [];
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    const found = await this.#ask(`list ${prefix}`, () =>
      [...this.#bucket.objects]
        .filter(([key]) => key.startsWith(prefix))
        .map(([key, { bytes, modifiedAt }]) => ({ key, objectBytes: bytes.length, modifiedAt })),
    );
    yield* found;
  }

  async delete(keys: readonly string[]): Promise<readonly string[]> {
    const kept: string[] = [];
    for (const key of keys) {
      objectPath('/', key);
      const remove = () => this.#ask(`delete ${key}`, () => this.#bucket.delete(key));
      if (!(await this.#opened.deleteUnlessOpen(key, remove))) kept.push(key);
    }
    return kept;
  }

  /** There are no folders. */
  async removeEmptyFolders(): Promise<void> {}

  async #fetch({ key, objectBytes }: ObjectRef, signal: AbortSignal): Promise<Buffer> {
    const object = await this.#ask(`get ${key}`, () => this.#bucket.objects.get(key));
    signal.throwIfAborted();
    if (object === undefined) throw new ObjectDamaged(key, 'it is missing', true);
    if (object.bytes.length !== objectBytes) {
      throw new ObjectDamaged(key, `it has ${object.bytes.length} bytes, expected ${objectBytes}`);
    }
    return object.bytes;
  }

  /** Sent again when no answer comes, as the clients of object stores do. @throws StoreUnavailable after that */
  async #ask<T>(name: string, carryOut: () => T): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#network.request(this.#host, `store ${name}`, carryOut);
      } catch (cause) {
        if (attempt === ATTEMPTS_MAX) throw new StoreUnavailable('the store does not answer', { cause });
      }
    }
  }
}

function requireIntact(
  object: Omit<ObjectRef, 'blocks'> & { readonly blocks?: ObjectRef['blocks'] | undefined },
  bytes: Buffer,
  rows: RowRange,
): void {
  const { key, blocks, sha256 } = object;
  if (blocks === undefined) {
    if (createHash('sha256').update(bytes).digest('hex') === sha256) return;
    throw new ObjectDamaged(key, 'its bytes are not what was stored');
  }
  const needed = rows.to === Number.POSITIVE_INFINITY ? listBlocks(blocks) : blocksOfRows(blocks, rows);
  for (const { index, offset, bytes: length } of needed) {
    const hasher = blockHasher(blocks, index);
    hasher.update(bytes.subarray(offset, offset + length));
    if (hasher.isIntact()) continue;
    throw new ObjectDamaged(key, `bytes ${offset} to ${offset + length - 1} are not what was stored`);
  }
}
