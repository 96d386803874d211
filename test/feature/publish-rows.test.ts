/**
 * Publishing rows that a program passes in: which types they become, what is refused and where, and that memory stays bounded.
 */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import type { Execution } from '../../src/domain/execution.ts';
import { publish } from '../../src/publishing/publish.ts';
import { OPTIONS, QUERY_ID, Workplace } from './publishing.ts';

let place: Workplace;
before(async () => {
  place = await Workplace.open();
});
after(() => place[Symbol.asyncDispose]());

type Rows = Iterable<object> | AsyncIterable<object>;

async function publishRows(rows: Rows, declared: Readonly<Record<string, string>> = {}): Promise<Execution> {
  return await place.publish('', { source: { kind: 'rows', rows }, declared });
}

const AT = new Date('2024-03-05T20:50:59.123Z');

/** Values of the column `v`, the column's type (declared where it has a !), and the texts stored. */
const STORED: readonly (readonly [string, readonly unknown[], string, readonly (string | null)[]])[] = [
  ['whole numbers', [1, -2, 9007199254740991], 'bigint', ['1', '-2', '9007199254740991']],
  [
    'numbers with fractions',
    [1, 0.1, 1e300, NaN, -Infinity, -0],
    'double',
    ['1.0', '0.1', '1e+300', 'nan', '-inf', '0.0'],
  ],
  ['numbers beyond 2^53, which are doubles', [2 ** 60], 'double', ['1.152921504606847e+18']],
  ['a number that is none', [NaN], 'double', ['nan']],
  ['bigints of 64 bits', [2n ** 63n - 1n, 5], 'bigint', ['9223372036854775807', '5']],
  ['bigints of 256 bits', [2n ** 256n - 1n, 0n], 'uint256', [String(2n ** 256n - 1n), '0']],
  ['text, also of digits', ['1', '', 'null', 'NaN', 'ø"\\\n😀'], 'varchar', ['1', '', 'null', 'NaN', 'ø"\\\n😀']],
  ['text among numbers', [1.5, 'NaN', 2n], 'varchar', ['1.5', 'NaN', '2']],
  ['booleans', [true, false, null, undefined], 'boolean', ['true', 'false', null, null]],
  ['times', [AT, null], 'timestamp(3) with time zone', ['2024-03-05 20:50:59.123+00', null]],
  ['bytes', [new Uint8Array([0, 255]), Buffer.from('')], 'varbinary', ['\\x00\\xFF', '']],
  ['lists', [[1, 2], [], null], 'array(bigint)', ['[1, 2]', '[]', null]],
  [
    'objects',
    [{ a: 1, b: 'x' }, { b: 'y' }],
    'row(a bigint, b varchar)',
    ["{'f0': 1, 'f1': x}", "{'f0': NULL, 'f1': y}"],
  ],
  ['nothing but nulls', [null, undefined], 'varchar', [null, null]],
  ['what says itself how it is written', [{ toJSON: () => '1.50' }], '!decimal(10, 3)', ['1.500']],
  [
    'text declared to be a number',
    ['340282366920938463463374607431768211456'],
    '!uint256',
    ['340282366920938463463374607431768211456'],
  ],
  ['text declared to be bytes', ['0xff'], '!varbinary', ['\\xFF']],
  ['a time declared to be text', [AT, 'soon'], '!varchar', ['2024-03-05T20:50:59.123Z', 'soon']],
  ['a Map', [new Map([['a', 1n]])], '!map(varchar, bigint)', ['{a=1}']],
  ['times in a list', [[AT]], '!array(timestamp(3) with time zone)', ["['2024-03-05 20:50:59.123+00']"]],
  ['bytes in a list', [[new Uint8Array([255])]], '!array(varbinary)', ['[\\xFF]']],
  ['doubles in a list', [[0.5, NaN]], '!array(double)', ['[0.5, nan]']],
];

for (const [what, values, type, expected] of STORED) {
  test(`${what}: ${type.startsWith('!') ? 'declared' : 'inferred'} ${type.replace('!', '')}`, async () => {
    const declared: Record<string, string> = type.startsWith('!') ? { v: type.slice(1) } : {};
    const execution = await publishRows(
      values.map((v) => ({ n: 0, v })),
      declared,
    );
    assert.deepEqual(await place.columns(execution), ['n bigint', `v ${type.replace('!', '')}`]);
    assert.deepEqual(
      (await place.rows(execution)).map(([, v]) => v),
      expected,
    );
  });
}

