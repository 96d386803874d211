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

export interface FaultyStore {
  readonly url: string;
  /** All requests so far, in order: `METHOD path`. */
  readonly asked: readonly string[];
  /** Paths of the reads of objects so far, in order. */
  readonly reads: readonly string[];
  /** Reads that are neither answered nor given up. */
  readonly open: number;
  /** Resolves when an object whose path has this in it is read from now on. */
  nextRead(part: string): Promise<void>;
  /** Answers what is held. */
  release(): void;
}

const REFUSED = '<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>not for you</Message></Error>';
const SLOW_MILLIS = 20;
const THROTTLED =
  '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>reduce your request rate</Message></Error>';

/**
 * @param faultOf what happens to a read of the object of this path
 * @param isRefused whether a request, `METHOD path`, is answered with 403
 */
export async function startFaultyStore(
  t: TestContext,
  serverUrl: string,
  faultOf: (path: string) => StoreFault,
  isRefused: (asked: string) => boolean = () => false,
): Promise<FaultyStore> {
  const { hostname, port } = new URL(serverUrl);
  const reads: string[] = [];
  const requests: string[] = [];
  const watchers: { readonly part: string; readonly wake: () => void }[] = [];
  let open = 0;
  let released = Promise.withResolvers<void>();

  async function answer(asked: IncomingMessage, answering: ServerResponse): Promise<void> {
    const path = asked.url ?? '';
    requests.push(`${asked.method} ${path}`);
    if (isRefused(`${asked.method} ${path}`)) {
      asked.resume();
      answering.writeHead(403, { 'content-type': 'application/xml' }).end(REFUSED);
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
      for (const { part, wake } of watchers) if (path.includes(part)) wake();
    }
    if (fault === 'slow') await wait(SLOW_MILLIS);
    if (fault === 'held') await Promise.race([released.promise, once(answering, 'close')]);
    if (fault === 'throttled')
      return void answering.writeHead(503, { 'content-type': 'application/xml' }).end(THROTTLED);
    const { method, headers } = asked;
    const passing: ClientRequest = request({ hostname, port, path, method, headers }, (answered) => {
      pass(answered, answering, fault);
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
    nextRead: async (part) => await new Promise<void>((wake) => watchers.push({ part, wake })),
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
