/**
 * Contract §8: `search=`. Which values are found, how it goes with all else that an address may ask, and its bounds.
 * oracle.property.test.ts and indexes.property.test.ts hold what it means, over all types and every way to find rows.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { FEW_COLUMNS_MAX } from '../../src/duckdb/few-columns.ts';
import { openFolderDuckDb } from './folder-duckdb.ts';
import { getEnvelope, getText } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { foldCase } from './naive-search.ts';
import { readParquet } from './parquet-reader.ts';

const TYPES = {
  n: 'bigint',
  big: 'uint256',
  price: 'decimal(12, 2)',
  ratio: 'double',
  wallet: 'varbinary',
  at: 'timestamp(3) with time zone',
  fresh: 'boolean',
  tags: 'array(varchar)',
  more: 'json',
};

const WHALE = '115792089237316195423570985008687907853269984665640564039457584007913129639935';

const ROWS = [
  {
    n: 1,
    name: 'Äpfel 50%_off',
    big: WHALE,
    price: '-0.05',
    ratio: 1e300,
    wallet: '0xdeadbeef',
    at: '2024-03-05 15:02:59.999',
    fresh: true,
    tags: ['Base', 'ÉTÉ'],
    more: '{"k":"Zürich"}',
  },
  {
    n: 20,
    name: 'İstanbul',
    big: '7',
    price: '1234.50',
    ratio: 0.25,
    wallet: '0x00',
    at: '2025-12-31 00:00:00',
    fresh: false,
    tags: [],
    more: null,
  },
  {
    n: 300,
    name: null,
    big: null,
    price: null,
    ratio: 'NaN',
    wallet: null,
    at: null,
    fresh: null,
    tags: null,
    more: null,
  },
  {
    n: 4000,
    name: "O'Neil ΟΔΟΣ",
    big: '4000',
    price: '4.00',
    ratio: -4,
    wallet: '0xA0',
    at: '2024-03-06',
    fresh: true,
    tags: ['x_y'],
    more: '[1]',
  },
];

async function publishRows(service: HttpService): Promise<void> {
  const lines = ROWS.map((row) => `${JSON.stringify(row)}\n`).join('');
  await service.publish(7, lines, { format: 'ndjson', types: TYPES });
}

function pathOf(parameters: Readonly<Record<string, string>>): string {
  return `/v1/query/7/results?${new URLSearchParams(parameters)}`;
}

async function found(
  service: HttpService,
  search: string,
  more: Readonly<Record<string, string>> = {},
): Promise<readonly unknown[]> {
  const { result } = await getEnvelope(service, pathOf({ search, ...more }));
  return result.rows.map(({ n }) => n);
}

test('what is found: texts whatever the case, numbers by their digits, binary by hex, times as they are shown', async (t) => {
  const service = await startHttpService(t);
  await publishRows(service);
  const expected: Readonly<Record<string, readonly number[]>> = {
    äPFEL: [1],
    istan: [20],
    // Signs that mean something in a LIKE, in SQL or in a regular expression are themselves.
    '%': [1],
    '0%_o': [1],
    _: [1, 4000],
    "o'n": [4000],
    '.*': [],
    // One character for one: a sigma at the end of a word is another letter.
    οδοσ: [4000],
    οδος: [],
    // Numbers by all of their digits, never through a double.
    '129639935': [1],
    '129639936': [],
    '-0.05': [1],
    '234.5': [20],
    '1e300': [1],
    '-4': [4000],
    '20': [1, 20, 4000],
    // Binary, with or without 0x, and not its letters alone in other types.
    '0xDEAD': [1],
    dbee: [1],
    '0xa0': [4000],
    // Times.
    '2024-03': [1, 4000],
    '2024-03-05 15:02:59.999 UTC': [1],
    // Letters that all times, all booleans or numbers without digits have find nothing.
    utc: [],
    nan: [],
    true: [],
    // Elements of lists, and JSON.
    base: [1],
    été: [1],
    x_Y: [4000],
    zürich: [1],
    'no such text': [],
  };
  const answers: Record<string, readonly unknown[]> = {};
  for (const search of Object.keys(expected)) answers[search] = await found(service, search);
  assert.deepEqual(answers, expected);
  assert.deepEqual(await found(service, ''), [1, 20, 300, 4000], 'an empty text is as if absent');
});

test('it goes with filters, order, columns, pages, counts, every format and every address, and has an ETag', async (t) => {
  const service = await startHttpService(t);
  await publishRows(service);
  assert.deepEqual(await found(service, '20', { filters: 'n > 1', sort_by: 'n desc' }), [4000, 20]);
  assert.deepEqual(await found(service, '2024-03', { filters: "name ilike 'o%'" }), [4000]);
  // Columns that are not returned are searched.
  assert.deepEqual(await found(service, 'istan', { columns: 'n' }), [20]);

  const first = await getEnvelope(service, pathOf({ search: '20', limit: '2', count: 'exact' }));
  assert.equal((first.result.metadata as { filtered_row_count?: number }).filtered_row_count, 3);
  assert.equal(first.result.metadata.total_row_count, 4);
  const next = new URL(first.next_uri ?? '');
  assert.deepEqual(
    [next.pathname, next.searchParams.get('search')],
    [`/v1/execution/${first.execution_id}/results`, '20'],
  );
  const second = await getEnvelope(service, next.pathname + next.search);
  assert.deepEqual(
    second.result.rows.map(({ n }) => n),
    [4000],
  );
  assert.equal(second.next_uri, undefined);

  const answer = async (format: string) => await service.get(pathOf({ search: '20', columns: 'n', format }));
  assert.equal(await (await answer('csv')).text(), 'n\n1\n20\n4000\n');
  assert.equal(await (await answer('ndjson')).text(), '{"n":1}\n{"n":20}\n{"n":4000}\n');
  const { rows } = await readParquet(await (await answer('parquet')).bytes());
  assert.deepEqual(
    rows.map(([n]) => Number(n)),
    [1, 20, 4000],
  );
  const etag = (await answer('json')).headers.get('etag') ?? '';
  assert.match(etag, /^"/);
  const again = await service.get(pathOf({ search: '20', columns: 'n', format: 'json' }), {
    headers: { 'if-none-match': etag },
  });
  assert.deepEqual([again.status, etag === (await answer('csv')).headers.get('etag')], [304, false]);
  const other = await service.get(pathOf({ search: '21', columns: 'n', format: 'json' }), {
    headers: { 'if-none-match': etag },
  });
  assert.equal(other.status, 200);
});

test('beyond its bounds it is refused, and says why', async (t) => {
  const service = await startHttpService(t);
  await publishRows(service);
  const refusal = async (parameters: Readonly<Record<string, string>>) => {
    const response = await service.get(pathOf(parameters));
    const { error } = (await response.json()) as { readonly error: string };
    return [response.status, response.headers.get('x-error-code'), error];
  };
  assert.deepEqual(await refusal({ search: 'x'.repeat(1001) }), [
    400,
    'invalid_parameter',
    'search: found a text of 1001 characters, expected at most 1000',
  ]);
  assert.deepEqual(await found(service, '1'.repeat(1000)), []);
  assert.deepEqual(await refusal({ search: 'x', sample_count: '2' }), [
    400,
    'incompatible_parameters',
    'sample_count and search cannot be combined: a sample is drawn from the whole result',
  ]);
  const [status] = await getText(service, '/v1/query/7/results?search=a&search=b');
  assert.equal(status, 400);
  // A text that no column can hold reads nothing, and is no error.
  assert.deepEqual(await found(service, 'a\u0000b'), []);
});

test('a result of very many columns is searched in each of them', async (t) => {
  const service = await startHttpService(t);
  const columns = FEW_COLUMNS_MAX * 2 + 2;
  const names = Array.from({ length: columns }, (_, i) => `c${i}`);
  const row = (n: number) => names.map((_, i) => (i % 2 === 0 ? n * 1000 + i : `Text ${n * 1000 + i}`)).join(',');
  await service.publish(7, `${names.join(',')}\n${row(1)}\n${row(2)}\n${row(3)}\n`);
  const rowsWith = async (search: string) =>
    (await getEnvelope(service, pathOf({ search, columns: 'c0' }))).result.rows.map(({ c0 }) => c0);
  assert.deepEqual(await rowsWith('TEXT 2401'), [2000]);
  assert.deepEqual(await rowsWith('3400'), [3000]);
  assert.deepEqual(await rowsWith('text'), [1000, 2000, 3000]);
  assert.deepEqual(await rowsWith('text 4'), []);
});

test('DuckDB and the documented rule make the same lower-case letter of every character', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-fold-'));
  t.after(() => rm(directory, { recursive: true }));
  await using duckDb = await openFolderDuckDb(directory, 1);
  const surrogates = { from: 0xd800, to: 0xe000 };
  const text = `SELECT i, lower(chr(i::INTEGER)) FROM range(1, 1114112) r(i) WHERE (i < ${surrogates.from} OR i >= ${surrogates.to}) AND lower(chr(i::INTEGER)) <> chr(i::INTEGER)`;
  const lowered = new Map((await duckDb.query({ text, values: [] }, t.signal)).map(([i, lower]) => [Number(i), lower]));
  // Letters that Unicode has had since version 16. DuckDB leaves them as they are.
  const since16 = /^[\u1c89\ua7cb-\ua7dc\u{10d50}-\u{10d65}\u{16ea0}-\u{16eb8}]$/u;
  const differing: string[] = [];
  for (let code = 1; code < 0x110000; code += 1) {
    if (code >= surrogates.from && code < surrogates.to) continue;
    const character = String.fromCodePoint(code);
    const [ours, theirs] = [foldCase(character), lowered.get(code) ?? character];
    if (ours !== theirs && !(theirs === character && since16.test(character)))
      differing.push(`U+${code.toString(16)} ${ours} ${theirs}`);
  }
  assert(lowered.size > 1300, `${lowered.size} letters`);
  assert.deepEqual(differing, []);
});
