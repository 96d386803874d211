/** What the engine sends to a coordinator, and what it makes of rows. */
import assert from 'node:assert/strict';
import { type FileHandle, open } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { FakeCoordinator } from '../../../test/contract/fake-coordinator.ts';
import {
  column,
  engineOn,
  failure,
  json,
  materialize,
  nextPath,
  signature,
  text,
} from '../../../test/contract/trino-on-fake.ts';
import type { RunProgress } from '../../domain/run-progress.ts';

describe('rows', () => {
  test('every digit arrives, of every type', async () => {
    await using fake = await FakeCoordinator.start();
    const row = { kind: 'NAMED_TYPE', value: { fieldName: { name: 'x' }, typeSignature: signature('bigint') } };
    const blob = { kind: 'NAMED_TYPE', value: { fieldName: { name: 'Y' }, typeSignature: signature('varbinary') } };
    const columns = [
      column('big', 'bigint'),
      column('wide', 'decimal', 38, 10),
      column('d', 'double'),
      column('r', 'real'),
      column('t3', 'timestamp', 3),
      column('t9', 'timestamp', 9),
      column('tz', 'timestamp with time zone', 3),
      column('offset', 'timestamp with time zone', 6),
      column('tm', 'time', 6),
      column('ttz', 'time with time zone', 3),
      column('b', 'varbinary'),
      column('a', 'array', signature('decimal', 20, 2)),
      column('m', 'map', signature('varchar', 2147483647), signature('double')),
      { name: 'ro', type: '', typeSignature: { rawType: 'row', arguments: [row, blob] } },
      column('u', 'uuid'),
      column('j', 'json'),
      column('days', 'interval day to second'),
      column('months', 'interval year to month'),
      column('c', 'char', 3),
      column('nothing', 'unknown'),
    ];
    // As text: what JSON.stringify would make of these numbers is not what they are.
    const first =
      '[9223372036854775807,"1234567890123456789012345678.0123456789",1.7976931348623157E308,3.4028235E38,"2024-03-05 20:50:59.123","2024-03-05 20:50:59.123456789","2024-03-05 20:50:59.123 UTC","2024-03-05 20:50:59.123456 -05:30","20:50:59.123456","20:50:59.123+05:30","AAH/",["123456789012345678.99",null],{"a":"NaN","b":0.1},[9007199254740993,"3q0="],"12151fd2-7586-11e9-8f9e-2a86e4085a59","{\\"n\\":1.50}","-1 02:03:04.500","-1-2","ab ",null]';
    const second = `[-9223372036854775808,"-0.0000000001","-Infinity","NaN",${Array(16).fill('null').join(',')}]`;
    fake.steps(
      json({}),
      text(
        JSON.stringify({ id: 'q1', stats: {}, columns, nextUri: fake.next(2) }).replace(/\}$/, `,"data":[${first}]}`),
      ),
      text(`{"data" : [ ${second} ],"id":"q1","stats":{}}`),
    );
    const made = await materialize(fake);
    assert.deepEqual(made.columns, [
      'big bigint',
      'wide decimal(38, 10)',
      'd double',
      'r real',
      't3 timestamp(3)',
      't9 timestamp(9)',
      'tz timestamp(3) with time zone',
      'offset timestamp(6) with time zone',
      'tm time',
      'ttz time with time zone',
      'b varbinary',
      'a array(decimal(20, 2))',
      'm map(varchar, double)',
      'ro row(x bigint, Y varbinary)',
      'u uuid',
      'j json',
      'days interval',
      'months interval',
      'c varchar',
      'nothing integer',
    ]);
    assert.equal(made.rowCount, 2);
    assert.deepEqual(made.rows, [
      [
        '9223372036854775807',
        '1234567890123456789012345678.0123456789',
        '1.7976931348623157e+308',
        '3.4028235e+38',
        '2024-03-05 20:50:59.123',
        '2024-03-05 20:50:59.123456789',
        '2024-03-05 20:50:59.123+00',
        '2024-03-06 02:20:59.123456+00',
        '20:50:59.123456',
        '20:50:59.123+05:30',
        '\\x00\\x01\\xFF',
        '[123456789012345678.99, NULL]',
        '{a=nan, b=0.1}',
        "{'x': 9007199254740993, 'Y': \\xDE\\xAD}",
        '12151fd2-7586-11e9-8f9e-2a86e4085a59',
        '{"n":1.50}',
        '-1 day -02:03:04.5',
        '-1 year -2 months',
        'ab ',
        null,
      ],
      ['-9223372036854775808', '-0.0000000001', '-inf', 'nan', ...Array(16).fill(null)],
    ]);
  });

  test('a segment of which a write takes only a part, as a disk does whose room ends, is written whole', async (t) => {
    await using fake = await FakeCoordinator.start();
    const bytes = zstdCompressSync(Buffer.from('[[1],[2]]'));
    const segment = {
      type: 'spooled',
      uri: fake.file('/segment', { kind: 'text', text: bytes }),
      ackUri: fake.file('/ack', { kind: 'status', status: 200 }),
      metadata: { rowsCount: 2, segmentSize: bytes.length, uncompressedSize: 9 },
    };
    const data = { encoding: 'json+zstd', segments: [segment] };
    fake.steps(json({ columns: [column('n', 'bigint')], data }), json({}));
    const file = await open(import.meta.filename);
    const files: FileHandle = Object.getPrototypeOf(file);
    await file.close();
    const write = files.write as (...given: [Uint8Array, number, number, number]) => Promise<unknown>;
    const five = async function (this: FileHandle, ...[bytes, from, length, at]: Parameters<typeof write>) {
      return await write.call(this, bytes, from, Math.min(5, length ?? bytes.length), at);
    };
    t.mock.method(files, 'write', five as typeof files.write);
    assert.deepEqual((await materialize(fake)).rows, [['1'], ['2']]);
  });

  test('segments are fetched in their order without a word of who asks, given back, and read with every digit', async () => {
    await using fake = await FakeCoordinator.start();
    const packed = zstdCompressSync(Buffer.from('[[1,"a"],[9223372036854775807,"b"]]'));
    const plain = Buffer.from('[[3,"c"]]');
    const spooled = (name: string, bytes: Buffer, rowsCount: number, more = {}) => ({
      type: 'spooled',
      // It breaks off, then it is whole but too short, and then it is right.
      uri: fake.file(`/segments/${name}`, { kind: 'half', text: bytes }, text('[]'), { kind: 'text', text: bytes }),
      ackUri: fake.file(`/ack/${name}`, { kind: 'status', status: 200 }),
      headers: { 'x-customer-key': ['k1', 'k2'] },
      metadata: { rowsCount, segmentSize: bytes.length, ...more },
    });
    const inline = Buffer.from('[[4,"d"]]');
    const inlined = {
      type: 'inline',
      data: inline.toString('base64'),
      metadata: { rowsCount: 1, segmentSize: inline.length },
    };
    const columns = [column('n', 'bigint'), column('t', 'varchar', 2147483647)];
    const segments = [spooled('1', packed, 2, { uncompressedSize: 34 }), spooled('2', plain, 1)];
    fake.steps(
      json({ columns, data: { encoding: 'json+zstd', segments } }),
      json({ columns, data: { encoding: 'json+zstd', segments: [inlined] } }),
    );
    const made = await materialize(fake);
    assert.deepEqual(made.rows, [
      ['1', 'a'],
      ['9223372036854775807', 'b'],
      ['3', 'c'],
      ['4', 'd'],
    ]);
    const fetched = fake.received.filter(({ line }) => /segments|ack/.test(line));
    assert.deepEqual(fetched.map(({ line }) => line).toSorted(), [
      'GET /ack/1',
      'GET /ack/2',
      ...Array(3).fill('GET /segments/1'),
      ...Array(3).fill('GET /segments/2'),
    ]);
    for (const { headers } of fetched) {
      assert.deepEqual(
        [headers.authorization, headers['x-trino-user'], headers['x-customer-key']],
        [undefined, undefined, 'k1,k2'],
      );
    }
  });

  test('how far the query is, is told from the first split on, as Trino counts it', async () => {
    await using fake = await FakeCoordinator.start();
    await using engine = engineOn(fake);
    const running = { completedSplits: 3, totalSplits: 7, processedRows: 1_000_000, processedBytes: 5e9 };
    const ended = { ...running, completedSplits: 9, totalSplits: 9 };
    fake.steps(
      json({ stats: { state: 'QUEUED', completedSplits: 0, totalSplits: 0, processedRows: 0, processedBytes: 0 } }),
      json({ stats: { state: 'RUNNING', progressPercentage: 41.9, ...running } }),
      json({ columns: [column('n', 'bigint')], stats: { progressPercentage: 100, ...ended, processedRows: -1 } }),
    );
    const told: RunProgress[] = [];
    const query = { sql: 'SELECT 1', sources: [] };
    await engine.materialize(query, nextPath(), new AbortController().signal, (progress) => told.push(progress));
    assert.deepEqual(told, [
      { percent: 41, splits: { completed: 3, total: 7 }, processed: { rows: 1_000_000, bytes: 5e9 } },
      { percent: 100, splits: { completed: 9, total: 9 } },
    ]);
  });

  test('a query without rows leaves a file without rows', async () => {
    await using fake = await FakeCoordinator.start();
    fake.steps(json({}), json({ columns: [column('n', 'bigint')] }));
    assert.deepEqual(await materialize(fake), { columns: ['n bigint'], rowCount: 0, rows: [] });
  });

  test('what an answer does not have may be null in it', async () => {
    await using fake = await FakeCoordinator.start();
    fake.steps(json({ columns: [column('n', 'bigint')], data: [[1]], error: null, nextUri: null }));
    assert.deepEqual((await materialize(fake)).rows, [['1']]);
  });

  test('rows of many answers keep their order', async () => {
    await using fake = await FakeCoordinator.start();
    const columns = [column('n', 'bigint')];
    const steps = Array.from({ length: 50 }, (_, page) => {
      return json({ columns, data: Array.from({ length: 1000 }, (_, i) => [page * 1000 + i]) });
    });
    fake.steps(...steps);
    const { rows } = await materialize(fake);
    assert.equal(rows.length, 50_000);
    assert.ok(rows.every(([n], i) => n === String(i)));
  });
});

