/** Reads from a server that answers slowly, with more of them at once than there are connections. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { S3_ENVIRONMENT } from '../../../test/s3-server.ts';
import { S3ResultStore } from './s3-result-store.ts';

const CONNECT_MILLIS = 300;
/** Longer than a connection may take to be made, each time that it is tried. */
const SLOW_MILLIS = 2000;
const READS = 120;
const BYTES = Buffer.alloc(100, 7);

test('a read that waits for its turn is not taken for a server that is away', async (t) => {
  Object.assign(process.env, S3_ENVIRONMENT);
  let slow: Promise<void> | undefined;
  let [open, openMax] = [0, 0];
  const server = createServer(async (_, response) => {
    open += 1;
    openMax = Math.max(openMax, open);
    slow ??= wait(SLOW_MILLIS);
    await slow;
    open -= 1;
    response.writeHead(206, { 'content-range': `bytes 0-99/${BYTES.length}`, 'content-length': BYTES.length });
    response.end(BYTES);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cacheFolder = await mkdtemp(join(tmpdir(), 'qrs-s3-slow-'));
  t.after(async () => {
    server.close();
    server.closeAllConnections();
    await rm(cacheFolder, { recursive: true, force: true });
  });
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const place = { bucket: 'b', prefix: '', endpoint, cacheFolder, cacheBytesMax: 1_000_000 };
  await using store = new S3ResultStore({ ...place, connectMillis: CONNECT_MILLIS });
  const sha256 = createHash('sha256').update(BYTES).digest('hex');
  const never = new AbortController().signal;
  const reads = Array.from({ length: READS }, async (_, index) => {
    const key = `01JABCDEFGHJKMNPQRSTVWXYZ0/1/part-${String(index).padStart(5, '0')}.parquet`;
    const object = { key, sha256, objectBytes: BYTES.length, rowCount: 1 };
    await using _opened = await store.open(object, { from: 0, to: 1 }, never);
  });
  await Promise.all(reads);
  assert.ok(openMax <= 50, `${openMax} requests at once`);
});
