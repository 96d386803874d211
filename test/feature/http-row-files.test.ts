/**
 * Row files over HTTP: only the time shows whether an answer came from one. Every answer is asked of two services on the same
 * data, one without row files. Both give the same bytes, tag and headers: before the files are built, with them, and after they
 * were damaged or evicted. A run is known by its seed.
 */
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { executionOfDerived } from '../../src/domain/written-names.ts';
import type { Observation } from '../../src/observation/observation.ts';
import { sleep } from '../real-time.ts';
import { type HttpService, openServer, startHttpService } from './http-service.ts';
import { Random, type RandomResult, randomResult } from './random-results.ts';
import { StoredResults } from './stored-result.ts';

const CASES = Number(process.env.TEST_CASES ?? 4);
const SEED = Number(process.env.TEST_SEED ?? 1);
const ASKED_OF_EACH = 25;
const ALL = 'ignore_max_datapoints_per_request=true';
/** Nothing is answered from memory, any view is materialised, and short pages end at the datapoint limit. */
const SETTINGS = { QRS_PAGE_CACHE: '0', QRS_DIRECT_ROWS: '0', QRS_MAX_DATAPOINTS: '600', QRS_INDEX_USES: 'off' };

interface Pair {
  readonly service: HttpService;
  /** The same address, at the service without row files. */
  plain(path: string, headers?: Record<string, string>): Promise<Response>;
  derived(): Promise<readonly string[]>;
  built(count: number): Promise<void>;
}

async function startPair(t: TestContext, settings: Record<string, string> = {}): Promise<Pair> {
  const service = await startHttpService(t, { ...SETTINGS, QRS_ROW_FILES: '0', ...settings });
  const { server, close } = await openServer(service.commandLine, { ...SETTINGS, ...settings, QRS_ROW_FILES: 'off' });
  t.after(close);
  const directory = join(service.commandLine.dataDir, 'derived');
  return {
    service,
    plain: async (path, headers) =>
      await fetch(server.url + path, { headers: { 'x-service-api-key': service.key, ...headers } }),
    derived: async () => {
      const names = (await readdir(directory)).filter((name) => executionOfDerived(name) !== undefined);
      return names.sort().map((name) => join(directory, name));
    },
    built: (count) => until(() => ofKind(service, 'row_files_built').length >= count),
  };
}

function ofKind({ observed }: HttpService, kind: 'row_files_built' | 'row_files_failed' | 'row_file_damaged') {
  return observed.flatMap((observation) =>
    observation.kind === kind ? [observation as { readonly executionId: string; readonly error?: unknown }] : [],
  );
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(5, new AbortController().signal);
}

/** Everything that a client sees of an answer except its date, with the server's own address taken out. */
async function seen(response: Response) {
  const own = new URL(response.url).origin;
  const headers = [...response.headers].filter(
    ([name]) => !/^(date|x-(service-)?request-id|server-timing|keep-alive|connection)$/.test(name),
  );
  const text = Buffer.from(await response.arrayBuffer()).toString('latin1');
  const local = (value: string) => value.replaceAll(own, 'http://host');
  // The tag covers addresses within the bytes, so it is left out with them.
  const shown = headers.filter(([name]) => name !== 'etag' && name !== 'content-length');
  return { status: response.status, headers: shown.map(([name, value]) => [name, local(value)]), text: local(text) };
}

async function sameFromBoth(
  { service, plain }: Pair,
  path: string,
  headers: Record<string, string> = {},
): Promise<void> {
  const [own, other] = await Promise.all([service.get(path, { headers }), plain(path, headers)]);
  assert.deepEqual(await seen(own), await seen(other), path);
}

function randomPath(random: Random, id: string, { columns, rows }: RandomResult): string {
  const names = columns.map(({ name }) => name).filter((name) => /^[\w ]+$/.test(name));
  const some = names.filter(() => random.chance(40));
  const query = [
    `offset=${random.chance(20) ? 0 : random.below(rows.length + 2)}`,
    ...(random.chance(80) ? [`limit=${random.pick([1, 2, 40, 1000, rows.length])}`] : []),
    ...(random.chance(50) ? [ALL] : []),
    ...(some.length > 0 ? [`columns=${encodeURIComponent(some.join(','))}`] : []),
    ...(random.chance(30) && names.length > 0 ? [`sort_by=${encodeURIComponent(`"${names[0]}" desc`)}`] : []),
    ...(random.chance(30) ? ['format=ndjson'] : []),
  ];
  return `/v1/execution/${id}/results?${query.join('&')}`;
}

