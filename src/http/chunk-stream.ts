/**
 * The chunks of an answer as a stream. The next chunk is asked for when all before it are with the system, so an answer takes the memory
 * of one chunk, however large it is and however slow the client. That memory is given back, and is what the next chunk is read into: on
 * fresh memory a read takes twice as long.
 */
import { Readable } from 'node:stream';
import type { Turns } from '../domain/turns.ts';
import { giveBack } from '../results/give-back.ts';

export interface ChunkStreamOptions {
  /** The first chunk, which has been asked for already. */
  readonly first: IteratorResult<Uint8Array>;
  readonly rest: AsyncGenerator<Uint8Array>;
  /** Where the stream is piped to. Its length is 0 when it has nothing left that it was given. */
  readonly target: { readonly writableLength: number };
  /** Shared with all who hand chunks to the system: many clients may take theirs at the same moment. */
  readonly turns?: Turns;
  /** Told of each number of bytes that is given out. */
  readonly onBytes?: (bytes: number) => void;
  /** Told before the stream fails, and no byte follows. */
  readonly onError: (error: unknown) => void;
}

/** Handing so much to the socket takes a few tenths of a millisecond, for which all other requests wait. */
const WRITE_BYTES_MAX = 1024 * 1024;
/** Less than this waits for the chunk that follows. */
const TOGETHER_BYTES = 16 * 1024;
const NOTHING: Uint8Array = new Uint8Array();

/** Gives back what has been sent, unless the system may not have all of it yet. */
export function giveBackSent(chunk: Uint8Array, { writableLength }: { readonly writableLength: number }): void {
  if (writableLength === 0) giveBack(chunk);
}

export class ChunkStream extends Readable {
  readonly #options: ChunkStreamOptions;
  #next: IteratorResult<Uint8Array> | undefined;
  /** What is left of the chunk that is being given out. */
  #left = NOTHING;
  /** The chunks that were given out since all was with the system. */
  #given: Uint8Array[] = [];

  /** @param options its chunks are memory of nobody else */
  constructor(options: ChunkStreamOptions) {
    // Nothing is read ahead: who reads has let go of what was read before.
    super({ highWaterMark: 0 });
    this.#options = options;
    this.#next = options.first;
  }

  override _read(): void {
    this.#giveOut().catch((error: unknown) => {
      this.#options.onError(error);
      this.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const ended = () => done(error);
    this.#options.rest.return(undefined).then(ended, ended);
  }

  async #giveOut(): Promise<void> {
    this.#settle();
    const slices: Uint8Array[] = [];
    let bytes = 0;
    let isOver = false;
    while (bytes < TOGETHER_BYTES && !isOver) {
      if (this.#left.byteLength === 0 && !(await this.#advance())) isOver = true;
      else {
        const slice = this.#left.subarray(0, WRITE_BYTES_MAX - bytes);
        this.#left = slice.byteLength < this.#left.byteLength ? this.#left.subarray(slice.byteLength) : NOTHING;
        bytes += slice.byteLength;
        slices.push(slice);
      }
    }
    const turn = this.#options.turns?.nextIfMany();
    if (turn !== undefined) await turn;
    this.#options.onBytes?.(bytes);
    // In one turn, so that the system gets them together.
    for (const slice of slices) if (slice.byteLength > 0) this.push(slice);
    if (isOver) this.push(null);
  }

  /** @returns false after the last chunk */
  async #advance(): Promise<boolean> {
    const { done, value } = this.#next ?? (await this.#options.rest.next());
    this.#next = undefined;
    if (done === true) return false;
    this.#left = value;
    this.#given.push(value);
    return true;
  }

  /** Gives back the chunks that have been sent; those that may not have been are left to the garbage collector. */
  #settle(): void {
    if (this.#left.byteLength > 0) return;
    const isSent = this.readableLength === 0 && this.#options.target.writableLength === 0;
    if (isSent) for (const chunk of this.#given) giveBack(chunk);
    this.#given = [];
  }
}
