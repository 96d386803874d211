/**
 * Requests to a Trino coordinator: who asks, over which connection, how long an answer may be silent, and which failures pass by
 * waiting. Secrets go to the coordinator's own address and nowhere else, and are in no error.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { getCACertificates } from 'node:tls';
import { type Sleep, TimeLimit } from '../../domain/time.ts';
import { EngineError, EngineUnavailable } from '../engine.ts';

export interface TrinoAddress {
  /** `https://trino.example.com:443`, without a path. */
  readonly origin: string;
  readonly user: string;
  readonly password: string | undefined;
  /** A JSON Web Token, in place of a password. */
  readonly token: string | undefined;
  readonly catalog: string;
  readonly schema: string | undefined;
  /** PEM: certificates to believe in, besides the usual ones. */
  readonly certificates: string | undefined;
}

export interface TrinoRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether the coordinator is to know who asks. Only its own address is told. */
  readonly signed: boolean;
  /** How long failures that may pass are waited for, in all pauses and silences together. */
  readonly patienceMillis?: number;
}

/** A failure that may pass: no connection, one that broke off, or a server that is not ready. */
export class Unreachable extends Error {
  /** How long nothing was heard before it was given up. */
  readonly silentMillis: number;

  constructor(
    message: string,
    { cause, silentMillis = 0 }: { readonly cause?: unknown; readonly silentMillis?: number } = {},
  ) {
    super(message, { cause });
    this.silentMillis = silentMillis;
  }
}

/** The coordinator does not know the query: it was started anew. */
export class QueryGone extends Error {}

/** An answer that says nothing for so long has broken off. The coordinator answers at least once a second. */
const SILENT_MILLIS = 60_000;
const PAUSE_MILLIS = 100;
const PAUSE_MILLIS_MAX = 5000;
/** A coordinator restarts in less. */
const PATIENCE_MILLIS = 120_000;
const SAID_BYTES_MAX = 2000;
const RETRIED_STATUS = [429, 502, 503, 504];
/** Codes of errors that waiting does not mend: names and certificates. */
const LASTING_CODES = /^(?:ERR_TLS|CERT_|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|ERR_INVALID|ERR_SSL|EPROTO|HPE_)/;

export class Coordinator implements Disposable {
  readonly address: TrinoAddress;
  readonly #agents: { readonly http: HttpAgent; readonly https: HttpsAgent };
  readonly #sleep: Sleep;

