/** Walks by the address of the next page: what follows is read before it is asked for, from row files or, where there are none, by DuckDB. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isNested } from '../../src/domain/column-type.ts';
import type { AnsweredRequest, Observation } from '../../src/observation/observation.ts';
import { sleep } from '../real-time.ts';
import { openAnswer } from './http-client.ts';
import { type HttpService, openServer, startHttpService } from './http-service.ts';
import { Random, randomResult } from './random-results.ts';
import { StoredResults } from './stored-result.ts';

const CASES = Number(process.env.TEST_CASES ?? 3);
const SEED = Number(process.env.TEST_SEED ?? 1);
const ALL = 'ignore_max_datapoints_per_request=true';
const SETTINGS = { QRS_PAGE_CACHE: '40MB', QRS_ROW_FILES: '0', QRS_INDEX_USES: 'off', QRS_DIRECT_ROWS: '0' };
/** About 90 bytes of JSON a row. */
const CSV = `n,text\n${Array.from({ length: 6000 }, (_, n) => `${n},${'wide '.repeat(12)}${n * 7}`).join('\n')}\n`;

/** A result of 6,000 rows in three parts, whose row files are there. */
async function withRowFiles(service: HttpService): Promise<string> {
  const { id } = await service.publish(7, CSV, { rowGroupRows: 2048, rowGroupsPerPart: 1 });
  const path = `/v1/execution/${id}/results`;
  for (const offset of [5998, 5999]) await (await service.get(`${path}?limit=1&offset=${offset}`)).text();
  await built(service, 1);
  return path;
}

async function built(service: HttpService, count: number): Promise<void> {
  const isBuilt = () => service.observed.filter(({ kind }) => kind === 'row_files_built').length >= count;
  while (!isBuilt()) await sleep(5, new AbortController().signal);
}

function isBuilt({ observed }: HttpService, id: string): boolean {
  return observed.some((observation) => observation.kind === 'row_files_built' && observation.executionId === id);
}

interface Seen {
  readonly body: string;
  readonly next: string | undefined;
}

/** A page, and the path of the next. */
async function page(url: string, key: string, path: string, encoding = 'identity'): Promise<Seen> {
  const response = await fetch(url + path, { headers: { 'x-service-api-key': key, 'accept-encoding': encoding } });
  const body = await response.text();
  assert.equal(response.status, 200, body);
  const [, next] = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '') ?? [];
  return { body: body.replaceAll(url, ''), next: next?.replace(url, '') };
}

async function walk({ url, key }: HttpService, start: string): Promise<readonly Seen[]> {
  const pages: Seen[] = [];
  for (let next: string | undefined = start; next !== undefined; ) {
    const seen: Seen = await page(url, key, next);
    pages.push(seen);
    next = seen.next;
  }
  return pages;
}

function answered({ observed }: HttpService): readonly AnsweredRequest[] {
  return observed.filter((observation) => observation.kind === 'answered');
}

/** Of the answers since the service had given so many. */
async function cacheSince(service: HttpService, from: number, count: number) {
  while (answered(service).length < from + count) await sleep(1, new AbortController().signal);
  return answered(service)
    .slice(from)
    .map(({ stats }) => stats.cache);
}

for (const [kind, limit] of [
  ['that others may be given', 500],
  ['whose memory is taken back once it is sent', 1500],
] as const) {
  test(`from its third page on a walk finds each page read, ${kind}; each counts once`, async (t) => {
    const service = await startHttpService(t, SETTINGS);
    const path = await withRowFiles(service);
    const before = answered(service).length;
    const pages = await walk(service, `${path}?limit=${limit}`);
    const texts = pages.flatMap(({ body }) => JSON.parse(body).result.rows.map(({ n }: { readonly n: number }) => n));
    assert.deepEqual(
      texts,
      Array.from({ length: 6000 }, (_, n) => n),
    );
    const expected = pages.map((_, index) => (index < 2 ? 'miss' : 'hit'));
    assert.deepEqual(await cacheSince(service, before, pages.length), expected);
    const counted = answered(service).slice(before);
    assert.equal(
      counted.reduce((sum, { stats }) => sum + stats.rowCount, 0),
      6000,
    );
  });
}

