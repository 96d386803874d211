/**
 * Users' SQL is hostile. Each known way out of a query is refused before any of it is run, and what a query may take is
 * bounded. The queries run as in production, except for the process around them, which the last tests add.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { DuckDbEngine } from '../../src/engine/duckdb/duckdb-engine.ts';
import { TABLE_FUNCTIONS } from '../../src/engine/duckdb/functions.ts';
import { runQuery } from '../../src/engine/duckdb/run-query.ts';
import { EngineError } from '../../src/engine/engine.ts';
import { readParquetRows } from '../contract/read-parquet-rows.ts';
import { sleep } from '../real-time.ts';

const root = await mkdtemp(join(tmpdir(), 'qrs-hostile-'));
after(() => rm(root, { recursive: true, force: true }));
const sourcesDirectory = join(root, 'sources');
await mkdir(join(sourcesDirectory, 'shop'), { recursive: true });
await writeFile(join(sourcesDirectory, 'shop', 'orders.csv'), 'id,amount\n1,5\n');
await writeFile(join(sourcesDirectory, 'shop', 'notes.txt'), 'SECRET');
await writeFile(join(root, 'secret.csv'), 'word\nSECRET\n');
const NEVER = new AbortController().signal;
const secret = join(root, 'secret.csv');
let runs = 0;

async function run(sql: string): Promise<readonly (readonly unknown[])[]> {
  const tempDirectory = await mkdtemp(join(root, 'temp-'));
  const path = join(root, `result-${++runs}.parquet`);
  const limits = { threads: 1, memoryLimit: '128MB', tempSizeMax: '0GB' };
  await runQuery({ sql, sources: [], path, sourcesDirectory, tempDirectory, ...limits }, sleep);
  const rows = await readParquetRows(path);
  await rm(path);
  return rows;
}

test('a single SELECT over source tables is no way out', async () => {
  const queries: readonly (readonly [sql: string, rows: unknown])[] = [
    ['SELECT id, amount FROM shop.orders', [['1', '5']]],
    ['FROM shop.orders', [['1', '5']]],
    ['VALUES (1), (2);', [[1], [2]]],
    ['WITH o AS (SELECT id FROM Shop."Orders") SELECT o.id FROM o -- the end', [['1']]],
    ['SELECT count(*)::INT FROM range(10) AS r (n) WHERE n > (SELECT max(id::INT) FROM shop.orders)', [[8]]],
    ["SELECT list_aggregate(list_transform([1, 2], lambda x: x + 1), 'sum')::INT AS n", [[5]]],
    ['WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT max(n) AS n FROM t', [[3]]],
    ['SELECT * FROM (PIVOT shop.orders ON id IN (1, 2) USING first(amount))', [['5', null]]],
    ["SELECT 'DROP TABLE x; ATTACH ''y''' AS text", [["DROP TABLE x; ATTACH 'y'"]]],
  ];
  for (const [sql, rows] of queries) assert.deepEqual(await run(sql), rows, sql);
});

describe('ways out', () => {
  const ways: readonly string[] = [
    // Files.
    `SELECT * FROM read_csv('${secret}')`,
    `SELECT * FROM read_csv_auto('${secret}')`,
    `SELECT * FROM read_text('${secret}')`,
    `SELECT * FROM read_blob('${secret}')`,
    `SELECT * FROM READ_TEXT('${secret}')`,
    `SELECT * FROM "read_text"('${secret}')`,
    `SELECT * FROM system.main.read_text('${secret}')`,
    `SELECT * FROM read_parquet('${secret}')`,
    `SELECT * FROM parquet_scan('${secret}')`,
    `SELECT * FROM parquet_metadata('${secret}')`,
    `SELECT * FROM read_json('${secret}')`,
    `SELECT * FROM read_ndjson_objects('${secret}')`,
    `SELECT * FROM sniff_csv('${secret}')`,
    `SELECT * FROM glob('${root}/*')`,
    `SELECT * FROM '${secret}'`,
    `SELECT * FROM "${secret}"`,
    `SELECT * FROM read_text('${join(sourcesDirectory, 'shop', 'notes.txt')}')`,
    `SELECT * FROM read_text('${join(sourcesDirectory, 'shop', 'orders.csv')}')`,
    `SELECT (SELECT content FROM read_text('${secret}'))`,
    `SELECT 1 WHERE EXISTS (FROM read_text('${secret}'))`,
    `SELECT * FROM shop.orders, LATERAL (SELECT * FROM read_text('${secret}'))`,
    `WITH t AS MATERIALIZED (FROM read_text('${secret}')) SELECT 1`,
    `SELECT 1 UNION ALL SELECT content FROM read_text('${secret}')`,
    `SELECT 1 ORDER BY (SELECT content FROM read_text('${secret}'))`,
    `SELECT * FROM (PIVOT (FROM read_text('${secret}')) ON filename IN ('x') USING first(content))`,
    "SELECT * FROM read_text('http://127.0.0.1:1/x')",
    "SELECT * FROM 's3://bucket/x.parquet'",
    'SELECT * FROM "../secret".csv',
    'SELECT * FROM shop."../../secret"',
    `SELECT * FROM read_duckdb('${join(root, 'x.db')}')`,
    // Statements inside a text.
    `SELECT * FROM query('SELECT * FROM read_text(''${secret}'')')`,
    "SELECT * FROM query_table('duckdb_settings')",
    `SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))`,
    `SELECT json_serialize_plan('SELECT * FROM ''${secret}''')`,
    // A statement other than SELECT, or a second statement.
    `ATTACH '${join(root, 'x.db')}' AS x`,
    `COPY (SELECT 1) TO '${join(root, 'out.csv')}'`,
    `COPY shop.orders FROM '${secret}'`,
    `EXPORT DATABASE '${join(root, 'export')}'`,
    `IMPORT DATABASE '${join(root, 'export')}'`,
    'INSTALL httpfs',
    'LOAD httpfs',
    "SET memory_limit = '100GB'",
    'RESET memory_limit',
    'SET VARIABLE x = 1',
    'PRAGMA database_list',
    'CALL pragma_version()',
    'CREATE TABLE x AS SELECT 1',
    'CREATE MACRO f() AS 1',
    'CREATE SECRET s (TYPE s3)',
    'DROP VIEW shop.orders',
    'INSERT INTO shop.orders VALUES (1, 2)',
    'DELETE FROM shop.orders',
    'PREPARE x AS SELECT 1',
    'BEGIN',
    'CHECKPOINT',
    'USE temp',
    'EXPLAIN SELECT 1',
    'EXPLAIN ANALYZE SELECT 1',
    'SHOW TABLES',
    'DESCRIBE shop.orders',
    'SUMMARIZE shop.orders',
    'SELECT * FROM (SHOW ALL TABLES)',
    'SELECT * FROM (SUMMARIZE shop.orders)',
    'PIVOT shop.orders ON id USING sum(amount::INT)',
    'SELECT 1; SELECT 2',
    'SELECT 1; DROP VIEW shop.orders',
    '; ; SELECT 1; SELECT 2',
    `SELECT 1) TO '${join(root, 'out.csv')}'; --`,
    `SELECT 1\n) TO '${join(root, 'out.csv')}' (FORMAT csv`,
    'SELECT 1 /*',
    "SELECT 'never ends",
    '',
    '-- nothing',
    // Settings, the environment, and what the instance knows.
    "SELECT current_setting('temp_directory')",
    `SELECT "CURRENT_SETTING"('temp_directory')`,
    "SELECT system.main.current_setting('temp_directory')",
    "SELECT 'temp_directory'.current_setting()",
    "SELECT list_transform(['temp_directory'], lambda x: current_setting(x))",
    "SELECT getenv('HOME')",
    "SELECT getvariable('x')",
    'SELECT * FROM duckdb_settings()',
    'SELECT * FROM duckdb_settings',
    'SELECT sql FROM duckdb_views',
    'SELECT * FROM duckdb_views, (WITH duckdb_views AS (SELECT 1) SELECT * FROM duckdb_views)',
    'SELECT * FROM duckdb_temporary_files()',
    'SELECT * FROM duckdb_secrets()',
    "SELECT * FROM which_secret('s3://x', 's3')",
    'SELECT * FROM pragma_database_list',
    'SELECT * FROM sqlite_master',
    'SELECT * FROM information_schema.tables',
    'SELECT * FROM system.information_schema.tables',
    'SELECT * FROM pg_catalog.pg_views',
    'SELECT * FROM main.duckdb_views',
    'SELECT * FROM memory.shop.orders',
    'SELECT pg_get_viewdef(1)',
    'SELECT current_query()',
    // Memory that is not the query's own, state, time.
    'SELECT * FROM arrow_scan(1, 2, 3)',
    'SELECT * FROM seq_scan()',
    'SELECT * FROM checkpoint()',
    'SELECT * FROM enable_logging()',
    "SELECT write_log('x')",
    'SELECT sleep_ms(1)',
    'SELECT pg_sleep(1)',
    "SELECT nextval('x')",
    'SELECT setseed(0.5)',
    'SELECT $1',
    'SELECT ?',
  ];
  for (const sql of ways) {
    test(sql.replaceAll(root, '…') || '(empty)', async () => {
      const filesBefore = (await readdir(root)).filter((name) => !name.startsWith('temp-'));
      const error = await run(sql).then(
        (rows) => assert.fail(`it answered ${JSON.stringify(rows)}`),
        (e: unknown) => e,
      );
      assert.ok(error instanceof EngineError, String(error));
      const expected = /\.\.\//.test(sql) ? 'wrong_source' : 'syntax_error';
      assert.equal(error.type, expected, error.message);
      assert.doesNotMatch(error.message, /SECRET/);
      const left = (await readdir(root)).filter((name) => !name.startsWith('temp-'));
      assert.deepEqual(left, filesBefore, 'no file was written');
    });
  }
});

test('behind the list the instance is locked down, too: a query that gets past the list reaches no file and no setting', async () => {
  const { DuckDb } = await import('../../src/duckdb/duckdb.ts');
  const limits = { threads: 1, memoryLimit: '128MB', tempSizeMax: '0GB', tempDirectory: join(root, 'temp'), sleep };
  const orders = join(sourcesDirectory, 'shop', 'orders.csv');
  await using duckDb = await DuckDb.open({ ...limits, allowedDirectories: [], allowedPaths: [orders] });
  const ask = (text: string) => duckDb.query({ text, values: [] }, NEVER);
  assert.equal((await ask(`SELECT id FROM read_csv('${orders}')`)).length, 1);
  const refused: readonly string[] = [
    `SELECT * FROM read_text('${secret}')`,
    `SELECT * FROM read_text('${join(sourcesDirectory, 'shop', 'notes.txt')}')`,
    `SELECT * FROM read_text('${orders}.gz')`,
    `COPY (SELECT 1) TO '${join(root, 'out.csv')}'`,
    `ATTACH '${join(root, 'x.db')}' AS x`,
    'INSTALL httpfs',
    "SET memory_limit = '100GB'",
    "SET allowed_paths = ['/']",
    'SET enable_external_access = true',
  ];
  for (const text of refused)
    await assert.rejects(ask(text), /Permission Error|Invalid Input Error|disabled|locked/, text);
});

test('every table function is refused, except those that make rows of their arguments', async () => {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const answer = await connection.runAndReadAll(
    `SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN ('table', 'table_macro')`,
  );
  const names = answer.getRows().map(([name]) => String(name));
  assert.ok(names.length > 80, `${names.length} functions`);
  for (const name of names.filter((n) => !TABLE_FUNCTIONS.has(n))) {
    await assert.rejects(
      run(`SELECT * FROM "${name}"('x')`),
      { type: 'syntax_error', message: /cannot read from/ },
      name,
    );
  }
  connection.closeSync();
  instance.closeSync();
});

describe('what a query takes is bounded', () => {
  const openEngine = (more: Partial<ConstructorParameters<typeof DuckDbEngine>[0]> = {}) =>
    new DuckDbEngine({
      sourcesDirectory,
      tempDirectory: join(root, 'engine'),
      threads: 1,
      memoryBytes: 128_000_000,
      tempBytesMax: 10_000_000,
      resultBytesMax: 10_000_000,
      timeLimitMillis: 120_000,
      sleep,
      ...more,
    });
  const forever = 'SELECT count(DISTINCT a.range + b.range) AS n FROM range(10000000) a, range(10000000) b';
  const materialize = (engine: DuckDbEngine, sql: string, signal = NEVER) =>
    engine.materialize({ sql, sources: [] }, join(root, `engine-${++runs}.parquet`), signal);
  const endless =
    'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) AS n FROM t WHERE n < 0';

  test('an answer that outgrows its share of the disk is stopped, and nothing of it is left', async () => {
    await using engine = openEngine({ resultBytesMax: 1_000_000 });
    const running = materialize(engine, 'SELECT hash(range) AS h FROM range(1000000000)');
    await assert.rejects(running, {
      type: 'result_limit',
      message: 'the rows take more than 1000000 bytes on disk (QRS_ENGINE_RESULT_MAX)',
    });
    assert.deepEqual(
      (await readdir(root)).filter((name) => name.endsWith('.parquet')),
      [],
    );
  });

  test('a query that spills more than it may is stopped', async () => {
    await using engine = openEngine();
    const sorted = 'SELECT repeat(md5(range::VARCHAR), 40) AS t FROM range(2000000) ORDER BY t';
    await assert.rejects(materialize(engine, sorted), { type: 'memory_limit' });
  });

  test('an endless recursion is stopped at the time limit', async () => {
    await using engine = openEngine({ timeLimitMillis: 3000 });
    await assert.rejects(materialize(engine, endless), { type: 'time_limit' });
  });

  test('a nesting too deep for the parser is refused', async () => {
    const error = await run(`SELECT ${'('.repeat(20_000)}1${')'.repeat(20_000)}`).catch((e: unknown) => e);
    assert.ok(error instanceof EngineError && error.type === 'syntax_error', String(error));
  });

  test('while one query runs endlessly another is answered; its process has nothing of our environment, and killing the process stops it', async (t) => {
    if (process.platform !== 'linux') return t.skip('only Linux shows the processes of a process');
    await using engine = openEngine();
    const cut = materialize(engine, forever).catch((e: unknown) => e);
    assert.deepEqual((await materialize(engine, 'SELECT 1 AS n')).rowCount, 1);
    const [pid] = await children();
    assert.ok(pid !== undefined);
    const environment = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0').filter((entry) => entry !== '');
    const names = environment.map((entry) => entry.split('=')[0]);
    const ofNode = ['UV_THREADPOOL_SIZE', 'NODE_COMPILE_CACHE', 'NODE_CHANNEL_FD', 'NODE_CHANNEL_SERIALIZATION_MODE'];
    assert.deepEqual(names, ofNode);
    process.kill(pid, 'SIGKILL');
    const error = await cut;
    assert.ok(error instanceof EngineError && error.type === 'memory_limit', String(error));
    assert.deepEqual((await materialize(engine, 'SELECT 2 AS n')).rowCount, 1);
  });

  test('when a cancelled query is reported as ended, it has ended', async () => {
    await using engine = openEngine();
    const controller = new AbortController();
    const cut = materialize(engine, forever, controller.signal);
    setImmediate(() => controller.abort(new Error('cancelled')));
    await assert.rejects(cut, { message: 'cancelled' });
    if (process.platform === 'linux') assert.deepEqual(await children(), []);
    assert.deepEqual(await readdir(join(root, 'engine')), []);
  });

  /** Child processes of this process that run SQL. */
  async function children(): Promise<readonly number[]> {
    const pids = (await readdir('/proc')).filter((name) => /^[0-9]+$/.test(name));
    const found = await Promise.all(
      pids.map(async (pid) => {
        const [stat, command] = await Promise.all(
          ['stat', 'cmdline'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
        );
        const parent = Number(stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        return parent === process.pid && command?.includes('run-sql') ? [Number(pid)] : [];
      }),
    );
    return found.flat();
  }
});
