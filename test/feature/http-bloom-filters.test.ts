/** Bloom filters that are stored beside parts, over HTTP: what is not searched because of them, and what happens when they are damaged. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ResultSet } from '../../src/domain/result-set.ts';
import { LocalResultStore } from '../../src/store/local/local-result-store.ts';
import { NO_RESULTS_FOLDER } from '../s3-server.ts';
import { storedKeys } from './behind-the-command.ts';
import { ask } from './found-page.ts';
import { type HttpService, type PublishOptions, startHttpService } from './http-service.ts';
import { readParquet } from './parquet-reader.ts';
import { replaceObject } from './replace-object.ts';

/** Parts of 2,048 rows, of which the last has 904. */
const ROWS = 5000;
const PARTS = { rowGroupRows: 2048, rowGroupsPerPart: 1 };
const TYPES = { wallet: 'varbinary', key: 'uuid', number: 'integer' };

const wallet = (row: number) => `0x${(row * 7919).toString(16).padStart(40, '0')}`;
const key = (row: number) => `00000000-0000-4000-8000-${(row * 104_729).toString(16).padStart(12, '0')}`;
const LINES = Array.from(
  { length: ROWS },
  (_, row) => `${row},${row === 17 ? '' : `name ${row}`},${wallet(row)},${key(row)}`,
);
const CSV = `number,name,wallet,key\n${LINES.join('\n')}\n`;

async function published(t: TestContext, options: PublishOptions = {}, settings: Record<string, string> = {}) {
  const service = await startHttpService(t, { QRS_PAGE_CACHE: '0', QRS_INDEX_USES: 'off', ...settings });
  const { id } = await service.publish(7, CSV, { ...PARTS, types: TYPES, ...options });
  return { service, id, path: `/v1/execution/${id}/results` };
}

async function manifestOf(service: HttpService, id: string): Promise<ResultSet> {
  const found = await (await service.catalog()).executions.findResultSet(id);
  assert(found !== undefined);
  return found;
}

const NONE = 'bloom filter: in none of 3 parts';
const inSome = (parts: number) => `search; bloom filter: in ${parts} of 3 parts`;

const FILTERS: Readonly<Record<string, { readonly rows: readonly number[]; readonly way: string }>> = {
  "name = 'nobody'": { rows: [], way: NONE },
  "'name 3000' = name": { rows: [3000], way: inSome(1) },
  "name in ('name 1', 'name 4999', 'nobody', null)": { rows: [1, 4999], way: inSome(2) },
  "name in ('nobody', 'no one')": { rows: [], way: NONE },
  "name = 'nobody' or wallet = 0xdeadbeef": { rows: [], way: NONE },
  [`name = 'name 5' or wallet = ${wallet(2500)}`]: { rows: [5, 2500], way: inSome(2) },
  // In different parts.
  [`name = 'name 5' and wallet = ${wallet(2500)}`]: { rows: [], way: NONE },
  "name = 'nobody' and number < 10": { rows: [], way: NONE },
  "(name = 'nobody' or number = 4) and wallet = 0x": { rows: [], way: NONE },
  [`wallet = '${wallet(4999).toUpperCase().replace('0X', '0x')}'`]: { rows: [4999], way: inSome(1) },
  [`key = '${key(2048).toUpperCase()}'`]: { rows: [2048], way: inSome(1) },
  "key = 'ffffffff-ffff-4fff-8fff-ffffffffffff'": { rows: [], way: NONE },
  // Case, blanks and composed letters are part of a text.
  "name = 'Name 3'": { rows: [], way: NONE },
  "name = 'name 3 '": { rows: [], way: NONE },
  "name = ''": { rows: [], way: NONE },
};

test('parts that a filter finds nothing in are not searched, by whatever way its rows are read', async (t) => {
  const { service, path } = await published(t, {}, { QRS_DIRECT_ROWS: '0' });
  for (const [filters, { rows, way }] of Object.entries(FILTERS)) {
    await t.test(`${filters}: ${way}`, async () => {
      const expected = { rows, way, count: rows.length };
      const reversed = { ...expected, rows: rows.toReversed() };
      assert.deepEqual(await ask(service, path, { filters }), expected);
      assert.deepEqual(await ask(service, path, { filters, sort_by: 'number desc' }), reversed);
      assert.deepEqual(await ask(service, path, { filters, limit: '0' }), { ...expected, rows: [] });
      // Later pages read a view.
      const walked: number[] = [];
      while (walked.length < rows.length) {
        const page = await ask(service, path, { filters, limit: '1', offset: String(walked.length) });
        assert.equal(page.rows.length, 1);
        walked.push(...page.rows);
      }
      assert.deepEqual(walked, rows);
      assert.deepEqual(
        await ask(service, path, { filters, limit: '1', offset: String(rows.length + 1) }).then((page) => page.rows),
        [],
      );
      const query = new URLSearchParams({ filters, columns: 'number', format: 'parquet' });
      const file = await service.get(`${path}?${query}`);
      assert.equal(file.status, 200);
      assert.equal(file.headers.get('x-service-filtered-row-count'), String(rows.length));
      assert.equal((await readParquet(new Uint8Array(await file.arrayBuffer()))).rows.length, rows.length);
    });
  }
});

test('of other filters Bloom filters say nothing', async (t) => {
  const { service, path } = await published(t);
  for (const filters of [
    "name like 'nobody'",
    "name ilike 'nobody'",
    "name != 'nobody'",
    "not name = 'nobody'",
    "name = 'nobody' or number < 3",
    "name > 'nobody'",
    'number = -1',
    'name is null',
  ]) {
    assert.equal((await ask(service, path, { filters, limit: '1' })).way, 'search', filters);
  }
});

