/**
 * Lines on their way to a stream: all that are written in one turn of the event loop go out in one call, because a call costs
 * more than a line. A stream that takes nothing (its reader hangs, its disk is full, its reader is gone) holds up nobody and
 * takes no more than a bounded amount of memory: lines that find no room are dropped and counted, and where lines are missing
 * one that says how many stands instead.
 */
import { afterThisTurn } from '../domain/time.ts';

export interface LineBufferOptions {
  /** Writes to the stream, and calls back when the text is out or could not be written. */
  readonly write: (text: string, done: (error?: Error | null) => void) => unknown;
  /** The line that stands where this many were dropped. */
  readonly gapLine: (lines: number) => string;
  /** The most that waits for the stream, in UTF-16 units. */
  readonly lengthMax?: number;
}

const LENGTH_MAX = 4 * 1024 * 1024;

export class LineBuffer implements Disposable {
  readonly #options: LineBufferOptions;
  readonly #lengthMax: number;
  #text = '';
  #lines = 0;
  /** A text is with the stream, and its outcome is not known. */
  #isWriting = false;
  #dropped = 0;
  /** Of those dropped, how many no gap line tells of yet. */
  #untold = 0;

  constructor(options: LineBufferOptions) {
    this.#options = options;
    this.#lengthMax = options.lengthMax ?? LENGTH_MAX;
  }

  /** Lines lost since the beginning. */
  get dropped(): number {
    return this.#dropped;
  }

  readonly add = (line: string): void => {
    if (this.#text.length + line.length > this.#lengthMax) {
      this.#drop(1);
      return;
    }
    if (this.#text === '' && !this.#isWriting) afterThisTurn(this.flush);
    this.#text += line;
    this.#lines += 1;
  };

  readonly flush = (): void => {
    if (this.#text === '' || this.#isWriting) return;
    const [text, lines] = [this.#text, this.#lines];
    this.#text = '';
    this.#lines = 0;
    this.#isWriting = true;
    this.#options.write(text, (error) => {
      this.#isWriting = false;
      if (error) this.#drop(lines);
      else this.#tellGap();
      this.flush();
    });
  };

  [Symbol.dispose](): void {
    this.flush();
  }

  #drop(lines: number): void {
    this.#dropped += lines;
    this.#untold += lines;
  }

  /** Before what has come since, which is younger than what is missing. */
  #tellGap(): void {
    if (this.#untold === 0) return;
    this.#text = this.#options.gapLine(this.#untold) + this.#text;
    this.#lines += 1;
    this.#untold = 0;
  }
}
