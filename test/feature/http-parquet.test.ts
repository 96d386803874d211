/** Parquet answers: what is in the file, what cannot be, and what making the file takes. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openAnswer } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { LONG_RESULT_ROWS, publishLongResult } from './long-result.ts';
import { readParquet } from './parquet-reader.ts';

const ALL = 'ignore_max_datapoints_per_request=true';
const LONG = `/v1/query/7/results?format=parquet&${ALL}`;

async function bytesOf(service: HttpService, path: string): Promise<Uint8Array> {
  const response = await service.get(path);
  const bytes = new Uint8Array(await response.arrayBuffer());
  assert.equal(response.status, 200, Buffer.from(bytes).toString());
  return bytes;
}

/** What is left in the folders where Parquet files are made. */
async function filesLeft(service: HttpService): Promise<readonly string[]> {
  const found = await readdir(join(service.commandLine.dataDir, 'views'), { recursive: true });
  return found.filter((name) => name.endsWith('rows.parquet'));
}

/** Column → type, JSON of its value as published, type in the file, value as DuckDB reads it. */
const VALUES: Readonly<Record<string, readonly [string, string, string, unknown]>> = {
  flag: ['boolean', 'true', 'BOOLEAN', true],
  tiny: ['tinyint', '-128', 'TINYINT', -128],
  'a name, with "marks"': ['integer', '7', 'INTEGER', 7],
  big: ['bigint', '9007199254740993', 'BIGINT', '9007199254740993'],
  huge: ['hugeint', '"170141183460469231731687303715884105727"', 'VARCHAR', '170141183460469231731687303715884105727'],
  wei: ['uint256', `"${2n ** 256n - 1n}"`, 'VARCHAR', String(2n ** 256n - 1n)],
  price: ['decimal(38, 6)', '"12345678901234567890.100000"', 'DECIMAL(38,6)', '12345678901234567890.100000'],
  ratio: ['double', '"NaN"', 'DOUBLE', 'NaN'],
  single: ['real', '0.1', 'FLOAT', 0.10000000149011612],
  Text: ['varchar', '"é\\n"', 'VARCHAR', 'é\n'],
  hash: ['varbinary', '"0x00ff"', 'BLOB', '\\x00\\xFF'],
  doc: ['json', '{"a":[1]}', 'JSON', '{"a":[1]}'],
  id: ['uuid', '"6a3e12f0-0000-4000-8000-000000000001"', 'UUID', '6a3e12f0-0000-4000-8000-000000000001'],
  day: ['date', '"2024-03-05"', 'DATE', '2024-03-05'],
  at: ['timestamp(3)', '"2024-03-05 20:50:59.123"', 'TIMESTAMP', '2024-03-05 20:50:59.123'],
  nanos: ['timestamp(9)', '"2024-03-05 20:50:59.123456789"', 'TIMESTAMP_NS', '2024-03-05 20:50:59.123456789'],
  zoned: [
    'timestamp(6) with time zone',
    '"2024-03-05 20:50:59.5 UTC"',
    'TIMESTAMP WITH TIME ZONE',
    '2024-03-05 20:50:59.5+00',
  ],
  clock: ['time', '"20:50:59.5"', 'TIME', '20:50:59.5'],
  span: ['interval', '"1 year 2 days"', 'VARCHAR', '1 year 2 days'],
  list: ['array(varchar)', '["x",null]', 'VARCHAR[]', ['x', null]],
  map: ['map(varchar, bigint)', '{"k":1}', 'MAP(VARCHAR, BIGINT)', [{ key: 'k', value: '1' }]],
  pair: [
    'array(row(a bigint, "b c" row(d json)))',
    '[{"a":1,"b c":{"d":2}},null]',
    'STRUCT("a" BIGINT, "b c" STRUCT("d" VARCHAR))[]',
    [{ a: '1', 'b c': { d: '2' } }, null],
  ],
};

