/** Indexes over HTTP: when a column gets one, what it answers, and how the service says so. */
import assert from 'node:assert/strict';
import { copyFile, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Observation } from '../../src/observation/observation.ts';
import { sleep } from '../real-time.ts';
import { ask } from './found-page.ts';
import { type HttpService, openServer, startHttpService } from './http-service.ts';

const ROWS = 5000;
const SETTINGS = { QRS_PAGE_CACHE: '0', QRS_INDEX_ROWS: '1000', QRS_ROW_FILES: 'off' };

/** Rows of `number,name,"a ""b"""`: 0 to 4,999, names 0 to 99 in turn with none in the last row, and a third column. */
async function published(t: TestContext, settings: Record<string, string> = {}, count = ROWS) {
  const service = await startHttpService(t, { ...SETTINGS, ...settings });
  const lines = Array.from({ length: count }, (_, i) => `${i},${i === count - 1 ? '' : `name ${i % 100}`},x${i}`);
  const { id } = await service.publish(7, `number,name,größe\n${lines.join('\n')}\n`, {
    rowGroupRows: 2048,
    rowGroupsPerPart: 1,
    bloomBytesMin: Number.POSITIVE_INFINITY,
  });
  return { service, path: `/v1/execution/${id}/results`, id };
}

async function built(service: HttpService, count: number): Promise<void> {
  const isBuilt = () => service.observed.filter(({ kind }) => kind === 'index_built').length >= count;
  while (!isBuilt()) await sleep(5, new AbortController().signal);
}

test('a column gets an index at its second filter; from then on rows are looked up and counted', async (t) => {
  const { service, path } = await published(t);
  const filters = "name = 'name 7'";
  const searched = await ask(service, path, { filters, limit: '2' });
  assert.deepEqual(searched, { rows: [7, 107], way: 'search: no index tells', count: 50 });
  assert.deepEqual(
    service.observed.filter(({ kind }) => kind === 'index_built'),
    [],
  );
  await ask(service, path, { filters, limit: '3' });
  await built(service, 1);
  const found = await ask(service, path, { filters, limit: '2' });
  assert.deepEqual(found, { rows: [7, 107], way: 'index name', count: 50 });
  const other = await ask(service, path, { filters: "name = 'name 7' and number = 107", limit: '2' });
  assert.deepEqual([other.rows, other.way], [[107], 'index name, rows checked']);
  const last = await ask(service, path, { filters: "name in ('name 99', 'name 7')", offset: '98' });
  assert.deepEqual(last, { rows: [4907], way: 'index name', count: 99 });
  assert.deepEqual(await ask(service, path, { filters: "name = 'nobody'" }), { rows: [], way: 'index name', count: 0 });
  assert.deepEqual(await ask(service, path, { filters: 'name is null' }), {
    rows: [4999],
    way: 'index name',
    count: 1,
  });
  const many = await ask(service, path, { filters: "name >= 'name'", limit: '4500' });
  assert.deepEqual([many.way, many.count], ['search: 4500 rows are many', 4999]);
});

test('further pages of a walk are no further uses, since they are read from its view', async (t) => {
  const { service, path } = await published(t, { QRS_DIRECT_ROWS: '0' });
  const walked = { filters: "name = 'name 7'", limit: '2' };
  for (const offset of ['0', '2', '4', '6']) await ask(service, path, { ...walked, offset });
  for (const limit of ['1', '2']) await ask(service, path, { filters: 'number = 3', limit });
  // Indexes are built in the order in which they are wanted.
  await built(service, 1);
  assert.equal((await ask(service, path, { filters: 'number = 4' })).way, 'index number');
  assert.deepEqual(await ask(service, path, { ...walked, offset: '8' }), {
    rows: [807, 907],
    way: 'view: no index tells',
    count: 50,
  });
});

/** Of two rows: a hundred names come in turn, and the last row has none. */
const LOOKED_UP: Readonly<
  Record<string, { readonly rows: readonly number[]; readonly way: string; readonly count?: number }>
> = {
  "name = 'name 7'": { rows: [7, 107], way: 'index name', count: 50 },
  "name in ('name 8', 'name 7', 'nobody')": { rows: [7, 8], way: 'index name', count: 100 },
  'number >= 4998': { rows: [4998, 4999], way: 'index number', count: 2 },
  'number > 7 and number < 10': { rows: [8, 9], way: 'index number', count: 2 },
  'number between 10 and 12': { rows: [10, 11], way: 'index number', count: 3 },
  "name like 'name 9%'": { rows: [9, 90], way: 'index name', count: 549 },
  'name is null': { rows: [4999], way: 'index name', count: 1 },
  'name is null and number > 4000': { rows: [4999], way: 'index name, number', count: 1 },
  "name = 'name 7' and number between 100 and 300": { rows: [107, 207], way: 'index name, number', count: 2 },
  "name = 'name 7' or number = 3": { rows: [3, 7], way: 'index name, number', count: 51 },
  "not (name != 'name 7')": { rows: [7, 107], way: 'index name', count: 50 },
  "name = 'name 7' and größe like '%07'": { rows: [107, 207], way: 'index name, rows checked' },
  // An index on one side of an \`or\` does not tell.
  "name = 'name 7' or größe = 'x3'": { rows: [3, 7], way: 'search: no index tells' },
};