/** Puts other bytes in the place of a stored object. */
async function replace({ commandLine, store }: HttpService, stored: string, bytes: Uint8Array): Promise<void> {
  await replaceObject(await store(), commandLine.directory, stored, bytes);
}

test('a result without rows of a filter does not open its parts', async (t) => {
  const { service, id, path } = await published(t);
  for (const { key: part } of (await manifestOf(service, id)).parts) {
    await replace(service, part, Buffer.from('nothing that could be read'));
  }
  assert.deepEqual(await ask(service, path, { filters: "name = 'nobody'" }), { rows: [], way: NONE, count: 0 });
  const present = await service.get(`${path}?${new URLSearchParams({ filters: "name = 'name 3'" })}`);
  assert.equal(present.headers.get('x-error-code'), 'result_damaged');
});

test('a damaged Bloom filter is not believed: its part is searched, the log says so once, and verify finds it', async (t) => {
  const { service, id, path } = await published(t);
  const [first] = (await manifestOf(service, id)).parts;
  assert(first?.bloomFilters !== undefined);
  // Nothing is set in it any more: believed, it would deny every value.
  await replace(service, first.bloomFilters.key, new Uint8Array(first.bloomFilters.objectBytes));
  const asked = async (row: number) => await ask(service, path, { filters: `name = 'name ${row}'` });
  assert.deepEqual(await asked(3), { rows: [3], way: inSome(1), count: 1 });
  assert.deepEqual(await asked(4), { rows: [4], way: inSome(1), count: 1 });
  assert.deepEqual(await asked(3000), { rows: [3000], way: inSome(2), count: 1 });
  assert.deepEqual(
    service.observed.map(({ kind }) => kind).filter((kind) => kind.startsWith('bloom')),
    ['bloom_filters_unreadable'],
  );
  const verified = await service.commandLine.run(['verify']);
  assert.equal(verified.code, 1);
  assert.match(verified.out + verified.err, new RegExp(`${first.bloomFilters.key}.*damaged`));
});

test('a Bloom filter that is written into while it is read is not believed', { skip: NO_RESULTS_FOLDER }, async (t) => {
  const { service, id, path } = await published(t);
  const [first] = (await manifestOf(service, id)).parts;
  const { bloomFilters: filters } = first ?? {};
  assert(filters !== undefined);
  const { open } = LocalResultStore.prototype;
  let isTouched = false;
  t.mock.method(
    LocalResultStore.prototype,
    'open',
    async function (this: LocalResultStore, ...asked: Parameters<typeof open>) {
      const opened = await open.apply(this, asked);
      if (asked[0].key === filters.key && !isTouched) {
        isTouched = true;
        await writeFile(opened.path, new Uint8Array(filters.objectBytes));
      }
      return opened;
    },
  );
  assert.deepEqual(await ask(service, path, { filters: "name = 'name 3'" }), { rows: [3], way: inSome(1), count: 1 });
  assert.equal(isTouched, true);
});

test('a Bloom filter that is gone costs nothing but time', async (t) => {
  const { service, id, path } = await published(t);
  for (const { bloomFilters } of (await manifestOf(service, id)).parts) {
    assert(bloomFilters !== undefined);
    assert.deepEqual(await (await service.store()).delete([bloomFilters.key]), []);
  }
  assert.deepEqual(await ask(service, path, { filters: "name = 'name 3'" }), { rows: [3], way: inSome(3), count: 1 });
  assert.deepEqual((await ask(service, path, { filters: "name = 'nobody'" })).rows, []);
  assert.deepEqual((await ask(service, path, { limit: '1', offset: '4000' })).rows, [4000]);
});

test('a small result has no Bloom filters, and so costs none', async (t) => {
  const { service, id, path } = await published(t, { bloomBytesMin: 4_194_304 });
  const { parts } = await manifestOf(service, id);
  assert.deepEqual(
    parts.map(({ bloomFilters }) => bloomFilters),
    [undefined, undefined, undefined],
  );
  assert.equal((await ask(service, path, { filters: "name = 'nobody'" })).way, 'search');
});

test('Bloom filters of a truncated result are those of the rows that are left', async (t) => {
  const { service, id } = await published(t, { resultBytesMax: 200_000 });
  const { truncated, parts, rowCount } = await manifestOf(service, id);
  assert(truncated && rowCount < ROWS && parts.every(({ bloomFilters }) => bloomFilters !== undefined));
  const path = `/v1/execution/${id}/results`;
  const partial = { allow_partial_results: 'true' };
  const cut = await ask(service, path, { ...partial, filters: `name = 'name ${rowCount}'` });
  assert.deepEqual(cut, { rows: [], way: `bloom filter: in none of ${parts.length} parts`, count: 0 });
  assert.deepEqual((await ask(service, path, { ...partial, filters: `name = 'name ${rowCount - 1}'` })).rows, [
    rowCount - 1,
  ]);
});

test('Bloom filters are swept with their result', async (t) => {
  const { service, id } = await published(t);
  assert.deepEqual(
    (await storedKeys(service.commandLine)).map((stored) => `${stored.split('/')[0]} ${basename(stored)}`),
    [
      'part-00000.bloom',
      'part-00000.parquet',
      'part-00001.bloom',
      'part-00001.parquet',
      'part-00002.bloom',
      'part-00002.parquet',
    ].map((name) => `${id} ${name}`),
  );
  service.commandLine.now += 91 * 86_400_000;
  await service.commandLine.get('sweep', '--yes');
  assert.deepEqual(await storedKeys(service.commandLine), []);
});