describe('what is sent', () => {
  test('who asks, of which catalog, under which limits, and that types are to keep their precision', async () => {
    await using fake = await FakeCoordinator.start();
    fake.steps(json({ columns: [column('n', 'bigint')] }));
    await materialize(fake, { sql: 'SELECT 1;\n' });
    const [{ line, headers, body } = { line: '', headers: {}, body: '' }] = fake.received;
    assert.deepEqual([line, body], ['POST /v1/statement', 'SELECT 1']);
    const named = Object.entries(headers).filter(([name]) => name.startsWith('x-trino') || name === 'authorization');
    assert.deepEqual(Object.fromEntries(named), {
      authorization: `Basic ${Buffer.from('qrs:s3cret').toString('base64')}`,
      'x-trino-user': 'qrs',
      'x-trino-catalog': 'lake',
      'x-trino-source': 'query-results-service',
      'x-trino-time-zone': 'UTC',
      'x-trino-client-capabilities': 'PARAMETRIC_DATETIME',
      'x-trino-query-data-encoding': 'json+zstd',
      'x-trino-session': 'query_max_run_time=60000ms,query_max_memory=128000000B',
    });
  });

  test('a value is a literal of its type, in which no character of a text stands as it was typed', async () => {
    await using fake = await FakeCoordinator.start();
    fake.steps(json({ columns: [column('n', 'bigint')] }));
    await materialize(fake, {
      sql: "SELECT {{n}}, 'it''s {{t}}', {{t}}, {{big}}, {{at}} FROM x /* {{t}} */ LIMIT {{count}}",
      parameters: [
        { key: 'n', type: 'number', value: '-1.50' },
        { key: 't', type: 'text', value: "'é" },
        { key: 'big', type: 'number', value: '10000000000000000000' },
        { key: 'at', type: 'datetime', value: '2024-03-05 20:50:59.123456+01:00' },
        { key: 'count', type: 'number', value: '10' },
      ],
    });
    assert.equal(
      fake.received[0]?.body,
      [
        "SELECT (CAST('-1.50' AS DECIMAL(3, 2))), ('it''s ' || (from_utf8(X'27C3A9'))), (from_utf8(X'27C3A9')), ",
        "(CAST('10000000000000000000' AS DECIMAL(20, 0))), ",
        "(CAST('2024-03-05 20:50:59.123456+01:00' AS TIMESTAMP(6) WITH TIME ZONE)) FROM x /* {{t}} */ LIMIT  10 ",
      ].join(''),
    );
  });

  for (const [sql, message] of [
    ['DELETE FROM t', 'a query is one SELECT, and nothing else'],
    ['/* /* */ DELETE FROM t -- */ SELECT 1', 'a query is one SELECT, and nothing else'],
    ['-- SELECT\n(DROP TABLE t)', 'a query is one SELECT, and nothing else'],
    ['', 'a query is one SELECT: found nothing'],
    ["WITH SESSION query_max_memory = '1TB' SELECT 1", 'a query cannot begin with WITH SESSION'],
    ['WITH /* */ function f() RETURNS bigint RETURN 1 SELECT f()', 'a query cannot begin with WITH FUNCTION'],
    ['SELECT 1) UNION (SELECT 2', 'the parenthesis that closes here was never opened'],
    ['SELECT ? AS "PATTERN"', '? is no parameter here: write {{name}} and declare it'],
    ['SELECT 1 FROM {{t}}', '{{t}} is not declared: add it to the parameters of the query'],
  ] as const) {
    test(`${JSON.stringify(sql)} is never sent`, async () => {
      await using fake = await FakeCoordinator.start();
      const error = await failure(fake, { sql });
      assert.deepEqual([error.type, error.message], ['syntax_error', message]);
      assert.deepEqual(fake.received, []);
    });
  }

  for (const sql of [
    'with session AS (SELECT 1 AS n) SELECT n FROM session',
    '((SELECT 1))',
    'VALUES 1',
    'table t',
    'SELECT * FROM t MATCH_RECOGNIZE (MEASURES A.n AS n PATTERN (A B? C*?) DEFINE B AS n < PREV(n))',
  ]) {
    test(`${JSON.stringify(sql)} is sent`, async () => {
      await using fake = await FakeCoordinator.start();
      fake.steps(json({ columns: [column('n', 'bigint')] }));
      await materialize(fake, { sql });
      assert.equal(fake.received[0]?.body, sql);
    });
  }
});

