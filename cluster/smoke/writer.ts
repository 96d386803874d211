/** Changes something through the proxy, as a client of the library does: sent again until it is answered, and done once. */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { csvOf, type Run, TYPES } from '../../soak/rows.ts';
import { Connection, type Sending } from '../../src/library/http/connection.ts';
import { openHttpPublisher } from '../../src/library/http/http-publisher.ts';
import { type ClientEffects, ServiceClient } from '../../src/library/http/service-client.ts';
import type { Publisher } from '../../src/library/publication.ts';
import { sleep } from '../../test/real-time.ts';

/** Each attempt waits up to half a minute, so that this outlasts whatever is killed. */
const RETRIES = 30;
const EFFECTS: ClientEffects = { clock: Date.now, sleep, random: Math.random, newIdempotencyKey: randomUUID };

export class Writer implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #client: ServiceClient;
  readonly #publisher: Publisher;
  readonly #never = new AbortController().signal;

  /** @param key of the scope `admin` @param retries how often a request is sent again */
  constructor(url: string, key: string, retries = RETRIES) {
    this.#connection = new Connection(new URL(url), key);
    this.#client = new ServiceClient(this.#connection, retries, EFFECTS);
    this.#publisher = openHttpPublisher({ url, key, retries }, EFFECTS);
  }

  /** @returns the id of the execution */
  async publish(run: Run): Promise<string> {
    const types = Object.fromEntries(TYPES.split(/,(?![^(]*\))/).map((pair) => pair.split('=') as [string, string]));
    const source = { kind: 'stream', stream: Readable.from(csvOf(run)) } as const;
    return (await this.#publisher.publish({ queryId: run.queryId, source, format: 'csv', types })).id;
  }

  /** @returns the body of the answer @throws when it is refused */
  async send(method: Sending['method'], path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
    const headers = { 'content-type': 'application/json' };
    const text = body === undefined ? undefined : ({ kind: 'text', text: JSON.stringify(body) } as const);
    const answer = await this.#client.send({ method, path, headers, ...(text && { body: text }) }, this.#never);
    if (answer.status < 300) return answer.body;
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection[Symbol.dispose]();
    await this.#publisher[Symbol.asyncDispose]();
  }
}
