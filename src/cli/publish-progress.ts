/** How far a publish has come, as one line that is written over and over. On a terminal only: a pipe stays silent. */
import type { Progress } from '../publishing/publish.ts';
import type { Output } from './command-context.ts';

const BAR_WIDTH = 24;
const CLEAR_LINE = '\r\u001b[K';

export class PublishProgress implements Disposable {
  readonly #output: Output;
  #shown = '';

  constructor(output: Output) {
    this.#output = output;
  }

  show(progress: Progress): void {
    if (!this.#output.isTerminal) return;
    const line = lineOf(progress);
    if (line === this.#shown) return;
    this.#output.write(CLEAR_LINE + line);
    this.#shown = line;
  }

  [Symbol.dispose](): void {
    if (this.#shown !== '') this.#output.write(CLEAR_LINE);
  }
}

function lineOf(progress: Progress): string {
  switch (progress.phase) {
    case 'reading':
      return 'reading';
    case 'converting':
      return `converting: ${progress.rows.toLocaleString('en-US')} rows`;
    case 'storing': {
      const filled = Math.round((progress.parts / Math.max(progress.partsTotal, 1)) * BAR_WIDTH);
      return `storing: [${'#'.repeat(filled)}${' '.repeat(BAR_WIDTH - filled)}] ${progress.parts} of ${progress.partsTotal}`;
    }
    default:
      return progress satisfies never;
  }
}
