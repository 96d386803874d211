/** Writing to a place of a file. */
import type { FileHandle } from 'node:fs/promises';

/**
 * Writes every byte. `FileHandle.write` is content with a part, as of a disk that fills up: only the next write is told so.
 * @param position of the first byte in the file
 * @throws the filesystem's error
 */
export async function writeAll(file: Pick<FileHandle, 'write'>, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}
