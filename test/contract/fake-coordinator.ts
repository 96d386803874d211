/**
 * A Trino coordinator that does what a test says, on a port of this machine: answers in the protocol's words, and also lies, breaks off, is
 * not ready, and forgets. Statements go to `/v1/statement`; the first answer to one is the first step, and so on.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  /** `GET /v1/statement/executing/q1/1` */
  readonly line: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** What a request is answered with. */
export type Step =
  | { readonly kind: 'json'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: 'text'; readonly text: string | Buffer }
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** The first half of an answer, and then the end of the connection. */
  | { readonly kind: 'half'; readonly text: string | Buffer }
  /** No answer. */
  | { readonly kind: 'silence' };

export class FakeCoordinator implements AsyncDisposable {
  readonly received: Received[] = [];
  port = 0;
  readonly #server: Server;
  readonly #files = new Map<string, Step[]>();
  #steps: Step[] = [];
  #watchers: { readonly line: RegExp; readonly tell: () => void }[] = [];

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(port = 0): Promise<FakeCoordinator> {
    const fake = new FakeCoordinator();
    fake.#server.listen(port, '127.0.0.1');
    await once(fake.#server, 'listening');
    fake.port = (fake.#server.address() as AddressInfo).port;
    return fake;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What statements and their addresses are answered with, in order. `nextUri` is added to all but the last, where an answer has none. */
  steps(...steps: readonly Step[]): void {
    this.#steps = steps.map((step, i) => {
      if (step.kind !== 'json' || i === steps.length - 1 || 'nextUri' in step.value || 'error' in step.value)
        return step;
      return { kind: 'json', value: { ...step.value, nextUri: this.next(i + 1) } };
    });
  }

  next(index: number): string {
    return `${this.origin}/v1/statement/executing/q1/${index}`;
  }

  /** What another address is answered with; the last step is repeated. */
  file(path: string, ...steps: readonly Step[]): string {
    this.#files.set(path, [...steps]);
    return `${this.origin}${path}`;
  }

  lines(): readonly string[] {
    return this.received.map(({ line }) => line);
  }

  /** Resolves when such a request has come. */
  request(line: RegExp): Promise<void> {
    return new Promise((resolve) => this.#watchers.push({ line, tell: resolve }));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const line = `${request.method} ${request.url}`;
    this.received.push({ line, headers: request.headers, body });
    const step = request.method === 'DELETE' ? undefined : this.#stepFor(request.url ?? '');
    send(step ?? { kind: 'status', status: 204 }, response);
    for (const watcher of this.#watchers.filter((w) => w.line.test(line))) watcher.tell();
  }

  #stepFor(path: string): Step | undefined {
    const file = this.#files.get(path);
    if (file !== undefined) return file.length > 1 ? file.shift() : file[0];
    return this.#steps.shift() ?? { kind: 'status', status: 404 };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

function send(step: Step, response: ServerResponse): void {
  switch (step.kind) {
    case 'json':
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(step.value));
      return;
    case 'text':
      response.end(step.text);
      return;
    case 'status':
      response.writeHead(step.status, step.headers).end();
      return;
    case 'half': {
      const bytes = Buffer.from(step.text);
      response.setHeader('Content-Length', bytes.length);
      response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
      return;
    }
    case 'silence':
      return;
    default:
      step satisfies never;
  }
}
