/**
 * The body of a request as it arrives: at most so many bytes, and cut when nothing comes for too long. What is left of a body that
 * is refused is read and thrown away for a moment, so that a client which is still sending gets to read why.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Readable, Transform, type TransformCallback } from 'node:stream';
import type { Sleep } from '../../domain/time.ts';
import { RequestError } from '../../errors/errors.ts';
import { ClientGone } from '../../results/limits/client-gone.ts';

export interface BodyLimits {
  readonly bytesMax: number;
  /** How long nothing may come. */
  readonly stalledMillis: number;
  /** How long all of it may take; no matter how long, when left out. */
  readonly wholeMillis?: number;
  readonly sleep: Sleep;
}

/** Told of each byte that is taken, and of the end. */
export interface BodyObserver {
  update(chunk: Uint8Array): void;
  /** @throws what the body then fails with */
  verify?(): void;
}

/** How long what is left of a refused body is read. */
const LINGER_MILLIS = 5000;

/**
 * Fails with RequestError body_too_large · body_stalled, and ClientGone when the client leaves before the end.
 * @param response told to go on, where the client waits for that before it sends
 */
export function receivedBody(
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
  observers: readonly BodyObserver[],
): Readable {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limits.bytesMax) throw tooLarge(limits.bytesMax);
  if (request.headers.expect !== undefined) response.writeContinue();
  const body = new ReceivedBody(limits, observers);
  const onGone = () => {
    if (!request.complete) body.destroy(new ClientGone());
  };
  // It may fail before anybody reads it; who reads it then is told all the same.
  body.on('error', () => undefined);
  request.on('error', onGone);
  request.once('close', onGone);
  body.once('close', () => {
    request.unpipe(body);
    request.resume();
  });
  if (hasBody(request)) request.pipe(body);
  // Node has ended such a request before anybody could hear of it.
  else body.end();
  return body;
}

class ReceivedBody extends Transform {
  readonly #limits: BodyLimits;
  readonly #observers: readonly BodyObserver[];
  readonly #ended = new AbortController();
  #bytes = 0;

  constructor(limits: BodyLimits, observers: readonly BodyObserver[]) {
    super();
    this.#limits = limits;
    this.#observers = observers;
    this.once('close', () => this.#ended.abort());
    void this.#cutWhenStalled();
    if (limits.wholeMillis !== undefined) void this.#cutAfter(limits.wholeMillis);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#limits.bytesMax) done(tooLarge(this.#limits.bytesMax));
    else {
      for (const observer of this.#observers) observer.update(chunk);
      done(null, chunk);
    }
  }

  override _flush(done: TransformCallback): void {
    this.#ended.abort();
    try {
      for (const observer of this.#observers) observer.verify?.();
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  /** Looks from time to time, which costs nothing for each chunk: a stall is cut before it has lasted twice the limit. */
  async #cutWhenStalled(): Promise<void> {
    const { signal } = this.#ended;
    for (let before = -1; !signal.aborted; ) {
      // What has come waits for us, not we for it.
      if (before === this.#bytes && this.readableLength === 0 && this.writableLength === 0) {
        this.#cut(`stopped after ${this.#bytes} bytes: nothing came for ${this.#limits.stalledMillis / 1000} s`);
        return;
      }
      before = this.#bytes;
      await this.#limits.sleep(this.#limits.stalledMillis, signal).catch(() => undefined);
    }
  }

  /** A byte now and then is no stall, and would keep a place for hours. */
  async #cutAfter(millis: number): Promise<void> {
    const { signal } = this.#ended;
    await this.#limits.sleep(millis, signal).catch(() => undefined);
    if (!signal.aborted) this.#cut(`was not whole after ${millis / 1000} s, but had ${this.#bytes} bytes`);
  }

  #cut(why: string): void {
    const message = `the body ${why}, and nothing was changed`;
    this.destroy(new RequestError('body_stalled', message));
  }
}

function tooLarge(bytesMax: number): RequestError {
  return new RequestError('body_too_large', `the body has more than ${bytesMax} bytes, which is the most`);
}

/** Ends the connection of a client that goes on sending long after it was answered. */
export function cutUnread(request: IncomingMessage, response: ServerResponse, sleep: Sleep): void {
  if (!hasBody(request)) return;
  response.once('finish', () => {
    if (request.complete) return;
    const over = new AbortController();
    const done = () => over.abort();
    request.once('end', done);
    request.once('close', done);
    sleep(LINGER_MILLIS, over.signal).then(() => request.socket.destroy(), done);
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
