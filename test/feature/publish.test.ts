/** Publishing files: what is stored is what the file holds, in its order, cut at the limit. */
import assert from 'node:assert/strict';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { IllegalTransition, LeaseLost } from '../../src/catalog/catalog.ts';
import { publish } from '../../src/publishing/publish.ts';
import { NEVER, OPTIONS, QUERY_ID, Workplace } from './publishing.ts';

let place: Workplace;
before(async () => {
  place = await Workplace.open();
});
after(() => place[Symbol.asyncDispose]());

const SMALL_PARTS = { rowGroupRows: 2048, rowGroupsPerPart: 2 };

test('CSV: an empty field is null, a quoted empty one is text, and no value is changed to fit a type', async () => {
  const file = await place.write(
    'mixed.csv',
    '\ufeffid,code,share,day,at,flag,wide,note\r\n1,007,1.50,2024-02-29,2024-03-05T10:00:00.120,true,170141183460469231731687303715884105727,"a ""b"",\nc"\r\n-2,8,3,2024-03-01,2024-03-05 10:00:00,False,-1,""\r\n,,,,,,,\r\n',
  );
  const execution = await place.publish(file);
  assert.equal(execution.state, 'COMPLETED');
  assert.deepEqual(await place.columns(execution), [
    'id bigint',
    'code varchar',
    'share double',
    'day date',
    'at timestamp(3)',
    'flag boolean',
    'wide hugeint',
    'note varchar',
  ]);
  assert.deepEqual(await place.rows(execution), [
    [
      '1',
      '007',
      '1.5',
      '2024-02-29',
      '2024-03-05 10:00:00.12',
      'true',
      '170141183460469231731687303715884105727',
      'a "b",\nc',
    ],
    ['-2', '8', '3.0', '2024-03-01', '2024-03-05 10:00:00', 'false', '-1', ''],
    [null, null, null, null, null, null, null, null],
  ]);
});

const INFERRED: readonly (readonly [string, readonly string[], readonly (string | null)[]])[] = [
  ['bigint', ['9223372036854775807', '-1'], ['9223372036854775807', '-1']],
  ['hugeint', ['9223372036854775808', '1'], ['9223372036854775808', '1']],
  ['uint256', [`${2n ** 256n - 1n}`, '1'], [`${2n ** 256n - 1n}`, '1']],
  ['int256', [`${2n ** 200n}`, '-1'], [`${2n ** 200n}`, '-1']],
  ['varchar', [`${2n ** 256n}`], [`${2n ** 256n}`]],
  ['decimal(18, 1)', ['12345678901234567', '0.5'], ['12345678901234567.0', '0.5']],
  ['double', ['0.1', '1e-7', '0.30000000000000004', 'NaN'], ['0.1', '1e-07', '0.30000000000000004', 'nan']],
  ['decimal(19, 18)', ['1.234567890123456789'], ['1.234567890123456789']],
  ['varchar', ['+5', '6'], ['+5', '6']],
  ['varchar', ['1_000'], ['1_000']],
  ['varchar', [' 5'], [' 5']],
  ['varchar', ['1e400'], ['1e400']],
  ['varchar', ['NaN'], ['NaN']],
  ['varchar', ['true', '1'], ['true', '1']],
  ['varchar', ['2024-02-30'], ['2024-02-30']],
  ['varchar', ['2024-02-29', '2024-03-01 10:00:00'], ['2024-02-29', '2024-03-01 10:00:00']],
  ['timestamp(6)', ['2024-02-29T10:00:00.123456'], ['2024-02-29 10:00:00.123456']],
  ['timestamp(9)', ['2024-02-29 10:00:00.123456789'], ['2024-02-29 10:00:00.123456789']],
  [
    'varchar',
    ['2024-02-29 10:00:00.123456789', '9999-12-31 00:00:00'],
    ['2024-02-29 10:00:00.123456789', '9999-12-31 00:00:00'],
  ],
  ['timestamp(3)', ['2024-02-29 10:00:00', '9999-12-31 00:00:00'], ['2024-02-29 10:00:00', '9999-12-31 00:00:00']],
  [
    'timestamp(3) with time zone',
    ['2024-02-29T10:00:00Z', '2024-02-29 10:00+02:00'],
    ['2024-02-29 10:00:00+00', '2024-02-29 08:00:00+00'],
  ],
  ['varchar', ['0xff'], ['0xff']],
];

