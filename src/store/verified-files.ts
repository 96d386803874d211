/**
 * Which bytes of which files have been checked by this process. A block is hashed when a read first needs it, and again once the file
 * has changed: in size, time of change (both that which can be set and that which cannot), or inode. So bytes that rotted before
 * they were first read, or were edited at any time, are noticed before they are served. An object whose manifest has no blocks,
 * as those published before there were any, is one block.
 */
import type { BigIntStats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { type Block, blocksOfRows, listBlocks, type RowRange } from '../domain/blocks.ts';
import { SharedWork } from '../domain/shared-work.ts';
import { NEVER } from '../domain/time.ts';
import { codeOf, isMissing, isUnreadable } from '../errors/system-code.ts';
import { isBlockIntact } from '../files/block-checksums.ts';
import { checksumOfOpen, newChunk } from '../files/checksum.ts';
import { ObjectDamaged, type ObjectRef } from './result-store.ts';

/** So many files are remembered; the one first read longest ago is forgotten first. */
const FILES_MAX = 50_000;
/** Nothing changes a stored object, so one that changes again and again while it is checked is not read. */
const CHANGES_MAX = 5;

/** Stands for all bytes of an object without blocks. */
const WHOLE: Pick<Block, 'index'> = { index: 0 };

interface VerifiedFile {
  readonly identity: string;
  /** 1 for each block that is verified. */
  readonly blocks: Uint8Array;
}

export class VerifiedFiles {
  readonly #files = new Map<string, VerifiedFile>();
  readonly #hashing = new SharedWork<void>();

  /**
   * Resolves when all that a read of the rows needs has been verified and the file has not changed since.
   * @throws ObjectDamaged; the signal's reason
   */
  async require(object: ObjectRef, path: string, rows: RowRange, signal: AbortSignal): Promise<void> {
    for (let change = 0; change < CHANGES_MAX; change += 1) {
      if (await this.#verifyNeeded(object, path, rows, signal)) return;
    }
    throw new ObjectDamaged(object.key, 'it changes while it is read');
  }

  /**
   * To be asked once the rows have been read: resolves when what that needed is still what was stored. Where the file has not changed, this is
   * one look at it.
   * @throws ObjectDamaged
   */
  async requireIntact(object: ObjectRef, path: string, rows: RowRange): Promise<void> {
    await this.#verifyNeeded(object, path, rows, NEVER);
  }

  /** Verifies what a read of the rows needs and is not verified of the file as it is now. @returns whether that was nothing */
  async #verifyNeeded(object: ObjectRef, path: string, rows: RowRange, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const identity = identityOf(await orUnreadable(object, statOf(object, path)), object);
    const { blocks, key } = object;
    const needed = blocks === undefined ? [WHOLE] : blocksOfRows(blocks, rows);
    const missing = needed.filter((block) => !this.#isVerified(key, identity, block));
    if (missing.length === 0) return true;
    const verify = (during: AbortSignal) => orUnreadable(object, this.#verify(object, path, missing, during));
    await this.#hashing.join(`${key} ${identity} ${missing.map(({ index }) => index).join()}`, verify, signal);
    return false;
  }

  /** Reads the whole object: its checksum, and the hashes of its blocks. @throws ObjectDamaged; the signal's reason */
  async verifyWhole(object: ObjectRef, path: string, signal: AbortSignal): Promise<void> {
    await orUnreadable(object, this.#verifyWhole(object, path, signal));
  }

  async #verifyWhole(object: ObjectRef, path: string, signal: AbortSignal): Promise<void> {
    await using handle = await openFile(object, path);
    identityOf(await handle.stat({ bigint: true }), object);
    await checkWhole(handle, object, signal);
    const chunk = newChunk();
    for (const block of object.blocks === undefined ? [] : listBlocks(object.blocks)) {
      await checkBlock(handle, object, block, chunk, signal);
    }
  }

  forget(key: string): void {
    this.#files.delete(key);
  }

  #isVerified(key: string, identity: string, { index }: Pick<Block, 'index'>): boolean {
    const file = this.#files.get(key);
    return file?.identity === identity && file.blocks[index] === 1;
  }

  /** Remembers each block for the file as it was before its bytes were read. */
  async #verify(
    object: ObjectRef,
    path: string,
    blocks: readonly (typeof WHOLE | Block)[],
    signal: AbortSignal,
  ): Promise<void> {
    await using handle = await openFile(object, path);
    const identity = identityOf(await handle.stat({ bigint: true }), object);
    const chunk = newChunk(Math.max(0, ...(object.blocks?.bytes ?? [])));
    for (const block of blocks) {
      // Others may have needed it, too, and begun before.
      if (this.#isVerified(object.key, identity, block)) continue;
      if ('offset' in block) await checkBlock(handle, object, block, chunk, signal);
      else await checkWhole(handle, object, signal);
      this.#remember(object, identity, block);
    }
  }

  #remember({ key, blocks }: ObjectRef, identity: string, { index }: Pick<Block, 'index'>): void {
    let file = this.#files.get(key);
    if (file?.identity !== identity) {
      file = { identity, blocks: new Uint8Array(blocks === undefined ? 1 : blocks.bytes.length) };
      this.#files.delete(key);
      this.#files.set(key, file);
    }
    file.blocks[index] = 1;
    const oldest = this.#files.keys().next();
    if (this.#files.size > FILES_MAX && !oldest.done) this.#files.delete(oldest.value);
  }
}

async function checkWhole(handle: FileHandle, { key, sha256 }: ObjectRef, signal: AbortSignal): Promise<void> {
  const found = await checksumOfOpen(handle, signal);
  if (found.sha256 !== sha256) throw new ObjectDamaged(key, `its SHA-256 is ${found.sha256}, expected ${sha256}`);
}

async function checkBlock(
  handle: FileHandle,
  { key, blocks }: ObjectRef,
  block: Block,
  chunk: Uint8Array,
  signal: AbortSignal,
): Promise<void> {
  if (blocks !== undefined && (await isBlockIntact(handle, blocks, block, chunk, signal))) return;
  const last = block.offset + block.bytes - 1;
  throw new ObjectDamaged(key, `its bytes ${block.offset} to ${last} are not what was stored there`);
}

/**
 * What tells a file from what it was before. The checksum is part of it: a file verified against one says nothing about another.
 * @throws ObjectDamaged when it has not as many bytes as the object
 */
function identityOf({ size, mtimeNs, ctimeNs, ino }: BigIntStats, { key, objectBytes, sha256 }: ObjectRef): string {
  if (size !== BigInt(objectBytes)) throw new ObjectDamaged(key, `it has ${size} bytes, expected ${objectBytes}`);
  return `${mtimeNs} ${ctimeNs} ${ino} ${sha256}`;
}

/** @throws ObjectDamaged where the system cannot read this one file, though the store is there; else as `read` */
async function orUnreadable<T>({ key }: ObjectRef, read: Promise<T>): Promise<T> {
  return await read.catch((error: unknown) => {
    throw isUnreadable(error) ? new ObjectDamaged(key, `it cannot be read (${codeOf(error)})`) : error;
  });
}

async function openFile({ key }: ObjectRef, path: string): Promise<FileHandle> {
  return await open(path, 'r').catch((error: unknown) => {
    throw isMissing(error) ? new ObjectDamaged(key, 'it is missing', true) : error;
  });
}

async function statOf({ key }: ObjectRef, path: string): Promise<BigIntStats> {
  return await stat(path, { bigint: true }).catch((error: unknown) => {
    throw isMissing(error) ? new ObjectDamaged(key, 'it is missing', true) : error;
  });
}
