/**
 * The body of a request as it arrives. It may have so many bytes, and it is cut when nothing arrives for too long. The rest of
 * a refused body is read and thrown away for a moment, so that a client that is still sending gets to read the error.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Readable, Transform, type TransformCallback } from 'node:stream';
import type { Sleep } from '../../domain/time.ts';
import { RequestError } from '../../errors/errors.ts';
import { ClientGone } from '../../results/limits/client-gone.ts';

export interface BodyLimits {
  readonly bytesMax: number;
  /** The longest time without a byte. */
  readonly stalledMillis: number;
  /** The longest time for the whole body; unlimited when left out. */
  readonly wholeMillis?: number;
  readonly sleep: Sleep;
}

/** Told of each chunk that is taken, and of the end. */
export interface BodyObserver {
  update(chunk: Uint8Array): void;
  /** Called at the end. @throws what the body then fails with */
  verify?(): void;
}

/** A body is stalled when so many looks in a row, evenly over the limit, find nothing new. */
const STALLED_LOOKS = 8;

/** The rest of a refused body is read for this long. */
const LINGER_MILLIS = 5000;

/**
 * @returns the body; it fails with RequestError body_too_large · body_stalled, and with ClientGone when the client leaves
 *   before the end.
 * @param response for `100 Continue`, which is sent to a client that waits for it before it sends the body
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
  // What has arrived and was not yet read is lost with the connection.
  const onGone = () => {
    if (!request.readableEnded) body.destroy(new ClientGone());
  };
  // The body may fail before anybody reads it. Its reader still gets the error.
  body.on('error', () => undefined);
  request.on('error', onGone);
  request.once('close', onGone);
  body.once('close', () => {
    request.unpipe(body);
    request.resume();
  });
  if (hasBody(request)) {
    request.pipe(body);
    // The client has left before anything could listen, while its key was looked up or its upload waited for its turn.
    if (request.destroyed) onGone();
  }
  // Node has ended such a request before anything could listen to it.
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

  /** Looks now and then, instead of setting a timer for each chunk. A stall is cut at the latest an eighth of the limit after it. */
  async #cutWhenStalled(): Promise<void> {
    const { signal } = this.#ended;
    const { stalledMillis, sleep } = this.#limits;
    let [before, quietLooks] = [this.#bytes, 0];
    while (quietLooks < STALLED_LOOKS) {
      await sleep(stalledMillis / STALLED_LOOKS, signal).catch(() => undefined);
      if (signal.aborted) return;
      // Bytes that have arrived and are not yet read: the service is slow, not the client.
      const isQuiet = before === this.#bytes && this.readableLength === 0 && this.writableLength === 0;
      quietLooks = isQuiet ? quietLooks + 1 : 0;
      before = this.#bytes;
    }
    this.#cut(`stopped after ${this.#bytes} bytes: nothing came for ${stalledMillis / 1000} s`);
  }

  /** A byte now and then is no stall, but such a body could hold its place for hours. */
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

/** Closes the connection of a client that keeps sending long after it got its answer. */
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