for (const [type, values, expected] of INFERRED) {
  test(`CSV: ${values.join(' and ').slice(0, 60)} is ${type}`, async () => {
    const execution = await place.publish(await place.write('inferred.csv', `v\n${values.join('\n')}\n`));
    assert.deepEqual(await place.columns(execution), [`v ${type}`]);
    assert.deepEqual(
      await place.rows(execution),
      expected.map((value) => [value]),
    );
  });
}

test('CSV: a value beyond the sample widens its column, in every row', async () => {
  const lines = Array.from({ length: 30_000 }, (_, i) => `${i},${i}.5`);
  const file = await place.write('late.csv', `a,b\n${lines.join('\n')}\nx,12345678901234567\n`);
  const execution = await place.publish(file);
  assert.deepEqual(await place.columns(execution), ['a varchar', 'b decimal(18, 1)']);
  const rows = await place.rows(execution);
  assert.deepEqual(rows[1], ['1', '1.5']);
  assert.deepEqual(rows.at(-1), ['x', '12345678901234567.0']);
});

test('NDJSON: late keys, names that differ only in case, big integers, nested and mixed values are all kept', async () => {
  const lines = Array.from({ length: 25_000 }, (_, i) => JSON.stringify({ a: i, n: { p: [i] } }));
  lines.push('{"A":"\\u00e9 \\"x\\"","a":123456789012345678901234567890,"late":true,"n":{"q":null,"P":"x"}}');
  lines.push('{"mix":1,"nothing":null}', '{"mix":"1"}', '{"mix":{"k":[1,2.50]}}');
  const execution = await place.publish(await place.write('late.ndjson', `${lines.join('\n')}\n`));
  assert.deepEqual(await place.columns(execution), [
    'a hugeint',
    'n row(p array(bigint), q varchar, P varchar)',
    'A varchar',
    'late boolean',
    'mix varchar',
    'nothing varchar',
  ]);
  const rows = await place.rows(execution);
  assert.deepEqual(rows[7], ['7', `{'f0': [7], 'f1': NULL, 'f2': NULL}`, null, null, null, null]);
  assert.deepEqual(rows.slice(25_000), [
    ['123456789012345678901234567890', `{'f0': NULL, 'f1': NULL, 'f2': x}`, 'é "x"', 'true', null, null],
    [null, null, null, null, '1', null],
    [null, null, null, null, '1', null],
    [null, null, null, null, '{"k":[1,2.50]}', null],
  ]);
});

test('a JSON array of objects is read like lines of them, from a file or a stream', async () => {
  const text = '[\n  {"a": 1},\n  {"b": "x", "a": 2}\n]\n';
  const fromFile = await place.publish(await place.write('array.json', text));
  const source = { kind: 'stream', stream: Readable.from([text.slice(0, 9), text.slice(9)]) } as const;
  const fromStream = await publish(place.dependencies, { queryId: QUERY_ID, source }, OPTIONS, NEVER);
  for (const execution of [fromFile, fromStream]) {
    assert.deepEqual(await place.columns(execution), ['a bigint', 'b varchar']);
    assert.deepEqual(await place.rows(execution), [
      ['1', null],
      ['2', 'x'],
    ]);
  }
});

