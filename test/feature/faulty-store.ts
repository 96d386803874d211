/** A relay before an S3 server that does to each read of an object what a test says: a store as bad as they get. */
import { once } from 'node:events';
import { type ClientRequest, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';

export type StoreFault =
  | 'none'
  | 'slow'
  /** 503: too many requests. */
  | 'throttled'
  /** The connection breaks in the middle of the bytes. */
  | 'breaks off'
  /** Fewer bytes, and a length that says so. */
  | 'too short'
  | 'wrong bytes'
  /** Nothing is answered, until the test says so or the reader leaves. */
  | 'held';

/** What happens to any other request. */
export type RequestFault =
  | 'none'
  | 'AccessDenied'
  /** Another request for the same key goes on. */
  | 'ConditionalRequestConflict'
  /** The server does not know what one of the headers means. */
  | 'NotImplemented'
  /** It is carried out, and the connection breaks before the answer. */
  | 'answer lost';

const STATUSES = { AccessDenied: 403, ConditionalRequestConflict: 409, NotImplemented: 501 };

export interface FaultyStore {
  readonly url: string;
  /** All requests so far, in order: `METHOD path`. */
  readonly asked: readonly string[];
  /** Paths of the reads of objects so far, in order. */
  readonly reads: readonly string[];
  /** Reads that are neither answered nor given up. */
  readonly open: number;
  /** Resolves when an object with such a path is read from now on. */
  nextRead(path: RegExp): Promise<void>;
  /** Answers what is held. */
  release(): void;
}

const SLOW_MILLIS = 20;

const errorOf = (code: string) =>
  `<?xml version="1.0"?><Error><Code>${code}</Code><Message>by the test</Message></Error>`;

/**
 * @param faultOf what happens to a read of the object of this path
 * @param requestFaultOf what happens to a request, `METHOD path`
 */
export async function startFaultyStore(
  t: TestContext,
  serverUrl: string,
  faultOf: (path: string) => StoreFault,
  requestFaultOf: (asked: string) => RequestFault = () => 'none',
): Promise<FaultyStore> {
  const { hostname, port } = new URL(serverUrl);
  const reads: string[] = [];
  const requests: string[] = [];
  const watchers: { readonly path: RegExp; readonly wake: () => void }[] = [];
  let open = 0;
  let released = Promise.withResolvers<void>();

  async function answer(asked: IncomingMessage, answering: ServerResponse): Promise<void> {
    const path = asked.url ?? '';
    requests.push(`${asked.method} ${path}`);
    const requestFault = requestFaultOf(`${asked.method} ${path}`);
    if (requestFault !== 'none' && requestFault !== 'answer lost') {
      asked.resume();
      answering.writeHead(STATUSES[requestFault], { 'content-type': 'application/xml' }).end(errorOf(requestFault));
      return;
    }
    const isRead = asked.method === 'GET' && path.includes('.parquet');
    const fault = isRead ? faultOf(path) : 'none';
    if (isRead) {
      reads.push(path);
      open += 1;
      answering.on('close', () => {
        open -= 1;
      });
      for (const watcher of watchers) if (watcher.path.test(path)) watcher.wake();
    }
    if (fault === 'slow') await wait(SLOW_MILLIS);
    if (fault === 'held') await Promise.race([released.promise, once(answering, 'close')]);
    if (fault === 'throttled')
      return void answering.writeHead(503, { 'content-type': 'application/xml' }).end(errorOf('SlowDown'));
    const { method, headers } = asked;
    const passing: ClientRequest = request({ hostname, port, path, method, headers }, (answered) => {
      if (requestFault === 'answer lost') answering.destroy();
      else pass(answered, answering, fault);
    });
    passing.on('error', () => answering.destroy());
    answering.on('close', () => passing.destroy());
    asked.pipe(passing);
  }

  const relay = createServer((asked, answering) => {
    answer(asked, answering).catch(() => answering.destroy());
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  t.after(() => {
    relay.closeAllConnections();
    relay.close();
  });
  return {
    url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    asked: requests,
    reads,
    get open() {
      return open;
    },
    nextRead: async (path) => await new Promise<void>((wake) => watchers.push({ path, wake })),
    release: () => {
      released.resolve();
      released = Promise.withResolvers<void>();
    },
  };
}

function pass(answered: IncomingMessage, answering: ServerResponse, fault: StoreFault): void {
  const { statusCode = 500, headers } = answered;
  const chunks: Buffer[] = [];
  if (fault === 'none' || fault === 'slow' || fault === 'held') {
    answering.writeHead(statusCode, headers);
    answered.pipe(answering);
    return;
  }
  answered.on('data', (chunk: Buffer) => chunks.push(chunk));
  answered.on('end', () => {
    const bytes = Buffer.concat(chunks);
    const half = bytes.subarray(0, bytes.length >> 1);
    if (fault === 'wrong bytes') bytes[half.length] = (bytes[half.length] ?? 0) ^ 1;
    if (fault === 'too short') answering.writeHead(statusCode, { ...headers, 'content-length': half.length }).end(half);
    else if (fault === 'wrong bytes') answering.writeHead(statusCode, headers).end(bytes);
    else answering.writeHead(statusCode, headers).write(half, () => answering.destroy());
  });
}
