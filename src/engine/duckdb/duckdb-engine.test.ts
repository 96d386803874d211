import assert from 'node:assert/strict';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { engineContract, type OpenEngine } from '../../../test/contract/engine.ts';
import { sleep } from '../../../test/real-time.ts';
import { root, rowsOver, writeSources } from '../../../test/rows-over-sources.ts';
import type { RunProgress } from '../../domain/run-progress.ts';
import { DuckDbEngine } from './duckdb-engine.ts';

const options = {
  tempDirectory: join(root, 'temp'),
  threads: 2,
  memoryBytes: 128_000_000,
  tempBytesMax: 0,
  resultBytesMax: 1e9,
  sleep,
};

const openEngine: OpenEngine = async (files, { timeLimitMillis }) =>
  new DuckDbEngine({ ...options, sourcesDirectory: await writeSources(files), timeLimitMillis });

engineContract('duckdb', openEngine);

test('how far a query is, is told in percent while it reads', async () => {
  const sourcesDirectory = await mkdtemp(join(root, 'long-'));
  await mkdir(join(sourcesDirectory, 'chain'));
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const table = join(sourcesDirectory, 'chain', 'long.parquet');
  await connection.run(`COPY (SELECT range AS n FROM range(800000)) TO '${table}' (ROW_GROUP_SIZE 2048)`);
  connection.closeSync();
  await using engine = new DuckDbEngine({ ...options, sourcesDirectory, timeLimitMillis: 60_000 });
  const ended = new AbortController();
  const enough = new Error('it was told');
  const told: RunProgress[] = [];
  // 4 GB of texts: it is ended by what it tells.
  const sql = "SELECT max(md5(rpad(CAST(n AS VARCHAR), 5000, 'x'))) AS m FROM chain.long";
  const running = engine.materialize({ sql, sources: [] }, join(root, 'long.parquet'), ended.signal, (progress) => {
    told.push(progress);
    ended.abort(enough);
  });
  await assert.rejects(running, enough);
  const [{ percent = 0 } = {}] = told;
  assert.ok(percent > 0 && percent < 100, `${percent} %`);
});

test('a missing source table is named with the places where it was expected', async () => {
  await assert.rejects(rowsOver({}, 'SELECT 1 FROM chain.events'), {
    type: 'missing_source',
    message: /^source table chain\.events is missing: expected chain\/events\.parquet, /,
  });
});

test('a source table may be a folder of files, partitioned or not', async () => {
  const files = {
    'chain/events/day=2024-03-05/a.ndjson': '{"who":"ann","shares":"1"}\n',
    'chain/events/day=2024-03-06/b.ndjson': '{"who":"bob","shares":2}\n',
  };
  assert.deepEqual(await rowsOver(files, 'SELECT who FROM chain.events ORDER BY who'), [['ann'], ['bob']]);
});

test('a column that only some files of a folder have, such as those written since it was added, is null in the rows of the others', async () => {
  for (const [format, old, now] of [
    ['csv', 'who\nann\n', 'shares,who\n2,bob\n'],
    ['ndjson', '{"who":"ann"}\n', '{"shares":2,"who":"bob"}\n'],
  ]) {
    const files = { [`chain/events/day=1/a.${format}`]: `${old}`, [`chain/events/day=2/a.${format}`]: `${now}` };
    assert.deepEqual(await rowsOver(files, 'SELECT who, CAST(shares AS INTEGER) FROM chain.events ORDER BY who'), [
      ['ann', null],
      ['bob', 2],
    ]);
  }
});

test('files that a writer has not finished are no rows of a folder: their name, or that of a folder, begins with . or _', async () => {
  const files = {
    "chain/events/_day=1/it's [a] *part?.csv": 'who,shares\nann,1\n',
    'chain/events/_day=1/.part.csv': 'who,shares\nann,1\n',
    'chain/events/_day=2/part.csv': 'who,shares\nbob,2\n',
    'chain/events/_temporary/0/_day=2/part.csv': 'who,shares\nbob,2\n',
    'chain/events/.staging/part.parquet': 'PAR1',
  };
  const sql = 'SELECT who, CAST(shares AS INTEGER) FROM chain.events ORDER BY who';
  assert.deepEqual(await rowsOver(files, sql), [
    ['ann', 1],
    ['bob', 2],
  ]);
});

test('a source table that exists twice is refused; the engine chooses neither', async () => {
  const files = { 'chain/events.csv': 'who,shares\n', 'chain/events/a.csv': 'who,shares\n' };
  await assert.rejects(rowsOver(files, 'SELECT 1 FROM chain.events'), {
    type: 'wrong_source',
    message: /more than once \(chain\/events\.csv, chain\/events\/\): keep one/,
  });
});

test('a source table that lacks a column that is read is refused, and the column named', async () => {
  await assert.rejects(rowsOver({ 'chain/events.csv': 'who,seen_at\nann,\n' }, 'SELECT 1 FROM chain.events'), {
    type: 'wrong_source',
    message: 'source table chain.events has no column shares: found who, seen_at',
  });
});

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