test('declared types say what a file cannot', async () => {
  const file = await place.write(
    'declared.csv',
    'wallet,amount,at,price,tags\n0x00fF,0xff,2024-03-05 10:00:00 UTC,1.5,"[""a"", null]"\n,,,,\n',
  );
  const declared = {
    wallet: 'varbinary',
    amount: 'uint256',
    at: 'timestamp(3) with time zone',
    price: 'decimal(10, 3)',
    tags: 'array(varchar)',
  };
  const execution = await place.publish(file, { declared });
  assert.deepEqual(
    await place.columns(execution),
    Object.entries(declared).map(([name, type]) => `${name} ${type}`),
  );
  assert.deepEqual(await place.rows(execution), [
    ['\\x00\\xFF', '255', '2024-03-05 10:00:00+00', '1.500', '[a, NULL]'],
    [null, null, null, null, null],
  ]);
});

/** DuckDB type, values in SQL, the column type and the texts stored. */
const PARQUET: readonly (readonly [string, string, string, readonly (string | null)[]])[] = [
  ['BOOLEAN', 'true, NULL', 'boolean', ['true', null]],
  ['TINYINT', '-128', 'tinyint', ['-128']],
  ['SMALLINT', '32767', 'smallint', ['32767']],
  ['INTEGER', '-2147483648', 'integer', ['-2147483648']],
  ['BIGINT', '9223372036854775807', 'bigint', ['9223372036854775807']],
  ['UTINYINT', '255', 'smallint', ['255']],
  ['USMALLINT', '65535', 'integer', ['65535']],
  ['UINTEGER', '4294967295', 'bigint', ['4294967295']],
  ['UBIGINT', '18446744073709551615', 'decimal(20, 0)', ['18446744073709551615']],
  ['FLOAT', `'0.1', 'nan', '-inf'`, 'real', ['0.1', 'nan', '-inf']],
  ['DOUBLE', `1e308, 'inf'`, 'double', ['1e+308', 'inf']],
  [
    'DECIMAL(38, 3)',
    '99999999999999999999999999999999999.999',
    'decimal(38, 3)',
    ['99999999999999999999999999999999999.999'],
  ],
  ['VARCHAR', `'', 'é😀', NULL`, 'varchar', ['', 'é😀', null]],
  ['BLOB', `'\\x00\\xFF', ''`, 'varbinary', ['\\x00\\xFF', '']],
  ['UUID', `'6f2a3c1e-0000-4000-8000-000000000000'`, 'uuid', ['6f2a3c1e-0000-4000-8000-000000000000']],
  ['JSON', `'{"a": 1}'`, 'json', ['{"a": 1}']],
  ['JSON', `'{"a": [NaN, -Infinity]}', 'NaN', '"NaN"'`, 'json', ['{"a": ["NaN", "-Infinity"]}', '"NaN"', '"NaN"']],
  ['JSON[]', `['{"a": NaN}', 'null']`, 'array(json)', [`['{"a": "NaN"}', 'null']`]],
  ['DATE', `'0001-01-01', '9999-12-31'`, 'date', ['0001-01-01', '9999-12-31']],
  ['TIME', `'23:59:59.999999'`, 'time', ['23:59:59.999999']],
  ['INTERVAL', `'1 month 2 days 3 hours'`, 'interval', ['1 month 2 days 03:00:00']],
  ['TIMESTAMP', `'2024-03-05 10:00:00.123456'`, 'timestamp(6)', ['2024-03-05 10:00:00.123456']],
  ['TIMESTAMP_NS', `'2024-03-05 10:00:00.123456789'`, 'timestamp(9)', ['2024-03-05 10:00:00.123456789']],
  ['TIMESTAMPTZ', `'2024-03-05 10:00:00+02'`, 'timestamp(6) with time zone', ['2024-03-05 08:00:00+00']],
  ['BIGINT[]', '[1, NULL], [], NULL', 'array(bigint)', ['[1, NULL]', '[]', null]],
  ['UINTEGER[][]', '[[4294967295], NULL]', 'array(array(bigint))', ['[[4294967295], NULL]']],
  [
    'STRUCT(a UBIGINT, b VARCHAR)',
    `{a: 1, b: NULL}, NULL`,
    'row(a decimal(20, 0), b varchar)',
    [`{'f0': 1, 'f1': NULL}`, null],
  ],
  ['MAP(VARCHAR, UINTEGER)', `MAP {'k': 1}, NULL`, 'map(varchar, bigint)', ['{k=1}', null]],
];

