/** A coordinator that is killed while it runs a query, and started again: the query is taken up. It takes a Trino of its own. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, watch } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { TrinoEngine } from '../../src/engine/trino/trino-engine.ts';
import { readParquetTexts } from '../contract/read-parquet-rows.ts';
import { sleep } from '../real-time.ts';
import { TRINO_CATALOG, TrinoServer } from '../trino-server.ts';
import { NO_TRINO } from '../trino-tables.ts';

const ADDRESS = {
  user: 'qrs',
  password: undefined,
  token: undefined,
  catalog: TRINO_CATALOG,
  schema: undefined,
  certificates: undefined,
};

test('a query that the coordinator was killed over is run again by the one that comes back, each row once', {
  skip: NO_TRINO,
  timeout: 400_000,
}, async () => {
  const root = await mkdtemp(join(tmpdir(), 'qrs-on-trino-'));
  after(() => rm(root, { recursive: true, force: true }));
  await using server = await TrinoServer.start();
  await using engine = new TrinoEngine({
    address: { ...ADDRESS, origin: server.origin },
    tempDirectory: join(root, 'temp'),
    threads: 1,
    memoryBytes: 256_000_000,
    tempBytesMax: 1e9,
    resultBytesMax: 1e9,
    timeLimitMillis: 380_000,
    queryMemoryBytes: undefined,
    sleep,
  });
  const path = join(root, 'rows.parquet');
  const sql = `SELECT a * 1000 + b AS n, rpad('x', 100, 'y') AS filling FROM UNNEST(sequence(0, 999)) AS t (a) CROSS JOIN UNNEST(sequence(0, 999)) AS u (b) ORDER BY n`;
  const running = engine.materialize({ sql, sources: [] }, path, new AbortController().signal);
  // Hundreds of answers are to be fetched: it is at it when the first rows lie on disk.
  await firstRows(join(root, 'temp'));
  await server.kill();
  await server.resume();
  const { rowCount } = await running;
  assert.equal(rowCount, 1_000_000);
  const rows = await readParquetTexts(path);
  assert.ok(rows.every(([n], i) => n === String(i)));
});

/** Resolves when the engine has a file of rows. */
async function firstRows(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for await (const { filename } of watch(folder, { recursive: true })) {
    if (filename?.endsWith('.json.zst')) return;
  }
}
