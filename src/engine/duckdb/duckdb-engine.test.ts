import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { engineContract, type OpenEngine } from '../../../test/contract/engine.ts';
import { readParquetRows } from '../../../test/contract/read-parquet-rows.ts';
import { sleep } from '../../../test/real-time.ts';
import { parseColumnType } from '../../domain/column-type.ts';
import type { RunProgress } from '../../domain/run-progress.ts';
import type { SourceTable } from '../engine.ts';
import { DuckDbEngine } from './duckdb-engine.ts';
import { runQuery } from './run-query.ts';

const root = await mkdtemp(join(tmpdir(), 'qrs-sources-'));
after(() => rm(root, { recursive: true, force: true }));

const options = {
  tempDirectory: join(root, 'temp'),
  threads: 2,
  memoryBytes: 128_000_000,
  tempBytesMax: 0,
  resultBytesMax: 1e9,
  sleep,
};

/** @returns the folder that has them */
async function writeSources(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  // A name with everything that DuckDB would read as a pattern or as the end of a text.
  const sourcesDirectory = await mkdtemp(join(root, "it's [all] *sources?-"));
  for (const [name, text] of Object.entries(files)) {
    const path = join(sourcesDirectory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return sourcesDirectory;
}

const openEngine: OpenEngine = async (files, { timeLimitMillis }) =>
  new DuckDbEngine({ ...options, sourcesDirectory: await writeSources(files), timeLimitMillis });

engineContract('duckdb', openEngine);

const EVENTS = {
  name: 'chain.events',
  columns: [
    { name: 'who', type: parseColumnType('varchar') },
    { name: 'shares', type: parseColumnType('uint256') },
  ],
};

/** What the process of a query does, in this one: a process for each of some hundred cases would take minutes. */
async function rowsIn(sourcesDirectory: string, sql: string, table: SourceTable) {
  const path = join(await mkdtemp(join(root, 'rows-')), 'rows.parquet');
  const tempDirectory = await mkdtemp(join(root, 'temp-'));
  const limits = { threads: options.threads, memoryLimit: '128MB', tempSizeMax: '0B' };
  await runQuery({ sql, sources: [table], path, sourcesDirectory, tempDirectory, ...limits }, sleep);
  return await readParquetRows(path);
}

/** The rows of a query over files of source tables. */
async function rowsOver(files: Readonly<Record<string, string | Buffer>>, sql: string, table: SourceTable = EVENTS) {
  return await rowsIn(await writeSources(files), sql, table);
}

/** The rows of a query over a table of one value. */
async function rowsOverParquet(value: string, declared: string, sql: string) {
  const sourcesDirectory = await mkdtemp(join(root, 'typed-'));
  await mkdir(join(sourcesDirectory, 'chain'));
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`COPY (SELECT ${value} AS n) TO '${join(sourcesDirectory, 'chain', 'sums.parquet')}'`);
  connection.closeSync();
  instance.closeSync();
  const table = { name: 'chain.sums', columns: [{ name: 'n', type: parseColumnType(declared) }] };
  return await rowsIn(sourcesDirectory, sql, table);
}

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

test('a row of a CSV source that begins with # is a row', async () => {
  const files = { 'chain/events.csv': 'who,shares\n1,1\n#2,2\n3,3\n' };
  assert.deepEqual(await rowsOver(files, 'SELECT who FROM chain.events'), [['1'], ['#2'], ['3']]);
});

test('a key of an NDJSON source may be in another case than the declared column', async () => {
  const files = { 'chain/events.ndjson': '{"Who":"ann","SHARES":1}\n{"Who":"bob","SHARES":"2"}\n' };
  assert.deepEqual(await rowsOver(files, 'SELECT who, CAST(shares AS INTEGER) FROM chain.events'), [
    ['ann', 1],
    ['bob', 2],
  ]);
});

const WHO = { name: 'chain.events', columns: [{ name: 'who', type: parseColumnType('varchar') }] };

/** A file of the text columns `Who` and `wHo` and of `name`: DuckDB itself writes no two names that differ in case alone. */
async function parquetOf(name: string, values: readonly [Who: string, wHo: string, name: string]): Promise<Buffer> {
  const path = join(await mkdtemp(join(root, 'parquet-')), 'x.parquet');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const columns = ['Who', '#Ho', '#'.repeat(name.length)].map((column, i) => `'${values[i]}' AS "${column}"`);
  await connection.run(`COPY (SELECT ${columns.join(', ')}) TO '${path}' (COMPRESSION uncompressed)`);
  connection.closeSync();
  instance.closeSync();
  const bytes = (await readFile(path)).toString('latin1');
  return Buffer.from(bytes.replaceAll('#Ho', 'wHo').replaceAll('#'.repeat(name.length), name), 'latin1');
}

test('of columns that differ only in case, the one of exactly the declared name is read; where there is none, none is chosen', async () => {
  const refused = (names: string) => ({
    type: 'wrong_source',
    message: `source table chain.events has the columns ${names}, and each of them could be "who": rename one`,
  });
  const sql = 'SELECT who FROM chain.events';
  for (const [names, expected] of [
    [['Who', 'wHo', 'who'], 'c'],
    [['who', 'wHo', 'Who'], 'a'],
    [['Who', 'who', 'who_1'], 'b'],
    [['Who', 'who_1', 'other'], 'a'],
    [['who_1', 'who_2', 'who'], 'c'],
  ] as const) {
    const csv = { 'chain/events.csv': `${names.join(';')}\na;b;c\n` };
    assert.deepEqual(await rowsOver(csv, sql, WHO), [[expected]], `CSV: ${names}`);
    const object = Object.fromEntries(names.map((name, i) => [name, 'abc'[i]]));
    const ndjson = { 'chain/events.ndjson': `${JSON.stringify(object)}\n` };
    assert.deepEqual(await rowsOver(ndjson, sql, WHO), [[expected]], `NDJSON: ${names}`);
  }
  const parquet = await parquetOf('who', ['a', 'b', 'c']);
  assert.deepEqual(await rowsOver({ 'chain/events.parquet': parquet }, sql, WHO), [['c']]);

  const two = await parquetOf('other', ['a', 'b', 'c']);
  await assert.rejects(rowsOver({ 'chain/events.parquet': two }, sql, WHO), refused('"Who" and "wHo"'));
  await assert.rejects(rowsOver({ 'chain/events.csv': 'Who,wHo\na,b\n' }, sql, WHO), refused('"Who" and "wHo"'));
  await assert.rejects(rowsOver({ 'chain/events.csv': 'who,who\na,b\n' }, sql, WHO), refused('"who" and "who"'));
  const keys = { 'chain/events.ndjson': '{"Who":"a"}\n{"wHo":"b"}\n' };
  await assert.rejects(rowsOver(keys, sql, WHO), refused('"Who" and "wHo"'));
  // In a folder, DuckDB takes columns of several files together by the names that it gives them.
  const folder = { 'chain/events/a.csv': 'who\na\n', 'chain/events/b.csv': 'Who,who\nb,c\n' };
  await assert.rejects(rowsOver(folder, sql, WHO), refused('"Who" and "who"'));
  assert.deepEqual(await rowsOver({ 'chain/events/a.csv': 'who\na\n', 'chain/events/b.csv': 'Who\nb\n' }, sql, WHO), [
    ['a'],
    ['b'],
  ]);
});

test('a key of an NDJSON source that is in another case in some lines alone is refused: it would be null in these', async () => {
  const sql = 'SELECT who FROM chain.events';
  for (const late of ['{"Who":"bob"}', '{"WHO":"bob","shares":1}']) {
    const files = { 'chain/events.ndjson': `${'{"who":"ann"}\n'.repeat(30_000)}${late}\n` };
    await assert.rejects(rowsOver(files, sql, WHO), {
      type: 'wrong_source',
      message: `source table chain.events has "who" in some lines and ${late.slice(1, 6)} in others: rename one`,
    });
  }
  const both = { 'chain/events.ndjson': '{"who":"ann","Who":"x"}\n{"who":"bob"}\n{}\n{"who":null,"Who":"y"}\n' };
  assert.deepEqual(await rowsOver(both, sql, WHO), [['ann'], ['bob'], [null], [null]]);
});

test('a key of an NDJSON source that comes late is a column', async () => {
  const files = { 'chain/events.ndjson': `${'{"shares":1}\n'.repeat(30_000)}{"shares":2,"who":"ann"}\n` };
  assert.deepEqual(await rowsOver(files, 'SELECT who FROM chain.events WHERE shares = 2'), [['ann']]);
  const undeclared = { name: 'chain.others', columns: [] };
  assert.deepEqual(await rowsOver(files, "SELECT * FROM chain.events WHERE shares = '2'", undeclared), [['2', 'ann']]);
});

test('an NDJSON source with keys that differ only in case is refused where no columns are declared', async () => {
  const undeclared = { name: 'chain.others', columns: [] };
  const files = { 'chain/events.ndjson': '{"who":"ann"}\n{"Who":"bob"}\n' };
  await assert.rejects(rowsOver(files, 'SELECT who FROM chain.events', undeclared), {
    type: 'wrong_source',
    message: 'source table chain.events has the keys "who" and "Who", which to SQL are one: rename one',
  });
});

test('a number of an NDJSON source is exactly the declared decimal, or refused; in quotes it may have any number of digits', async () => {
  const amounts = {
    name: 'shop.orders',
    columns: [
      { name: 'amount', type: parseColumnType('decimal(38, 18)') },
      { name: 'rate', type: parseColumnType('double') },
    ],
  };
  const sql = 'SELECT CAST(amount AS VARCHAR) AS amount FROM shop.orders';
  const rowsOf = (amount: string) =>
    rowsOver(
      { 'shop/orders.ndjson': `{"Amount":1.5,"rate":0.12345678901234567890123}\n{"Amount":${amount}}\n` },
      sql,
      amounts,
    );
  assert.deepEqual(await rowsOf('"12345678901234567890.123456789012345678"'), [
    ['1.500000000000000000'],
    ['12345678901234567890.123456789012345678'],
  ]);
  for (const number of ['1.1', '1.100000000000000000', '1100e-3']) {
    assert.deepEqual((await rowsOf(number))[1], ['1.100000000000000000']);
  }
  await assert.rejects(rowsOf('100.000000000000000001'), {
    type: 'wrong_source',
    message:
      'source table shop.orders cannot be read: orders.ndjson: "Amount" has the number 100.000000000000000001, and of a number in JSON a double is read, which has fewer digits: put it in quotes',
  });
});

test('a source with columns that differ only in case is refused where no columns are declared', async () => {
  const undeclared = { name: 'chain.others', columns: [] };
  const refused = (names: string) => ({
    type: 'wrong_source',
    message: `source table chain.events has the columns ${names}, which to SQL are one: rename one`,
  });
  const rowsOf = (files: Readonly<Record<string, string | Buffer>>) =>
    rowsOver(files, 'SELECT who FROM chain.events', undeclared);
  await assert.rejects(rowsOf({ 'chain/events.csv': 'Who,who\na,b\n' }), refused('"Who" and "who"'));
  await assert.rejects(rowsOf({ 'chain/events.csv': 'who,x,who\na,b,c\n' }), refused('"who" and "who"'));
  const folder = { 'chain/events/a.csv': 'who,x\na,b\n', 'chain/events/b.csv': 'Who,who\nb,c\n' };
  await assert.rejects(rowsOf(folder), refused('"Who" and "who"'));
  const parquet = await parquetOf('who', ['a', 'b', 'c']);
  await assert.rejects(rowsOf({ 'chain/events.parquet': parquet }), refused('"Who" and "wHo"'));
  assert.deepEqual(await rowsOf({ 'chain/events.csv': 'who,who_1\na,b\n' }), [['a']]);
  assert.deepEqual(await rowsOf({ 'chain/events/a.csv': 'who,x\na,b\n', 'chain/events/b.csv': 'Who,x\nc,d\n' }), [
    ['a'],
    ['c'],
  ]);
});

test('an NDJSON source with an empty key is refused where no columns are declared: SQL has no such names', async () => {
  const undeclared = { name: 'chain.others', columns: [] };
  const message =
    'source table chain.events has an empty key (""), and SQL has no empty names: rename it, or leave it out';
  for (const line of ['{"who":"ann","":1}', '{"":1.50}', '{"who":1.50,"":null}']) {
    const files = { 'chain/events.ndjson': `{"who":"bob"}\n${line}\n` };
    await assert.rejects(rowsOver(files, 'SELECT who FROM chain.events', undeclared), {
      type: 'wrong_source',
      message,
    });
    assert.deepEqual((await rowsOver(files, 'SELECT who FROM chain.events', WHO))[0], ['bob']);
  }
});

test('numbers of an NDJSON source without declared columns are texts as they are written, nested ones too', async () => {
  const undeclared = { name: 'chain.others', columns: [] };
  const rowsOf = (lines: readonly string[]) =>
    rowsOver(
      { 'chain/events/day=1/a.ndjson': lines.join('\n') },
      "SELECT a, b, day FROM chain.events WHERE a <> ''",
      undeclared,
    );
  const numbers = [
    '12345678901234567890.123456',
    '0.10000000000000001',
    '1.50',
    '1.0',
    '1e2',
    '1E+22',
    '-0',
    '1e400',
    '-1e-400',
  ];
  for (const number of numbers) {
    const nested = `{"x":[${number},"${number}",{"y":${number}}]}`;
    assert.deepEqual(await rowsOf([`{"a":${number},"b":${nested}}`, `{"b":1,"a":"x\\u0041${number}"}`]), [
      [number, nested, 1],
      [`xA${number}`, '1', 1],
    ]);
  }
  assert.deepEqual(await rowsOf(['{"a":"\ufdd01.50","b":null}', '{"a":true,"b":[ 1.50 ]}']), [
    ['\ufdd01.50', null, 1],
    ['true', '[1.50]', 1],
  ]);
});

test('a line of an NDJSON source that is refused is refused beside a number as well of which DuckDB keeps another writing', async () => {
  const undeclared = { name: 'chain.others', columns: [] };
  for (const [line, problem] of [
    ['{"a":1,"a":2}', 'an object has the key "a" twice'],
    ['[1]', 'an object is expected, and another value found'],
    [
      '{"a":"\ufdd0","b":1.50}',
      'a text holds U+FDD0, which is no character: beside a number with a fraction or an exponent it cannot be read; put the number in quotes, or leave U+FDD0 out',
    ],
  ]) {
    for (const before of line?.includes('1.50') ? ['3'] : ['3', '1.50']) {
      const files = { 'chain/events.ndjson': `{"a":${before}}\n${line}\n` };
      await assert.rejects(rowsOver(files, 'SELECT a FROM chain.events', undeclared), {
        message: new RegExp(`events\\.ndjson: ${problem?.replaceAll('+', '\\+')}$`),
      });
    }
  }
});

test('a line of an NDJSON source that is no object is refused where one column is declared, too', async () => {
  const table = { name: 'chain.events', columns: [{ name: 'who', type: parseColumnType('varchar') }] };
  for (const line of ['"x"', '[1]', '[{"who":"bob"}]']) {
    const files = { 'chain/events.ndjson': `{"who":"ann"}\n${line}\n` };
    await assert.rejects(rowsOver(files, 'SELECT who FROM chain.events', table), {
      message: /: events\.ndjson: an object is expected, and another value found$/,
    });
  }
});

test('a number of an NDJSON source of which a double keeps fewer digits is refused wherever something else than a double is declared', async () => {
  for (const [type, value] of [
    ['varchar', '12345678901234567890.5'],
    ['uint256', '12345678901234567890.0'],
    ['bigint', '9007199254740993.0'],
    ['json', '{"a":[12345678901234567890.5]}'],
    ['array(varchar)', '["x",12345678901234567890.5]'],
    ['map(varchar, bigint)', '{"x":9007199254740993.0}'],
  ] as const) {
    const table = { name: 'chain.events', columns: [{ name: 'n', type: parseColumnType(type) }] };
    const [, number] = /([0-9.]{8,})/.exec(value) ?? [];
    await assert.rejects(
      rowsOver({ 'chain/events.ndjson': `{"n":null}\n{"n":${value}}\n` }, 'SELECT n FROM chain.events', table),
      {
        type: 'wrong_source',
        message: `source table chain.events cannot be read: events.ndjson: "n" has the number ${number}, and of a number in JSON a double is read, which has fewer digits: put it in quotes`,
      },
    );
  }
});

test('a byte order mark at the beginning of a file of an NDJSON source is passed over, as in CSV; UTF-16 is refused', async () => {
  for (const [format, text] of [
    ['csv', '\ufeffwho,shares\nann,1\n'],
    ['ndjson', '\ufeff{"who":"ann","shares":1}\n{"who":"bob","shares":2}\n'],
  ] as const) {
    const [row] = await rowsOver(
      { [`chain/events.${format}`]: text },
      'SELECT who, CAST(shares AS INTEGER) FROM chain.events',
    );
    assert.deepEqual(row, ['ann', 1]);
    const folder = { [`chain/events/a.${format}`]: text.slice(1), [`chain/events/b.${format}`]: text };
    const whos = await rowsOver(folder, 'SELECT DISTINCT who FROM chain.events ORDER BY who');
    assert.deepEqual(whos, format === 'csv' ? [['ann']] : [['ann'], ['bob']]);
  }
  const files = { 'chain/events.ndjson': Buffer.from('\ufeff{"who":"ann"}\n', 'utf16le') };
  await assert.rejects(rowsOver(files, 'SELECT who FROM chain.events'), {
    type: 'wrong_source',
    message:
      'source table chain.events cannot be read: events.ndjson: the file is UTF-16 text, expected UTF-8: save it as UTF-8',
  });
});

test('an NDJSON source without a row is a table without rows', async () => {
  for (const text of ['', '\n']) {
    assert.deepEqual(await rowsOver({ 'chain/events.ndjson': text }, 'SELECT who FROM chain.events'), []);
  }
  await assert.rejects(rowsOver({ 'chain/events.ndjson': '[{"who":"ann"}]\n' }, 'SELECT who FROM chain.events'), {
    type: 'wrong_source',
    message: 'source table chain.events has no column who, shares: its lines have no keys',
  });
});

test('a value of an NDJSON source that is not of the declared type is told, with its column and table', async () => {
  const table = {
    name: 'chain.events',
    columns: [{ name: 'seen_at', type: parseColumnType('timestamp(3) with time zone') }],
  };
  for (const [value, told] of [
    ['1709600000', '"1709600000"'],
    ['"x"', '"x"'],
  ]) {
    const files = { 'chain/events.ndjson': `{"seen_at":null}\n{"seen_at":${value}}\n` };
    await assert.rejects(rowsOver(files, 'SELECT seen_at FROM chain.events', table), {
      type: 'execution_error',
      message: `${told} in "seen_at" of source table chain.events cannot be read as timestamp(3) with time zone`,
    });
  }
});

test('a value of an NDJSON source of another shape than the declared type is told, and its file', async () => {
  const table = { name: 'chain.events', columns: [{ name: 'n', type: parseColumnType('array(bigint)') }] };
  const files = { 'chain/events.ndjson': '{"n":null}\n{"n":{"a":1}}\n' };
  await assert.rejects(rowsOver(files, 'SELECT n FROM chain.events', table), {
    type: 'execution_error',
    message: /^an NDJSON file of a source table cannot be read: events\.ndjson: /,
  });
});

/** A cast rounds: an operator of the status 0.6 would be registered. */
for (const type of ['integer', 'bigint', 'uint256'] as const) {
  test(`a source with a fraction where a ${type} is declared is refused; 2.0 and 2e3 are whole`, async () => {
    const table = { name: 'chain.events', columns: [{ name: 'n', type: parseColumnType(type) }] };
    const sql = 'SELECT CAST(n AS BIGINT) AS n FROM chain.events';
    const csv = (n: string) => rowsOver({ 'chain/events.csv': `n,x\n1,x\n${n},x\n,x\n` }, sql, table);
    const ndjson = (n: string) => rowsOver({ 'chain/events.ndjson': `{"n":1}\n{"n":${n}}\n{"n":null}\n` }, sql, table);
    const error = {
      type: 'execution_error',
      message: new RegExp(`^"0\\.6" in "n" of source table chain\\.(events|sums) cannot be read as ${type}$`),
    };
    for (const rowsOf of [csv, ndjson]) {
      assert.deepEqual(await rowsOf('2.0'), [[1], [2], [null]]);
      assert.deepEqual(await rowsOf('2e3'), [[1], [2000], [null]]);
      await assert.rejects(rowsOf('0.6'), error);
      await assert.rejects(rowsOf('6e-1'), { type: 'execution_error' });
    }
    const parquet = (value: string) => rowsOverParquet(value, type, 'SELECT CAST(n AS BIGINT) AS n FROM chain.sums');
    assert.deepEqual(await parquet('2.0::DOUBLE'), [[2]]);
    assert.deepEqual(await parquet('2.0::DECIMAL(5, 1)'), [[2]]);
    await assert.rejects(parquet('0.6::DOUBLE'), error);
    await assert.rejects(parquet('0.6::DECIMAL(5, 1)'), error);
  });
}

/** DuckDB's own cast of the first gives 32050083377273120000. */
for (const [type, text, expected] of [
  ['DECIMAL(38, 0)', '32050083377273121587', 32050083377273123000],
  ['DECIMAL(38, 20)', '9007199.25474099300000000001', 9007199.254740993],
  ['DECIMAL(22, 1)', '120.5', 120.5],
  ['FLOAT', '0.5', 0.5],
  ['BIGINT', '9007199254740993', 9007199254740992],
] as const) {
  test(`a Parquet source of ${type} is read as the nearest double where a double is declared`, async () => {
    assert.deepEqual(await rowsOverParquet(`'${text}'::${type}`, 'double', 'SELECT n FROM chain.sums'), [[expected]]);
  });
}

/** DuckDB's own cast of the first gives 1.100000000000000128. */
for (const [text, expected] of [
  ['1.1', '1.100000000000000000'],
  ['-1e-7', '-0.000000100000000000'],
  ['1e19', '10000000000000000000.000000000000000000'],
] as const) {
  test(`a double ${text} of a Parquet source is that number where a decimal is declared`, async () => {
    const sql = 'SELECT CAST(n AS VARCHAR) AS n FROM chain.sums';
    assert.deepEqual(await rowsOverParquet(`'${text}'::DOUBLE`, 'decimal(38, 18)', sql), [[expected]]);
  });
}

test('a value with more decimals than the declared decimal is refused in every format; zeros behind them are none', async () => {
  const type = 'decimal(10, 2)';
  const table = { name: 'chain.sums', columns: [{ name: 'n', type: parseColumnType(type) }] };
  const sql = 'SELECT CAST(n AS VARCHAR) AS n FROM chain.sums';
  const csv = (n: string) => rowsOver({ 'chain/sums.csv': `n,x\n${n},x\n,x\n` }, sql, table);
  const ndjson = (n: string) => rowsOver({ 'chain/sums.ndjson': `{"n":${n}}\n{"n":null}\n` }, sql, table);
  for (const rowsOf of [csv, ndjson]) {
    assert.deepEqual(await rowsOf('1.23000'), [['1.23'], [null]]);
    assert.deepEqual(await rowsOf('12300e-4'), [['1.23'], [null]]);
    for (const n of ['1.239', '1e-3']) {
      await assert.rejects(rowsOf(n), {
        type: 'execution_error',
        message: /^"(1\.239|1e-3|0\.001)" in "n" of source table chain\.sums cannot be read as decimal\(10, 2\)$/,
      });
    }
  }
  const parquet = (value: string) => rowsOverParquet(value, type, sql);
  for (const found of ['DECIMAL(20, 5)', 'DOUBLE', 'FLOAT', 'VARCHAR']) {
    assert.deepEqual(await parquet(`'1.25'::${found}`), [['1.25']]);
    await assert.rejects(parquet(`'1.125'::${found}`), {
      message: /^"1\.125(00)?" in "n" of source table chain\.sums cannot be read as decimal\(10, 2\)$/,
    });
  }
});

test('a number below zero where a source table has a uint256 is refused; −0 is 0', async () => {
  const sql = 'SELECT CAST(n AS VARCHAR) AS n FROM chain.sums';
  const table = { name: 'chain.sums', columns: [{ name: 'n', type: parseColumnType('uint256') }] };
  const refused = {
    type: 'execution_error',
    message: /^"-5(\.0)?" in "n" of source table chain\.sums cannot be read as uint256$/,
  };
  for (const rowsOf of [
    (n: string) => rowsOver({ 'chain/sums.csv': `n,x\n${n},1\n` }, sql, table),
    (n: string) => rowsOver({ 'chain/sums.ndjson': `{"n":${n}}\n` }, sql, table),
    (n: string) => rowsOver({ 'chain/sums.ndjson': `{"n":"${n}"}\n` }, sql, table),
    (n: string) => rowsOverParquet(`'${n}'::HUGEINT`, 'uint256', sql),
    (n: string) => rowsOverParquet(`'${n}'::BIGINT`, 'uint256', sql),
  ]) {
    assert.deepEqual(await rowsOf('-0'), [['0']]);
    assert.deepEqual(await rowsOf('5'), [['5']]);
    await assert.rejects(rowsOf('-5'), refused);
  }
});

test('a number that no double holds is refused where a double is declared: it is not infinity', async () => {
  const sql = 'SELECT CAST(n AS VARCHAR) AS n FROM chain.sums';
  const table = { name: 'chain.sums', columns: [{ name: 'n', type: parseColumnType('double') }] };
  const csv = (n: string) => rowsOver({ 'chain/sums.csv': `n,x\n${n},1\n` }, sql, table);
  const ndjson = (n: string) => rowsOver({ 'chain/sums.ndjson': `{"n":${n}}\n` }, sql, table);
  for (const rowsOf of [csv, ndjson]) {
    assert.deepEqual(await rowsOf('1e308'), [['1e+308']]);
    assert.deepEqual(await rowsOf('0.10000000000000001'), [['0.1']]);
    assert.deepEqual(await rowsOf('"-Infinity"'), [['-inf']]);
    await assert.rejects(rowsOf('-1e400'), {
      type: 'execution_error',
      message: '"-1e400" in "n" of source table chain.sums cannot be read as double',
    });
  }
});

test('members of a declared array are held to its type as values are: a fraction is no whole number, and no decimal is rounded', async () => {
  const rowsOf = (format: string, list: string, type: string) => {
    const table = { name: 'chain.sums', columns: [{ name: 'n', type: parseColumnType(type) }] };
    const text = format === 'csv' ? `n,x\n"${list}",1\n,2\n` : `{"n":${list}}\n{"n":null}\n`;
    return rowsOver({ [`chain/sums.${format}`]: text }, 'SELECT CAST(n AS VARCHAR) AS n FROM chain.sums', table);
  };
  for (const format of ['csv', 'ndjson']) {
    assert.deepEqual(await rowsOf(format, '[1, 2.0, null]', 'array(bigint)'), [['[1, 2, NULL]'], [null]]);
    assert.deepEqual(await rowsOf(format, '[1.50, 2]', 'array(decimal(5, 2))'), [['[1.50, 2.00]'], [null]]);
    assert.deepEqual(await rowsOf(format, '[[9223372036854775807], []]', 'array(array(bigint))'), [
      ['[[9223372036854775807], []]'],
      [null],
    ]);
    await assert.rejects(rowsOf(format, '[1, 1.5]', 'array(bigint)'), {
      message: '"1.5" in "n" of source table chain.sums cannot be read as bigint',
    });
    await assert.rejects(rowsOf(format, '[[0.6]]', 'array(array(integer))'), {
      message: '"0.6" in "n" of source table chain.sums cannot be read as integer',
    });
    await assert.rejects(rowsOf(format, '[1.239]', 'array(decimal(5, 2))'), {
      message: '"1.239" in "n" of source table chain.sums cannot be read as decimal(5, 2)',
    });
  }
  const sql = 'SELECT CAST(n AS VARCHAR) AS n FROM chain.sums';
  assert.deepEqual(await rowsOverParquet('[1.0::DOUBLE]', 'array(bigint)', sql), [['[1]']]);
  await assert.rejects(rowsOverParquet('[1.5::DOUBLE]', 'array(bigint)', sql), {
    message: '"1.5" in "n" of source table chain.sums cannot be read as bigint',
  });
});

test('a value that is none of the declared type is refused, with its column and table, in every format: no cast guesses, rounds or cuts', async () => {
  const sql = 'SELECT CAST(n AS VARCHAR) AS n FROM chain.sums';
  for (const [format, text, type, told, said = type] of [
    ['csv', 'n,x\n1_000,1\n', 'bigint', '1_000'],
    ['csv', 'n,x\n0x10,1\n', 'bigint', '0x10'],
    ['csv', 'n,x\n1.5,1\n', 'hugeint', '1.5'],
    ['csv', 'n,x\n2024-03-05 10:00:00,1\n', 'date', '2024-03-05 10:00:00'],
    ['csv', 'n,x\n"{a: 1.5}",1\n', 'row(a bigint)', '1.5', 'bigint'],
    ['csv', 'n,x\n"{""a"":1}",1\n', 'map(varchar, bigint)', '{"a":1}'],
    ['ndjson', '{"n":2}', 'boolean', '2'],
    ['ndjson', '{"n":"2024-03-05 10:00:00.1234567"}', 'timestamp(6)', '2024-03-05 10:00:00.1234567'],
    ['ndjson', '{"n":{"a":1.5}}', 'map(varchar, bigint)', '1.5', 'bigint'],
    ['ndjson', '{"n":{"a":1.125}}', 'row(a decimal(5, 2))', '1.125', 'decimal(5, 2)'],
    ['ndjson', '{"n":[1,-5]}', 'array(uint256)', '-5', 'uint256'],
    ['parquet', '16777217::DOUBLE', 'real', '16777217.0'],
    ['parquet', "{'a': 1.5::DOUBLE}", 'row(a bigint)', '1.5', 'bigint'],
    [
      'parquet',
      "TIMESTAMP_NS '2024-03-05 10:00:00.123456789'",
      'timestamp(3) with time zone',
      '2024-03-05 10:00:00.123456789',
    ],
  ] as const) {
    const table = { name: 'chain.sums', columns: [{ name: 'n', type: parseColumnType(type) }] };
    const rows =
      format === 'parquet'
        ? rowsOverParquet(text, type, sql)
        : rowsOver({ [`chain/sums.${format}`]: text }, sql, table);
    await assert.rejects(rows, {
      type: 'execution_error',
      message: `"${told}" in "n" of source table chain.sums cannot be read as ${said}`,
    });
  }
});

test('a column of a source table may have any name, those of the parameters in our SQL too', async () => {
  const names = ['n', 'w', 'plain', 'whole', 'whole0', 'member0', 'd', 's1', 'as'];
  for (const [type, value, expected] of [
    ['decimal(50, 2)', '16', '16.00'],
    ['uint256', '0x10', '16'],
    ['array(decimal(50, 2))', '[16]', '[16.00]'],
    ['array(uint256)', '[0x10]', '[16]'],
  ] as const) {
    const table = { name: 'chain.sums', columns: names.map((name) => ({ name, type: parseColumnType(type) })) };
    const files = { 'chain/sums.csv': `${names.join(';')}\n${names.map(() => value).join(';')}\n` };
    const sql = `SELECT ${names.map((name) => `CAST("${name}" AS VARCHAR) AS "${name}"`).join(', ')} FROM chain.sums`;
    assert.deepEqual(await rowsOver(files, sql, table), [names.map(() => expected)]);
  }
});

test('a value is told with its column and table whatever the column is called', async () => {
  const name = 'a "b": c';
  const table = { name: 'chain.sums', columns: [{ name, type: parseColumnType('row("x ""y""" bigint)') }] };
  const files = { 'chain/sums.csv': '"a ""b"": c";x\n1: 2;1\n' };
  await assert.rejects(rowsOver(files, 'SELECT * FROM chain.sums', table), {
    message: `"1: 2" in "${name}" of source table chain.sums cannot be read as row("x ""y""" bigint)`,
  });
});

test('maps and rows that are declared in a source table have their values as the types say, keys of maps too', async () => {
  const columns = [
    { name: 'm', type: parseColumnType('map(bigint, decimal(5, 2))') },
    { name: 'r', type: parseColumnType('row("A" bigint, b row(c boolean))') },
  ];
  const sql = 'SELECT CAST(m AS VARCHAR) AS m, CAST(r AS VARCHAR) AS r FROM chain.sums';
  for (const [format, text] of [
    ['csv', 'm;r\n"{1=1.5}";"{b: {c: true}, A: 2.0}"\n;\n'],
    ['ndjson', '{"m":{"1":1.5},"r":{"b":{"c":true},"A":2.0}}\n{"m":null}\n'],
  ]) {
    assert.deepEqual(await rowsOver({ [`chain/sums.${format}`]: `${text}` }, sql, { name: 'chain.sums', columns }), [
      ['{1=1.50}', "{'A': 2, 'b': {'c': true}}"],
      [null, null],
    ]);
  }
});

for (const [format, text] of [
  ['ndjson', '{"place":{"Name":"x","n":[1]}}\n{"place":{"n":[2],"Name":"y","more":1}}\n'],
  ['csv', 'place,x\n"{Name: x, n: [1]}",1\n"{Name: y, n: [2]}",2\n'],
]) {
  test(`a row that is declared in a source table has its fields: ${format}`, async () => {
    const table = {
      name: 'chain.events',
      columns: [{ name: 'place', type: parseColumnType('row("Name" varchar, n array(bigint))') }],
    };
    const files = { [`chain/events.${format}`]: `${text}` };
    assert.deepEqual(
      await rowsOver(files, 'SELECT place.name, CAST(place.n[1] AS INTEGER) AS n FROM chain.events', table),
      [
        ['x', 1],
        ['y', 2],
      ],
    );
  });
}

test('a row that is declared in a source table has its fields: parquet', async () => {
  const rows = rowsOverParquet(
    "{'Name': 'x', 'n': [1]}",
    'row("Name" varchar, n array(bigint))',
    'SELECT n.name, CAST(n.n[1] AS INTEGER) AS m FROM chain.sums',
  );
  assert.deepEqual(await rows, [['x', 1]]);
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
