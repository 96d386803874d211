/** Asks the service and sorts its answers: as they should be, honestly refused, or wrong. */
import { Agent, request } from 'node:http';
import { buffer } from 'node:stream/consumers';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** A wrong answer. */
export class Wrong extends Error {}

/** A refusal that says when to come again: 503 of an overloaded service, 429 of a key that asks for much. */
export class Refused extends Error {
  readonly status: number;
  /** `X-Error-Code` */
  readonly code: string | undefined;

  constructor({ status, headers }: Pick<Answer, 'status' | 'headers'>) {
    const code = headers['x-error-code'];
    super(`refused with ${status} ${code}`);
    this.status = status;
    this.code = code === undefined ? undefined : String(code);
  }
}

/** What reads need of a client. */
export type Asking = Pick<Client, 'get' | 'json'>;

export class Client {
  readonly #url: string;
  readonly #agent: Agent;

  constructor(url: string, connections: number) {
    this.#url = url;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** @throws Refused */
  async get(path: string, key: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return await this.#ask('GET', path, key, headers);
  }

  async #ask(
    method: 'GET' | 'POST',
    path: string,
    key: string,
    headers: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const url = path.startsWith('http') ? path : this.#url + path;
    const options = { method, agent: this.#agent, headers: { 'x-service-api-key': key, ...headers } };
    const sent = request(url, options, (response) => {
      buffer(response).then(
        (body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
        reject,
      );
    });
    sent.on('error', reject);
    sent.end(body);
    const answer = await promise;
    const isRefusal = answer.status === 503 || answer.status === 429;
    if (isRefusal && Number(answer.headers['retry-after']) > 0) throw new Refused(answer);
    return answer;
  }

  /** Sends a body. @throws Refused */
  send = async (path: string, key: string, body: string): Promise<Answer> =>
    await this.#ask('POST', path, key, {}, body);

  /** Asks and goes away when the answer has begun. */
  leave = async (path: string, key: string): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const sent = request(
      this.#url + path,
      { agent: this.#agent, headers: { 'x-service-api-key': key } },
      (response) => {
        response.once('data', () => response.destroy());
        response.once('close', resolve);
      },
    );
    sent.on('error', () => resolve());
    sent.end();
    await promise;
  };

  /** The JSON of an answer that must be 200. @throws Wrong, Refused */
  async json(path: string, key: string): Promise<Envelope> {
    const answer = await this.get(path, key);
    if (answer.status !== 200) throw new Wrong(`${path}: ${answer.status} ${answer.body.toString().slice(0, 300)}`);
    return JSON.parse(answer.body.toString());
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Of an answer in JSON, as far as it is looked at. */
export interface Envelope {
  readonly state: string;
  readonly execution_id: string;
  readonly next_uri?: string;
  readonly result?: {
    readonly rows: readonly Readonly<Record<string, unknown>>[];
    readonly metadata: { readonly total_row_count: number; readonly row_count: number };
  };
}
