/** Files that publishing refuses: the error says where and what is wrong, and nothing is left behind. */
import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { PARQUET_MARK, withParquetTail } from '../../src/files/parquet-footer.ts';
import { encodeInteger, encodeStruct, encodeStructs, THRIFT } from '../../src/files/thrift.ts';
import { publish } from '../../src/publishing/publish.ts';
import { NEVER, OPTIONS, QUERY_ID, Workplace } from './publishing.ts';

let place: Workplace;
before(async () => {
  place = await Workplace.open();
});
after(() => place[Symbol.asyncDispose]());

const REFUSED: readonly (readonly [string, string, string | Buffer, RegExp, Record<string, string>?])[] = [
  ['no header', 'x.csv', '', /line 1: the file is empty/],
  [
    'a header that is an empty line',
    'x.csv',
    '\n',
    /line 1: the line is empty, expected a header line of column names/,
  ],
  [
    'a line for spreadsheets before the header',
    'x.csv',
    '\ufeffsep=;\r\na;b\r\n1;2\r\n',
    /^line 1: "sep=;" is read by spreadsheets alone, expected a header line of column names: leave that line out$/,
  ],
  ['the same with a comma', 'x.csv', 'SEP=,\na,b\n1,2\n', /^line 1: "SEP=," is read by spreadsheets alone/],
  ['a header that is a blank line', 'x.csv', ' \r\n1\r\n', /line 1: the line is empty, expected a header line/],
  ['NUL, far below the first bytes', 'x.csv', `v\n${'x\n'.repeat(9000)}a\0b\n`, /line 9002: a NUL byte/],
  ['a column half a million times', 'x.csv', `${'a,'.repeat(400_000)}a\n`, /line 1: more than 10000 columns/],
  [
    'a column a thousand times',
    'x.csv',
    `${'a,'.repeat(1000)}a\n`,
    /line 1: the column name "a" is given 1001 times \(columns 1, 2, .*, 20 …\)/,
  ],
  ['a column twice', 'x.csv', 'a,b,a\n', /line 1: the column name "a" is given 2 times \(columns 1, 3\)/],
  ['a row too long', 'x.csv', 'a,b\n1,2\n1,2,3\n', /line 3: found 3 fields, expected 2/],
  ['a row too short', 'x.csv', 'a,b\n1\n', /line 2: found 1 fields, expected 2/],
  ['an open quote', 'x.csv', 'a,b\n1,"x\n', /line 2: a quoted field does not end/],
  ['bytes that are no UTF-8', 'x.csv', Buffer.from('a,b\n1,\xff\n', 'latin1'), /line 2: the text is not UTF-8/],
  ['UTF-16', 'x.csv', Buffer.from('\ufeffa,b\n', 'utf16le'), /UTF-16/],
  ['a cut compressed file', 'x.csv', Buffer.from([0x1f, 0x8b, 8, 0]), /the gzip data ends early/],
  ['a broken line of JSON', 'x.ndjson', '{"a":1}\n{"a":\n{"a":2}\n', /line 2: the JSON cannot be read/],
  ['JSON that is no UTF-8', 'x.ndjson', Buffer.from('{"a":1}\n{"a":"\xff"}\n', 'latin1'), /line 2: the JSON cannot/],
  ['a JSON line that is no object', 'x.ndjson', '{"a":1}\n[5]\n', /line 2: expected a JSON object/],
  ['a key twice', 'x.ndjson', '{"a":1}\n{"a":1,"a":2}\n', /line 2: the object has a key twice/],
  ['an open JSON array', 'x.json', '[{"a":1},{"a":2}', /the JSON cannot be read/],
  ['no keys at all', 'x.ndjson', '{}\n', /no columns/],
  ['no Parquet', 'x.parquet', 'PAR1 and nothing more', /not Parquet, or its end is missing/],
  [
    'a value that is not of its type',
    'x.csv',
    'a,b\n1,2\n1,-5\n',
    /row 2, column "b": "-5" cannot be stored as uint256/,
    { b: 'uint256' },
  ],
  [
    'a value that says what a disk says when it is full',
    'x.csv',
    'a,b\n1,2\n1,No space left on device\n',
    /row 2, column "b": "No space left on device" cannot be stored as bigint/,
    { b: 'bigint' },
  ],
  ['a type for no column', 'x.csv', 'amount\n1\n', /column "amuont".*did you mean "amount"\?/, { amuont: 'uint256' }],
  [
    'a nested value of another shape',
    'x.ndjson',
    '{"a":[1]}\n{"a":["x"]}\n',
    /row 2, column "a"/,
    { a: 'array(bigint)' },
  ],
];

