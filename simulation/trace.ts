/** What happened, a line for each event: the last lines in words, and all of them as a hash, which is the same for the same seed. */
import { createHash } from 'node:crypto';
import type { Instant } from '../src/domain/instant.ts';

const LINES_KEPT = 60;

export class Trace {
  readonly #hash = createHash('sha256');
  readonly #onLine: ((line: string) => void) | undefined;
  readonly #last: string[] = [];
  #next = 0;

  /** @param onLine told of every line */
  constructor(onLine?: (line: string) => void) {
    this.#onLine = onLine;
  }

  add(at: Instant, text: string): void {
    const line = `${at.toFixed(3)} ${text}\n`;
    this.#hash.update(line);
    this.#last[this.#next] = line;
    this.#next = (this.#next + 1) % LINES_KEPT;
    this.#onLine?.(line);
  }

  /** Of all lines so far, in hex. */
  get hash(): string {
    return this.#hash.copy().digest('hex');
  }

  /** The last lines, oldest first. */
  last(): readonly string[] {
    return [...this.#last.slice(this.#next), ...this.#last.slice(0, this.#next)].map((line) => line.trimEnd());
  }
}
