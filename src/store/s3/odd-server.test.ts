/** What the store in S3 makes of a server that cannot be found, or whose answers are odd. */
import assert from 'node:assert/strict';
import dns from 'node:dns';
import { test } from 'node:test';
import { refusing, storeAt, storeOf } from '../../../test/fake-s3.ts';
import { StoreUnavailable, withReason } from '../../errors/store-unavailable.ts';

const KEY = '01JABCDEFGHJKMNPQRSTVWXYZ0/1/part-00000.parquet';

test('a name server that is away is a store that cannot be reached at the moment', async (t) => {
  t.mock.method(dns, 'lookup', (name: string, _: unknown, found: (error: Error) => void) => {
    found(Object.assign(new Error(`getaddrinfo EAI_AGAIN ${name}`), { code: 'EAI_AGAIN', syscall: 'getaddrinfo' }));
  });
  const store = await storeAt(t, 'http://s3.example.com');
  await assert.rejects(store.findInstallation(), StoreUnavailable);
});

test('of a host whose addresses all fail it is told how, in the doctor once', async (t) => {
  t.mock.method(dns, 'lookup', (_name: string, _: unknown, found: (error: null, addresses: object[]) => void) => {
    found(null, [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]);
  });
  const store = await storeAt(t, 'http://s3.example.com:1');
  const error = await store.check().catch(withReason);
  const message =
    'nothing can be written to it (the store of results cannot be reached at the moment): S3 fails at PutObject of p/staging/probe in the bucket results: ECONNREFUSED';
  assert.equal((error as Error).message, message);
  assert.equal((withReason(error) as Error).message, message);
});

const page = (token: string) =>
  `<ListBucketResult><IsTruncated>true</IsTruncated>${token}<Contents><Key>p/${KEY}</Key><Size>1</Size></Contents></ListBucketResult>`;

test('a list that breaks off is not taken for a whole one', async (t) => {
  const store = await storeOf(t, (_, answering) => void answering.end(page('')));
  await assert.rejects(Array.fromAsync(store.list('')), {
    name: 'StoreUnavailable',
    message: 'the store of results does not list all of its objects',
  });
});

test('a list that goes round in circles ends with an error', async (t) => {
  let pages = 0;
  const store = await storeOf(t, (_, answering) => {
    pages += 1;
    answering.end(page(`<NextContinuationToken>${pages % 2 === 0 ? 'a' : 'b'}</NextContinuationToken>`));
    if (pages > 20) assert.fail('it went on and on');
  });
  await assert.rejects(Array.fromAsync(store.list('')), {
    name: 'StoreUnavailable',
    message: 'the store of results lists the same objects again and again',
  });
});

test('an object of which the server does not say how long it is, as behind a proxy that packs answers, is not missing', async (t) => {
  const store = await storeOf(t, (asked, answering) => {
    assert.equal(asked.method, 'HEAD');
    answering.writeHead(200, { 'transfer-encoding': 'chunked' }).end();
  });
  assert.deepEqual(await store.findMissing([KEY]), []);
});

test('a clock that is set wrong, and right again, costs no request', async (t) => {
  const rightNow = Date.now();
  let isOffBy = 0;
  t.mock.method(Date, 'now', () => rightNow + isOffBy);
  const store = await storeOf(t, (asked, answering) => {
    const sent = String(asked.headers['x-amz-date']).replace(/(....)(..)(..)T(..)(..)(..)Z/, '$1-$2-$3T$4:$5:$6Z');
    answering.setHeader('date', new Date(rightNow).toUTCString());
    const isRefused = Math.abs(Date.parse(sent) - rightNow) > 15 * 60_000;
    if (isRefused) refusing(403, 'RequestTimeTooSkewed', 'The difference is too large')(asked, answering);
    else answering.writeHead(200, { 'content-length': 1 }).end(asked.method === 'HEAD' ? undefined : '1');
  });
  for (const hours of [0, 960, 0, -3, 0]) {
    isOffBy = hours * 3_600_000;
    assert.deepEqual(await store.findMissing([KEY]), []);
    assert.equal(await store.findInstallation(), '1');
  }
});

test('what the server refuses is told with what was asked of it, and why, as far as it says', async (t) => {
  const denied = await storeOf(t, refusing(403, 'AccessDenied', 'Access Denied'));
  const asked = `of p/${KEY} in the bucket results`;
  const object = { key: KEY, objectBytes: 100, sha256: '' };
  await assert.rejects(denied.verify(object, new AbortController().signal), {
    name: 'AccessDenied',
    message: `S3 refuses GetObject ${asked}: AccessDenied, Access Denied`,
  });
  await assert.rejects(denied.findMissing([KEY]), { message: `S3 refuses HeadObject ${asked}: status 403` });
  await assert.rejects(Array.fromAsync(denied.list('')), {
    message: 'S3 refuses ListObjectsV2 of p/ in the bucket results: AccessDenied, Access Denied',
  });
  await assert.rejects(denied.delete([KEY]), {
    message: 'S3 refuses DeleteObjects in the bucket results: AccessDenied, Access Denied',
  });
});

test('what is no S3 server is told as what answers there', async (t) => {
  const garbage = await storeOf(t, ({ socket }) => void socket.end('220 mail.example.com ready\r\n'));
  await assert.rejects(garbage.findInstallation(), {
    message: /^S3 fails at GetObject of p\/installation\.txt in the bucket results: Parse Error: Expected HTTP/,
  });
});

test('why a store cannot be written to is told as far as it is known', async (t) => {
  const gone = await storeOf(t, refusing(404, 'NoSuchBucket', 'The specified bucket does not exist'));
  await assert.rejects(gone.check(), {
    message: 'nothing can be written to it (the bucket of the store is not there)',
  });
  const denied = await storeOf(t, refusing(403, 'AccessDenied', 'Access Denied'));
  await assert.rejects(denied.check(), { message: 'nothing can be written to it (AccessDenied)' });
});

test('a region that nobody has given is told with where to give it', async (t) => {
  const store = await storeAt(t, 'http://127.0.0.1:9');
  const { AWS_REGION } = process.env;
  t.after(() => {
    if (AWS_REGION !== undefined) process.env.AWS_REGION = AWS_REGION;
  });
  delete process.env.AWS_REGION;
  process.env.AWS_CONFIG_FILE = '/dev/null';
  await assert.rejects(store.findInstallation(), {
    message:
      'S3 fails at GetObject of p/installation.txt in the bucket results: Region is missing: set AWS_REGION, or `region=` in the address of the store',
  });
});