for (const [what, name, content, message, declared = {}] of REFUSED) {
  test(`refused, with nothing changed: ${what}`, async () => {
    const before = await place.catalog.executions.list({ limit: 1000 });
    const objects = (await Array.fromAsync(place.store.list(''))).length;
    const file = await place.write(name, content);
    await assert.rejects(place.publish(file, { declared }), { name: 'PublishError', message });
    assert.equal((await place.catalog.executions.list({ limit: 1000 })).length, before.length);
    assert.equal((await Array.fromAsync(place.store.list(''))).length, objects);
    assert.deepEqual(await readdir(place.staging), []);
    assert.deepEqual(await place.catalog.leases.list('write:'), []);
  });
}

test('a Parquet file with a damaged text is refused by column, row group and rows', async () => {
  const file = join(place.folder, 'damaged.parquet');
  const texts = `SELECT i AS n, 'text ' || i AS t FROM range(7000) r(i)`;
  await place.query(`COPY (${texts}) TO '${file}' (FORMAT parquet, ROW_GROUP_SIZE 2048, COMPRESSION uncompressed)`);
  const bytes = await readFile(file);
  bytes[bytes.indexOf('text 2500')] = 0xff;
  await writeFile(file, bytes);
  await assert.rejects(place.publish(file), {
    name: 'PublishError',
    message: 'column "t", row group 2 (rows 2049 to 4096): the Parquet file cannot be read: a text in it is no UTF-8',
  });
});

test('a Parquet column of lists or structs more than 16 deep is refused by name; one of 16 is published', async () => {
  const file = join(place.folder, 'deep.parquet');
  const lists = (depth: number) => `${'['.repeat(depth)}7${']'.repeat(depth)}`;
  const rows = (depth: number) => `${"{'a': ".repeat(depth)}7${'}'.repeat(depth)}`;
  for (const column of [lists(17), lists(40), rows(17), rows(40), `{'a': ${lists(8)}, 'b': ${rows(16)}}`]) {
    await place.query(`COPY (SELECT ${column} AS d) TO '${file}'`);
    await assert.rejects(place.publish(file), {
      name: 'PublishError',
      message: 'column "d" is nested more than 16 deep',
    });
  }
  await place.query(`COPY (SELECT ${lists(16)} AS d) TO '${file}'`);
  const execution = await place.publish(file);
  assert.deepEqual(await place.columns(execution), [`d ${'array('.repeat(16)}integer${')'.repeat(16)}`]);
  assert.deepEqual(await place.rows(execution), [[lists(16)]]);
});

/** A Parquet file without rows, of a column `d` that is so many structs within each other: DuckDB itself could not write it. */
function nestedParquet(depth: number, schemas: number): Buffer {
  const name = (text: string) => ({
    id: 4,
    type: THRIFT.binary,
    bytes: Buffer.from([text.length, ...Buffer.from(text)]),
  });
  const i32 = (id: number, value: number) => ({ id, type: THRIFT.i32, bytes: encodeInteger(value) });
  const optional = i32(3, 1);
  const root = encodeStruct([name('root'), i32(5, 1)]);
  const leaf = encodeStruct([i32(1, 1), optional, name('d')]);
  const group = encodeStruct([optional, name('d'), i32(5, 1)]);
  const schema = (levels: number) => encodeStructs([root, ...Array<Buffer>(levels).fill(group), leaf]);
  const field = (id: number, value: Uint8Array) => [Uint8Array.of(THRIFT.list), encodeInteger(id), value];
  const benign = Array.from({ length: schemas - 1 }, () => field(2, schema(0))).flat();
  const rest = [
    Uint8Array.of((1 << 4) | THRIFT.i64),
    encodeInteger(0),
    Uint8Array.of((1 << 4) | THRIFT.list),
    encodeStructs([]),
  ];
  const version = [Uint8Array.of((1 << 4) | THRIFT.i32), encodeInteger(1)];
  const footer = Buffer.concat([...version, ...benign, ...field(2, schema(depth)), ...rest, Uint8Array.of(0)]);
  return Buffer.concat([PARQUET_MARK, withParquetTail(footer)]);
}