test('an answer from row files equals the answer without them: before, during and after they are built', async (t) => {
  const pair = await startPair(t);
  await using stored = await StoredResults.of(pair.service);
  for (let seed = SEED; seed < SEED + CASES; seed += 1) {
    t.diagnostic(`seed ${seed}`);
    const random = new Random(seed);
    const result = randomResult(random, 1 + random.below(9), 200 + random.below(9000));
    const { id } = await stored.put(result, random.pick([100, 2048, 5000]), t.signal);
    for (let i = 0; i < ASKED_OF_EACH; i += 1) {
      await sameFromBoth(pair, randomPath(random, id, result));
      if (i === ASKED_OF_EACH - 10) await pair.built(1);
    }
    await until(() => ofKind(pair.service, 'row_files_built').some(({ executionId }) => executionId === id));
    // The whole answer (streamed if long), some bytes of it, and its digest.
    const whole = `/v1/execution/${id}/results?${ALL}&columns=amount&format=ndjson`;
    await sameFromBoth(pair, whole, { 'want-repr-digest': 'sha-256=1' });
    await sameFromBoth(pair, whole, { range: 'bytes=100-5000' });
  }
  assert.deepEqual(ofKind(pair.service, 'row_files_failed'), []);
  assert.deepEqual(ofKind(pair.service, 'row_file_damaged'), []);
});

/** A result of 4,000 rows in two parts, with its row files. */
async function built(pair: Pair) {
  const rows = Array.from({ length: 4000 }, (_, i) => `${i},text ${i * 7}`).join('\n');
  const { id } = await pair.service.publish(7, `number,text\n${rows}\n`, { rowGroupRows: 2048, rowGroupsPerPart: 1 });
  const path = `/v1/execution/${id}/results?limit=100&${ALL}`;
  for (const offset of [0, 100]) assert.equal((await pair.service.get(`${path}&offset=${offset}`)).status, 200);
  await pair.built(1);
  return { id, path };
}

test('a result gets row files after its second page, and a walk of them has the tags from before', async (t) => {
  const pair = await startPair(t);
  const rows = Array.from({ length: 3000 }, (_, i) => i).join('\n');
  const { id } = await pair.service.publish(7, `number\n${rows}\n`, { rowGroupRows: 2048, rowGroupsPerPart: 1 });
  const path = `/v1/execution/${id}/results?limit=100&${ALL}&offset=`;
  const first = await pair.service.get(`${path}0`);
  assert.deepEqual(await pair.derived(), []);
  await pair.service.get(`${path}100`);
  await pair.built(1);
  assert.equal((await pair.derived()).length, 2);
  const again = await pair.service.get(`${path}0`);
  assert.equal(again.headers.get('etag'), first.headers.get('etag'));
  assert.equal(await again.text(), await first.text());
  for (let offset = 0; offset < 3000; offset += 700) await sameFromBoth(pair, `${path}${offset}`);
});

test('one export is enough, and a sorted walk gets row files of its view', async (t) => {
  const pair = await startPair(t);
  const rows = Array.from({ length: 40_000 }, (_, i) => `${i},${(i * 7919) % 1000}`).join('\n');
  const { id } = await pair.service.publish(7, `number,key\n${rows}\n`);
  const sorted = `/v1/execution/${id}/results?limit=1000&sort_by=key&${ALL}&offset=`;
  await (await pair.service.get(`${sorted}2000`)).text();
  await (await pair.service.get(`${sorted}3000`)).text();
  await pair.built(1);
  assert.deepEqual(await pair.derived(), []);
  for (let offset = 0; offset < 40_000; offset += 9500) await sameFromBoth(pair, `${sorted}${offset}`);
  await sameFromBoth(pair, `/v1/execution/${id}/results?${ALL}`);
});

test('a damaged row file is noticed, removed, and made anew as soon as it is wanted; the answer comes from the part', async (t) => {
  const pair = await startPair(t);
  const { path } = await built(pair);
  for (const file of await pair.derived()) {
    const bytes = await readFile(file);
    bytes.fill(0, 0, 300);
    await writeFile(file, bytes);
  }
  await sameFromBoth(pair, `${path}&offset=0`);
  const damaged = ofKind(pair.service, 'row_file_damaged');
  assert.equal(damaged.length, 1);
  assert.match(String(damaged[0]?.error), /block 0 is not what was written/);
  assert.equal((await pair.derived()).length, 1);
  await sameFromBoth(pair, `${path}&offset=2048`);
  assert.equal(ofKind(pair.service, 'row_file_damaged').length, 2);
  // Not a moment passes by the service's clock.
  await until(async () => {
    await sameFromBoth(pair, `${path}&offset=0`);
    return (await pair.derived()).length === 2;
  });
  for (const offset of [0, 2048]) await sameFromBoth(pair, `${path}&offset=${offset}`);
  assert.equal(ofKind(pair.service, 'row_file_damaged').length, 2);
});

