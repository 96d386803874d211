/** Many objects, and large ones, in S3: lists come in pages, deletes in thousands, and what is larger than 16 MB is uploaded in parts. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checksumWithBlocks } from '../../src/files/block-checksums.ts';
import { ObjectExists } from '../../src/store/result-store.ts';
import { S3ResultStore } from '../../src/store/s3/s3-result-store.ts';
import { S3_ENVIRONMENT, S3_MISSING, S3Server } from '../s3-server.ts';
import { makeCommandLine } from './command.ts';
import { type FaultyStore, type RequestFault, startFaultyStore } from './faulty-store.ts';

const NEVER = new AbortController().signal;
/** More than two pages of a list, which has 1,000 names. */
const OBJECTS = 2050;
const MEGABYTE = 1024 * 1024;
const PART_BYTES = 16 * MEGABYTE;
const RUN = '01HR0000000000000000000000';

interface Bucket {
  readonly server: S3Server;
  /** A relay before it, which knows what was asked. */
  readonly relay: FaultyStore;
  readonly store: S3ResultStore;
  readonly folder: string;
}

const PREFIX = 'many/';

async function openBucket(t: TestContext, faultOf: (asked: string) => RequestFault = () => 'none'): Promise<Bucket> {
  Object.assign(process.env, S3_ENVIRONMENT);
  const server = await S3Server.start();
  t.after(async () => await server[Symbol.asyncDispose]());
  const relay = await startFaultyStore(t, server.endpoint, () => 'none', faultOf);
  const folder = await mkdtemp(join(tmpdir(), 'qrs-s3-many-'));
  t.after(async () => await rm(folder, { recursive: true, force: true }));
  const options = {
    bucket: server.bucket,
    prefix: PREFIX,
    endpoint: relay.url,
    cacheFolder: folder,
    cacheBytesMax: 1e9,
  };
  const store = new S3ResultStore(options);
  t.after(async () => await store[Symbol.asyncDispose]());
  return { server, relay, store, folder };
}

const namesFrom = (count: number) =>
  Array.from({ length: count }, (_, n) => `part-${String(n).padStart(5, '0')}.parquet`);

/** Objects of a writer who has gone, put into the server's own folder. */
async function plant({ server }: Bucket, count: number): Promise<readonly string[]> {
  const folder = join(server.bucketFolder, PREFIX, RUN, '5');
  await mkdir(folder, { recursive: true });
  const names = namesFrom(count);
  for (const name of names) await writeFile(join(folder, name), 'half');
  return names.map((name) => `${RUN}/5/${name}`);
}

const matching = ({ relay }: Bucket, pattern: RegExp) => relay.asked.filter((asked) => pattern.test(asked));

test('a list of thousands of objects comes in pages, and has each once', { skip: S3_MISSING ?? false }, async (t) => {
  const bucket = await openBucket(t);
  const keys = await plant(bucket, OBJECTS);
  const listed = await Array.fromAsync(bucket.store.list(''));
  assert.deepEqual(listed.map(({ key }) => key).sort(), keys);
  assert.equal(
    listed.reduce((sum, { objectBytes }) => sum + objectBytes, 0),
    4 * OBJECTS,
  );
  assert.equal(matching(bucket, /^GET \S+list-type=2/).length, 3);
  assert.deepEqual(await bucket.store.findMissing([...keys.slice(0, 40), `${RUN}/5/none`]), [`${RUN}/5/none`]);
  assert.deepEqual(await bucket.store.delete(keys), []);
  assert.equal(matching(bucket, /^POST \S+delete/).length, 3, 'a thousand at a time');
  assert.deepEqual(await Array.fromAsync(bucket.store.list('')), []);
});

test('a sweep deletes all that a writer left, page by page, and no result', {
  skip: S3_MISSING ?? false,
}, async (t) => {
  const bucket = await openBucket(t);
  const qrs = await makeCommandLine(t, {
    QRS_STORE_URL: `s3://${bucket.server.bucket}/many?endpoint=${bucket.relay.url}`,
  });
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
  assert.equal((await qrs.run(['publish', '-', '--query', '7', '--format', 'csv'], 'n\n1\n')).code, 0);
  const [kept] = await Array.fromAsync(bucket.store.list(''), ({ key }) => key);
  await plant(bucket, OBJECTS);
  assert.deepEqual(JSON.parse(await qrs.get('sweep', '--yes', '--json')), {
    expired: 0,
    orphans: 1,
    bytes: 4 * OBJECTS,
  });
  assert.deepEqual(await Array.fromAsync(bucket.store.list(''), ({ key }) => key), [kept]);
  assert.match((await qrs.run(['verify'])).err, /^1 stored object, none damaged\n$/);
});

