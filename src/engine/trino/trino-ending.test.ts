/** How a query on Trino ends without rows: by its own fault, or early. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FakeCoordinator } from '../../../test/contract/fake-coordinator.ts';
import { column, failure, json, materialize, type Run, text } from '../../../test/contract/trino-on-fake.ts';
import { FakeTime } from '../../../test/fake-time.ts';

describe("Trino's errors", () => {
  const failing = async (error: Readonly<Record<string, unknown>>, run: Run = {}) => {
    await using fake = await FakeCoordinator.start();
    fake.steps(json({ error }));
    const { type, message, line, column: at } = await failure(fake, run);
    return { type, message, ...(line !== undefined && { line, column: at }) };
  };

  test('an error in the SQL says where in the SQL, behind parameters and beyond the basic plane, too', async () => {
    const sql = "SELECT\n'😀', {{long name}}, nothing";
    const columnNumber = "'x', (CAST('1' AS BIGINT)), n".length;
    const error = {
      message: "line 2:11: Column 'nothing' cannot be resolved",
      errorName: 'COLUMN_NOT_FOUND',
      errorType: 'USER_ERROR',
      errorLocation: { lineNumber: 2, columnNumber },
    };
    assert.deepEqual(await failing(error, { sql, parameters: [{ key: 'long name', type: 'number', value: '1' }] }), {
      type: 'syntax_error',
      message: "Column 'nothing' cannot be resolved",
      line: 2,
      column: (sql.split('\n')[1]?.replace('😀', 'x').indexOf('nothing') as number) + 1,
    });
  });

  test('a place that is in the words alone is found there', async () => {
    const error = {
      message: 'io.trino.spi.TrinoException: line 2:3: Unknown resolvedType: E',
      errorName: 'TYPE_NOT_FOUND',
      errorType: 'USER_ERROR',
    };
    assert.deepEqual(await failing(error, { sql: "SELECT\n  E'a'" }), {
      type: 'syntax_error',
      message: 'Unknown resolvedType: E',
      line: 2,
      column: 3,
    });
  });

  for (const [name, kind, expected] of [
    ['TABLE_NOT_FOUND', 'USER_ERROR', { type: 'missing_source', message: 'said' }],
    ['PERMISSION_DENIED', 'USER_ERROR', { type: 'wrong_source', message: 'said' }],
    ['DIVISION_BY_ZERO', 'USER_ERROR', { type: 'execution_error', message: 'said' }],
    [
      'EXCEEDED_TIME_LIMIT',
      'INSUFFICIENT_RESOURCES',
      { type: 'time_limit', message: 'the query took longer than its limit of 60000 ms' },
    ],
    [
      'EXCEEDED_GLOBAL_MEMORY_LIMIT',
      'INSUFFICIENT_RESOURCES',
      { type: 'memory_limit', message: 'the query took more memory than Trino gives it (QRS_TRINO_MEMORY)' },
    ],
    [
      'HIVE_BAD_DATA',
      'EXTERNAL',
      { type: 'wrong_source', message: 'a source table cannot be read; Trino says HIVE_BAD_DATA' },
    ],
    [
      'GENERIC_INTERNAL_ERROR',
      'INTERNAL_ERROR',
      { type: 'engine_error', message: 'Trino could not run the query, and says GENERIC_INTERNAL_ERROR; run it again' },
    ],
  ] as const) {
    test(`${name} is ${expected.type}`, async () => {
      assert.deepEqual(await failing({ message: 'said', errorName: name, errorType: kind }), expected);
    });
  }

  for (const [name, said, expected] of [
    [
      'EXCEEDED_TIME_LIMIT',
      'Query exceeded maximum time limit of 60.00s',
      { type: 'time_limit', message: 'the query took longer than its limit of 60000 ms' },
    ],
    [
      'EXCEEDED_TIME_LIMIT',
      'Query exceeded the maximum execution time limit of 2.00s',
      {
        type: 'time_limit',
        message:
          'Trino ended the query at a limit of its own: Query exceeded the maximum execution time limit of 2.00s',
      },
    ],
    [
      'EXCEEDED_CPU_LIMIT',
      'Exceeded CPU limit of 15.00s',
      { type: 'time_limit', message: 'Trino ended the query at a limit of its own: Exceeded CPU limit of 15.00s' },
    ],
    [
      'EXCEEDED_LOCAL_MEMORY_LIMIT',
      'Query exceeded per-node memory limit of 400MB [Allocated: 398.55MB]',
      {
        type: 'memory_limit',
        message: 'the query took more memory than Trino gives it on one machine (query.max-memory-per-node in Trino)',
      },
    ],
    [
      'QUERY_QUEUE_FULL',
      'Too many queued queries for "global.qrs"',
      {
        type: 'engine_error',
        message:
          'Trino did not run the query to its end, and says QUERY_QUEUE_FULL: Too many queued queries for "global.qrs"',
      },
    ],
  ] as const) {
    test(`${JSON.stringify(said)} names the limit that was met`, async () => {
      assert.deepEqual(
        await failing({ message: said, errorName: name, errorType: 'INSUFFICIENT_RESOURCES' }),
        expected,
      );
    });
  }
});

describe('ending early', () => {
  test("an aborted query ends with the signal's reason, and Trino is told", async () => {
    await using fake = await FakeCoordinator.start();
    fake.steps(json({}), { kind: 'silence' });
    const controller = new AbortController();
    const reason = new Error('stopped by the test');
    const waiting = fake.request(/^GET/);
    const running = materialize(fake, { signal: controller.signal });
    await waiting;
    controller.abort(reason);
    await assert.rejects(running, reason);
    assert.equal(fake.lines().at(-1), `DELETE ${new URL(fake.next(1)).pathname}`);
  });

  test('a query that is aborted while it is submitted is cancelled once its address is known', async () => {
    await using fake = await FakeCoordinator.start();
    const controller = new AbortController();
    fake.steps(json({}), json({}));
    const submitted = fake.request(/^POST/);
    const running = materialize(fake, { signal: controller.signal });
    controller.abort(new Error('stopped by the test'));
    await assert.rejects(running, /stopped by the test/);
    // Either it was never sent, or it is cancelled.
    if (fake.received.length > 0) {
      await submitted;
      assert.equal(fake.lines().at(-1), `DELETE ${new URL(fake.next(1)).pathname}`);
    }
  });

  test('a query over its time limit is cancelled, and the error says the limit and how far it was', async () => {
    await using fake = await FakeCoordinator.start();
    fake.steps(json({ stats: { progressPercentage: 41.9 } }), { kind: 'silence' });
    const time = new FakeTime(0);
    const waiting = fake.request(/^GET/);
    const failed = failure(fake, { options: { sleep: time.sleep, timeLimitMillis: 1000 } });
    await waiting;
    time.advance(1000);
    const error = await failed;
    assert.deepEqual(
      [error.type, error.message],
      ['time_limit', 'the query took longer than its limit of 1000 ms; Trino said it was 41 % done'],
    );
    assert.equal(fake.lines().at(-1), `DELETE ${new URL(fake.next(1)).pathname}`);
  });

  test('rows that take more disk than they may end the query', async () => {
    await using fake = await FakeCoordinator.start();
    const columns = [column('t', 'varchar', 2147483647)];
    const noise = Array.from({ length: 2000 }, (_, i) => [`${Math.sin(i)}${Math.cos(i)}`]);
    fake.steps(...Array.from({ length: 10 }, () => json({ columns, data: noise })));
    const error = await failure(fake, { options: { resultBytesMax: 10_000 } });
    assert.deepEqual(
      [error.type, error.message],
      ['result_limit', 'the rows take more than 10000 bytes on disk (QRS_ENGINE_RESULT_MAX)'],
    );
    assert.match(fake.lines().at(-1) ?? '', /^DELETE/);
  });

  test('a segment that is said to take more disk than it may is not fetched', async () => {
    await using fake = await FakeCoordinator.start();
    const segment = {
      type: 'spooled',
      uri: fake.file('/segment', text('[[1]]')),
      ackUri: fake.file('/ack', text('')),
      metadata: { rowsCount: 1, segmentSize: 2e9 },
    };
    fake.steps(
      json({ columns: [column('n', 'bigint')], data: { encoding: 'json+zstd', segments: [segment] } }),
      json({}),
    );
    assert.equal((await failure(fake)).type, 'result_limit');
    assert.deepEqual(
      fake.lines().filter((line) => line.includes('segment')),
      [],
    );
  });
});
