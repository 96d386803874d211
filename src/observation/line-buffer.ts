/**
 * Lines on their way to a stream: all that are written in one turn of the event loop go out in one call, because a call costs
 * more than a line. Nothing waits longer than that turn.
 */
export class LineBuffer implements Disposable {
  readonly #write: (text: string) => void;
  #text = '';

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  readonly add = (line: string): void => {
    if (this.#text === '') setImmediate(this.flush);
    this.#text += line;
  };

  readonly flush = (): void => {
    const text = this.#text;
    this.#text = '';
    if (text !== '') this.#write(text);
  };

  [Symbol.dispose](): void {
    this.flush();
  }
}