test('every filter that indexes can answer is looked up, and so are its neighbours', async (t) => {
  const { service, path } = await published(t);
  for (const limit of ['1', '2']) await ask(service, path, { filters: "name = 'x' and number = 1", limit });
  await built(service, 2);
  for (const [filters, expected] of Object.entries(LOOKED_UP)) {
    const { rows, way, count } = await ask(service, path, { filters, limit: '2' });
    assert.deepEqual({ rows, way }, { rows: expected.rows, way: expected.way }, filters);
    if (expected.count !== undefined) assert.equal(count, expected.count, filters);
  }
});

test('a page of rows found by an index and checked ends at the datapoint limit', async (t) => {
  const { service, path } = await published(t, { QRS_INDEX_USES: '1', QRS_MAX_DATAPOINTS: '10' });
  const filters = "name = 'name 7' and name like '%7'";
  const searched = await ask(service, path, { filters });
  await built(service, 1);
  const found = await ask(service, path, { filters });
  assert.equal(found.way, 'index name, rows checked');
  assert.equal(found.rows.length, 10);
  assert.deepEqual(found.rows, searched.rows);
});

test('rows come in the order of a column that has an index, on any page', async (t) => {
  const { service, path } = await published(t);
  for (const limit of ['1', '2'])
    await ask(service, path, { sort_by: 'name desc, number', filters: 'number < 300', limit });
  await built(service, 2);
  const page = await ask(service, path, { sort_by: 'name desc', filters: 'number < 300', limit: '3', offset: '1' });
  assert.deepEqual(page, { rows: [199, 299, 98], way: 'index number, name', count: 300 });
  const first = await ask(service, path, { sort_by: 'name desc nulls first', limit: '3' });
  assert.deepEqual([first.rows, first.way], [[4999, 99, 199], 'index name']);
  const deep = await ask(service, path, { sort_by: 'number desc', limit: '2', offset: '4000' });
  assert.deepEqual([deep.rows, deep.way], [[999, 998], 'index number']);
});

test('the first rows of an order are found among many that match a filter', async (t) => {
  const { service, path } = await published(t, { QRS_INDEX_USES: '1' }, 20_000);
  const filters = "name < 'name 50' or name is null";
  await ask(service, path, { filters, sort_by: 'number desc', limit: '1' });
  await built(service, 2);
  const first = await ask(service, path, { filters, sort_by: 'number desc', limit: '3', offset: '1' });
  assert.deepEqual(first, { rows: [19_949, 19_948, 19_947], way: 'index name, number', count: 9201 });
  const deep = await ask(service, path, { filters, sort_by: 'number', limit: '2', offset: '9000' });
  assert.match(deep.way ?? '', /^view: 9201 rows would have to be put in order$|^search: 9201 rows/);
  assert.equal(deep.count, 9201);
});

test('a walk through many rows reads its view; a first page of them uses the index', async (t) => {
  const { service, path } = await published(t, { QRS_INDEX_USES: '1', QRS_DIRECT_ROWS: '0' }, 20_000);
  const sorted = async (offset: string) =>
    await ask(service, path, { filters: 'number >= 0', sort_by: 'number desc', limit: '2', offset });
  await sorted('0');
  await built(service, 1);
  assert.deepEqual(await sorted('0'), { rows: [19_999, 19_998], way: 'index number', count: 20_000 });
  assert.deepEqual(await sorted('2'), {
    rows: [19_997, 19_996],
    way: 'view: a walk through 20000 rows',
    count: 20_000,
  });
  assert.deepEqual((await sorted('19999')).rows, [0]);
});

test('a name that a header cannot hold is replaced by its number, in the log as well', async (t) => {
  const { service, path } = await published(t, { QRS_INDEX_USES: '1' });
  await ask(service, path, { filters: `"größe" = 'x5'` });
  await built(service, 1);
  assert.equal((await ask(service, path, { filters: `"größe" = 'x5'`, limit: '1' })).way, 'index column 3');
  const ways = service.observed.map((observation) =>
    observation.kind === 'answered' ? observation.stats.way : undefined,
  );
  assert.equal(ways.at(-1), 'index column 3');
});

test('no index for a result of few rows, or where indexes are switched off', async (t) => {
  for (const settings of [{ QRS_INDEX_ROWS: '5001' }, { QRS_INDEX_USES: 'off' }]) {
    const { service, path } = await published(t, settings);
    for (const limit of ['1', '2', '3']) {
      assert.equal((await ask(service, path, { filters: 'number = 7', limit })).way, 'search');
    }
    const derived = await readdir(join(service.commandLine.dataDir, 'derived'));
    assert.deepEqual(
      derived.filter((name) => name.endsWith('.index')),
      [],
    );
  }
});