class Money {
  readonly cents = 5n;
}
const circle: { self?: unknown } = {};
circle.self = circle;

/** Values of the column `v`, its declared type, and the error. */
const REFUSED: readonly (readonly [readonly unknown[], string | undefined, string])[] = [
  [[1, () => 1], undefined, 'row 2, column "v": a function cannot be stored'],
  [[Symbol('x')], undefined, 'row 1, column "v": a symbol cannot be stored'],
  [['\ud800'], undefined, 'row 1, column "v": the text holds half of a surrogate pair, which is no character'],
  [[new Date(Number.NaN)], undefined, 'row 1, column "v": a Date that is no time (Invalid Date) cannot be stored'],
  [
    [[new Money()]],
    undefined,
    'row 1, column "v": an object of the class Money cannot be stored: pass text, a number or a plain object',
  ],
  [
    [new Set([1])],
    undefined,
    'row 1, column "v": an object of the class Set cannot be stored: pass text, a number or a plain object',
  ],
  [[circle], undefined, 'row 1, column "v": the value is nested more than 64 levels deep, or refers to itself'],
  [
    [1, null, AT],
    undefined,
    'row 3, column "v": a Date, and in row 1 a number: pass values of one kind, or declare the type of the column',
  ],
  [
    [AT, new Uint8Array(1)],
    undefined,
    'row 2, column "v": bytes, and in row 1 a Date: pass values of one kind, or declare the type of the column',
  ],
  [[1n, 128n], 'tinyint', 'row 2, column "v": "128" cannot be stored as tinyint'],
  [[1.5], 'bigint', 'row 1, column "v": "1.5" cannot be stored as bigint'],
  [['x'.repeat(16_000_000)], undefined, 'row 1 takes more than 16 MB as JSON, expected less'],
];

for (const [values, type, message] of REFUSED) {
  test(`refused: ${message}`, async () => {
    await assert.rejects(
      publishRows(
        values.map((v) => ({ v })),
        type === undefined ? {} : { v: type },
      ),
      {
        name: 'PublishError',
        message,
      },
    );
  });
}

test('input that is no row, and rows without columns', async () => {
  const rows = (...all: readonly unknown[]) => publishRows(all as readonly object[]);
  const expected = 'expected an object with a value for each column, found';
  await assert.rejects(rows({ v: 1 }, [1, 2]), { message: `row 2: ${expected} an object of the class Array` });
  await assert.rejects(rows(null), { message: `row 1: ${expected} null` });
  await assert.rejects(rows('abc'), { message: `row 1: ${expected} abc` });
  await assert.rejects(rows(new Map([['v', 1]])), { message: `row 1: ${expected} an object of the class Map` });
  const none = 'there is no row with a column in it, and no types are declared, so there are no columns';
  await assert.rejects(rows(), { message: none });
  await assert.rejects(rows({}, {}), { message: none });
  const wide = Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`c${i}`, i]));
  await assert.rejects(rows(wide), { message: 'row 1: the rows have more than 10000 columns' });
  await assert.rejects(publishRows([{ price: 1 }], { prise: 'double' }), {
    message: 'types name the column "prise", which the input does not have; did you mean "price"?',
  });
  await assert.rejects(place.publish('', { source: { kind: 'rows', rows: [{ v: 1 }] }, format: 'csv' }), {
    message: 'format is for files and streams, and these are rows',
  });
});

test('no rows, but types: a result with those columns', async () => {
  const execution = await publishRows([], { a: 'uint256', b: 'varchar' });
  assert.deepEqual(await place.columns(execution), ['a uint256', 'b varchar']);
  assert.deepEqual(await place.rows(execution), []);
});

test('columns are the properties, in order of first appearance; a missing one is null', async () => {
  class Row {
    readonly a = 1;
    readonly '"b,' = 'x';
  }
  const execution = await publishRows([new Row(), { c: true, a: 2 }, Object.create(null)]);
  assert.deepEqual(await place.columns(execution), ['a bigint', '"b, varchar', 'c boolean']);
  assert.deepEqual(await place.rows(execution), [
    ['1', 'x', null],
    ['2', null, 'true'],
    [null, null, null],
  ]);
});

