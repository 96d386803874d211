/**
 * Room that is kept on a disk by a file without use. On a disk that is completely full nothing can be deleted either, where a commit has
 * to go before; the file is given up then, and made again afterwards.
 */
import { type FileHandle, open, rm } from 'node:fs/promises';
import { isStorageFull } from '../errors/storage-full.ts';

/** A log of a few thousand small commits, as they are made until it is written back. */
const RESERVE_BYTES = 4 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
const ABOUT = 'Room that the Query Results Service keeps for deleting what has expired from a full disk.\n';

export class ReserveFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Nothing happens where there is a file already, or no room for it. */
  async make(): Promise<void> {
    let file: FileHandle;
    try {
      file = await open(this.#path, 'wx', 0o600);
    } catch {
      return;
    }
    try {
      await file.write(ABOUT);
      // Of something that no file system stores in fewer bytes.
      for (let at = 0; at < RESERVE_BYTES; at += CHUNK_BYTES) {
        await file.write(crypto.getRandomValues(new Uint8Array(CHUNK_BYTES)));
      }
      await file.sync();
    } catch {
      await rm(this.#path, { force: true }).catch(() => undefined);
    } finally {
      await file.close();
    }
  }

  /** @returns whether there was one; a file of that name that is not ours stays */
  async giveUp(): Promise<boolean> {
    if (!(await this.#isOurs())) return false;
    await rm(this.#path);
    return true;
  }

  /** Does the work again, in the room of the reserve, where it failed because a disk is full. @throws what the work throws */
  async during<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isStorageFull(error)) throw error;
      if (!(await this.giveUp())) throw this.#noReserve(error);
      return await work();
    } finally {
      await this.make();
    }
  }

  #noReserve(cause: unknown): Error {
    const full = cause instanceof Error ? cause.message : String(cause);
    const missing = `${this.#path}, which is given up for that, is not there`;
    return new Error(`${full}; ${missing}: free some megabytes in another way first`, { cause });
  }

  async #isOurs(): Promise<boolean> {
    try {
      await using file = await open(this.#path, 'r');
      const head = Buffer.alloc(ABOUT.length);
      const { bytesRead } = await file.read(head, 0, head.length, 0);
      return head.subarray(0, bytesRead).toString() === ABOUT;
    } catch {
      return false;
    }
  }
}