for (const [source, values, type, expected] of PARQUET) {
  test(`Parquet: ${source} is ${type}`, async () => {
    const file = join(place.folder, 'typed.parquet');
    await place.query(`COPY (SELECT unnest(CAST([${values}] AS ${source}[])) AS v) TO '${file}'`);
    const execution = await place.publish(file);
    assert.deepEqual(await place.columns(execution), [`v ${type}`]);
    assert.deepEqual(
      await place.rows(execution),
      expected.map((value) => [value]),
    );
  });
}

test('Parquet: a float that is declared double is that very number, in lists and rows too', async () => {
  const file = join(place.folder, 'float.parquet');
  const floats = `1.1::FLOAT AS f, 1152921504606846976::FLOAT AS big, 'nan'::FLOAT AS n, [1.1::FLOAT, NULL] AS l, {x: 1.1::FLOAT, y: 1.1::FLOAT} AS r`;
  await place.query(`COPY (SELECT ${floats}, 1.1::FLOAT AS t) TO '${file}'`);
  const declared = {
    f: 'double',
    big: 'double',
    n: 'double',
    l: 'array(double)',
    r: 'row(x double, y real)',
    t: 'varchar',
  };
  const execution = await place.publish(file, { declared });
  assert.deepEqual(await place.rows(execution), [
    [
      '1.100000023841858',
      '1.152921504606847e+18',
      'nan',
      '[1.100000023841858, NULL]',
      "{'f0': 1.100000023841858, 'f1': 1.1}",
      '1.1',
    ],
  ]);
});

test('Parquet: a column may be called file_row_number, and a folder or file may have glob characters in its name', async () => {
  const folder = join(place.folder, 'in [a]*');
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'odd [1]*?.parquet');
  await place.query(`COPY (SELECT 7 AS file_row_number, 'x' AS "a b") TO '${file}'`);
  const execution = await place.publish(file);
  assert.deepEqual(await place.columns(execution), ['file_row_number integer', 'a b varchar']);
  assert.deepEqual(await place.rows(execution), [['7', 'x']]);
});

test('rows keep their order over many parts, and the parts tile the result', async () => {
  const file = join(place.folder, 'long.parquet');
  await place.query(`COPY (SELECT i, hash(i)::VARCHAR AS h FROM range(50000) t(i)) TO '${file}'`);
  const execution = await place.publish(file, {}, SMALL_PARTS);
  const { parts, rowCount } = await place.resultSet(execution);
  assert.equal(rowCount, 50_000);
  assert.equal(parts.length, 13);
  assert.deepEqual(
    parts.map((part) => part.firstRow),
    parts.map((_, i) => i * 4096),
  );
  const rows = await place.rows(execution);
  assert.ok(rows.every(([i], row) => i === String(row)));
});

test('a result is cut before the first row that would exceed the limit, wherever it falls', async () => {
  const rows = 10_000;
  const widths = Array.from({ length: rows }, (_, i) => (i * 7) % 13);
  const file = await place.write('cut.csv', `t\n${widths.map((w) => `"${'é'.repeat(w)}"`).join('\n')}\n`);
  const ends = widths.map(
    (
      (sum) => (w: number) =>
        (sum += 2 * w)
    )(0),
  );
  const total = ends.at(-1) ?? 0;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: total + 10 }), async (resultBytesMax) => {
      const execution = await place.publish(file, {}, { ...SMALL_PARTS, resultBytesMax });
      const { rowCount, cellBytes, truncated, parts } = await place.resultSet(execution);
      const kept = ends.filter((end) => end <= resultBytesMax).length;
      assert.equal(rowCount, kept);
      assert.equal(cellBytes, ends[kept - 1] ?? 0);
      assert.equal(truncated, kept < rows);
      assert.equal(execution.state, kept < rows ? 'COMPLETED_PARTIAL' : 'COMPLETED');
      assert.ok(parts.every((part) => part.rowBytesMax <= 24));
    }),
    { numRuns: 12, examples: [[0], [total], [total - 1], [ends[4095] ?? 0], [(ends[4095] ?? 0) + 1]] },
  );
});

