/** A publisher that sends to a running service. It can see and change what its key may. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IllegalTransition } from '../../catalog/catalog.ts';
import { type Execution, type ExecutionState, STATES } from '../../domain/execution.ts';
import { PublishError } from '../../publishing/publish-error.ts';
import { SettingsError } from '../../settings/load-settings.ts';
import { checkedError, checkedParameters, checkedTypes, requireNewRun } from '../checked-input.ts';
import type { Failure, Publication, Publisher, Submission } from '../publication.ts';
import { answeredExecution } from './answered-execution.ts';
import { type Answer, Connection, type Sending } from './connection.ts';
import { fileToSend } from './file-to-send.ts';
import { type Asked, refusalOf } from './refusals.ts';
import { type ClientEffects, ServiceClient } from './service-client.ts';

export interface ServiceAddress {
  /** Scheme and host of the service, with the prefix of a proxy if it has one: `https://results.example.com`. */
  readonly url: string;
  /** An API key of the scope `write`. */
  readonly key: string;
  /** How often a failed request is sent again if that may help; 8 when left out. What is sent several times is done once. */
  readonly retries?: number;
}

const RETRIES = 8;
const RETRIES_MAX = 100;
const NAMES: readonly string[] = ['url', 'key', 'retries'] satisfies (keyof ServiceAddress)[];

/** @throws SettingsError for an invalid address, key or option. Nothing is sent yet. */
export function openHttpPublisher(address: ServiceAddress, effects: ClientEffects): Publisher {
  const { url, key, retries } = checkedAddress(address);
  return new HttpPublisher(new Connection(url, key), retries, effects);
}

class HttpPublisher implements Publisher {
  readonly #connection: Connection;
  readonly #client: ServiceClient;
  readonly #closed = new AbortController();

  constructor(connection: Connection, retries: number, effects: ClientEffects) {
    this.#connection = connection;
    this.#client = new ServiceClient(connection, retries, effects);
  }

  async publish(publication: Publication): Promise<Execution> {
    const { queryId, executionId, onProgress = () => undefined } = publication;
    const parameters = checkedParameters(publication.parameters);
    requireNewRun(publication);
    const types = checkedTypes(publication.types);
    const signal = this.#signal(publication.signal);
    // Checked before any rows are read.
    await this.#requireTarget(publication, signal);
    const folder = await mkdtemp(join(tmpdir(), 'qrs-publish-'));
    try {
      const onRead = (bytes: number) => onProgress({ phase: 'reading', bytes });
      const file = await fileToSend(publication, { folder, types, onRead }, signal);
      const named = Object.entries(parameters).map(([name, value]) => [`params.${name}`, value] as const);
      const asked = new URLSearchParams(
        [...file.parameters, ...named].map(([name, value]): [string, string] => [name, value]),
      );
      const onSent = (bytes: number) => onProgress({ phase: 'sending', bytes, bytesTotal: file.bytes });
      const target = executionId === undefined ? `query/${queryId}` : `execution/${encodeURIComponent(executionId)}`;
      const sending: Sending = {
        method: executionId === undefined ? 'POST' : 'PUT',
        path: `/v1/${target}/results${asked.size > 0 ? `?${asked}` : ''}`,
        headers: file.headers,
        body: { kind: 'file', path: file.path, bytes: file.bytes, onSent },
      };
      const run = executionId === undefined ? {} : { run: { id: executionId, to: 'COMPLETED' as const } };
      return answeredExecution(await this.#ask(sending, { publishes: true, ...run }, signal));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async submit({ queryId, parameters }: Submission): Promise<Execution> {
    const body = { query_parameters: checkedParameters(parameters) };
    return answeredExecution(await this.#post(`/v1/query/${queryId}/executions`, body));
  }

  async start(id: string): Promise<Execution> {
    return answeredExecution(await this.#transition(id, 'start', 'EXECUTING', {}));
  }

  async fail(id: string, failure: Failure): Promise<Execution> {
    const { type, message, ...metadata } = checkedError(failure);
    return answeredExecution(await this.#transition(id, 'fail', 'FAILED', { type, message, metadata }));
  }

  async cancel(id: string): Promise<Execution> {
    await this.#transition(id, 'cancel', 'CANCELLED', {});
    return await this.#find(id, 'CANCELLED', this.#signal());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(new Error('the publisher has been closed'));
    this.#connection[Symbol.dispose]();
  }

  #signal(given?: AbortSignal): AbortSignal {
    return given === undefined ? this.#closed.signal : AbortSignal.any([given, this.#closed.signal]);
  }

  async #requireTarget({ queryId, executionId }: Publication, signal: AbortSignal): Promise<void> {
    if (executionId === undefined) {
      await this.#ask({ method: 'GET', path: `/v1/query/${queryId}`, headers: {} }, { publishes: true }, signal);
      return;
    }
    const execution = await this.#find(executionId, 'COMPLETED', signal);
    if (STATES[execution.state].terminal) throw new IllegalTransition(executionId, execution.state, 'COMPLETED');
    if (execution.queryId === queryId) return;
    throw new PublishError(`execution ${executionId} is a run of query ${execution.queryId}, not of query ${queryId}`);
  }

  async #find(id: string, to: ExecutionState, signal: AbortSignal): Promise<Execution> {
    const path = `/v1/execution/${encodeURIComponent(id)}/status`;
    return answeredExecution(await this.#ask({ method: 'GET', path, headers: {} }, { run: { id, to } }, signal));
  }

  #transition(id: string, step: string, to: ExecutionState, body: object): Promise<Answer['body']> {
    return this.#post(`/v1/execution/${encodeURIComponent(id)}/${step}`, body, { run: { id, to } });
  }

  #post(path: string, body: object, asked: Asked = {}): Promise<Answer['body']> {
    const headers = { 'content-type': 'application/json' };
    const text = JSON.stringify(body);
    return this.#ask({ method: 'POST', path, headers, body: { kind: 'text', text } }, asked, this.#signal());
  }

  async #ask(sending: Sending, asked: Asked, signal: AbortSignal): Promise<Answer['body']> {
    const answer = await this.#client.send(sending, signal);
    if (answer.status >= 200 && answer.status < 300) return answer.body;
    throw refusalOf(answer, asked);
  }
}

function checkedAddress({ url, key, retries = RETRIES, ...others }: ServiceAddress): {
  readonly url: URL;
  readonly key: string;
  readonly retries: number;
} {
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw new SettingsError(`openPublisher has no option "${unknown}" beside a url; expected ${NAMES.join(', ')}`);
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol) || parsed.search + parsed.hash !== '') {
    // It may be the key, or have it in it; that is shown to nobody.
    const found = typeof url === 'string' && /^[\w-]+$|api_key=/.test(url) ? '' : `found ${JSON.stringify(url)}, `;
    throw new SettingsError(`url: ${found}expected one such as https://results.example.com`);
  }
  if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key)) {
    throw new SettingsError('key: expected an API key, as `qrs keys create --scope write` prints it');
  }
  if (!Number.isInteger(retries) || retries < 0 || retries > RETRIES_MAX) {
    throw new SettingsError(`retries: found ${retries}, expected a whole number from 0 to ${RETRIES_MAX}`);
  }
  return { url: parsed, key, retries };
}
