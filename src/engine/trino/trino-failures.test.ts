/** What the engine does when a coordinator is away, breaks off, forgets or lies. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FakeCoordinator } from '../../../test/contract/fake-coordinator.ts';
import {
  ADDRESS,
  column,
  engineOn,
  failure,
  hurried,
  json,
  materialize,
  nextPath,
  signature,
  text,
} from '../../../test/contract/trino-on-fake.ts';
import type { Sleep } from '../../domain/time.ts';
import { EngineUnavailable } from '../engine.ts';

describe('failures that pass', () => {
  test('a coordinator that is not ready, or breaks off, is asked again', async () => {
    await using fake = await FakeCoordinator.start();
    const columns = [column('n', 'bigint')];
    const page = JSON.stringify({ id: 'q1', stats: {}, columns, data: [[1], [2]], nextUri: fake.next(1) });
    fake.steps(
      { kind: 'status', status: 503 },
      { kind: 'status', status: 502 },
      json({ nextUri: fake.next(0) }),
      { kind: 'half', text: page },
      text(page),
      { kind: 'status', status: 504 },
      json({ columns, data: [[3]] }),
    );
    assert.deepEqual((await materialize(fake)).rows, [['1'], ['2'], ['3']]);
  });

  test('a coordinator that is away and comes back is waited for', async () => {
    const gone = await FakeCoordinator.start();
    const { port, origin } = gone;
    await gone[Symbol.asyncDispose]();
    let back: FakeCoordinator | undefined;
    const startAgain: Sleep = async (millis, signal) => {
      if (millis !== 100) return await hurried(millis, signal);
      back = await FakeCoordinator.start(port);
      back.steps(json({ columns: [column('n', 'bigint')], data: [[1]] }));
    };
    await using engine = engineOn(gone, { address: { ...ADDRESS, origin }, sleep: startAgain });
    const path = nextPath();
    const made = await engine.materialize({ sql: 'SELECT 1', sources: [] }, path, new AbortController().signal);
    assert.equal(made.rowCount, 1);
    await back?.[Symbol.asyncDispose]();
  });

  test('a coordinator that forgot the query is given it once more, and its rows are counted once', async () => {
    await using fake = await FakeCoordinator.start();
    const columns = [column('n', 'bigint')];
    fake.steps(
      json({ columns, data: [[1]] }),
      { kind: 'status', status: 404 },
      json({ columns, data: [[1]] }),
      json({ columns, data: [[2]] }),
    );
    assert.deepEqual((await materialize(fake)).rows, [['1'], ['2']]);
    assert.equal(fake.lines().filter((line) => line.startsWith('POST')).length, 2);
  });
});

const STARTING = {
  message: 'Trino server is still initializing',
  errorName: 'SERVER_STARTING_UP',
  errorType: 'INTERNAL_ERROR',
};

test('a coordinator that is starting, or has no machines yet, and says so for an error of the query, is given the query again', async () => {
  await using fake = await FakeCoordinator.start();
  const columns = [column('n', 'bigint')];
  const alone = { ...STARTING, message: 'No nodes available to run query', errorName: 'NO_NODES_AVAILABLE' };
  fake.steps(json({ error: STARTING }), json({ error: alone }), json({ columns, data: [[1]] }));
  assert.deepEqual((await materialize(fake)).rows, [['1']]);
});

test('a coordinator that is starting for more than a minute fails the query', async () => {
  await using fake = await FakeCoordinator.start();
  fake.steps(...Array.from({ length: 100 }, () => json({ error: STARTING })));
  const error = await failure(fake);
  assert.equal(error.message, 'Trino could not run the query, and says SERVER_STARTING_UP; run it again');
  assert.equal(fake.received.length, 61);
});

describe('failures that last', () => {
  test('a coordinator that keeps forgetting the query fails it', async () => {
    await using fake = await FakeCoordinator.start();
    fake.steps(json({}), { kind: 'status', status: 404 }, json({}), { kind: 'status', status: 410 });
    const error = await failure(fake);
    assert.deepEqual(
      [error.type, error.message],
      ['engine_error', 'Trino was started anew while it ran the query; run it again'],
    );
  });

  test('a coordinator that stays away fails the query after twenty seconds of pauses', async () => {
    const gone = await FakeCoordinator.start();
    const { origin } = gone;
    await gone[Symbol.asyncDispose]();
    let paused = 0;
    const counting: Sleep = async (millis, signal) => {
      if (millis > 5000 || millis === 3000) return await hurried(millis, signal);
      paused += millis;
    };
    const error = await failure(gone, { options: { address: { ...ADDRESS, origin }, sleep: counting } });
    assert.deepEqual([error.type, error.message], ['engine_error', 'Trino cannot be reached']);
    assert.ok(error instanceof EngineUnavailable);
    assert.equal(Math.round(paused / 10_000), 2);
  });

  test('a coordinator that takes a statement and says nothing is away after twenty seconds of silence, as one that refuses it', async () => {
    await using fake = await FakeCoordinator.start();
    fake.file('/v1/statement', { kind: 'silence' });
    let silent = 0;
    const counting: Sleep = async (millis, signal) => {
      if (millis < 20_000 || millis > 60_000 || signal.aborted) return await hurried(millis, signal);
      await fake.request(/^POST /);
      silent += millis;
    };
    const error = await failure(fake, { options: { sleep: counting, timeLimitMillis: 600_000 } });
    assert.ok(error instanceof EngineUnavailable);
    assert.equal(silent, 20_000);
  });

  test('a coordinator that falls silent in the middle is asked again, for two minutes in all', async () => {
    await using fake = await FakeCoordinator.start();
    fake.steps(json({ columns: [column('n', 'bigint')] }), { kind: 'silence' }, { kind: 'silence' });
    let silent = 0;
    const counting: Sleep = async (millis, signal) => {
      if (millis !== 60_000 || fake.received.length === 0) return await hurried(millis, signal);
      await fake.request(/^GET /);
      silent += millis;
    };
    const error = await failure(fake, { options: { sleep: counting, timeLimitMillis: 600_000 } });
    assert.ok(error instanceof EngineUnavailable);
    assert.equal(silent, 120_000);
    assert.equal(fake.lines().at(-1), 'DELETE /v1/statement/executing/q1/1');
  });

  test('a refused user is told without the password', async () => {
    await using fake = await FakeCoordinator.start();
    fake.steps({ kind: 'status', status: 401 });
    const error = await failure(fake);
    assert.equal(
      error.message,
      'Trino does not let the service in (status 401): the user or the password in QRS_ENGINE_URL is wrong',
    );
  });

  test('the password follows to no other address', async () => {
    await using fake = await FakeCoordinator.start();
    await using other = await FakeCoordinator.start();
    fake.steps(json({ nextUri: `${other.origin}/v1/statement/executing/q1/1` }));
    const error = await failure(fake);
    assert.match(error.message, /^Trino sends its clients from .* on to .*: where a proxy stands in front of it, set/);
    fake.steps({ kind: 'status', status: 307, headers: { Location: `${other.origin}/v1/statement` } });
    assert.match((await failure(fake)).message, /name that one in QRS_ENGINE_URL/);
    assert.deepEqual(other.received, []);
  });

  for (const [what, steps, message] of [
    ['no JSON', [text('<html>')], /does not speak Trino's protocol: found no JSON/],
    ['no columns', [json({ data: [[1]] })], /^Trino named no columns$/],
    ['rows that are no lists', [json({ columns: [column('n', 'bigint')], data: [1, null] })], /rows that are no lists/],
    [
      'fewer rows than it says',
      [
        json({
          columns: [column('n', 'bigint')],
          data: {
            encoding: 'json+zstd',
            segments: [
              {
                type: 'inline',
                data: Buffer.from('[[1]]').toString('base64'),
                metadata: { rowsCount: 2, segmentSize: 5 },
              },
            ],
          },
        }),
      ],
      /^Trino said it gave 2 rows, and 1 came$/,
    ],
    ['a row that is too short', [json({ columns: [column('n', 'bigint')], data: [[]] })], /cannot be read/],
    [
      'rows that are no JSON',
      [text('{"columns":[{"name":"n","typeSignature":{"rawType":"bigint","arguments":[]}}],"data":[[1}]]}')],
      /cannot be read|no JSON/,
    ],
    ['an encoding nobody asked for', [json({ data: { encoding: 'arrow', segments: [] } })], /found rows as arrow/],
  ] as const) {
    test(`an answer with ${what} fails the query`, async () => {
      await using fake = await FakeCoordinator.start();
      fake.steps(...steps);
      const error = await failure(fake);
      assert.equal(error.type, 'engine_error');
      assert.match(error.message, message);
    });
  }

  test('a time in a named zone is told how to be written within a list, too', async () => {
    await using fake = await FakeCoordinator.start();
    const at = column('at', 'array', signature('timestamp with time zone', 3));
    fake.steps(
      json({ columns: [at], data: [[['2024-03-05 20:50:59.000 UTC', '2024-03-05 20:50:59.000 Europe/Berlin']]] }),
    );
    assert.match((await failure(fake)).message, /Europe\/Berlin\\"\]": write it AT TIME ZONE 'UTC' in the SQL$/);
  });

  test('a value that its type cannot hold fails the query, and the column is named', async () => {
    await using fake = await FakeCoordinator.start();
    fake.steps(
      json({
        columns: [column('n', 'bigint'), column('at', 'timestamp with time zone', 3)],
        data: [[1, '2024-03-05 20:50:59.000 Europe/Berlin']],
      }),
    );
    const error = await failure(fake);
    assert.deepEqual(
      [error.type, error.message],
      [
        'execution_error',
        `column "at" is timestamp(3) with time zone and cannot hold "2024-03-05 20:50:59.000 Europe/Berlin": write it AT TIME ZONE 'UTC' in the SQL`,
      ],
    );
  });

  for (const [found, message] of [
    [
      column('x', 'timestamp', 12),
      'a result cannot have the column "x" of type timestamp(12): cast it to timestamp(9) or to varchar',
    ],
    [
      column('x', 'timestamp with time zone', 9),
      'a result cannot have the column "x" of type timestamp(9) with time zone: cast it to timestamp(6) with time zone or to varchar',
    ],
    [column('x', 'time', 9), 'a result cannot have the column "x" of type time(9): cast it to time(6) or to varchar'],
    [
      column('x', 'array', signature('HyperLogLog')),
      'a result cannot have the column "x" of type array(HyperLogLog): cast it in the SQL',
    ],
    [
      column('x', 'map', signature('varbinary'), signature('bigint')),
      'a result cannot have the column "x" of type map(varbinary, bigint): cast the keys of the map to varchar',
    ],
  ] as const) {
    test(`${message}; the query is ended`, async () => {
      await using fake = await FakeCoordinator.start();
      fake.steps(json({ columns: [found] }), json({}));
      const error = await failure(fake);
      assert.deepEqual([error.type, error.message], ['syntax_error', message]);
      assert.deepEqual(fake.lines().at(-1), `DELETE ${new URL(fake.next(1)).pathname}`);
    });
  }

  test('two columns of one name are refused', async () => {
    await using fake = await FakeCoordinator.start();
    fake.steps(json({ columns: [column('a', 'bigint'), column('A', 'bigint')] }));
    assert.equal((await failure(fake)).message, 'two columns are called "A": give each a name of its own with AS');
  });
});
