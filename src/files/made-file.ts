/**
 * A file that another program writes by its path, where somebody may remove it, or put another in its place, at any moment. It is made
 * before that, and held open: so what was written is known, wherever the path leads.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { requireWritten, type WrittenFile, writtenFile } from './file-state.ts';

export class MadeFile implements AsyncDisposable {
  readonly path: string;
  readonly handle: FileHandle;

  private constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.handle = handle;
  }

  /** An empty file, for its owner alone. @param path where there is none */
  static async create(path: string): Promise<MadeFile> {
    return new MadeFile(path, await open(path, 'wx+', 0o600));
  }

  /**
   * @param write writes it by its path; where it fails it may remove the file
   * @throws MadeIsGone where the path led elsewhere; what `write` throws
   */
  async write<T>(write: () => Promise<T>): Promise<T> {
    const told = await write();
    await requireWritten(await this.written());
    return told;
  }

  async written(): Promise<WrittenFile> {
    return await writtenFile(this.path, this.handle);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.handle.close();
  }
}
