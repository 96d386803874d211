/**
 * Rows come in stored order also where DuckDB plans the filter as a join, which keeps no order: an `in` of five values or more.
 * Of 400,000 rows every 506th has one of the eight values asked for.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { rowsOf, walk } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { readParquet } from './parquet-reader.ts';

const ROWS = 400_000;
const EVERY = 506;
const WANTED = [3, 8, 21, 34, 55, 89, 144, 233];
/** The rows that the filter keeps, in stored order. */
const KEPT = Array.from({ length: Math.ceil(ROWS / EVERY) }, (_, k) => k * EVERY);
const FILTER = `filters=${encodeURIComponent(`kind in (${WANTED.join(', ')})`)}`;

/** Column `n` counts from 0. `kind` is one of the wanted values in every 506th row, and another value elsewhere. */
async function publishKinds(service: HttpService): Promise<string> {
  const path = join(service.commandLine.directory, 'kinds.parquet');
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const kind = `CASE WHEN n % ${EVERY} = 0 THEN [${WANTED}][(n // ${EVERY}) % 8 + 1] ELSE 1000 + n % 7 END`;
  await connection.run(
    `COPY (SELECT n, (${kind})::INTEGER AS kind FROM range(${ROWS}) r(n)) TO '${path}' (FORMAT parquet)`,
  );
  connection.closeSync();
  instance.closeSync();
  const { id } = await service.publish(7, await readFile(path), { format: 'parquet' });
  return `/v1/execution/${id}/results`;
}

async function textOf(service: HttpService, path: string): Promise<string> {
  const response = await service.get(path);
  assert.equal(response.status, 200);
  return await response.text();
}

test('filtered by a list of values, pages, exports and files have each row once, in stored order', async (t) => {
  const service = await startHttpService(t);
  const results = await publishKinds(service);

  const [first] = await walk(service, `${results}?${FILTER}&limit=1000`);
  assert.deepEqual(
    first?.result.rows.map(({ n }) => n),
    KEPT,
    'one page, read directly',
  );

  const pages = await walk(service, `${results}?${FILTER}&limit=50`);
  assert.equal(pages.length, Math.ceil(KEPT.length / 50));
  assert.deepEqual(
    rowsOf(pages).map(({ n }) => n),
    KEPT,
    'pages of 50, the first read directly and the others from a view',
  );

  const lines = (await textOf(service, `${results}/csv?${FILTER}&columns=n`)).split('\n').slice(1, -1);
  assert.deepEqual(lines.map(Number), KEPT, 'CSV');

  const response = await service.get(`${results}?${FILTER}&format=parquet`);
  const { rows } = await readParquet(new Uint8Array(await response.arrayBuffer()), 'n');
  assert.deepEqual(
    rows.map(([n]) => Number(n)),
    KEPT,
    'Parquet',
  );
});