test('nothing is read ahead for who does not walk, in a format that is not in row files, or where there is no memory for it', async (t) => {
  const service = await startHttpService(t, SETTINGS);
  const path = await withRowFiles(service);
  const before = answered(service).length;
  for (const offset of [0, 1000, 3000, 2000])
    await page(service.url, service.key, `${path}?limit=500&offset=${offset}`);
  await walk(service, `${path}/csv?limit=2000`);
  assert.deepEqual(await cacheSince(service, before, 7), Array(7).fill('miss'));

  const observed: Observation[] = [];
  const settings = { ...SETTINGS, QRS_PAGE_CACHE: '0' };
  const { server, close } = await openServer(service.commandLine, settings, (observation) =>
    observed.push(observation),
  );
  t.after(close);
  await walk({ ...service, url: server.url }, `${path}?limit=2000`);
  assert.deepEqual(await cacheSince({ ...service, observed }, 0, 3), ['miss', 'miss', 'miss']);
});

test('a page whose row file is gone is not read ahead: DuckDB reads it for who asks', async (t) => {
  const service = await startHttpService(t, SETTINGS);
  const path = await withRowFiles(service);
  const before = answered(service).length;
  const first = await page(service.url, service.key, `${path}?limit=1000`);
  // That of the first part is open, so it can still be read.
  const directory = join(service.commandLine.dataDir, 'derived');
  for (const name of await readdir(directory)) if (name.endsWith('.rows')) await rm(join(directory, name));
  const second = await page(service.url, service.key, first.next ?? '');
  const third = await page(service.url, service.key, second.next ?? '');
  assert.equal(JSON.parse(third.body).result.rows.at(-1).n, 2999);
  assert.deepEqual(await cacheSince(service, before, 3), ['miss', 'miss', 'miss']);
});

test('an answer that is too large for memory is not read ahead, since that would take a place which its key has for exports', async (t) => {
  const service = await startHttpService(t, SETTINGS);
  const rows = Array.from({ length: 3000 }, (_, n) => `${n},${n < 2000 ? 'narrow' : 'wide '.repeat(11_000)}`);
  const csv = `n,text\n${rows.join('\n')}\n`;
  const { id } = await service.publish(7, csv, { rowGroupRows: 2048, rowGroupsPerPart: 1 });
  const path = `/v1/execution/${id}/results`;
  for (const offset of [0, 1]) await page(service.url, service.key, `${path}?limit=1&offset=${offset}`);
  await built(service, 1);
  const before = answered(service).length;
  const pages = await walk(service, `${path}?limit=1000&${ALL}`);
  assert.deepEqual(
    pages.map(({ body }) => JSON.parse(body).result.rows.length),
    [1000, 1000, 1000],
  );
  assert.deepEqual(await cacheSince(service, before, 3), ['miss', 'miss', 'miss']);
});