  constructor(address: TrinoAddress, sleep: Sleep) {
    this.address = address;
    this.#sleep = sleep;
    const { certificates } = address;
    const ca = certificates === undefined ? undefined : [...getCACertificates('default'), certificates];
    this.#agents = {
      http: new HttpAgent({ keepAlive: true }),
      https: new HttpsAgent({ keepAlive: true, ...(ca !== undefined && { ca }) }),
    };
  }

  /**
   * An address that the coordinator gave for its own, checked to be so.
   * @throws EngineError
   */
  ownUrl(text: string): URL {
    const url = URL.parse(text);
    if (url?.origin === this.address.origin) return url;
    throw new EngineError(
      'engine_error',
      `Trino sends its clients from ${this.address.origin} on to ${url?.origin ?? 'no address'}: where a proxy stands in front of it, set http-server.process-forwarded=true in Trino`,
    );
  }

  /**
   * One request, repeated while its failure may pass; `read` takes the answer and may be called again after a failure.
   * @throws the signal's reason once it is aborted; QueryGone; EngineError
   */
  async ask<T>(request: TrinoRequest, read: (answer: IncomingMessage) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { patienceMillis = PATIENCE_MILLIS } = request;
    let waited = 0;
    for (let pause = PAUSE_MILLIS; ; pause = Math.min(2 * pause, PAUSE_MILLIS_MAX)) {
      try {
        return await this.askOnce(request, read, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof Unreachable)) throw error;
        waited += error.silentMillis;
        if (waited >= patienceMillis) throw new EngineUnavailable('Trino cannot be reached', error);
        waited += pause;
        await this.#sleep(pause, signal);
      }
    }
  }

  /** @throws Unreachable where it may be tried again; otherwise as `ask` */
  async askOnce<T>(
    request: TrinoRequest,
    read: (answer: IncomingMessage) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    signal.throwIfAborted();
    try {
      const answer = await this.#answerTo(request, signal);
      const { statusCode = 0 } = answer;
      if (statusCode >= 200 && statusCode < 300) return await read(answer);
      const said = await textOf(answer);
      throw statusProblem(request, { status: statusCode, location: answer.headers.location, said }, this.address);
    } catch (error) {
      signal.throwIfAborted();
      throw connectionProblem(error, request.url);
    }
  }

  /** The head of an answer. A coordinator that takes a connection and says nothing is not waited for longer than one that refuses it. */
  async #answerTo(request: TrinoRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const silentMillis = Math.min(SILENT_MILLIS, request.patienceMillis ?? PATIENCE_MILLIS);
    using limit = new TimeLimit(silentMillis, this.#sleep);
    try {
      return await this.#send(request, AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      if (limit.signal.aborted) throw silent(silentMillis);
      throw error;
    }
  }

  #send({ method, url, headers, body, signed }: TrinoRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const isSecure = url.protocol === 'https:';
    const sent = (isSecure ? httpsRequest : httpRequest)(url, {
      method,
      agent: isSecure ? this.#agents.https : this.#agents.http,
      headers: { 'User-Agent': 'query-results-service', ...(signed && this.#identity()), ...headers },
      timeout: SILENT_MILLIS,
      signal,
    });
    sent.on('timeout', () => sent.destroy(silent(SILENT_MILLIS)));
    sent.on('response', resolve);
    sent.on('error', reject);
    sent.end(body);
    return promise;
  }

  #identity(): Readonly<Record<string, string>> {
    const { user, password, token } = this.address;
    const proof =
      token !== undefined
        ? `Bearer ${token}`
        : password !== undefined
          ? `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
          : undefined;
    return { 'X-Trino-User': user, ...(proof !== undefined && { Authorization: proof }) };
  }

  [Symbol.dispose](): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }
}

function silent(silentMillis: number): Unreachable {
  return new Unreachable(`silent for ${silentMillis} ms`, { silentMillis });
}

function statusProblem(
  { url, signed }: TrinoRequest,
  { status, location, said }: { readonly status: number; readonly location: string | undefined; readonly said: string },
  address: TrinoAddress,
): Error {
  if (RETRIED_STATUS.includes(status)) return new Unreachable(`status ${status}: ${said}`);
  if (status === 404 || status === 410) return new QueryGone(`status ${status} for ${url.pathname}: ${said}`);
  const cause = new Error(`status ${status} for ${url.pathname}: ${said}`);
  const problem = (message: string) => new EngineError('engine_error', message, { cause });
  if (location !== undefined) {
    return problem(
      `Trino sends its clients on to ${URL.parse(location, url.href)?.origin ?? 'no address'}: name that one in QRS_ENGINE_URL`,
    );
  }
  if (signed && (status === 401 || status === 403)) {
    return problem(`Trino does not let the service in (status ${status}): ${accessAdvice(address)}`);
  }
  return problem(`Trino answered with the status ${status}`);
}

function accessAdvice({ token, password }: TrinoAddress): string {
  if (token !== undefined) return 'the token in QRS_TRINO_TOKEN is wrong, or has expired';
  if (password !== undefined) return 'the user or the password in QRS_ENGINE_URL is wrong';
  return 'it asks for a password (in QRS_ENGINE_URL) or a token (QRS_TRINO_TOKEN)';
}

function connectionProblem(error: unknown, url: URL): unknown {
  if (error instanceof EngineError || error instanceof QueryGone || error instanceof Unreachable) return error;
  const { code } = error as NodeJS.ErrnoException;
  // What is no failure of the network: a mistake of ours, or a disk that is full.
  if (!(error instanceof Error) || code === undefined || /^ENO(?:SPC|ENT)$|^EDQUOT$|^EACCES$/.test(code)) return error;
  if (LASTING_CODES.test(code)) {
    return new EngineError(
      'engine_error',
      `no connection to Trino can be made (${code}): ${connectionAdvice(code, error.message, url)}`,
      { cause: error },
    );
  }
  return new Unreachable(`${code}: ${error.message}`, { cause: error });
}

function connectionAdvice(code: string, said: string, { host }: URL): string {
  if (/^CERT_|^UNABLE_TO|SELF_SIGNED/.test(code)) {
    return `the certificate of ${host} is not trusted; QRS_TRINO_CA_FILE names those to believe in besides`;
  }
  if (code.startsWith('HPE_'))
    return `${host} does not speak HTTP; where it speaks TLS, add tls=true to QRS_ENGINE_URL`;
  if (said.includes('wrong version number')) return `${host} does not speak TLS; QRS_ENGINE_URL needs a port that does`;
  return 'see QRS_ENGINE_URL and QRS_TRINO_CA_FILE';
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer) {
    text += String(chunk);
    if (text.length >= SAID_BYTES_MAX) break;
  }
  return text.slice(0, SAID_BYTES_MAX);
}
