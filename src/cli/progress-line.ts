/** How far something long has come, as one line that is written over and over. On a terminal only: a pipe stays silent. */
import type { Output } from './command-context.ts';
import { cutTo } from './text-width.ts';

const CLEAR_LINE = '\r\u001b[K';

/** Disposed of, the line is gone; so it is before anything else is written. */
export class ProgressLine implements Disposable {
  readonly #output: Output;
  #shown = '';

  constructor(output: Output) {
    this.#output = output;
  }

  show(line: string): void {
    if (!this.#output.isTerminal) return;
    // A line that is broken cannot be written over.
    const fitting = this.#output.columns === undefined ? line : cutTo(line, this.#output.columns - 1);
    if (fitting === this.#shown) return;
    this.#output.write(CLEAR_LINE + fitting);
    this.#shown = fitting;
  }

  clear(): void {
    if (this.#shown !== '') this.#output.write(CLEAR_LINE);
    this.#shown = '';
  }

  [Symbol.dispose](): void {
    this.clear();
  }
}