test('a Parquet file whose schema is nested so deep that DuckDB would end the process is refused', async () => {
  const file = join(place.folder, 'abyss.parquet');
  for (const [depth, schemas] of [
    [3000, 1],
    [100_000, 1],
    [100_000, 2],
  ] as const) {
    await writeFile(file, nestedParquet(depth, schemas));
    await assert.rejects(place.publish(file), {
      name: 'PublishError',
      message: 'column "d" is nested more than 16 deep',
    });
  }
  await writeFile(file, nestedParquet(16, 1));
  assert.match((await place.columns(await place.publish(file))).join(), /^d (row\(d ){16}integer\){16}$/);
});

test('a Parquet map with both zeros as keys is refused, as one with a key twice is', async () => {
  const file = join(place.folder, 'zeros.parquet');
  await place.query(`COPY (SELECT map([7.0, 9.0]::DOUBLE[], [1, 2]) AS m) TO '${file}' (COMPRESSION uncompressed)`);
  const bytes = await readFile(file);
  for (const [key, zero] of [
    [7, 0],
    [9, -0],
  ] as const) {
    const written = Buffer.from(Float64Array.of(key).buffer);
    for (let at = bytes.indexOf(written); at >= 0; at = bytes.indexOf(written)) bytes.writeDoubleLE(zero, at);
  }
  await writeFile(file, bytes);
  await assert.rejects(place.publish(file), {
    name: 'PublishError',
    message: 'column "m": "a map with a key twice" cannot be stored as map(double, integer)',
  });
});

test('rows too wide for the memory of publishing are refused, and the error says which setting to raise', async () => {
  const wide = 'x'.repeat(2_000_000);
  const csv = await place.write('wide.csv', `n,word\n${`1,${wide}\n`.repeat(30)}`);
  const ndjson = await place.write('wide.ndjson', `{"n":1,"word":"${wide}"}\n`.repeat(30));
  for (const path of [csv, ndjson]) {
    const dependencies = { ...place.dependencies, memoryLimit: '64MB' };
    const request = { queryId: QUERY_ID, source: { kind: 'file', path }, types: new Map() } as const;
    await assert.rejects(publish(dependencies, request, OPTIONS, NEVER), {
      name: 'PublishError',
      message: 'the rows are too wide for the memory that publishing may use: raise QRS_PUBLISH_MEMORY',
    });
    assert.deepEqual(await readdir(place.staging), []);
  }
});

test('what the system refuses while rows are converted is no fault of the input, whatever its format', async () => {
  const parquet = join(place.folder, 'one.parquet');
  await place.query(`COPY (SELECT 1 AS a) TO '${parquet}'`);
  const files = [await place.write('one.csv', 'a\n1\n'), await place.write('one.ndjson', '{"a":1}\n'), parquet];
  for (const path of files) {
    // Just before, something stands where the parts are to be.
    const takeTurn = async () => {
      const [own = ''] = await readdir(place.staging);
      await writeFile(join(place.staging, own, 'parts'), '');
      return { [Symbol.dispose]: () => undefined };
    };
    const request = { queryId: QUERY_ID, source: { kind: 'file', path }, types: new Map() } as const;
    const publishing = publish({ ...place.dependencies, takeTurn }, request, OPTIONS, NEVER);
    await assert.rejects(publishing, { name: 'Error', code: 'ENOTDIR' }, path);
    assert.deepEqual(await readdir(place.staging), []);
  }
});
