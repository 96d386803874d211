/** The result store in S3 keeps the contract. */
import { mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite } from 'node:test';
import { S3ResultStore } from '../../src/store/s3/s3-result-store.ts';
import { S3_ENVIRONMENT, S3_MISSING, S3Server } from '../s3-server.ts';
import { resultStoreContract } from './result-store.ts';

suite('on a server', { skip: S3_MISSING ?? false }, async () => {
  if (S3_MISSING !== undefined) return;
  Object.assign(process.env, S3_ENVIRONMENT);
  const server = await S3Server.start();
  after(async () => await server[Symbol.asyncDispose]());
  let stores = 0;

  resultStoreContract('s3', async () => {
    const cacheFolder = await mkdtemp(join(tmpdir(), 'qrs-s3-cache-'));
    stores += 1;
    const prefix = `store${stores}/`;
    const { bucket, endpoint } = server;
    const store = new S3ResultStore({ bucket, prefix, endpoint, cacheFolder, cacheBytesMax: 100_000_000 });
    // What was fetched before is right, whatever has happened to the object since. So it is lost, too.
    const emptyCache = async () => {
      for (const name of await readdir(cacheFolder)) await rm(join(cacheFolder, name));
    };
    return {
      store,
      damage: async (key, at) => {
        await using file = await open(join(server.bucketFolder, prefix, key), 'r+');
        const place = at ?? (await file.stat()).size - 1;
        const byte = Buffer.alloc(1);
        await file.read(byte, 0, 1, place);
        byte[0] = (byte[0] ?? 0) ^ 1;
        await file.write(byte, 0, 1, place);
        await emptyCache();
      },
      lose: async (key) => {
        await rm(join(server.bucketFolder, prefix, key));
        await emptyCache();
      },
      close: async () => {
        await store[Symbol.asyncDispose]();
        await rm(cacheFolder, { recursive: true, force: true });
      },
    };
  });
});
