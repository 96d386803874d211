/** Values of source tables, in files of each format, as the declared types say, or refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsOver, rowsOverParquet } from '../../../test/rows-over-sources.ts';
import { parseColumnType } from '../../domain/column-type.ts';

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

test('in CSV a quoted empty field is the empty text, as it is published; where another type is declared it is null, as an empty one', async () => {
  const files = { 'chain/sums/day=2024-03-05/a.csv': 'n,t\n"",""\n,\n1,a\n' };
  const columns = [
    { name: 'n', type: parseColumnType('bigint') },
    { name: 't', type: parseColumnType('varchar') },
    { name: 'day', type: parseColumnType('date') },
  ];
  const sql = 'SELECT CAST(n AS VARCHAR) AS n, t, CAST(day AS VARCHAR) AS day FROM chain.sums';
  const day = '2024-03-05';
  assert.deepEqual(await rowsOver(files, sql, { name: 'chain.sums', columns }), [
    [null, '', day],
    [null, null, day],
    ['1', 'a', day],
  ]);
  assert.deepEqual(await rowsOver(files, sql), [
    ['', '', day],
    [null, null, day],
    ['1', 'a', day],
  ]);
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
