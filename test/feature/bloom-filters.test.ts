/**
 * DuckDB finds too few binary and floating values by a Parquet file's bloom filters. Old parts that have them are read
 * correctly, and new files have none.
 */
import assert from 'node:assert/strict';
import { copyFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { allRowsOf } from '../../src/domain/result-set.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import type { Row } from './naive-interpreter.ts';
import { StoredResults } from './stored-result.ts';

const ROWS = 2000;
const ADDRESSES = 20;

const addressOf = (row: number) => (0xa0 + (row % ADDRESSES)).toString(16).padStart(40, '0');

/** The number of column chunks in these Parquet files that have a bloom filter. */
async function bloomFiltersIn(paths: readonly string[]): Promise<number> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const files = paths.map((path) => `'${path}'`).join(', ');
  const counted = await connection.run(`SELECT count(bloom_filter_offset) FROM parquet_metadata([${files}])`);
  const [[count] = []] = await counted.getRows();
  connection.closeSync();
  instance.closeSync();
  return Number(count);
}

async function parquetFilesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => name.endsWith('.parquet')).map((name) => join(folder, name));
}

/** Copies of the stored objects of a result. */
async function storedFiles(service: HttpService, id: string): Promise<readonly string[]> {
  const store = await service.store();
  const { parts, preSample } = (await (await service.catalog()).executions.findResultSet(id)) ?? assert.fail(id);
  const paths: string[] = [];
  for (const part of [...parts, ...(preSample === undefined ? [] : [preSample])]) {
    const path = join(service.commandLine.directory, `stored-${paths.length}.parquet`);
    await using opened = await store.open(part, allRowsOf(part), new AbortController().signal);
    await copyFile(opened.path, path);
    paths.push(path);
  }
  return paths;
}

async function countOf(service: HttpService, path: string, filters: string): Promise<number> {
  const body = await service.json(`${path}?filters=${encodeURIComponent(filters)}`);
  const { metadata } = body.result as { readonly metadata: { readonly row_count: number } };
  return metadata.row_count;
}

test('parts that were stored with bloom filters are searched correctly', async (t) => {
  const service = await startHttpService(t);
  await using stored = await StoredResults.of(service);
  const columns = [
    { name: 'address', type: { kind: 'varbinary' } },
    { name: 'd', type: { kind: 'double' } },
    { name: 'r', type: { kind: 'real' } },
  ] as const;
  // All zeros are negative zeros.
  const rows = Array.from({ length: ROWS }, (_, row): Row => {
    const zeroOrTwo = { kind: 'float', value: row % 4 === 0 ? -0 : 2 } as const;
    return [{ kind: 'bytes', hex: addressOf(row) }, zeroOrTwo, zeroOrTwo];
  });
  const { id } = await stored.put({ columns, rows }, ROWS, t.signal);
  assert.equal(await bloomFiltersIn(await storedFiles(service, id)), 3);
  const path = `/v1/execution/${id}/results`;
  for (let address = 0; address < ADDRESSES; address += 1) {
    assert.equal(await countOf(service, path, `address = 0x${addressOf(address)}`), ROWS / ADDRESSES);
  }
  const some = `0x${addressOf(3)}`;
  for (const [filters, count] of [
    [`address in (${some})`, 100],
    [`address in (${some}, ${some})`, 100],
    [`address in (${some}, 0x00, 0x01)`, 100],
    [`not address != ${some}`, 100],
    [`address between ${some} and ${some}`, 100],
    [`address != ${some}`, 1900],
    [`address not in (${some})`, 1900],
    ['d = 0', 500],
    ['d in (0)', 500],
    ['not d <> 0.0', 500],
    ['d != 0', 1500],
    ['r = 0', 500],
    ['r != -0.0', 1500],
  ] as const) {
    assert.equal(await countOf(service, path, filters), count, filters);
  }
});

test('no file of ours has a bloom filter: stored parts, pre-samples, views, Parquet answers', async (t) => {
  const service = await startHttpService(t, { QRS_DIRECT_ROWS: '10' });
  const lines = Array.from({ length: ROWS }, (_, row) => `${row},0x${addressOf(row)},${row % 3}.5`);
  const { id } = await service.publish(7, `n,address,d\n${lines.join('\n')}\n`, {
    types: { address: 'varbinary', d: 'double' },
    preSampleRows: 500,
  });
  const stored = await storedFiles(service, id);
  assert.equal(stored.length, 2);
  // The second page of a view materialises it.
  await service.json(`/v1/execution/${id}/results?sort_by=address&limit=10&offset=10`);
  const views = await parquetFilesIn(join(service.commandLine.dataDir, 'views'));
  assert.equal(views.length, 1);
  assert.equal(await bloomFiltersIn([...stored, ...views]), 0);
  const answer = join(service.commandLine.directory, 'answer.parquet');
  const response = await service.get(`/v1/execution/${id}/results?format=parquet`);
  await writeFile(answer, new Uint8Array(await response.arrayBuffer()));
  assert.equal(await bloomFiltersIn([answer]), 0);
});
