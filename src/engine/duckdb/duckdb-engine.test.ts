import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { engineContract } from '../../../test/contract/engine.ts';
import { readParquetRows } from '../../../test/contract/read-parquet-rows.ts';
import { sleep } from '../../../test/real-time.ts';
import { parseColumnType } from '../../domain/column-type.ts';
import { DuckDbEngine } from './duckdb-engine.ts';

const root = await mkdtemp(join(tmpdir(), 'qrs-sources-'));
after(() => rm(root, { recursive: true, force: true }));

engineContract('duckdb', async (files, { timeLimitMillis }) => {
  // A name with everything that DuckDB would read as a pattern or as the end of a text.
  const sourcesDirectory = await mkdtemp(join(root, "it's [all] *sources?-"));
  for (const [name, text] of Object.entries(files)) {
    const path = join(sourcesDirectory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return new DuckDbEngine({
    sourcesDirectory,
    tempDirectory: join(root, 'temp'),
    threads: 2,
    memoryBytes: 128_000_000,
    tempBytesMax: 0,
    resultBytesMax: 1e9,
    sleep,
    timeLimitMillis,
  });
});

/** DuckDB's own cast of the first gives 32050083377273120000. */
for (const [type, text, expected] of [
  ['DECIMAL(38, 0)', '32050083377273121587', 32050083377273123000],
  ['DECIMAL(38, 20)', '9007199.25474099300000000001', 9007199.254740993],
  ['DECIMAL(22, 1)', '120.5', 120.5],
  ['FLOAT', '0.5', 0.5],
  ['BIGINT', '9007199254740993', 9007199254740992],
] as const) {
  test(`a Parquet source of ${type} is read as the nearest double where a double is declared`, async () => {
    const sourcesDirectory = await mkdtemp(join(root, 'typed-'));
    await mkdir(join(sourcesDirectory, 'chain'));
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    await connection.run(
      `COPY (SELECT '${text}'::${type} AS n) TO '${join(sourcesDirectory, 'chain', 'sums.parquet')}'`,
    );
    connection.closeSync();
    instance.closeSync();
    await using engine = new DuckDbEngine({
      sourcesDirectory,
      tempDirectory: join(root, 'temp'),
      threads: 2,
      memoryBytes: 128_000_000,
      tempBytesMax: 0,
      resultBytesMax: 1e9,
      sleep,
      timeLimitMillis: 60_000,
    });
    const sources = [{ name: 'chain.sums', columns: [{ name: 'n', type: parseColumnType('double') }] }];
    const path = join(sourcesDirectory, 'sums.parquet');
    await engine.materialize({ sql: 'SELECT n FROM chain.sums', sources }, path, new AbortController().signal);
    assert.deepEqual(await readParquetRows(path), [[expected]]);
  });
}

test('a process that cannot be started fails the query, and the error says so', async (t) => {
  const program = process.execPath;
  t.after(() => {
    process.execPath = program;
  });
  process.execPath = join(root, 'no-such-program');
  await using engine = new DuckDbEngine({
    sourcesDirectory: root,
    tempDirectory: join(root, 'temp'),
    threads: 1,
    memoryBytes: 128_000_000,
    tempBytesMax: 0,
    resultBytesMax: 1e9,
    timeLimitMillis: 60_000,
    sleep,
  });
  const query = { sql: 'SELECT 1 AS n', sources: [] };
  const running = engine.materialize(query, join(root, 'none.parquet'), new AbortController().signal);
  await assert.rejects(running, {
    type: 'engine_error',
    message: 'the process that runs the query could not be started',
  });
});
