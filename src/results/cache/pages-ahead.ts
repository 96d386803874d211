/**
 * Next pages of walks, read while their clients deal with the page before (decision 53). Each is for one request; what nobody asks for is
 * dropped. At most one is begun in a round of the event loop, and few at a time: where many clients walk at once there is no time
 * between requests, and nothing is won by reading ahead.
 */
import { orAborted } from '../../domain/or-aborted.ts';
import { afterThisTurn } from '../../domain/time.ts';
import { LruBytes } from './lru-bytes.ts';
import { RememberedNames } from './remembered-names.ts';

const READING_MAX = 4;

export class PagesAhead<T> implements AsyncDisposable {
  /** Tags of the pages that follow those which were answered. */
  readonly #expected = new RememberedNames();
  readonly #read: LruBytes<T>;
  /** What nobody has taken yet; undefined: it cannot be read. */
  readonly #reading = new Map<string, Promise<T | undefined>>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #isScheduled = false;

  constructor(bytesMax: number, sizeOf: (page: T) => number) {
    this.#read = new LruBytes(bytesMax, sizeOf);
  }

  get bytes(): number {
    return this.#read.bytes;
  }

  /**
   * The page, if it has been read or is being read. It is the caller's: nobody else gets it.
   * @returns undefined where the caller has to read it
   * @throws the signal's reason
   */
  async take(identity: string, signal: AbortSignal): Promise<T | undefined> {
    const read = this.#read.get(identity);
    this.#read.delete(identity);
    if (read !== undefined) return read;
    const reading = this.#reading.get(identity);
    this.#reading.delete(identity);
    return reading && (await orAborted(reading, signal));
  }

  /**
   * Notes that a page has been answered.
   * @param tag the page's
   * @param next of the page after it
   * @returns whether the page itself came after one that was answered: somebody walks
   */
  noteAnswered(tag: string, next: string): boolean {
    const isExpected = this.#expected.has(tag);
    this.#expected.note(next);
    return isExpected;
  }

  /** Whether a page like this one may be kept until it is asked for. */
  hasRoomFor(page: T): boolean {
    return this.#read.keeps('', page);
  }

  /** Calls after all that this round of the event loop has to do, if not too many pages are being read. */
  whenIdle(begin: () => void): void {
    if (this.#isScheduled || this.#running.size >= READING_MAX) return;
    this.#isScheduled = true;
    afterThisTurn(() => {
      this.#isScheduled = false;
      if (!this.#closing.signal.aborted) begin();
    });
  }

  /** Begins to read a page for whoever asks for it. If that fails, they find out why when they read it themselves. */
  begin(identity: string, read: (signal: AbortSignal) => Promise<T>): void {
    if (this.#reading.has(identity) || this.#read.get(identity) !== undefined) return;
    const reading: Promise<T | undefined> = read(this.#closing.signal).then(
      (page) => {
        if (this.#end(identity, reading)) this.#read.put(identity, page);
        return page;
      },
      () => {
        this.#end(identity, reading);
        return undefined;
      },
    );
    this.#reading.set(identity, reading);
    this.#running.add(reading);
  }

  /** At once, so that at no moment the page is in two places. @returns whether nobody has taken it yet */
  #end(identity: string, reading: Promise<T | undefined>): boolean {
    this.#running.delete(reading);
    return this.#reading.get(identity) === reading && this.#reading.delete(identity);
  }

  /** Ends what is being read. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running);
  }
}
