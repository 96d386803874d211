/** Long answers are whole, or cut so that nobody can take them for whole; and what other requests see meanwhile. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { storedKeys } from './behind-the-command.ts';
import { openAnswer } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { LONG_RESULT_ROWS, publishLongResult } from './long-result.ts';
import { replaceObject } from './replace-object.ts';

const WHOLE = '?ignore_max_datapoints_per_request=true';
const JSON_PATH = `/v1/query/7/results${WHOLE}`;
const CSV_PATH = `/v1/query/7/results/csv${WHOLE}`;

async function withLongResult(t: TestContext, environment: Readonly<Record<string, string>> = {}) {
  const service = await startHttpService(t, environment);
  const { id } = await publishLongResult(service, 7);
  await service.publish(8, 'n\n1\n');
  return { service, id };
}

/** An answer that has begun, of which the client has read the first chunk. */
async function begin(
  service: HttpService,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<IncomingMessage> {
  const answer = await openAnswer(service.url, path, { 'x-service-api-key': service.key, ...headers });
  assert.equal(answer.statusCode, 200);
  await once(answer, 'readable');
  return answer;
}

/** Puts something else in the place of the last object of a result. */
async function damageLastPart({ commandLine, store }: HttpService, id: string): Promise<string> {
  const keys = (await storedKeys(commandLine)).filter((key) => key.startsWith(`${id}/`) && /part-\d+/.test(key));
  const last = keys.at(-1) ?? '';
  await replaceObject(await store(), commandLine.directory, last, 'x'.repeat(5000));
  return last;
}

async function smallPageStatus(service: HttpService): Promise<number> {
  return (await service.get('/v1/query/8/results')).status;
}

test('a long result streams whole and in order, as JSON and as CSV', async (t) => {
  const { service } = await withLongResult(t);
  const json = await begin(service, JSON_PATH);
  assert.equal(json.headers['content-length'], undefined);
  const { rows, metadata } = JSON.parse(await text(json)).result;
  assert.equal(rows.length, LONG_RESULT_ROWS);
  assert(rows.every(({ n, w }: { n: number; w: string }, i: number) => n === i && w.length === 100));
  assert.equal(metadata.row_count, LONG_RESULT_ROWS);
  assert.equal(metadata.result_set_bytes, LONG_RESULT_ROWS * 108);
  assert.equal(metadata.total_result_set_bytes, LONG_RESULT_ROWS * 108);
  const lines = (await text(await begin(service, CSV_PATH))).split('\n');
  assert.equal(lines.length, LONG_RESULT_ROWS + 2);
  assert.deepEqual([lines[0], lines.at(-1)], ['n,w', '']);
  assert(lines.slice(1, -1).every((line, i) => line === `${i},${'x'.repeat(100)}`));
});

for (const [name, path, encoding] of [
  ['JSON', JSON_PATH, undefined],
  ['CSV', CSV_PATH, undefined],
  ['compressed', CSV_PATH, 'gzip'],
] as const) {
  test(`an answer that fails midway is cut, and reported as a fault: ${name}`, async (t) => {
    const { service, id } = await withLongResult(t);
    await damageLastPart(service, id);
    const answer = await begin(service, path, encoding === undefined ? {} : { 'accept-encoding': encoding });
    assert.equal(answer.headers['content-encoding'], encoding);
    await assert.rejects(text(answer), { code: 'ECONNRESET' });
    assert.equal(answer.complete, false);
    assert.equal(await smallPageStatus(service), 200);
    assert.deepEqual(service.faults.map(String), [
      'Error: the stored result is damaged and cannot be read; run the query again',
    ]);
  });
}

/** The body of a GET in HTTP/1.0, where the end of the connection is all that says that an answer is whole. */
async function bodyOverHttp10({ url, key }: HttpService, path: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(`GET ${path} HTTP/1.0\r\nHost: x\r\nX-Service-Api-Key: ${key}\r\n\r\n`);
  const answer = await text(socket);
  assert.doesNotMatch(answer, /^content-length/im);
  return answer.slice(answer.indexOf('\r\n\r\n') + 4);
}

test('an answer over HTTP/1.0 ends when it is whole, and is cut by a reset when it is not', async (t) => {
  const { service, id } = await withLongResult(t);
  assert.equal((await bodyOverHttp10(service, CSV_PATH)).split('\n').length, LONG_RESULT_ROWS + 2);
  await damageLastPart(service, id);
  await assert.rejects(bodyOverHttp10(service, CSV_PATH), { code: 'ECONNRESET' });
  assert.equal(service.faults.length, 1);
});

test('damage that appears while an answer is being sent is noticed', async (t) => {
  const { service, id } = await withLongResult(t);
  await text(await begin(service, CSV_PATH));
  const answer = await begin(service, JSON_PATH);
  await damageLastPart(service, id);
  await assert.rejects(text(answer), { code: 'ECONNRESET' });
});

test('damage from the start is an error that says so, and verify names it', async (t) => {
  const { service, id } = await withLongResult(t);
  const damaged = await damageLastPart(service, id);
  const from = LONG_RESULT_ROWS - 10;
  for (const path of [`/v1/query/7/results?offset=${from}`, `/v1/execution/${id}/results/csv?offset=${from}`]) {
    const response = await service.get(path);
    assert.deepEqual(
      [response.status, response.headers.get('x-error-code'), await response.text()],
      [500, 'result_damaged', '{"error":"the stored result is damaged and cannot be read; run the query again"}'],
    );
  }
  assert.equal((await service.get('/v1/query/7/results?limit=10')).status, 200);
  assert.equal((await service.get('/v1/query/7/results?limit=0')).status, 200);
  assert.equal((await service.json(`/v1/execution/${id}/status`)).state, 'QUERY_STATE_COMPLETED');
  assert.equal(await smallPageStatus(service), 200);
  const { code, out } = await service.commandLine.run(['verify']);
  assert.deepEqual([code, out], [1, `${damaged}\n`]);
});

test('a client that leaves cancels the read', async (t) => {
  const { service } = await withLongResult(t, { QRS_HEAVY_READS_PER_KEY: '1' });
  const answer = await begin(service, JSON_PATH);
  assert.equal((await service.get(JSON_PATH)).status, 429);
  answer.destroy();
  // Its place is free once the service has seen it leave. Tries far more often than that takes.
  let status = 0;
  for (let tries = 0; status !== 200 && tries < 2000; tries += 1) {
    const again = await openAnswer(service.url, JSON_PATH, { 'x-service-api-key': service.key });
    status = again.statusCode ?? 0;
    again.destroy();
  }
  assert.equal(status, 200);
  assert.deepEqual(service.faults, []);
});

test('too many exports of one key: 429; of all keys: 503; both say when to try again, and small pages go on', async (t) => {
  const { service } = await withLongResult(t, {
    QRS_HEAVY_READS_PER_KEY: '1',
    QRS_HEAVY_READS: '2',
    QRS_HEAVY_READS_WAIT: '10ms',
  });
  await service.commandLine.get('users', 'add', 'bob');
  await service.commandLine.get('users', 'add', 'eve');
  const [bob, eve] = [
    await service.commandLine.get('keys', 'create', '--user', 'bob'),
    await service.commandLine.get('keys', 'create', '--user', 'eve'),
  ];
  const refusal = async (key: string) => {
    const response = await service.get(CSV_PATH, { key });
    await response.body?.cancel();
    return [response.status, response.headers.get('x-error-code'), response.headers.get('retry-after')];
  };
  const first = await begin(service, JSON_PATH);
  assert.deepEqual(await refusal(service.key), [429, 'rate_limited', '5']);
  const second = await begin(service, CSV_PATH, { 'x-service-api-key': bob });
  assert.deepEqual(await refusal(eve), [503, 'overloaded', '5']);
  assert.equal(await smallPageStatus(service), 200);
  assert.equal(JSON.parse(await text(first)).result.rows.length, LONG_RESULT_ROWS);
  assert.equal((await text(second)).split('\n').length, LONG_RESULT_ROWS + 2);
});

test('HEAD of a long result answers at once and reads no more', async (t) => {
  const { service } = await withLongResult(t, { QRS_HEAVY_READS_PER_KEY: '1' });
  for (let call = 0; call < 3; call += 1) {
    const head = await service.get(CSV_PATH, { method: 'HEAD' });
    assert.deepEqual([head.status, await head.text()], [200, '']);
    // No row has more than 108 cell bytes, so its two cells are what it costs.
    assert.equal(head.headers.get('x-service-datapoint-count'), String(2 * LONG_RESULT_ROWS));
  }
});

test('a sweep does not break a long read of a result that has just expired', async (t) => {
  const { service, id } = await withLongResult(t, { QRS_RETENTION_DAYS: '0.0001', QRS_LEASE_SECONDS: '300' });
  const stored = async () => [...new Set((await storedKeys(service.commandLine)).map((key) => key.split('/')[0]))];
  const answer = await begin(service, JSON_PATH);
  // After the expiry (8.64 s) and the time limit of reads (60 s), within the reader's lease (300 s).
  service.commandLine.now += 80_000;
  assert.match(await service.commandLine.get('sweep'), /^expired=2\n/);
  assert.deepEqual(await stored(), [id]);
  assert.equal((await service.json(JSON_PATH)).state, 'QUERY_STATE_EXPIRED');
  assert.equal(JSON.parse(await text(answer)).result.rows.length, LONG_RESULT_ROWS);
  // The reader is done, so the result may go.
  await service.commandLine.get('sweep');
  assert.deepEqual(await stored(), []);
});

test('a sweep does not take a result away from a view that is being made of it', async (t) => {
  const { service, id } = await withLongResult(t, { QRS_RETENTION_DAYS: '0.0001', QRS_LEASE_SECONDS: '300' });
  let isAnswered = false;
  const answering = service.get('/v1/query/7/results?sort_by=n desc&limit=2&offset=2&format=csv').finally(() => {
    isAnswered = true;
  });
  const { leases } = await service.catalog();
  const held = new Set<string>();
  while (held.size === 0 && !isAnswered) {
    for (const { resource } of await leases.list('read:')) held.add(resource.split(':')[1] ?? '');
  }
  assert.deepEqual([...held], [id]);
  service.commandLine.now += 80_000;
  assert.match(await service.commandLine.get('sweep'), /^expired=2\n/);
  const answer = await answering;
  const w = 'x'.repeat(100);
  assert.deepEqual([answer.status, await answer.text()], [200, `n,w\n196605,${w}\n196604,${w}\n`]);
  assert.deepEqual(service.faults, []);
});

test('where there is little memory an export is read in smaller ranges, and is whole', async (t) => {
  // As bin/qrs.js has it for the service.
  setFlagsFromString('--expose-gc');
  globalThis.gc = runInNewContext('gc');
  t.after(() => {
    Reflect.deleteProperty(globalThis, 'gc');
  });
  const service = await startHttpService(t, { QRS_MEMORY: '512MB', QRS_ROW_FILES: 'off' });
  const rows = 3 * 16_384;
  // Ten columns of texts that differ: encoding 32,768 of these rows at once takes more than the 64 MB that there are for ranges.
  const columns = Array.from({ length: 10 }, (_, column) => `c${column}`);
  const cell = (row: number, column: number) => `${'text '.repeat(5)}${row * 10 + column}`;
  const line = (row: number) => columns.map((_, column) => cell(row, column)).join();
  const csv = [columns.join(), ...Array.from({ length: rows }, (_, row) => line(row)), ''].join('\n');
  await service.publish(7, csv);
  assert.equal(await text(await begin(service, CSV_PATH)), csv);
  const json = JSON.parse(await text(await begin(service, JSON_PATH)));
  assert.equal(json.result.rows.length, rows);
  assert.equal(json.result.rows.at(-1).c9, cell(rows - 1, 9));
});

test('rows of megabytes, of which two at once do not fit beside each other, are read where there is more memory', async (t) => {
  const service = await startHttpService(t, { QRS_READ_MEMORY: '300MB', QRS_ROW_FILES: 'off' });
  // DuckDB decodes all of them, 45 MB, to read one.
  const rows = Array.from({ length: 30 }, (_, id) => ({
    id,
    text: String.fromCharCode(97 + (id % 26)).repeat(1_500_000),
  }));
  await service.publish(7, ['id,text', ...rows.map((row) => `${row.id},${row.text}`)].join('\n'));
  const whole = JSON.parse(await text(await begin(service, JSON_PATH)));
  assert.deepEqual(whole.result.rows, rows);
  const page = await service.json('/api/v1/query/7/results?limit=8&offset=20');
  assert.deepEqual((page.result as { rows: unknown }).rows, rows.slice(20, 28));
  assert.deepEqual(service.faults, []);
});

test('an answer of long names without values is sent while it is read, also where rows are filtered or sorted', async (t) => {
  const service = await startHttpService(t);
  const rows = Array.from({ length: 50_000 }, (_, n) => `${n},`).join('\n');
  // The names of 50,000 rows take 40 MB, their values 400 KB.
  const { id } = await service.publish(7, `n,${'x'.repeat(800)}\n${rows}\n`);
  for (const view of ['', '&filters=n>=0', '&sort_by=n+desc']) {
    const path = `/v1/execution/${id}/results${WHOLE}${view}`;
    const answer = await openAnswer(service.url, path, { 'x-service-api-key': service.key });
    assert.deepEqual([answer.statusCode, answer.headers['transfer-encoding']], [200, 'chunked'], view);
    answer.destroy();
    const page = await openAnswer(service.url, `${path}&limit=100`, { 'x-service-api-key': service.key });
    assert.equal(page.headers['transfer-encoding'], undefined, view);
    page.destroy();
  }
});
