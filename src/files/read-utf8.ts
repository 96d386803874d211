/** Text files that somebody wrote, of which no letter may be lost. */
import { readFile } from 'node:fs/promises';

/**
 * The text of a file. In another encoding each byte beyond ASCII would become U+FFFD, and nobody would be told.
 * @throws Error for what is not UTF-8; the system's error
 */
export async function readUtf8(path: string): Promise<string> {
  return utf8Text(await readFile(path), path);
}

/** @throws Error naming the file for what is not UTF-8 */
export function utf8Text(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new Error(`${path} is not UTF-8: save it as UTF-8`, { cause: error });
  }
}
