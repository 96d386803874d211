/**
 * Reads of an open file. What the system has in memory takes some microseconds to read, and a turn of another thread ten times as
 * long (decision 22). So small reads are made on the event loop. A disk may take milliseconds, in which nothing else is done:
 * after two reads that were slow the next ones are made aside, twice as many each time.
 */
import { read, readSync } from 'node:fs';
import { promisify } from 'node:util';

const readAside = promisify(read);

/** Larger ones are made aside. */
const HERE_BYTES_MAX = 96 * 1024;
const SLOW_MILLIS = 1;
/** Slow reads with more quick ones between them are no sign of a slow disk: the process had to wait for a core. */
const BETWEEN_MAX = 16;
const ASIDE_MIN = 32;
const ASIDE_MAX = 4096;

export class FileReads {
  readonly #fd: number;
  readonly #monotonic: () => number;
  /** So many reads are made aside before it is tried again whether they are quick. */
  #aside = 0;
  #asideNext = ASIDE_MIN;
  /** Reads made here since the last slow one. */
  #quick = Number.POSITIVE_INFINITY;

  /** @param monotonic milliseconds */
  constructor(fd: number, monotonic: () => number) {
    this.#fd = fd;
    this.#monotonic = monotonic;
  }

  /** @returns the bytes, fewer where the file ends before; at once where they were read here @throws the filesystem's error */
  bytes(position: number, length: number): Buffer | Promise<Buffer> {
    if (length > HERE_BYTES_MAX || this.#aside > 0) return this.#readAside(position, length);
    const start = this.#monotonic();
    const bytes = Buffer.allocUnsafe(length);
    const bytesRead = readSync(this.#fd, bytes, 0, length, position);
    this.#note(this.#monotonic() - start > SLOW_MILLIS);
    return bytes.subarray(0, bytesRead);
  }

  #note(isSlow: boolean): void {
    if (!isSlow) {
      this.#quick += 1;
      this.#asideNext = ASIDE_MIN;
      return;
    }
    if (this.#quick <= BETWEEN_MAX) {
      this.#aside = this.#asideNext;
      this.#asideNext = Math.min(ASIDE_MAX, 2 * this.#asideNext);
    }
    this.#quick = 0;
  }

  async #readAside(position: number, length: number): Promise<Buffer> {
    if (length <= HERE_BYTES_MAX) this.#aside -= 1;
    const bytes = Buffer.allocUnsafe(length);
    const { bytesRead } = await readAside(this.#fd, bytes, 0, length, position);
    return bytes.subarray(0, bytesRead);
  }
}
