/**
 * Makes one attempt at a request to the service and reads the whole answer. A service that refuses a file answers before all of it has
 * been sent; the rest is then not sent.
 */
import { createReadStream } from 'node:fs';
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { pipeline } from 'node:stream/promises';
import { PublishError } from '../../publishing/publish-error.ts';

export interface Sending {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the address of the service: `/v1/query/7/results`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Body;
}

export type Body = { readonly kind: 'text'; readonly text: string } | FileBody;

/** The first so many bytes of the file. `onSent` is called with the number sent so far. */
interface FileBody {
  readonly kind: 'file';
  readonly path: string;
  readonly bytes: number;
  readonly onSent: (bytes: number) => void;
}

export interface Answer {
  readonly status: number;
  /** Of a refusal: `X-Error-Code`. */
  readonly code: string | undefined;
  readonly retryAfter: string | undefined;
  /** Of a redirect: where it leads, without parameters. It is not followed. */
  readonly location?: string | undefined;
  /** Empty if the answer is no JSON object. */
  readonly body: Readonly<Record<string, unknown>>;
}

const ANSWER_BYTES_MAX = 1_000_000;
/** A failure of what the caller handed over, and not of the connection: to send again helps nothing. */
export class CallerFailure extends Error {
  override readonly name = 'CallerFailure';
}

/** How long both sides may be silent. It is long because the service takes minutes to convert a large file. */
const SILENT_MILLIS = 15 * 60_000;

export class Connection implements Disposable {
  readonly #base: URL;
  readonly #key: string;
  readonly #agent: http.Agent;

  /** @param base scheme and host, with a prefix if the service has one */
  constructor(base: URL, key: string) {
    this.#base = base;
    this.#key = key;
    this.#agent = new (base.protocol === 'https:' ? https : http).Agent({ keepAlive: true });
  }

  /**
   * @throws the signal's reason; PublishError for a file that cannot be read; CallerFailure for what `onSent` fails with; Error for a failure
   *   after which a new attempt makes sense
   */
  async attempt(sending: Sending, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const outgoing = this.#request(sending);
    const stop = () => outgoing.destroy(new Error('aborted'));
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await answerTo(outgoing, sending.body);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
      if (!outgoing.writableFinished) outgoing.destroy();
    }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #request({ method, path, headers, body }: Sending): ClientRequest {
    const { protocol, pathname } = this.#base;
    const bytes = body?.kind === 'file' ? body.bytes : Buffer.byteLength(body?.text ?? '');
    const outgoing = (protocol === 'https:' ? https : http).request(
      new URL(pathname.replace(/\/+$/, '') + path, this.#base),
      {
        method,
        agent: this.#agent,
        timeout: SILENT_MILLIS,
        headers: { ...headers, 'x-service-api-key': this.#key, ...(body && { 'content-length': bytes }) },
      },
    );
    outgoing.on('timeout', () =>
      outgoing.destroy(new Error(`nothing was sent or received for ${SILENT_MILLIS / 60_000} minutes`)),
    );
    return outgoing;
  }
}

async function answerTo(outgoing: ClientRequest, body: Body | undefined): Promise<Answer> {
  const answer = new Promise<Answer>((resolve, reject) => {
    let answers = false;
    outgoing.on('response', (response) => {
      answers = true;
      readAnswer(response).then(resolve, reject);
    });
    const fail = (error: unknown) => {
      // Once the answer is there, failures of sending the rest do not matter.
      if (!answers) reject(error);
    };
    outgoing.on('error', fail);
    write(outgoing, body).catch(fail);
  });
  return await answer;
}

async function write(outgoing: ClientRequest, body: Body | undefined): Promise<void> {
  if (body?.kind !== 'file' || body.bytes === 0) {
    outgoing.end(body?.kind === 'text' ? body.text : undefined);
    return;
  }
  await pipeline(bytesOf(body), outgoing);
}

async function* bytesOf({ path, bytes, onSent }: FileBody): AsyncGenerator<Buffer> {
  let sent = 0;
  try {
    for await (const chunk of createReadStream(path, { end: bytes - 1 }) as AsyncIterable<Buffer>) {
      yield chunk;
      sent += chunk.byteLength;
      tell(onSent, sent);
    }
  } catch (error) {
    if (error instanceof CallerFailure) throw error;
    throw new PublishError(`${path} cannot be read: ${(error as Error).message}`);
  }
  if (sent < bytes) throw new PublishError(`${path} became shorter while it was sent`);
}

function tell(onSent: FileBody['onSent'], sent: number): void {
  try {
    onSent(sent);
  } catch (cause) {
    throw new CallerFailure('onSent failed', { cause });
  }
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes <= ANSWER_BYTES_MAX) chunks.push(chunk);
  }
  const { statusCode = 0, headers } = response;
  const code = headers['x-error-code'];
  return {
    status: statusCode,
    code: typeof code === 'string' ? code : undefined,
    retryAfter: headers['retry-after'],
    location: headers.location?.replace(/[?#].*$/s, ''),
    body: jsonObject(Buffer.concat(chunks).toString('utf8')),
  };
}

function jsonObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}