describe('before a query is added', () => {
  test('its columns are asked for, without rows, with its parameters', async () => {
    await using fake = await FakeCoordinator.start();
    await using engine = engineOn(fake);
    fake.steps(json({ columns: [column('n', 'bigint')] }));
    const parameters = [{ key: 'n', type: 'number', value: '1' }] as const;
    const columns = await engine.check(
      { sql: 'SELECT {{n}} AS n', parameters, sources: [] },
      new AbortController().signal,
    );
    assert.deepEqual(columns, [{ name: 'n', type: { kind: 'bigint' } }]);
    assert.equal(fake.received[0]?.body, "SELECT * FROM (\nSELECT (CAST('1' AS BIGINT)) AS n\n) LIMIT 0");
  });

  test('a parameter that stands where no value can is refused, and its place in the SQL is said', async () => {
    await using fake = await FakeCoordinator.start();
    await using engine = engineOn(fake);
    const errorLocation = { lineNumber: 3, columnNumber: 6 };
    const error = {
      message: "line 3:6: mismatched input '('",
      errorName: 'SYNTAX_ERROR',
      errorType: 'USER_ERROR',
      errorLocation,
    };
    fake.steps(json({ error }));
    const parameters = [{ key: 'table', type: 'text', value: 'text' }] as const;
    await assert.rejects(
      engine.check({ sql: 'SELECT 1\nFROM {{table}}', parameters, sources: [] }, new AbortController().signal),
      {
        message: 'no value can stand at {{table}}: a parameter is a value, not a name or a part of the SQL',
        line: 2,
        column: 6,
      },
    );
  });

  test('a query that ends too early is told with its end, and without the text that the service sends around it', async () => {
    await using fake = await FakeCoordinator.start();
    await using engine = engineOn(fake);
    const error = {
      message: "line 4:1: mismatched input ')'. Expecting: <expression>",
      errorName: 'SYNTAX_ERROR',
      errorType: 'USER_ERROR',
      errorLocation: { lineNumber: 4, columnNumber: 1 },
    };
    fake.steps(json({ error }));
    const parameters = [{ key: 'n', type: 'number', value: '1' }] as const;
    await assert.rejects(
      engine.check({ sql: 'SELECT {{n}}\n  WHERE -- what?\n;', parameters, sources: [] }, new AbortController().signal),
      { type: 'syntax_error', message: "mismatched input '<EOF>'. Expecting: <expression>", line: 2, column: 8 },
    );
  });

  test('tables that are not there yet are no error', async () => {
    await using fake = await FakeCoordinator.start();
    await using engine = engineOn(fake);
    fake.steps(json({ error: { message: 'no table', errorName: 'TABLE_NOT_FOUND', errorType: 'USER_ERROR' } }));
    assert.equal(
      await engine.check({ sql: 'SELECT 1 FROM a.b', sources: [] }, new AbortController().signal),
      undefined,
    );
  });

  test('whether any of the tables is there is asked of the catalog', async () => {
    await using fake = await FakeCoordinator.start();
    await using engine = engineOn(fake);
    const sources = [{ name: 'chain.events', columns: [] }];
    const never = new AbortController().signal;
    fake.steps(json({ columns: [column('found', 'integer')] }));
    assert.equal(await engine.hasAny(sources, never), false);
    fake.steps(json({ columns: [column('found', 'integer')], data: [[1]] }));
    assert.equal(await engine.hasAny(sources, never), true);
    assert.equal(await engine.hasAny([], never), false);
    assert.match(fake.received[0]?.body ?? '', /IN \(\('chain', 'events'\)\) LIMIT 1$/);
  });
});