test('what cannot be opened as a row file, or an empty folder in its place, is replaced; a folder with something in it stays', async (t) => {
  const pair = await startPair(t);
  const { path } = await built(pair);
  const [first = '', second = ''] = await pair.derived();
  for (const file of [first, second]) await rm(file);
  // A link in a circle cannot be opened by anybody.
  await symlink(first, first);
  await mkdir(second);
  pair.service.commandLine.now += 600_000;
  for (const offset of [0, 2048]) await sameFromBoth(pair, `${path}&offset=${offset}`);
  // The folder is gone for a moment before the file takes its place.
  const isFile = async (path: string) => (await stat(path).catch(() => undefined))?.isFile() === true;
  await until(async () => (await isFile(first)) && (await isFile(second)));
  for (const offset of [0, 2048]) await sameFromBoth(pair, `${path}&offset=${offset}`);
  assert.deepEqual(ofKind(pair.service, 'row_files_failed'), []);

  await rm(second);
  await mkdir(second);
  await writeFile(join(second, 'notes.txt'), 'mine');
  pair.service.commandLine.now += 600_000;
  for (const offset of [0, 2048]) await sameFromBoth(pair, `${path}&offset=${offset}`);
  await until(() => ofKind(pair.service, 'row_files_failed').length > 0);
  assert.match(
    String(ofKind(pair.service, 'row_files_failed')[0]?.error),
    /rows is a folder, in the place of a file .* remove it/,
  );
  assert.equal(await readFile(join(second, 'notes.txt'), 'utf8'), 'mine');
});

test('row files outlive the process, unless another version made them', async (t) => {
  const pair = await startPair(t);
  const { path } = await built(pair);
  const files = await pair.derived();
  const server = async (version: string) => {
    const observed: Observation[] = [];
    const opened = await openServer(
      pair.service.commandLine,
      { ...SETTINGS, QRS_ROW_FILES: '0' },
      (o) => observed.push(o),
      version,
    );
    t.after(opened.close);
    const get = async (offset: number) => {
      const headers = { 'x-service-api-key': pair.service.key };
      return (await fetch(`${opened.server.url}${path}&offset=${offset}`, { headers })).status;
    };
    return { get, observed };
  };
  const same = await server('1.2.3');
  for (const offset of [0, 100, 200, 3000]) assert.equal(await same.get(offset), 200);
  const other = await server('1.2.4');
  for (const offset of [0, 100, 200]) assert.equal(await other.get(offset), 200);
  await until(() => other.observed.some(({ kind }) => kind === 'row_files_built'));
  assert.equal((await pair.derived()).length, 2 * files.length);
  assert.equal(
    same.observed.some(({ kind }) => kind === 'row_files_built'),
    false,
  );
});

test('beyond the bound the row files of the least recently read result go', async (t) => {
  const pair = await startPair(t);
  await built(pair);
  let bytes = 0;
  for (const file of await pair.derived()) bytes += (await stat(file)).size;
  // Room for the files of one result and of half another.
  const small = await startPair(t, { QRS_VIEW_CACHE: String(Math.round(1.6 * bytes)) });
  const first = await built(small);
  small.service.commandLine.now += 1000;
  const second = await built(small);
  await small.built(2);
  const left = (id: string) => small.derived().then((paths) => paths.filter((path) => path.includes(id)).length);
  await until(async () => (await left(first.id)) === 1);
  assert.equal(await left(second.id), 2);
  for (const offset of [50, 2100]) await sameFromBoth(small, `${first.path}&offset=${offset}`);
});

test('row files may be deleted under the running service', async (t) => {
  const pair = await startPair(t);
  const { path } = await built(pair);
  await sameFromBoth(pair, `${path}&offset=10`);
  for (const file of await pair.derived()) await rm(file);
  for (const offset of [0, 20, 2100]) await sameFromBoth(pair, `${path}&offset=${offset}`);
});

test('the disk space of deleted files is free again when another file is made', async (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux says which files are open');
  const pair = await startPair(t);
  const { path } = await built(pair);
  for (const offset of [10, 2100]) await sameFromBoth(pair, `${path}&offset=${offset}`);
  const deleted = async () => {
    const open = await Promise.all(
      (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
    );
    return open.filter((file) => file.startsWith(pair.service.commandLine.dataDir) && file.endsWith('.rows (deleted)'));
  };
  for (const file of await pair.derived()) await rm(file);
  assert.equal((await deleted()).length, 2);
  await built(pair);
  await pair.built(2);
  await until(async () => (await deleted()).length === 0);
});