test('the type fits all rows, also when a kind of value comes late', async () => {
  const rows = function* () {
    for (let i = 0; i < 60_000; i += 1) yield { v: i, w: i };
    yield { v: 0.5, w: 2n ** 200n };
  };
  const execution = await publishRows(rows());
  assert.deepEqual(await place.columns(execution), ['v double', 'w uint256']);
  const { rowCount } = await place.resultSet(execution);
  assert.equal(rowCount, 60_001);
});

test('the next row is asked for when the ones before it are on disk', async () => {
  let given = 0;
  let most = 0;
  const text = 'x'.repeat(10_000);
  const rows = async function* () {
    for (given = 0; given < 20_000; given += 1) {
      if (given % 1000 === 0)
        most = Math.max(most, process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed);
      yield { v: text };
    }
  };
  const before = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
  const execution = await publishRows(rows());
  const { rowCount, cellBytes } = await place.resultSet(execution);
  assert.deepEqual([rowCount, cellBytes], [20_000, 200_000_000]);
  assert.ok(most - before < 100_000_000, `${most - before} bytes more than before, for 200 MB of rows`);
});

test('publishing fails with the error of the rows, and nothing stays', async () => {
  const lost = new Error('the connection to the database was lost');
  const rows = async function* () {
    yield { v: 1 };
    throw lost;
  };
  await assert.rejects(publishRows(rows()), (error) => error === lost);
  assert.deepEqual(await readdir(place.dependencies.stagingDirectory), []);
});

test('after a refused row no more are asked for, and the iterator is told', async () => {
  let ended = false;
  const rows = function* () {
    try {
      for (let i = 0; ; i += 1) yield { v: i < 10 ? i : Symbol('ten') };
    } finally {
      ended = true;
    }
  };
  await assert.rejects(publishRows(rows()), { message: 'row 11, column "v": a symbol cannot be stored' });
  assert.ok(ended);
});

test('waiting for rows that never come can be aborted', async () => {
  const stop = new AbortController();
  const asked = Promise.withResolvers<void>();
  const rows = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        asked.resolve();
        return new Promise<IteratorResult<object>>((resolve) => {
          stop.signal.addEventListener('abort', () => resolve({ done: true, value: undefined }));
        });
      },
    }),
  };
  const request = { queryId: QUERY_ID, source: { kind: 'rows', rows } } as const;
  const publishing = publish(place.dependencies, request, OPTIONS, stop.signal);
  await asked.promise;
  stop.abort(new Error('enough'));
  await assert.rejects(publishing, { message: 'enough' });
  assert.deepEqual(await readdir(place.dependencies.stagingDirectory), []);
});

test('any rows come back value by value', async () => {
  const value = fc.record({
    whole: fc.option(fc.maxSafeInteger()),
    double: fc.double(),
    big: fc.option(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })),
    text: fc.option(fc.string({ unit: 'binary' })),
    at: fc.option(fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })),
    bytes: fc.option(fc.uint8Array()),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 50 }), async (rows) => {
      const first = { whole: 1, double: 0.5, big: 2n ** 255n, text: '', at: AT, bytes: new Uint8Array() };
      const all = [first, ...rows];
      const execution = await publishRows(all);
      assert.deepEqual(await place.columns(execution), [
        'whole bigint',
        'double double',
        'big uint256',
        'text varchar',
        'at timestamp(3) with time zone',
        'bytes varbinary',
      ]);
      const stored = await place.rows(execution);
      assert.equal(stored.length, all.length);
      for (const [i, row] of all.entries()) {
        const [whole, double, big, text, at, bytes] = stored[i] ?? [];
        assert.equal(whole, row.whole === null ? null : String(row.whole));
        assert.ok(
          Object.is(Number(double === 'nan' ? 'NaN' : String(double).replace('inf', 'Infinity')), row.double + 0),
        );
        assert.equal(big, row.big === null ? null : String(row.big));
        assert.equal(text, row.text);
        const millis = at === null ? null : Date.parse(String(at).replace(' ', 'T').replace('+00', 'Z'));
        assert.equal(millis, row.at?.getTime() ?? null);
        assert.deepEqual(bytes === null ? null : bytesOf(String(bytes)), row.bytes && [...row.bytes]);
      }
    }),
    { numRuns: 40 },
  );
});

/** The bytes of DuckDB's text for bytes: `\\xFF` or an ASCII character each. */
function bytesOf(text: string): readonly number[] {
  return [...text.matchAll(/\\x(..)|([\s\S])/g)].map(([, hex, one = '']) =>
    hex === undefined ? one.charCodeAt(0) : Number.parseInt(hex, 16),
  );
}
