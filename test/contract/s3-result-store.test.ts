/** The result store in S3 keeps the contract. */
import assert from 'node:assert/strict';
import { mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { ObjectDamaged } from '../../src/store/result-store.ts';
import { S3ResultStore } from '../../src/store/s3/s3-result-store.ts';
import { S3_ENVIRONMENT, S3_MISSING, S3Server } from '../s3-server.ts';
import { resultStoreContract } from './result-store.ts';

suite('on a server', { skip: S3_MISSING ?? false }, async () => {
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

  test('objects of another length take no connections for good, however many there are', async () => {
    const cacheFolder = await mkdtemp(join(tmpdir(), 'qrs-s3-cache-'));
    const { bucket, endpoint } = server;
    await using store = new S3ResultStore({ bucket, prefix: 'length/', endpoint, cacheFolder, cacheBytesMax: 1000 });
    const key = '01JABCDEFGHJKMNPQRSTVWXYZ0/1/part-00000.parquet';
    const path = join(cacheFolder, 'object');
    await writeFile(path, Buffer.alloc(1_000_000));
    await store.put(key, path, new AbortController().signal);
    const shorter = { key, sha256: '', objectBytes: 999_999, rowCount: 1 };
    // The client has 50 connections, and each object is looked at twice.
    const never = new AbortController().signal;
    for (let times = 0; times < 25; times += 1) await assert.rejects(store.verify(shorter, never), ObjectDamaged);
    await assert.rejects(store.verify(shorter, AbortSignal.timeout(10_000)), ObjectDamaged);
    await rm(cacheFolder, { recursive: true });
  });
});
