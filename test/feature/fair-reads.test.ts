/** One key's requests keep neither other keys nor the health checks waiting; and what is kept for walks is bounded. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { DuckDb } from '../../src/duckdb/duckdb.ts';
import { openAnswer } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { publishLongResult } from './long-result.ts';

const ROWS = `n\n${Array.from({ length: 100 }, (_, n) => `${n}\n`).join('')}`;

/** The value of a metric, read over HTTP. */
async function metric(service: HttpService, name: string): Promise<number> {
  const text = await (await service.get('/metrics')).text();
  const line = text.split('\n').find((found) => found.startsWith(`${name} `));
  return Number(line?.split(' ').at(-1));
}

/** Asks until it holds; far more often than that takes. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries += 1) {
    assert.ok(tries < 10_000, `never so: ${holds}`);
    await wait(1);
  }
}

interface Held {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly release: () => void;
}

/** Holds up each statement with this beginning until it is released. */
function holdReads(t: TestContext, start: string) {
  const held: Held[] = [];
  const query = DuckDb.prototype.query;
  t.mock.method(DuckDb.prototype, 'query', async function (this: DuckDb, ...args: Parameters<DuckDb['query']>) {
    const [{ text, values }] = args;
    if (text.startsWith(start)) await new Promise<void>((release) => held.push({ text, values, release }));
    return await query.apply(this, args);
  });
  return held;
}

/** Holds up each search: a first page of a view. */
const holdSearches = (t: TestContext) => holdReads(t, 'WITH found');

test('first pages of views take turns by key, and few at a time take threads', async (t) => {
  const searches = holdSearches(t);
  const service = await startHttpService(t);
  await service.publish(7, ROWS);
  await service.commandLine.get('users', 'add', 'bob');
  const bob = await service.commandLine.get('keys', 'create', '--user', 'bob');
  const first = (n: number) => `/v1/query/7/results?filters=n%3D${n}`;
  const anns = Array.from({ length: 40 }, (_, n) => service.get(first(n)));
  await until(async () => (await metric(service, 'qrs_queue_waiting{queue="searches"}')) === 38);
  assert.equal(searches.length, 2, 'the pool of threads is left to what else needs one');
  const bobs = service.get(first(99), { key: bob });
  await until(async () => (await metric(service, 'qrs_queue_waiting{queue="searches"}')) === 39);
  let next = 0;
  const releaseOne = () => searches[next++]?.release();
  // One of ann's may be next already; then it is bob's turn.
  for (let released = 0; released < 2; released += 1) {
    const started = searches.length;
    releaseOne();
    await until(async () => searches.length > started);
  }
  assert.ok(
    searches.some(({ values }) => values.includes(99n)),
    'bob need not wait for all that ann wants',
  );
  while (next < 41) {
    await until(async () => searches.length > next);
    releaseOne();
  }
  for (const answer of [...(await Promise.all(anns)), await bobs]) assert.equal(answer.status, 200);
});

test('wide rows are read one at a time, and keep no small page waiting', async (t) => {
  const service = await startHttpService(t);
  const header = Array.from({ length: 600 }, (_, column) => `col_${column}`).join(',');
  const line = Array.from({ length: 600 }, (_, column) => column).join(',');
  await service.publish(7, `${header}\n${`${line}\n`.repeat(60)}`);
  await service.publish(8, ROWS);
  await service.commandLine.get('users', 'add', 'bob');
  const bob = await service.commandLine.get('keys', 'create', '--user', 'bob');
  const reads = holdReads(t, 'SELECT encode(string_agg(');
  const anns = Array.from({ length: 50 }, (_, n) => service.get(`/v1/query/7/results?limit=1&offset=${n}`));
  await until(async () => (await metric(service, 'qrs_queue_waiting{queue="wide"}')) === 49);
  assert.equal(reads.length, 1);
  const bobs = service.get('/v1/query/8/results?limit=5', { key: bob });
  await until(async () => reads.length === 2);
  reads[1]?.release();
  assert.equal((await bobs).status, 200, 'while none of the wide rows has been read');
  reads[0]?.release();
  for (let next = 2; next < 51; next += 1) {
    await until(async () => reads.length > next);
    assert.equal(await metric(service, 'qrs_queue_running{queue="wide"}'), 1);
    reads[next]?.release();
  }
  for (const answer of await Promise.all(anns)) assert.equal(answer.status, 200);
});

test('when all places for heavy reads are taken, keys wait in turn and are not refused', async (t) => {
  const service = await startHttpService(t, { QRS_HEAVY_READS: '4', QRS_HEAVY_READS_PER_KEY: '4' });
  await publishLongResult(service, 7);
  await service.commandLine.get('users', 'add', 'bob');
  const bob = await service.commandLine.get('keys', 'create', '--user', 'bob');
  await service.commandLine.get('users', 'add', 'eve');
  const eve = await service.commandLine.get('keys', 'create', '--user', 'eve');
  // Exports of which the client reads only the first bytes: each keeps its place.
  let asked = 0;
  const begin = async (key: string) => {
    const path = `/v1/query/7/results/csv?ignore_max_datapoints_per_request=true&offset=${asked++}`;
    return await openAnswer(service.url, path, { 'x-service-api-key': key });
  };
  const waiting = (count: number) => until(async () => (await metric(service, 'qrs_heavy_reads_waiting')) === count);
  const held = [await begin(service.key), await begin(service.key), await begin(service.key), await begin(bob)];
  const order: string[] = [];
  const later = async (name: string, key: string) => {
    const answer = await begin(key);
    order.push(`${name} ${answer.statusCode}`);
    return answer;
  };
  const bobs = [later('bob', bob)];
  await waiting(1);
  bobs.push(later('bob', bob), later('bob', bob));
  await waiting(3);
  const eves = later('eve', eve);
  await waiting(4);
  for (const [released, answer] of held.entries()) {
    answer.destroy();
    await until(async () => order.length === released + 1);
  }
  assert.deepEqual(order, ['bob 200', 'eve 200', 'bob 200', 'bob 200']);
  for (const answer of [...bobs, eves]) (await answer).destroy();
  assert.deepEqual(service.faults, []);
});

test('there are never more views than may be, however small they are', async (t) => {
  const service = await startHttpService(t, { QRS_VIEWS_MAX: '3', QRS_DIRECT_ROWS: '0' });
  await service.publish(7, ROWS);
  for (let n = 0; n < 12; n += 1) {
    assert.equal((await service.get(`/v1/query/7/results?filters=n>${n}&offset=5&limit=5`)).status, 200);
  }
  const folder = join(service.commandLine.dataDir, 'views');
  const views = async (): Promise<number> => {
    // A folder that is removed while the list is made has it made again.
    const found = await readdir(folder, { recursive: true }).catch(() => undefined);
    if (found === undefined) return await views();
    return found.filter((path) => path.endsWith('whole.parquet')).length;
  };
  await until(async () => (await views()) <= 3);
  assert.equal(await views(), 3);
});
