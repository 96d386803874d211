/** A store in S3 whose server does what a test says, for what a real one cannot be made to do. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { S3ResultStore } from '../src/store/s3/s3-result-store.ts';
import { S3_ENVIRONMENT } from './s3-server.ts';

/** The bucket is `results`, the prefix `p/`. */
export async function storeAt(t: TestContext, endpoint: string): Promise<S3ResultStore> {
  Object.assign(process.env, S3_ENVIRONMENT);
  const cacheFolder = await mkdtemp(join(tmpdir(), 'qrs-fake-s3-'));
  t.after(async () => await rm(cacheFolder, { recursive: true, force: true }));
  const store = new S3ResultStore({ bucket: 'results', prefix: 'p/', endpoint, cacheFolder, cacheBytesMax: 1_000_000 });
  t.after(async () => await store[Symbol.asyncDispose]());
  return store;
}

export async function storeOf(t: TestContext, answer: RequestListener): Promise<S3ResultStore> {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return await storeAt(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

/** An answer that refuses. As in S3, one to HEAD says nothing but its status. */
export function refusing(status: number, code: string, message: string): RequestListener {
  return (asked, answering) => {
    asked.resume();
    const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`;
    answering.writeHead(status, { 'content-type': 'application/xml' }).end(asked.method === 'HEAD' ? '' : body);
  };
}
