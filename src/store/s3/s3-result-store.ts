/**
 * The result store in a bucket of S3, or of a server that speaks its protocol. Each object is one S3 object below the prefix. Reads go
 * through sparse local files (read-cache/): only the blocks that a read needs are fetched, and each is checked. The AWS SDK finds the
 * credentials and, unless it is given, the region.
 */
import { rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { listBlocks, type RowRange } from '../../domain/blocks.ts';
import { sideBySide } from '../../domain/side-by-side.ts';
import { NEVER } from '../../domain/time.ts';
import { NotReady } from '../../errors/not-ready.ts';
import { StoreUnavailable } from '../../errors/store-unavailable.ts';
import { blockHasher, wholeHasher } from '../../files/block-checksums.ts';
import { INSTALLATION, isKeySegment, objectPath, STAGING } from '../object-path.ts';
import { OpenObjects } from '../open-objects.ts';
import { ReadCache, type ReadCacheOptions } from '../read-cache/read-cache.ts';
import { RequestLimit } from '../read-cache/request-limit.ts';
import { requireSameBytes } from '../require-same-bytes.ts';
import {
  ObjectDamaged,
  type ObjectRef,
  type OpenObject,
  type ResultStore,
  type StoredObject,
} from '../result-store.ts';
import { abortUploads, requireUploadList } from './abandoned-uploads.ts';
import { listObjects } from './list-objects.ts';
import { putFile } from './put-file.ts';
import { FETCHED_AT_ONCE, type S3ClientOptions, s3Client } from './s3-client.ts';
import { asUnavailable, isNoObject, mayBeThere } from './unavailable.ts';

/** The most that one request may delete. */
const DELETED_AT_ONCE = 1000;
const ASKED_AT_ONCE = 16;
const VERIFY_ATTEMPTS_MAX = 2;
/** In the folder that has no objects: overwritten by each check. */
const PROBE = `${STAGING}/probe`;

export interface S3StoreOptions extends S3ClientOptions {
  readonly bucket: string;
  /** Of every key: empty, or ends in a slash. */
  readonly prefix: string;
  /** For fetched blocks; no other process uses it. */
  readonly cacheFolder: string;
  readonly cacheBytesMax: number;
  /** As for the cache. */
  readonly room?: ReadCacheOptions['room'];
}

export class S3ResultStore implements ResultStore, AsyncDisposable {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #cache: ReadCache;
  readonly #opened = new OpenObjects();
  readonly #fetches = new RequestLimit(FETCHED_AT_ONCE);

  constructor(options: S3StoreOptions) {
    const { bucket, prefix, cacheFolder, cacheBytesMax, room } = options;
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#client = s3Client(options);
    this.#cache = new ReadCache({
      folder: cacheFolder,
      bytesMax: cacheBytesMax,
      fetch: (object, offset, bytes, signal) => this.#fetch(object, offset, bytes, signal),
      ...(room !== undefined && { room }),
    });
  }

  async check(): Promise<void> {
    try {
      await this.#putText(PROBE, 'written to see whether it can be\n');
    } catch (error) {
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      const reason = error instanceof StoreUnavailable ? message : name;
      throw new NotReady(`nothing can be written to it (${reason})`, { cause: error });
    }
  }

  async checkList(of: 'objects' | 'uploads'): Promise<void> {
    if (of === 'objects') return await this.#requireList();
    await requireUploadList(this.#client, { bucket: this.#bucket, prefix: this.#prefix }).catch((error: unknown) => {
      throw asUnavailable(error, NEVER);
    });
  }

  async findInstallation(): Promise<string | undefined> {
    try {
      const { Body } = await this.#client.send(new GetObjectCommand(this.#at(INSTALLATION)));
      const id = (await Body?.transformToString())?.split('\n', 1)[0]?.trim();
      return id === '' ? undefined : id;
    } catch (error) {
      if (isNoObject(error)) return undefined;
      throw asUnavailable(error, NEVER);
    }
  }

  async setInstallation(id: string): Promise<void> {
    await this.#putText(INSTALLATION, `${id}\n`);
  }

  async put(key: string, path: string, signal: AbortSignal): Promise<void> {
    requireKey(key);
    signal.throwIfAborted();
    try {
      await putFile(this.#client, this.#at(key), path, signal);
    } catch (error) {
      const failure = asUnavailable(error, signal);
      if (!mayBeThere(error)) throw failure;
      await requireSameBytes(this, key, path, signal).catch((other: unknown) => {
        throw other instanceof ObjectDamaged ? failure : other;
      });
    }
    await rm(path);
  }

  async open(object: ObjectRef, rows: RowRange, signal: AbortSignal): Promise<OpenObject> {
    requireKey(object.key);
    const opened = await this.#opened.open(object.key);
    try {
      const file = await this.#cache.open(object, rows, signal);
      return {
        ...file,
        [Symbol.asyncDispose]: async () => {
          opened[Symbol.dispose]();
          await file[Symbol.asyncDispose]();
        },
      };
    } catch (error) {
      opened[Symbol.dispose]();
      throw error;
    }
  }

  async prefetch(object: ObjectRef, rows: RowRange, signal: AbortSignal): Promise<void> {
    try {
      requireKey(object.key);
      using _ = await this.#opened.open(object.key);
      await this.#cache.prefetch(object, rows, signal);
    } catch {
      // Whoever opens the rows tries again, and is told.
    }
  }

  async verify(object: ObjectRef, signal: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#verify(object, signal);
      } catch (error) {
        // What is sent may be damaged on the way, or break off. What is not there is not there.
        const mayHelp = error instanceof StoreUnavailable || (error instanceof ObjectDamaged && !error.isMissing);
        if (signal.aborted || !mayHelp || attempt === VERIFY_ATTEMPTS_MAX) throw error;
      }
    }
  }

  async #verify(object: ObjectRef, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const whole = wholeHasher(object.sha256);
    const blocks = object.blocks === undefined ? [] : listBlocks(object.blocks);
    let at = 0;
    let next = 0;
    let hasher = nextHasher();
    function nextHasher() {
      const block = blocks[next++];
      if (object.blocks === undefined || block === undefined) return undefined;
      return { ...blockHasher(object.blocks, block.index), end: block.offset + block.bytes };
    }
    const damaged = () => new ObjectDamaged(object.key, 'its bytes are not what was stored');
    for await (const chunk of this.#fetch(object, 0, object.objectBytes, signal)) {
      whole.update(chunk);
      for (let from = 0; from < chunk.length && hasher !== undefined; ) {
        const to = Math.min(chunk.length, from + hasher.end - at);
        hasher.update(chunk.subarray(from, to));
        at += to - from;
        from = to;
        if (at < hasher.end) break;
        if (!hasher.isIntact()) throw damaged();
        hasher = nextHasher();
      }
    }
    if (!whole.isIntact() || hasher !== undefined) throw damaged();
  }

  /** Whoever may ask for an object's length may read it: S3 has one right for both. */
  async findUnreadable(): Promise<readonly string[]> {
    return [];
  }

  async findMissing(keys: readonly string[]): Promise<readonly string[]> {
    const missing = new Set<string>();
    await sideBySide(keys, ASKED_AT_ONCE, async (key) => {
      if ((await this.#find(key)) === undefined) missing.add(key);
    });
    // Asked for an object, a server does not say whether it is the bucket that is gone.
    if (missing.size > 0) await this.#requireList();
    return keys.filter((key) => missing.has(key));
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    const place = { Bucket: this.#bucket, Prefix: `${this.#prefix}${prefix}` };
    for await (const { Key = '', Size = 0, LastModified } of listObjects(this.#client, place)) {
      const key = Key.slice(this.#prefix.length);
      if (isObjectKey(key)) yield { key, objectBytes: Size, modifiedAt: LastModified?.getTime() ?? 0 };
    }
  }

  async delete(keys: readonly string[]): Promise<readonly string[]> {
    // All of them first: whoever opens a key of those that are being deleted waits for the end of it.
    keys.forEach(requireKey);
    const gone = Promise.withResolvers<void>();
    const deleting: string[] = [];
    const settled: Promise<{ readonly key: string; readonly isDeleted: boolean }>[] = [];
    for (const key of keys) {
      // Whoever opens one of them meanwhile waits for the whole request, and finds it gone.
      const outcome = this.#opened.deleteUnlessOpen(key, () => {
        deleting.push(key);
        return gone.promise;
      });
      settled.push(outcome.then((isDeleted) => ({ key, isDeleted })));
    }
    try {
      for (let start = 0; start < deleting.length; start += DELETED_AT_ONCE) {
        await this.#delete(deleting.slice(start, start + DELETED_AT_ONCE));
      }
      for (const key of deleting) await this.#cache.forget(key);
      gone.resolve();
    } catch (error) {
      gone.reject(error);
    }
    return (await Promise.all(settled)).filter(({ isDeleted }) => !isDeleted).map(({ key }) => key);
  }

  /** There are no folders. What stands for one is an object in parts that was never finished. */
  async removeEmptyFolders(mayRemove: (prefix: string) => Promise<boolean>): Promise<void> {
    const place = { bucket: this.#bucket, prefix: this.#prefix };
    await abortUploads(this.#client, place, mayRemove).catch((error: unknown) => {
      throw asUnavailable(error, NEVER);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cache[Symbol.asyncDispose]();
    this.#client.destroy();
  }

  /** @throws StoreUnavailable, also where there is no such bucket, or the client's error */
  async #requireList(): Promise<void> {
    const command = new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: this.#prefix, MaxKeys: 1 });
    await this.#client.send(command).catch((error: unknown) => {
      throw asUnavailable(error, NEVER);
    });
  }

  #at(key: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#bucket, Key: `${this.#prefix}${key}` };
  }

  async #putText(key: string, text: string): Promise<void> {
    await this.#client.send(new PutObjectCommand({ ...this.#at(key), Body: text })).catch((error: unknown) => {
      throw asUnavailable(error, NEVER);
    });
  }

  async #delete(keys: readonly string[]): Promise<void> {
    const Objects = keys.map((key) => ({ Key: `${this.#prefix}${key}` }));
    const command = new DeleteObjectsCommand({ Bucket: this.#bucket, Delete: { Objects, Quiet: true } });
    const { Errors = [] } = await this.#client.send(command).catch((error: unknown) => {
      throw asUnavailable(error, NEVER);
    });
    const [first] = Errors;
    if (first !== undefined) throw new Error(`${Errors.length} objects cannot be deleted, ${first.Key}: ${first.Code}`);
  }

  /** Undefined when there is no such object. A server need not say how many bytes one has. */
  async #find(key: string): Promise<{ readonly bytes: number | undefined } | undefined> {
    requireKey(key);
    try {
      const { ContentLength } = await this.#client.send(new HeadObjectCommand(this.#at(key)));
      return { bytes: ContentLength };
    } catch (error) {
      if (isNoObject(error)) return undefined;
      throw asUnavailable(error, NEVER);
    }
  }

  async *#fetch(object: ObjectRef, offset: number, bytes: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const { key, objectBytes } = object;
    const missing = () => new ObjectDamaged(key, 'it is missing', true);
    const otherLength = (found: number | string = 'another number of') =>
      new ObjectDamaged(key, `it has ${found} bytes, expected ${objectBytes}`);
    // A range of no bytes cannot be asked for.
    if (bytes === 0) {
      const found = await this.#find(key);
      if (found === undefined) throw missing();
      if (found.bytes !== objectBytes) throw otherLength(found.bytes);
      return;
    }
    const Range = `bytes=${offset}-${offset + bytes - 1}`;
    using _ = await this.#fetches.enter(signal);
    try {
      const command = new GetObjectCommand({ ...this.#at(key), Range });
      const { Body, ContentRange } = await this.#client.send(command, { abortSignal: signal });
      // What is not read to its end would keep its connection, of which there are not many.
      using body = destroyedAfter(Body as unknown as Readable);
      const total = ContentRange?.split('/')[1];
      if (ContentRange === undefined)
        throw new StoreUnavailable('the store of results sends more than it was asked for');
      if (total !== String(objectBytes)) throw otherLength(total);
      yield* body.stream as AsyncIterable<Uint8Array>;
    } catch (error) {
      if (error instanceof ObjectDamaged || error instanceof StoreUnavailable) throw error;
      if (isNoObject(error)) throw missing();
      if ((error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode === 416) {
        throw otherLength((await this.#find(key))?.bytes);
      }
      throw asUnavailable(error, signal);
    }
  }
}

function destroyedAfter(stream: Readable): { readonly stream: Readable } & Disposable {
  return { stream, [Symbol.dispose]: () => void stream.destroy() };
}

function requireKey(key: string): void {
  objectPath('/', key);
}

/** Whether the key is one of an object: not the store's identity, nor what its checks write. */
function isObjectKey(key: string): boolean {
  const [first = '', ...others] = key.split('/');
  return first !== STAGING && key !== INSTALLATION && [first, ...others].every(isKeySegment);
}
