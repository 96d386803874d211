/** Rows that are longer than what is taken from DuckDB in one turn come in several chunks, cut between any two bytes, and are the same bytes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inByteChunks } from '../../src/results/compile/in-byte-chunks.ts';
import { startFolderDuckDb } from './folder-duckdb.ts';
import { startHttpService } from './http-service.ts';
import { readParquet } from './parquet-reader.ts';

const CHUNK_BYTES = 2 * 1024 * 1024;
const { signal } = new AbortController();

test('the chunks are all of the bytes, in order, none longer than 2 MiB, each with the other values', async (t) => {
  const { duckDb } = await startFolderDuckDb(t, 2);
  for (const [bytes, chunks] of [
    [0, [0]],
    [5, [5]],
    [CHUNK_BYTES, [CHUNK_BYTES]],
    [CHUNK_BYTES + 1, [CHUNK_BYTES, 1]],
    [3 * CHUNK_BYTES, [CHUNK_BYTES, CHUNK_BYTES, CHUNK_BYTES]],
    [3 * CHUNK_BYTES + 7, [CHUNK_BYTES, CHUNK_BYTES, CHUNK_BYTES, 7]],
  ] as const) {
    // Characters of two bytes after one of one byte: chunks end within them.
    const whole = Buffer.from(`a${'é'.repeat(bytes)}`).subarray(0, bytes);
    const text = "SELECT from_hex($1::VARCHAR), 3, 'x', true";
    const rows = await duckDb.query(inByteChunks({ text, values: [whole.toString('hex')] }), signal);
    assert.deepEqual(
      rows.map(([chunk]) => (chunk as Uint8Array).byteLength),
      chunks,
    );
    assert.ok(Buffer.concat(rows.map(([chunk]) => chunk as Uint8Array)).equals(whole));
    assert.deepEqual(new Set(rows.map(([, ...others]) => JSON.stringify(others))), new Set(['[3,"x",true]']));
  }
  const none = await duckDb.query(inByteChunks({ text: 'SELECT NULL::BLOB, 0, 0, 1', values: [] }), signal);
  assert.deepEqual(none, [[null, 0, 0, 1]]);
});

test('rows of megabytes are the same bytes in each format, by page, filtered and sorted', async (t) => {
  const service = await startHttpService(t, { QRS_ROW_FILES: '0' });
  const texts = ['a', 'é', '😀', '€'].map((character, index) => `${index}${character.repeat(3_000_000)}`);
  const { id } = await service.publish(7, `n,w\n${texts.map((text, n) => `${n},${text}\n`).join('')}`);
  const read = async (path: string) => {
    const free = `${path.includes('?') ? '&' : '?'}ignore_max_datapoints_per_request=true`;
    const answer = await service.get(`/v1/execution/${id}/results${path}${free}`);
    const text = await answer.text();
    assert.equal(answer.status, 200, text.slice(0, 200));
    return text;
  };
  const csv = (rows: readonly number[]) => `n,w\n${rows.map((n) => `${n},${texts[n]}\n`).join('')}`;
  const ndjson = (rows: readonly number[]) => rows.map((n) => `{"n":${n},"w":"${texts[n]}"}\n`).join('');
  for (const [path, expected] of [
    ['/csv', csv([0, 1, 2, 3])],
    ['?format=ndjson', ndjson([0, 1, 2, 3])],
    ['/csv?sort_by=n desc', csv([3, 2, 1, 0])],
    ['/csv?filters=n in (1, 2)', csv([1, 2])],
    ['/csv?filters=n > 0&sort_by=n desc&limit=2', csv([3, 2])],
    ['/csv?limit=1&offset=2', csv([2])],
  ] as const) {
    assert.ok((await read(path.replaceAll(' ', '%20'))) === expected, path);
  }
});

test('where whole rows are too wide to be sorted, columns that are named are read in order all the same', async (t) => {
  const service = await startHttpService(t, { QRS_HEAVY_MEMORY: '64MB', QRS_ROW_FILES: 'off', QRS_DIRECT_ROWS: '0' });
  const rows = Array.from({ length: 1200 }, (_, n) => `${n},${1199 - n},${n}${'x'.repeat(100_000)}`);
  const { id } = await service.publish(7, `n,m,w\n${rows.join('\n')}\n`, { types: { n: 'bigint', m: 'bigint' } });
  const read = async (query: string) => await service.get(`/v1/execution/${id}/results?sort_by=m&${query}`);
  const free = 'ignore_max_datapoints_per_request=true';
  const tooWide = await read(`format=parquet&${free}`);
  assert.deepEqual([tooWide.status, tooWide.headers.get('x-error-code')], [503, 'overloaded']);
  assert.match(await tooWide.text(), /name fewer columns/);
  const expected = Array.from({ length: 1200 }, (_, m) => ({ m: String(m), n: String(1199 - m) }));
  const parquet = await read(`format=parquet&columns=m,n&${free}`);
  assert.equal(parquet.status, 200);
  const { rows: found } = await readParquet(Buffer.from(await parquet.arrayBuffer()), 'm, n');
  assert.deepEqual(
    found.map(([m, n]) => ({ m: String(m), n: String(n) })),
    expected,
  );
  for (const paged of [free, `${free}&offset=0&limit=1200`]) {
    const lines = await read(`format=ndjson&columns=m,n&${paged}`);
    assert.equal(await lines.text(), expected.map(({ m, n }) => `{"m":${m},"n":${n}}\n`).join(''));
  }
  assert.deepEqual(service.faults, []);
});