test('what is larger than 16 MB is uploaded in parts, one after the other, and read back by ranges', {
  skip: S3_MISSING ?? false,
}, async (t) => {
  const bucket = await openBucket(t);
  const { store, folder } = bucket;
  const path = join(folder, 'large');
  // Three parts, of which the last is short.
  const bytes = Buffer.alloc(2 * PART_BYTES + 1000, Buffer.from(Array.from({ length: 251 }, (_, n) => n)));
  await writeFile(path, bytes);
  const layout = { rows: [1, 1], bytes: [PART_BYTES + 7, PART_BYTES - 7, 1000] };
  const { blocks } = await checksumWithBlocks(path, layout, NEVER);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const object = { key: '01A/1/part-00000.parquet', objectBytes: bytes.length, sha256, blocks };
  await store.put(object.key, path, NEVER);
  assert.equal(matching(bucket, /^POST \S+uploads/).length, 1);
  assert.deepEqual(
    matching(bucket, /^PUT /).map((asked) => /partNumber=(\d+)/.exec(asked)?.[1]),
    ['1', '2', '3'],
  );
  await store.verify(object, NEVER);
  await using opened = await store.open(object, { from: 1, to: 2 }, NEVER);
  assert((await readFile(opened.path)).subarray(PART_BYTES + 7).equals(bytes.subarray(PART_BYTES + 7)));
});

test('an object of just 16 MB goes in one request', { skip: S3_MISSING ?? false }, async (t) => {
  const bucket = await openBucket(t);
  const path = join(bucket.folder, 'small');
  await writeFile(path, '');
  await truncate(path, PART_BYTES);
  await bucket.store.put('01A/1/part-00000.parquet', path, NEVER);
  assert.equal(matching(bucket, /uploads|partNumber/).length, 0);
  assert.equal(matching(bucket, /^PUT /).length, 1);
});

test('an upload that fails in the middle leaves no object and no parts, and the file stays', {
  skip: S3_MISSING ?? false,
}, async (t) => {
  const bucket = await openBucket(t, (asked) => (asked.includes('partNumber=2') ? 'AccessDenied' : 'none'));
  const path = join(bucket.folder, 'large');
  await writeFile(path, '');
  await truncate(path, 2 * PART_BYTES);
  await assert.rejects(bucket.store.put('01A/1/part-00000.parquet', path, NEVER), { name: 'AccessDenied' });
  assert.equal(matching(bucket, /^DELETE \S+uploadId=/).length, 1);
  assert.deepEqual(await Array.fromAsync(bucket.store.list('')), []);
  assert.deepEqual(await readdir(bucket.folder), ['large']);
});

const PUTS = [
  { name: 'in one request', bytes: 1000, last: /^PUT / },
  { name: 'in parts', bytes: PART_BYTES + 1, last: /^POST \S+uploadId=/ },
];

for (const { name, bytes, last } of PUTS) {
  const skip = S3_MISSING ?? false;
  const key = '01A/1/part-00000.parquet';

  test(`put ${name}: an answer that was lost is asked for again, and what had arrived is not taken for another's`, {
    skip,
  }, async (t) => {
    let lost = 0;
    const isLost = (asked: string) => last.test(asked) && lost++ === 0;
    const bucket = await openBucket(t, (asked) => (isLost(asked) ? 'answer lost' : 'none'));
    const path = join(bucket.folder, 'object');
    await writeFile(path, randomBytes(bytes));
    await bucket.store.put(key, path, NEVER);
    assert.ok(lost > 1, 'it was asked again');
    assert.deepEqual(await readdir(bucket.folder), [], 'the file is moved away');
    await writeFile(path, randomBytes(bytes));
    await assert.rejects(bucket.store.put(key, path, NEVER), ObjectExists);
  });

  test(`put ${name}: while another request for the key goes on, it is tried again`, { skip }, async (t) => {
    let conflicts = 2;
    const bucket = await openBucket(t, (asked) =>
      last.test(asked) && conflicts-- > 0 ? 'ConditionalRequestConflict' : 'none',
    );
    const path = join(bucket.folder, 'object');
    await writeFile(path, randomBytes(bytes));
    await bucket.store.put(key, path, NEVER);
    const stored = await Array.fromAsync(bucket.store.list(''), ({ objectBytes }) => objectBytes);
    assert.deepEqual(stored, [bytes]);
  });

  test(`put ${name}: a server that knows no condition is told as that`, { skip }, async (t) => {
    const bucket = await openBucket(t, (asked) => (last.test(asked) ? 'NotImplemented' : 'none'));
    const path = join(bucket.folder, 'object');
    await writeFile(path, randomBytes(bytes));
    await assert.rejects(bucket.store.put(key, path, NEVER), {
      message: 'the S3 server does not know `If-None-Match: *`, without which an object could be replaced: use another',
    });
    assert.deepEqual(await readdir(bucket.folder), ['object']);
  });
}