test('an evicted index is not built again for ten minutes, however often it is asked for', async (t) => {
  // Room for one of the two, each of which takes about 40 KB.
  const { service, path } = await published(t, { QRS_INDEX_USES: '1', QRS_VIEW_CACHE: '60KB' });
  const filtered = async (column: string, limit: number) =>
    await ask(service, path, { filters: `${column} is null`, limit: String(limit) });
  const builds = () => service.observed.filter(({ kind }) => kind === 'index_built').length;
  await filtered('number', 1);
  await built(service, 1);
  service.commandLine.now += 1000;
  await filtered('name', 1);
  await built(service, 2);
  for (const limit of [2, 3, 4]) assert.equal((await filtered('number', limit)).way, 'search: no index tells');
  assert.equal((await filtered('name', 2)).way, 'index name');
  service.commandLine.now += 600_000;
  await filtered('number', 5);
  await built(service, 3);
  assert.equal(builds(), 3);
  assert.equal((await filtered('number', 6)).way, 'index number');
});

test('what cannot be opened as an index, or an empty folder in its place, is replaced; a folder with something in it stays', async (t) => {
  const { service, path } = await published(t, { QRS_INDEX_USES: '1' });
  const filter = { filters: 'number = 7' };
  await ask(service, path, filter);
  await built(service, 1);
  const directory = join(service.commandLine.dataDir, 'derived');
  const [name = ''] = (await readdir(directory)).filter((file) => file.endsWith('.index'));
  const file = join(directory, name);
  const notes = join(file, 'notes.txt');
  const obstacles = [
    // A link in a circle cannot be opened by anybody.
    async () => await symlink(file, file),
    async () => void (await mkdir(file)),
    async () => {
      await mkdir(file);
      await writeFile(notes, 'mine');
    },
  ];
  const observed: Observation[] = [];
  const done = (kind: Observation['kind']) => observed.filter((one) => one.kind === kind);
  for (const [place, put] of obstacles.entries()) {
    await rm(file, { recursive: true });
    await put();
    const settings = { ...SETTINGS, QRS_INDEX_USES: '1' };
    const { server, close } = await openServer(service.commandLine, settings, (one) => void observed.push(one));
    const query = new URLSearchParams({ ...filter, columns: 'number' });
    const response = await fetch(`${server.url}${path}?${query}`, { headers: { 'x-service-api-key': service.key } });
    assert.deepEqual(((await response.json()) as { result: { rows: unknown } }).result.rows, [{ number: 7 }]);
    while (done('index_built').length + done('index_failed').length <= place) await sleep(5, t.signal);
    await close();
  }
  assert.equal(done('index_built').length, 2);
  const failed = done('index_failed').map((one) => String('error' in one && one.error));
  assert.match(failed.join(), /^Error: [^ ]*index is a folder, in the place of a file .* remove it/);
  assert.equal(await readFile(notes, 'utf8'), 'mine');
});

test('an index of another column or result, under the name of the one that is looked for, is not read', async (t) => {
  const { service, id } = await published(t, { QRS_INDEX_USES: '1' });
  const lines = Array.from({ length: ROWS }, (_, i) => `${ROWS - i},name ${i % 7},x${i}`);
  const other = await service.publish(7, `number,name,größe\n${lines.join('\n')}\n`);
  const filters = { name: "name = 'name 7'", größe: '"größe" = \'x7\'' };
  for (const run of [id, other.id]) {
    for (const filter of Object.values(filters))
      await ask(service, `/v1/execution/${run}/results`, { filters: filter });
  }
  await built(service, 4);
  const directory = join(service.commandLine.dataDir, 'derived');
  const indexes = (await readdir(directory)).filter((file) => file.endsWith('.index'));
  const pathOf = (run: string, column: string) =>
    join(directory, indexes.find((file) => file.startsWith(`${run}.${column}.`)) ?? 'none');
  const swap = async (one: string, two: string) => {
    await rename(one, `${one}.kept`);
    await rename(two, one);
    await rename(`${one}.kept`, two);
  };
  const observed: Observation[] = [];
  const { server, close } = await openServer(service.commandLine, SETTINGS, (one) => void observed.push(one));
  t.after(close);
  const askOther = async (filter: string) => {
    const query = new URLSearchParams({ filters: filter, columns: 'number', limit: '2' });
    const response = await fetch(`${server.url}/v1/execution/${id}/results?${query}`, {
      headers: { 'x-service-api-key': service.key },
    });
    const { result } = (await response.json()) as { result: { rows: { number: number }[] } };
    return result.rows.map(({ number }) => number);
  };
  await swap(pathOf(id, 'c1'), pathOf(id, 'c2'));
  assert.deepEqual(await askOther(filters.größe), [7]);
  assert.deepEqual(await askOther(filters.name), [7, 107]);
  await copyFile(pathOf(other.id, 'c1'), pathOf(id, 'c1'));
  assert.deepEqual(await askOther(filters.name), [7, 107]);
  const damaged = observed.flatMap((one) => (one.kind === 'index_damaged' ? [String(one.error)] : []));
  assert.deepEqual(
    damaged,
    Array.from({ length: 3 }, () => 'Error: an index was made from something else'),
  );
});
