/** Other writers' Parquet files with values that DuckDB would round or rename: published exactly, or refused by name. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startHttpService } from './http-service.ts';
import { Workplace } from './publishing.ts';

const fixture = (name: string) => join(import.meta.dirname, '..', 'fixtures', 'pyarrow', `${name}.parquet`);

let place: Workplace;
before(async () => {
  place = await Workplace.open();
});
after(() => place[Symbol.asyncDispose]());

const LARGEST = `${'9'.repeat(70)}.999999`;

test('decimals of more than 38 digits keep all of them, at any depth', async () => {
  const execution = await place.publish(fixture('wide-decimals'));
  assert.deepEqual(await place.columns(execution), [
    'd decimal(76, 6)',
    'list array(decimal(76, 6))',
    'map map(varchar, decimal(76, 6))',
    'row row(x decimal(76, 6))',
    'whole decimal(39, 0)',
  ]);
  const row = (digits: string, whole: string | null) => [
    digits,
    `[${digits}]`,
    `{k=${digits}}`,
    `{'f0': ${digits}}`,
    whole,
  ];
  assert.deepEqual(await place.rows(execution), [
    row('1.000001', '0'),
    [null, '[NULL]', '{k=NULL}', `{'f0': NULL}`, '1'],
    row('-1.500000', '-1'),
    row(LARGEST, `1${'0'.repeat(38)}`),
    row('1329227995784915872903807060280344576.000000', null),
  ]);
});

test('such a decimal is filtered and sorted by its value', async (t) => {
  const service = await startHttpService(t);
  const { id } = await service.publish(7, await readFile(fixture('wide-decimals')), { format: 'parquet' });
  const values = async (query: string) => {
    const { result } = await service.json(`/v1/execution/${id}/results?columns=d&${query}`);
    return (result as { rows: { d: string | null }[] }).rows.map(({ d }) => d);
  };
  const ordered = ['-1.500000', '1.000001', '1329227995784915872903807060280344576.000000', LARGEST];
  assert.deepEqual(await values('sort_by=d'), [...ordered, null]);
  assert.deepEqual(await values('sort_by=d desc nulls first'), [null, ...ordered.toReversed()]);
  assert.deepEqual(await values('filters=d = 1.000001'), ['1.000001']);
  assert.deepEqual(await values('filters=d in (-1.5, 0)'), ['-1.500000']);
  assert.deepEqual(await values('filters=d < 1.0000015&sort_by=d'), ordered.slice(0, 2));
  assert.deepEqual(await values('filters=d > 0&sort_by=d'), ordered.slice(1));
  assert.deepEqual(await values(`filters=d >= ${LARGEST}`), [LARGEST]);
  assert.deepEqual(await values('filters=d <= -1.5'), ['-1.500000']);
  assert.deepEqual(await values('filters=d > whole&sort_by=d'), ['1.000001', LARGEST]);
});

test('such a decimal without a fraction is a uint256 where that is declared', async () => {
  const execution = await place.publish(fixture('wide-decimals'), { declared: { d: 'varchar', row: 'json' } });
  assert.deepEqual((await place.rows(execution))[2]?.[0], '-1.500000');
  assert.deepEqual((await place.rows(execution))[2]?.[3], '{"x":"-1.500000"}');
  await assert.rejects(
    place.publish(fixture('wide-decimals'), { declared: { whole: 'uint256' } }),
    /^PublishError: row 3, column "whole": "-1" cannot be stored as uint256$/,
  );
});

test('nanoseconds are kept, and milliseconds have three digits inside lists, too', async () => {
  const execution = await place.publish(fixture('nanos'));
  assert.deepEqual(await place.columns(execution), [
    'plain timestamp(9)',
    'zoned timestamp(6) with time zone',
    'list array(timestamp(6) with time zone)',
    'time time',
    'millis array(timestamp(3))',
  ]);
  assert.deepEqual(await place.rows(execution), [
    [
      '2024-03-05 09:50:59.123456789',
      '2024-03-05 09:50:59.123456+00',
      `['2024-03-05 09:50:59.123456+00']`,
      '00:00:00.000001',
      `['1970-01-01 00:00:00.001']`,
    ],
    [null, null, '[NULL]', null, null],
    [
      '1969-12-31 23:59:59.999999999',
      '1969-12-31 23:59:59.999999+00',
      `['1969-12-31 23:59:59.999999+00']`,
      '23:59:59.999999',
      `['1969-12-31 23:59:59.999']`,
    ],
  ]);
});

test('nanoseconds in UTC that no type of ours holds with a zone are kept as timestamp(9) where that is declared', async () => {
  const finer = await place.publish(fixture('finer-nanos'), { declared: { at: 'timestamp(9)' } });
  assert.deepEqual(await place.rows(finer), [
    ['1', '1970-01-01 00:00:00'],
    ['2', '1970-01-01 00:00:00.000000001'],
  ]);
  const int96 = await place.publish(fixture('int96'), { declared: { at: 'timestamp(9)' } });
  assert.deepEqual(await place.rows(int96), [['2024-03-05 09:50:59.123456789']]);
});

test('fields that differ only in case keep their names', async () => {
  const execution = await place.publish(fixture('case'));
  assert.deepEqual(await place.columns(execution), ['s row(a bigint, A bigint)']);
  assert.deepEqual(await place.rows(execution), [[`{'f0': 1, 'f1': 2}`]]);
});

const REFUSED: Readonly<Record<string, string>> = {
  'finer-nanos':
    'row 2, column "at": "1 nanoseconds since 1970" cannot be stored as timestamp(6) with time zone, which would round it: declare timestamp(9), which is in UTC',
  'finer-time': 'row 1, column "t": "1 nanoseconds since midnight" cannot be stored as time',
  int96:
    'row 1, column "at": "1709632259123456789 nanoseconds since 1970" cannot be stored as timestamp(6), which would round it: declare timestamp(9)',
  'map-key-twice': 'column "m": "a map with a key twice" cannot be stored as map(varchar, bigint)',
  'field-twice': 'column "s" has the field name "a" twice in one struct',
  'column-twice': 'the column name "a" is given 2 times (columns 1, 2), expected each once',
  'far-date': 'row 1, column "d": "2147483647 days since 1970" cannot be stored as date',
  'far-timestamp': 'row 1, column "t": "infinity" cannot be stored as timestamp(6)',
  'far-millis': 'column "t": the Parquet file cannot be read: a time in it is beyond those that can be stored',
  'far-time': 'row 1, column "t": "-1 microseconds since midnight" cannot be stored as time',
};

for (const [name, message] of Object.entries(REFUSED)) {
  test(`refused: ${name}`, async () => {
    await assert.rejects(place.publish(fixture(name)), { name: 'PublishError', message });
  });
}
