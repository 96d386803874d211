/**
 * Contract §5, sentence by sentence: an expression, and the rows that it finds. http-filters.test.ts has the forms that clients
 * send and the errors, filters-and-sorts.property.test.ts random expressions.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { getEnvelope, getText } from './http-client.ts';
import { startHttpService } from './http-service.ts';

const TYPES = {
  id: 'bigint',
  big: 'bigint',
  wei: 'uint256',
  price: 'decimal(10, 3)',
  name: 'varchar',
  hash: 'varbinary',
  ok: 'boolean',
  at: 'timestamp(3)',
  tags: 'array(varchar)',
  low: 'bigint',
  Low: 'bigint',
  High: 'bigint',
};

const LINES = [
  '{"id":1,"big":9007199254740992,"wei":"115792089237316195423570985008687907853269984665640564039457584007913129639935","price":"0.100","name":"O\'Hare","hash":"0x6a3e","ok":true,"at":"2024-03-05 00:00:00","tags":["a","b"],"low":1,"Low":1,"High":2}',
  '{"id":2,"big":9007199254740993,"wei":"115792089237316195423570985008687907853269984665640564039457584007913129639934","price":"0.101","name":"100%","hash":"0x6A3E00","ok":false,"at":"2024-03-05 15:03:00","tags":["A"],"low":2,"Low":1,"High":2}',
  '{"id":3,"big":-1,"wei":"0","price":"-5.000","name":"0x6A3E","hash":"0x","ok":null,"at":"2024-03-05 15:03:07.500","tags":[],"low":3,"Low":1,"High":2}',
  '{"id":4,"big":null,"wei":null,"price":null,"name":null,"hash":null,"ok":null,"at":null,"tags":null,"low":null,"Low":null,"High":null}',
  '{"id":5,"big":7,"wei":"7","price":"7.000","name":"base","hash":"0xff","ok":true,"at":"2024-03-06 00:00:00","tags":["b",null],"low":7,"Low":7,"High":7}',
  '{"id":6,"big":8,"wei":"8","price":"8.000","name":"Zürich","hash":"0xfe","ok":false,"at":"1969-12-31 23:59:59.999","tags":["0x6a3e"],"low":8,"Low":8,"High":9}',
];

async function published(t: TestContext) {
  const service = await startHttpService(t);
  await service.publish(7, `${LINES.join('\n')}\n`, { format: 'ndjson', types: TYPES });
  const ids = async (parameter: 'filters' | 'sort_by', expression: string) => {
    const path = `/v1/query/7/results?${new URLSearchParams({ [parameter]: expression })}`;
    return (await getEnvelope(service, path)).result.rows.map(({ id }) => id);
  };
  const found = async (expected: Readonly<Record<string, readonly number[]>>) => {
    for (const [filters, rows] of Object.entries(expected))
      assert.deepEqual(await ids('filters', filters), rows, filters);
  };
  return { service, ids, found };
}

test('filters', async (t) => {
  const { service, found } = await published(t);

  await t.test('and binds tighter than or, not tighter than both; keywords in any case', () =>
    found({
      'id = 1 or id = 2 and id = 3': [1],
      '(id = 1 or id = 2) and id = 2': [2],
      'not id = 1 and id < 3': [2],
      'NOT (id = 1 Or id = 2) AND id In (1, 3)': [3],
      'not not id = 1': [1],
    }),
  );

  await t.test('each comparison', () =>
    found({
      'id = 2': [2],
      'id != 2': [1, 3, 4, 5, 6],
      'id <> 2': [1, 3, 4, 5, 6],
      'id < 2': [1],
      'id <= 2': [1, 2],
      'id > 5': [6],
      'id >= 5': [5, 6],
    }),
  );

  await t.test('in, like, ilike, between, is, each with not', () =>
    found({
      'id in (2, 9, 4)': [2, 4],
      'id not in (2, 9, 4)': [1, 3, 5, 6],
      "name like '%e'": [1, 5],
      "name not like '%e'": [2, 3, 6],
      "name like 'zür%'": [],
      "name ilike 'ZÜR%'": [6],
      "name not ilike 'ZÜR%'": [1, 2, 3, 5],
      "name like 'b_se'": [5],
      "name like '100!%' escape '!'": [2],
      "name like '!%' escape '!'": [],
      'id between 2 and 4': [2, 3, 4],
      'id not between 2 and 4': [1, 5, 6],
      'id between 4 and 2': [],
      'name is null': [4],
      'name is not null': [1, 2, 3, 5, 6],
      'ok is true': [1, 5],
      'ok is not true': [2, 3, 4, 6],
      'ok is false': [2, 6],
      'ok is not false': [1, 3, 4, 5],
    }),
  );

  await t.test('a column on either side, or on both', () =>
    found({
      '2 > id': [1],
      "'base' = name": [5],
      'low < "High"': [1, 6],
      '5 between low and "High"': [],
      '7 in (low, "High")': [5],
    }),
  );

  await t.test('contains: an element of a list; a null element equals nothing', () =>
    found({ "contains(tags, 'b')": [1, 5], "not contains(tags, 'b')": [2, 3, 6], 'contains(tags, 0x6a3e)': [6] }),
  );

  await t.test('numbers are exact, not rounded through a double', () =>
    found({
      'big = 9007199254740993': [2],
      'big = 9007199254740992': [1],
      'big > 9007199254740992.5': [2],
      'big = 7.0': [5],
      'big < 1e400': [1, 2, 3, 5, 6],
      'wei = 115792089237316195423570985008687907853269984665640564039457584007913129639935': [1],
      'wei < 115792089237316195423570985008687907853269984665640564039457584007913129639935 and wei > 8': [2],
      'price = .1': [1],
      'price > 0.1000000000000000000000000000000000000000001 and price < 7': [2],
      'price = -5': [3],
    }),
  );

  await t.test('a literal takes the type of the column it meets', () =>
    found({
      "at = '2024-03-05'": [1],
      "at >= '2024-03-05 15:03' and at < '2024-03-06'": [2, 3],
      "at = '2024-03-05 15:03:07.5'": [3],
      "at = '2024-03-05 16:03 +01:00'": [2],
      "at < '1970-01-01'": [6],
      'hash = 0x6A3E': [1],
      "hash in ('0x6a3e', '0xFF')": [1, 5],
      "hash = '0x'": [3],
      'name = 0x6A3E': [3],
      "big = '7'": [5],
      "price = '7'": [5],
      "name = 'O''Hare'": [1],
      "ok = 'true'": [1, 5],
      'ok = false': [2, 6],
      ok: [1, 5],
    }),
  );

  await t.test(
    'names: exactly, else without case where only one matches; in double quotes, or text where there is no such column',
    () =>
      found({
        'low = 2': [2],
        'Low = 1': [1, 2, 3],
        'HIGH = 9': [6],
        '"high" = 9': [6],
        'name = "base"': [5],
        'name in ("base", "100%")': [2, 5],
        'low = "Low"': [1, 5, 6],
      }),
  );

  await t.test('null makes a comparison unknown, and so its negation', () =>
    found({
      'big = null': [],
      'not (big = null)': [],
      'big != 7': [1, 2, 3, 6],
      'not (big = 7)': [1, 2, 3, 6],
      'big not in (7, null)': [],
      'big in (7, null)': [5],
      'big = 7 or name is null': [4, 5],
    }),
  );

  await t.test('what is no value of the type, has no order or is no such language: 400', async () => {
    for (const [filters, code] of [
      ["big = 'seven'", 'filter_value'],
      ["at > 'yesterday'", 'filter_value'],
      ['hash = 0x6a3', 'filter_value'],
      ['LOW = 1', 'filter_column'],
      ["tags = 'a'", 'filter_type'],
      ['length(name) = 1', 'filter_unsupported'],
      ['id + 1 = 2', 'filter_unsupported'],
      ['id in (select 1)', 'filter_unsupported'],
      ['id = 1; drop table x', 'filter_syntax'],
    ] as const) {
      const response = await service.get(`/v1/query/7/results?${new URLSearchParams({ filters })}`);
      assert.deepEqual([response.status, response.headers.get('x-error-code')], [400, code], filters);
    }
  });
});

test('sort_by', async (t) => {
  const { service, ids } = await published(t);
  for (const [sort, rows] of [
    ['big', [3, 5, 6, 1, 2, 4]],
    ['big asc', [3, 5, 6, 1, 2, 4]],
    ['big desc', [2, 1, 6, 5, 3, 4]],
    ['big nulls first', [4, 3, 5, 6, 1, 2]],
    ['big DESC NULLS FIRST', [4, 2, 1, 6, 5, 3]],
    ['name', [3, 2, 1, 6, 5, 4]],
    ['wei desc, id', [1, 2, 6, 5, 3, 4]],
    // Equal rows stay in stored order, in both directions.
    ['Low', [1, 2, 3, 5, 6, 4]],
    ['Low desc', [6, 5, 1, 2, 3, 4]],
    ['ok, id desc', [6, 2, 5, 1, 4, 3]],
  ] as const) {
    assert.deepEqual(await ids('sort_by', sort), rows, sort);
  }
  // Filter, sort, cut, project: none needs its columns in the answer.
  const query = new URLSearchParams({
    filters: 'big is not null',
    sort_by: 'price desc',
    offset: '1',
    limit: '2',
    columns: 'id',
  });
  assert.deepEqual(await getText(service, `/v1/query/7/results/csv?${query}`), [200, 'id\n5\n2\n']);
});

test('text is compared by code point: capitals before small letters, and U+FF1D before U+1F600', async (t) => {
  const service = await startHttpService(t);
  await service.publish(8, 'w\n😀\nb\n＝\nA\nä\na\nB\n');
  const csv = async (query: string) => (await getText(service, `/v1/query/8/results/csv?${query}`))[1];
  assert.equal(await csv('sort_by=w'), 'w\nA\nB\na\nb\nä\n＝\n😀\n');
  assert.equal(await csv('sort_by=w desc'), 'w\n😀\n＝\nä\nb\na\nB\nA\n');
  assert.equal(await csv("filters=w > '＝'"), 'w\n😀\n');
  assert.equal(await csv("filters=w < 'a'"), 'w\nA\nB\n');
});