test('names, types and values', async (t) => {
  const service = await startHttpService(t);
  const columns = Object.entries(VALUES);
  const line = `{${columns.map(([name, [, json]]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;
  const nulls = `{${columns.map(([name]) => `${JSON.stringify(name)}:null`).join(',')}}`;
  const types = Object.fromEntries(columns.map(([name, [type]]) => [name, type]));
  await service.publish(7, `${line}\n${nulls}\n`, { format: 'ndjson', types });
  const found = await readParquet(await bytesOf(service, '/v1/query/7/results?format=parquet'));
  assert.deepEqual(
    found.names.map((name, i) => [name, found.types[i], found.rows[0]?.[i]]),
    columns.map(([name, [, , type, value]]) => [name, type, value]),
  );
  assert.deepEqual(found.rows[1], Array(columns.length).fill(null));
  const none = await readParquet(await bytesOf(service, '/v1/query/7/results?format=parquet&limit=0'));
  assert.deepEqual(none, { ...found, rows: [] });
});

test('columns, filters, sort, pages and samples', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'n,w\n1,a\n2,b\n3,a\n4,b\n5,a\n');
  const rows = async (query: string) => {
    const { names, rows: found } = await readParquet(
      await bytesOf(service, `/v1/query/7/results?format=parquet&${query}`),
    );
    return [names.join(), ...found.map((row) => row.join())];
  };
  assert.deepEqual(await rows('columns=w,n&limit=2&offset=1'), ['w,n', 'b,2', 'a,3']);
  assert.deepEqual(await rows("filters=w = 'a'&columns=n"), ['n', '1', '3', '5']);
  assert.deepEqual(await rows('sort_by=w desc, n desc&limit=3'), ['n,w', '4,b', '2,b', '5,a']);
  assert.deepEqual(await rows("filters=w = 'a'&sort_by=n desc&offset=1&limit=1"), ['n,w', '3,a']);
  assert.deepEqual(await rows('filters=n > 9'), ['n,w']);
  assert.deepEqual(await rows('offset=9'), ['n,w']);
  assert.equal((await rows('sample_count=3')).length, 4);
  assert.deepEqual((await rows('sample_count=9&sort_by=n desc')).slice(0, 2), ['n,w', '5,a']);
  const filtered = await service.get("/v1/query/7/results?format=parquet&filters=w = 'a'&limit=1");
  await filtered.arrayBuffer();
  assert.equal(filtered.headers.get('x-service-filtered-row-count'), '3');
  assert.equal(filtered.headers.get('x-service-row-count'), '1');
  // All but the samples: no file of a sample is kept.
  assert.equal((await filesLeft(service)).length, 7);
});

test('names that cannot be together in one file are refused; without them the file can be had', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, '{"chain":1,"Chain":2,"":3,"r":{"x":1}}\n', {
    format: 'ndjson',
    types: { r: 'row(x bigint, "X" bigint)' },
  });
  const refusal = async (columns: string) => {
    const response = await service.get(`/v1/query/7/results?format=parquet&columns=${columns}`);
    const { error } = (await response.json()) as { error: string };
    assert.deepEqual([response.status, response.headers.get('x-error-code')], [400, 'unsupported_column']);
    return error.replace('; leave such a column out with columns=…, or ask for another format', '');
  };
  assert.equal(
    await refusal('chain,Chain'),
    'Parquet cannot hold names that differ only in case, as "chain" and "Chain" do',
  );
  assert.equal(await refusal('chain,""'), 'Parquet has no empty names');
  assert.equal(
    await refusal('r'),
    'Parquet cannot hold names that differ only in case, as "x" and "X" do, within the column "r"',
  );
  assert.deepEqual(
    (await readParquet(await bytesOf(service, '/v1/query/7/results?format=parquet&columns=Chain'))).rows,
    [['2']],
  );
});

test('a long result, of several parts, is whole and in order, and is not compressed again', async (t) => {
  const service = await startHttpService(t);
  await publishLongResult(service, 7);
  const response = await service.get(LONG, { headers: { 'accept-encoding': 'gzip' } });
  assert.equal(response.headers.get('content-encoding'), null);
  assert.equal(response.headers.get('x-service-row-count'), String(LONG_RESULT_ROWS));
  const ordered = 'count(*)::INTEGER, bool_and(n = place)';
  const inOrder = `${ordered} FROM (SELECT n, row_number() OVER () - 1 AS place FROM rows)--`;
  assert.deepEqual((await readParquet(new Uint8Array(await response.arrayBuffer()), inOrder)).rows, [
    [LONG_RESULT_ROWS, true],
  ]);
  const [from, count] = [30_000, 100_000];
  const middle = await bytesOf(service, `${LONG}&offset=${from}&limit=${count}`);
  assert.deepEqual((await readParquet(middle, inOrder.replace('- 1', `- 1 + ${from}`))).rows, [[count, true]]);
  const last = service.observed.filter(({ kind }) => kind === 'answered').at(-1);
  assert(last?.kind === 'answered');
  assert.deepEqual(
    [last.stats.rowCount, last.stats.cellBytes, last.stats.bodyBytes],
    [count, count * 108, middle.byteLength],
  );
});

test('a file that is being sent is given to others, too; it counts as being sent until its client leaves', async (t) => {
  const service = await startHttpService(t, { QRS_HEAVY_READS_PER_KEY: '1' });
  // Random bytes, so that the file is larger than the buffers of a connection.
  const rows = Array.from({ length: 110_000 }, () => randomBytes(90).toString('base64')).join('\n');
  await service.publish(7, `w\n${rows}\n`);
  const answer = await openAnswer(service.url, LONG, { 'x-service-api-key': service.key });
  await once(answer, 'readable');
  const sentBytes = async () => {
    const metrics = await (await service.get('/metrics', { key: '' })).text();
    return Number(/^qrs_parquet_bytes (\d+)/m.exec(metrics)?.[1]);
  };
  assert.equal(await sentBytes(), Number(answer.headers['content-length']));
  const other = await service.get(LONG);
  assert.deepEqual([other.status, (await other.arrayBuffer()).byteLength], [200, await sentBytes()]);
  answer.destroy();
  // Tries far more often than it takes the service to see the client go.
  for (let tries = 0; (await sentBytes()) > 0 && tries < 2000; tries += 1) await service.get('/healthz');
  assert.equal(await sentBytes(), 0);
  assert.equal((await filesLeft(service)).length, 1);
  assert.deepEqual(service.faults, []);
});

test('one key may have a limited number of Parquet answers made at a time', async (t) => {
  const service = await startHttpService(t, { QRS_HEAVY_READS_PER_KEY: '1' });
  await service.publish(7, 'n\n1\n2\n');
  const store = await service.store();
  const open = store.open.bind(store);
  const opening = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  t.mock.method(store, 'open', async (...asked: Parameters<typeof open>) => {
    opening.resolve();
    await goOn.promise;
    return await open(...asked);
  });
  const made = service.get(LONG);
  await opening.promise;
  const refused = await service.get(`${LONG}&limit=1`);
  assert.deepEqual([refused.status, refused.headers.get('x-error-code')], [429, 'rate_limited']);
  goOn.resolve();
  assert.equal((await made).status, 200);
  assert.equal((await service.get(`${LONG}&limit=1`)).status, 200);
});

test('HEAD makes no file; after a file was made, HEAD tells its length and tag', async (t) => {
  const service = await startHttpService(t, { QRS_HEAVY_READS_PER_KEY: '1', QRS_VIEW_CACHE: '0' });
  await service.publish(7, 'n\n1\n');
  const head = async () => {
    const { status, headers } = await service.get(LONG, { method: 'HEAD' });
    const named = ['content-type', 'content-length', 'etag', 'x-service-row-count'].map((name) => headers.get(name));
    return [status, ...named];
  };
  for (let call = 0; call < 3; call += 1) {
    assert.deepEqual(await head(), [200, 'application/vnd.apache.parquet', null, null, '1']);
  }
  assert.deepEqual(await filesLeft(service), []);
  const whole = await service.get(LONG);
  const bytes = Buffer.from(await whole.arrayBuffer());
  const etag = whole.headers.get('etag') ?? assert.fail('no ETag');
  assert.equal(whole.headers.get('content-length'), String(bytes.byteLength));
  const digest = `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`;
  assert.equal(whole.headers.get('repr-digest'), digest);
  // No file is kept here, but its length and tag are. Tries far more often than it takes until the file is gone.
  for (let tries = 0; (await filesLeft(service)).length > 0 && tries < 2000; tries += 1) await service.get('/healthz');
  assert.deepEqual(await head(), [200, 'application/vnd.apache.parquet', String(bytes.byteLength), etag, '1']);
  const unchanged = await service.get(LONG, { headers: { 'if-none-match': etag } });
  assert.deepEqual([unchanged.status, unchanged.headers.get('etag')], [304, etag]);
  assert.deepEqual(await filesLeft(service), []);
});

test('a reader may begin at the end, as readers of Parquet do', async (t) => {
  const service = await startHttpService(t);
  await publishLongResult(service, 7);
  const part = async (range: string) => {
    const answer = await service.get(LONG, { headers: { range } });
    assert.equal(answer.status, 206);
    return Buffer.from(await answer.arrayBuffer());
  };
  const end = await part('bytes=-8');
  assert.equal(end.toString('latin1', 4), 'PAR1');
  const footer = await part(`bytes=-${end.readUInt32LE(0) + 8}`);
  const whole = Buffer.from(await bytesOf(service, LONG));
  assert(whole.subarray(-footer.length).equals(footer));
  const after = await service.get(LONG, { headers: { range: `bytes=${whole.length}-` } });
  assert.deepEqual([after.status, after.headers.get('content-range')], [416, `bytes */${whole.length}`]);
  assert.equal((await filesLeft(service)).length, 1);
});
