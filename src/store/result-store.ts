/**
 * The result store: immutable objects by key, a few per execution. A seam: one interface, implementations in sibling
 * folders (local/, s3/), one contract suite (test/contract/result-store.ts) that runs over each.
 *
 * Keys are made by us: `<execution id>/part-00000.parquet`, so a key is `[0-9A-Za-z._-]+` segments joined by slashes.
 */
import type { Blocks, RowRange } from '../domain/blocks.ts';
import type { Instant } from '../domain/instant.ts';

export interface ResultStore {
  /** Rejects when the store cannot be reached or written. */
  check(): Promise<void>;
  /**
   * Rejects when the store may not list its objects, or the uploads in parts that were never finished. A key that may write need not be allowed to
   * list, and neither reads nor writes show that.
   */
  checkList(of: 'objects' | 'uploads'): Promise<void>;
  /** Whose store this is; undefined before its first use with a catalog. */
  findInstallation(): Promise<string | undefined>;
  /** Keeps the id durably, in the place of any other. It is no object: `list` does not show it. */
  setInstallation(id: string): Promise<void>;
  /**
   * Takes the file at `path` as the object `key`, durably: after this resolves, a power cut does not lose it. The file
   * is moved away where it can be. The object is seen whole or not at all. One that is there already is never replaced: if it has these
   * very bytes, such as from an attempt whose answer was lost, this resolves.
   * @throws ObjectExists
   */
  put(key: string, path: string, signal: AbortSignal): Promise<void>;
  /**
   * A local file from which these rows of the object can be read until it is released, and no others: what they need of it, its
   * footer and their row groups, has been checked against the hashes of its blocks since this process started, and since the file last
   * changed. Of an object without blocks the whole has been, against `sha256`.
   * @throws ObjectDamaged when the object is missing or these bytes are not what was stored.
   */
  open(object: ObjectRef, rows: RowRange, signal: AbortSignal): Promise<OpenObject>;
  /**
   * Fetches ahead what a read of rows needs that will soon be opened, where opening them would have to wait for it. It promises nothing: it stops
   * where its room is used up, and is silent about failures, since opening the rows reports them.
   */
  prefetch(object: ObjectRef, rows: RowRange, signal: AbortSignal): Promise<void>;
  /** Reads the whole object and compares it with `sha256` and the hashes of its blocks. @throws ObjectDamaged */
  verify(object: ObjectRef, signal: AbortSignal): Promise<void>;
  /** Those of the keys of which there is no object. Only their names are looked at. */
  findMissing(keys: readonly string[]): Promise<readonly string[]>;
  /** Those of the keys whose object is there and may not be read, as far as that shows without reading it. */
  findUnreadable(keys: readonly string[]): Promise<readonly string[]>;
  /** Objects below a prefix, in no particular order; what cannot be an object, by its name or its kind, is left out. */
  list(prefix: string): AsyncIterable<StoredObject>;
  /**
   * Deletes these objects and nothing else; one that is not there is no error. One that is open stays, for a later call.
   * @returns the keys of those that stayed
   */
  delete(keys: readonly string[]): Promise<readonly string[]>;
  /**
   * Removes the empty folders that a crash left behind, where the implementation has folders.
   * @param mayRemove decides about each one that has been found; its prefix ends in a slash
   */
  removeEmptyFolders(mayRemove: (prefix: string) => Promise<boolean>): Promise<void>;
}

export interface ObjectRef {
  readonly key: string;
  readonly objectBytes: number;
  readonly sha256: string;
  readonly blocks?: Blocks;
}

export interface OpenObject extends AsyncDisposable {
  /** Absolute path of a local file. */
  readonly path: string;
  /**
   * To be called after reading: somebody may have written into the file meanwhile.
   * @throws ObjectDamaged; MadeIsGone where the file can be made or fetched anew
   */
  requireIntact?(): Promise<void>;
}

export interface StoredObject {
  readonly key: string;
  readonly objectBytes: number;
  readonly modifiedAt: Instant;
}

export class ObjectExists extends Error {
  constructor(key: string) {
    super(`there is an object ${key} already, of other bytes: it was left as it is`);
  }
}

export class ObjectDamaged extends Error {
  readonly key: string;
  /** Whether there is no such object at all. */
  readonly isMissing: boolean;
  constructor(key: string, found: string, isMissing = false) {
    super(`stored object ${key} is damaged: ${found}`);
    this.key = key;
    this.isMissing = isMissing;
  }
}