test('with a limit below the first row the result has no rows, and is truncated', async () => {
  const execution = await place.publish(await place.write('one.csv', 't\nabc\n'), {}, { resultBytesMax: 2 });
  const { rowCount, truncated, parts, columns } = await place.resultSet(execution);
  assert.deepEqual(
    { rowCount, truncated, parts, columns: columns.length },
    { rowCount: 0, truncated: true, parts: [], columns: 1 },
  );
});

test('an empty result has its columns and no parts', async () => {
  const execution = await place.publish(await place.write('empty.csv', 'a,b\n'));
  assert.deepEqual(await place.columns(execution), ['a varchar', 'b varchar']);
  const { rowCount, parts } = await place.resultSet(execution);
  assert.deepEqual({ rowCount, parts }, { rowCount: 0, parts: [] });
});

test('any text in any CSV field comes back unchanged', async () => {
  const field = fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => text.replaceAll('\0', ''));
  const table = fc.array(fc.tuple(field, field), { minLength: 1, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(table, async (rows) => {
      const lines = rows.map((row) => row.map((text) => `"${text.replaceAll('"', '""')}"`).join(','));
      const file = await place.write('text.csv', `a,b\n${lines.join('\n')}\n`);
      const execution = await place.publish(file, { declared: { a: 'varchar', b: 'varchar' } });
      assert.deepEqual(await place.rows(execution), rows);
    }),
    { numRuns: 15 },
  );
});

test('a run begun before is completed once, and only as a run of its own query', async () => {
  const file = await place.write('a.csv', 'a\n1\n');
  const id = '01HZZZZZZZZZZZZZZZZZZZZZZZ';
  await place.catalog.executions.add({ id, queryId: QUERY_ID, parameters: {}, state: 'PENDING', submittedAt: 1 });
  assert.equal((await place.publish(file, { executionId: id })).id, id);
  await assert.rejects(place.publish(file, { executionId: id }), IllegalTransition);
  await assert.rejects(place.publish(file, { queryId: 99 }), /there is no query 99/);
});

test('an aborted publish leaves nothing', async () => {
  const stop = new AbortController();
  const file = join(place.folder, 'long.parquet');
  const progress = () => stop.abort(new Error('stopped'));
  const source = { kind: 'file', path: file } as const;
  await assert.rejects(
    publish(place.dependencies, { queryId: QUERY_ID, source }, { ...OPTIONS, ...SMALL_PARTS }, stop.signal, progress),
    /stopped/,
  );
  assert.deepEqual(await readdir(place.staging), []);
});

test('what aborts a publish while it reads its input is what the publish fails with', async () => {
  const lines = Readable.from(['a\n1\n', '2\n']);
  const latin1 = { path: await place.write('latin1.csv', 'a\n1\n'), encoding: 'latin-1' } as const;
  const inputs = {
    'a stream': { source: { kind: 'stream', stream: lines } },
    'text of another encoding': { source: { kind: 'file', path: latin1.path }, encoding: latin1.encoding },
  } as const;
  for (const [what, input] of Object.entries(inputs)) {
    const stop = new AbortController();
    const lost = new LeaseLost(`the lease was lost while ${what} was read`);
    const staged = { take: async () => stop.abort(lost), give: () => undefined };
    const publishing = publish(
      { ...place.dependencies, staged },
      { queryId: QUERY_ID, ...input },
      OPTIONS,
      stop.signal,
    );
    await assert.rejects(publishing, lost);
  }
  assert.deepEqual(await readdir(place.staging), []);
});