test('a sorted walk finds its pages read, too, and is told that they are of a view', async (t) => {
  const service = await startHttpService(t, SETTINGS);
  const path = await withRowFiles(service);
  const sorted = `${path}?sort_by=n desc&limit=1000`;
  for (const offset of [1500, 2500]) await page(service.url, service.key, `${sorted}&offset=${offset}`);
  await built(service, 2);
  const before = answered(service).length;
  const pages = await walk(service, sorted);
  assert.match(pages[5]?.body ?? '', /"rows":\[\{"n":999,/);
  assert.deepEqual(await cacheSince(service, before, 6), ['miss', 'miss', 'hit', 'hit', 'hit', 'hit']);
  assert.deepEqual(
    answered(service)
      .slice(before)
      .map(({ stats }) => stats.way),
    Array(6).fill('view'),
  );
});

test('who walks and accepts compressed pages has the next one compressed, too, and may ask for it in any way', async (t) => {
  const service = await startHttpService(t, SETTINGS);
  const path = await withRowFiles(service);
  const expected = await walk(service, `${path}?limit=1000`);
  const ask = async (path: string | undefined, encoding: string) =>
    await page(service.url, service.key, path ?? '', encoding);
  const first = await ask(`${path}?limit=1000`, 'gzip');
  const ofOne = await cacheBytes(service, 'compressed');
  const second = await ask(first.next, 'gzip');
  // All pages are about as large, and this is the third.
  while ((await cacheBytes(service, 'compressed')) < 2.5 * ofOne) await sleep(5, t.signal);
  const pages = [first, second];
  for (const encoding of ['gzip', 'identity', 'br', 'gzip']) pages.push(await ask(pages.at(-1)?.next, encoding));
  assert.deepEqual(pages, expected);
});

/** Walks until the end, leaves in the middle of some pages, and compares each page with that of a service without row files. */
async function compareWalk(service: HttpService, plainUrl: string, start: string, random: Random): Promise<void> {
  for (let next: string | undefined = start; next !== undefined; ) {
    if (random.chance(15)) {
      const left = await openAnswer(service.url, next, { 'x-service-api-key': service.key }, 'GET');
      left.destroy();
      await once(left, 'close');
    }
    const encoding = random.pick(['identity', 'gzip', 'br']);
    const [own, plain]: readonly Seen[] = await Promise.all([
      page(service.url, service.key, next, encoding),
      page(plainUrl, service.key, next),
    ]);
    assert.deepEqual(own, plain, next);
    next = own?.next;
  }
}

async function startPlain(t: TestContext, service: HttpService): Promise<string> {
  const settings = { ...SETTINGS, QRS_PAGE_CACHE: '0', QRS_ROW_FILES: 'off' };
  const { server, close } = await openServer(service.commandLine, settings);
  t.after(close);
  return server.url;
}

test('many who walk at once, the same pages and others, get what they would get alone, while row files are removed', async (t) => {
  const service = await startHttpService(t, SETTINGS);
  const plainUrl = await startPlain(t, service);
  const directory = join(service.commandLine.dataDir, 'derived');
  await using stored = await StoredResults.of(service);
  for (let seed = SEED; seed < SEED + CASES; seed += 1) {
    t.diagnostic(`seed ${seed}`);
    const random = new Random(seed);
    const { id } = await stored.put(randomResult(random, 1 + random.below(9), 3000), 1000, t.signal);
    const path = `/v1/execution/${id}/results`;
    for (const offset of [2998, 2999]) await (await service.get(`${path}?limit=1&offset=${offset}`)).text();
    while (!isBuilt(service, id)) await sleep(5, t.signal);
    const starts = Array.from({ length: 3 }, () => {
      const format = random.chance(40) ? '&format=ndjson' : '';
      return `${path}?limit=${random.pick([130, 400, 1100])}&offset=${random.below(300)}${format}&${ALL}`;
    });
    const before = answered(service).length;
    const walks = [...starts, starts[0] ?? ''].map((start) => compareWalk(service, plainUrl, start, random));
    const removing = (async () => {
      await Promise.race(walks);
      for (const name of await readdir(directory)) if (name.endsWith('.rows')) await rm(join(directory, name));
    })();
    await Promise.all([...walks, removing]);
    const hits = answered(service)
      .slice(before)
      .filter(({ stats }) => stats.cache === 'hit');
    assert.ok(hits.length > 0, 'pages were read ahead');
  }
  assert.deepEqual(service.faults, []);
});

/** Bytes of a kind of answers, or of what they are made of, in memory. */
async function cacheBytes({ url }: Pick<HttpService, 'url'>, cache: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^qrs_cache_bytes\\{cache="${cache}"\\} (\\d+)$`, 'm').exec(metrics)?.[1]);
}

test('a sorted walk without row files is read in encoded ranges: no page asks DuckDB once it has begun, and no row file is built', async (t) => {
  const service = await startHttpService(t, SETTINGS);
  const { id } = await service.publish(7, CSV, { rowGroupRows: 2048, rowGroupsPerPart: 1 });
  const before = answered(service).length;
  const pages = await walk(service, `/v1/execution/${id}/results?sort_by=n desc&limit=500`);
  const numbers = pages.flatMap(({ body }) => JSON.parse(body).result.rows.map(({ n }: { readonly n: number }) => n));
  assert.deepEqual(
    numbers,
    Array.from({ length: 6000 }, (_, index) => 5999 - index),
  );
  // The first is not known to be of a walk, and the second begins the encoded range.
  assert.deepEqual(await cacheSince(service, before, 12), ['miss', 'miss', 'miss', ...Array(9).fill('hit')]);
  assert.ok((await cacheBytes(service, 'ranges_ahead')) > 0);
  assert.deepEqual(
    service.observed.filter(({ kind }) => kind === 'row_files_built'),
    [],
  );
});

for (const [source, sort, first] of [
  ['a result', '', 0],
  ['a view', '&sort_by=n desc', 9999],
] as const) {
  test(`a walk over ${source} in pages of more than half a megabyte is read in encoded ranges, too`, async (t) => {
    const service = await startHttpService(t, { ...SETTINGS, QRS_PAGE_CACHE: '100MB' });
    const rows = Array.from({ length: 10_000 }, (_, n) => `${n},${'long '.repeat(100)}`);
    const csv = `n,text\n${rows.join('\n')}\n`;
    const { id } = await service.publish(7, csv, { rowGroupRows: 2048, rowGroupsPerPart: 2 });
    const pages = await walk(service, `/v1/execution/${id}/results?limit=1100${sort}`);
    assert.ok(pages.slice(0, -1).every(({ body }) => body.length > 550_000));
    const numbers = pages.flatMap(({ body }) => JSON.parse(body).result.rows.map(({ n }: { readonly n: number }) => n));
    assert.deepEqual(
      numbers,
      Array.from({ length: 10_000 }, (_, index) => Math.abs(first - index)),
    );
    assert.ok((await cacheBytes(service, 'ranges_ahead')) > 0);
  });
}

test('whoever walks in CSV, over few of many columns, or where there is no memory for it, has no encoded ranges read', async (t) => {
  const service = await startHttpService(t, SETTINGS);
  const wide = `a,b,c,d,e\n${Array.from({ length: 3000 }, (_, n) => `${n},2,3,4,5`).join('\n')}\n`;
  const { id } = await service.publish(7, wide);
  const path = `/v1/execution/${id}/results`;
  for (const start of [`${path}/csv?sort_by=a desc&limit=500`, `${path}?sort_by=a desc&limit=500&columns=a`]) {
    assert.equal((await walk(service, start)).length, 6);
    assert.equal(await cacheBytes(service, 'ranges_ahead'), 0, start);
  }
  const settings = { ...SETTINGS, QRS_PAGE_CACHE: '0' };
  const { server, close } = await openServer(service.commandLine, settings);
  t.after(close);
  assert.equal((await walk({ ...service, url: server.url }, `${path}?sort_by=a desc&limit=500`)).length, 6);
  assert.equal(await cacheBytes(server, 'ranges_ahead'), 0);
});

test('where the wide rows of a view lie together, these are not encoded ahead', async (t) => {
  const service = await startHttpService(t, SETTINGS);
  const rows = Array.from({ length: 6000 }, (_, n) => `${n},${n < 5900 ? '' : 'wide '.repeat(2400)}`);
  const { id } = await service.publish(7, `n,text\n${rows.join('\n')}\n`);
  let next: string | undefined = `/v1/execution/${id}/results?sort_by=n desc&limit=10`;
  // The fourth waits for what was begun by the one before it, if not by the second.
  for (let count = 0; count < 5; count += 1) next = (await page(service.url, service.key, next ?? '')).next;
  const bytes = await cacheBytes(service, 'ranges_ahead');
  assert.ok(bytes < 1_200_000, `${bytes} bytes where the wide rows have 1,200,000`);
});

test('whoever walks over a view, or while row files are built, gets what there is without encoded ranges and row files', async (t) => {
  // RangesAhead of 1,024 rows or 2,048.
  const service = await startHttpService(t, { ...SETTINGS, QRS_PAGE_CACHE: '30MB' });
  const plainUrl = await startPlain(t, service);
  await using stored = await StoredResults.of(service);
  let mostBytes = 0;
  for (let seed = SEED; seed < SEED + 2 * CASES; seed += 1) {
    t.diagnostic(`seed ${seed}`);
    const random = new Random(seed);
    const { columns, rows } = randomResult(random, 1 + random.below(5), 5000);
    const { id } = await stored.put({ columns, rows }, 2100, t.signal);
    const ordered = columns.filter(({ type }) => !isNested(type));
    const path = `/v1/execution/${id}/results`;
    const starts = Array.from({ length: 3 }, () => {
      const format = random.chance(40) ? '&format=ndjson' : '';
      const by = ordered.length > 0 && random.chance(60) ? random.pick(ordered).name : undefined;
      const sort = by === undefined ? '' : `&sort_by=${encodeURIComponent(`"${by}"`)}`;
      return `${path}?limit=${random.pick([130, 400, 900, 3000])}&offset=${random.below(300)}${format}${sort}&${ALL}`;
    });
    const walks = [...starts, starts[0] ?? ''].map((start) => compareWalk(service, plainUrl, start, random));
    await Promise.all(walks);
    const bytes = await cacheBytes(service, 'ranges_ahead');
    t.diagnostic(`encoded ranges of ${bytes} bytes`);
    mostBytes = Math.max(mostBytes, bytes);
  }
  assert.ok(mostBytes > 0, 'ranges were read ahead');
  assert.deepEqual(service.faults, []);
});
