/** Which columns the files of a source table have, and how lines of NDJSON and CSV become rows. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { root, rowsOver } from '../../../test/rows-over-sources.ts';
import { parseColumnType } from '../../domain/column-type.ts';

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
