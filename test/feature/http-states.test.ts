/** Contract §3: each state as JSON, as CSV and as status; retention and truncation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEnvelope, getText } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';

const SUBMITTED = '2024-03-05T20:50:59.123000Z';
const STARTED = '2024-03-05T20:51:00.623000Z';
const ENDED = '2024-03-05T20:51:03.625000Z';
const EXPIRES = '2024-06-03T20:51:03.625000Z';

/** A run of query 7, submitted. */
async function submitted(service: HttpService): Promise<string> {
  await service.commandLine.get('queries', 'add', '--id', '7', '--user', 'ann');
  return await service.commandLine.get('executions', 'submit', '--query', '7');
}

/** Submits a run that started 1,500 ms later, and ends 3,002 ms after that. */
async function ending(service: HttpService): Promise<string> {
  const id = await submitted(service);
  service.commandLine.now += 1500;
  await service.commandLine.get('executions', 'start', id);
  service.commandLine.now += 3002;
  return id;
}

/** Asks for the results and the status as JSON, and for the CSV. */
async function answers(service: HttpService, id: string) {
  const csv = await getText(service, `/v1/execution/${id}/results/csv`);
  return {
    results: await service.json(`/v1/execution/${id}/results`),
    status: await service.json(`/v1/execution/${id}/status`),
    csv,
  };
}

function noCsv(state: string) {
  return [409, `{"error":"Query state is ${state}, cannot provide CSV result","state":"${state}"}`];
}

test('PENDING: no result, a place in the queue', async (t) => {
  const service = await startHttpService(t);
  const id = await submitted(service);
  const envelope = {
    execution_id: id,
    query_id: 7,
    state: 'QUERY_STATE_PENDING',
    is_execution_finished: false,
    submitted_at: SUBMITTED,
  };
  assert.deepEqual(await answers(service, id), {
    results: envelope,
    status: { ...envelope, queue_position: 1 },
    csv: noCsv('QUERY_STATE_PENDING'),
  });
});

test('the queue: first come, first served', async (t) => {
  const service = await startHttpService(t);
  const qrs = service.commandLine;
  const first = await submitted(service);
  qrs.now += 1;
  const second = await qrs.get('executions', 'submit', '--query', '7');
  const position = async (id: string) => (await service.json(`/v1/execution/${id}/status`)).queue_position;
  assert.deepEqual([await position(first), await position(second)], [1, 2]);
  await qrs.get('executions', 'start', first);
  assert.deepEqual([await position(first), await position(second)], [undefined, 1]);
});

test('EXECUTING: when it started, and no place in the queue', async (t) => {
  const service = await startHttpService(t);
  const id = await ending(service);
  const envelope = {
    execution_id: id,
    query_id: 7,
    state: 'QUERY_STATE_EXECUTING',
    is_execution_finished: false,
    submitted_at: SUBMITTED,
    execution_started_at: STARTED,
  };
  assert.deepEqual(await answers(service, id), {
    results: envelope,
    status: envelope,
    csv: noCsv('QUERY_STATE_EXECUTING'),
  });
});

test('EXECUTING, by the engine of the service: how far the run is, as whoever runs it said last', async (t) => {
  const service = await startHttpService(t);
  await service.commandLine.get('queries', 'add', '--id', '7', '--user', 'ann');
  const { runs, leases } = await service.catalog();
  const id = '01HR7PD8XYZ3M4N5P6Q7R8S9TA';
  const at = service.commandLine.now;
  const execution = { id, queryId: 7, parameters: {}, state: 'PENDING', submittedAt: at } as const;
  await runs.enqueue({ execution, sql: 'SELECT 1', values: [] }, { waitingMax: 1, waitingOfKeyMax: 1 });
  const claimed = await runs.claim({ owner: 'another replica', at, leaseMillis: 30_000, runningOfKeyMax: 1 });
  assert.ok(claimed !== undefined);
  const progress = async () => (await service.json(`/v1/execution/${id}/status`)).progress;
  assert.equal(await progress(), undefined);
  const processed = { rows: 6_001_215, bytes: 412_000_000 };
  await leases.renew(claimed.lease, 30_000, { percent: 41, splits: { completed: 3, total: 7 }, processed });
  const told = {
    percent: 41,
    completed_splits: 3,
    total_splits: 7,
    processed_rows: 6_001_215,
    processed_bytes: 412_000_000,
  };
  assert.deepEqual(await progress(), told);
  assert.equal((await service.json(`/v1/execution/${id}/results`)).progress, undefined);
  const shown = await service.commandLine.get('executions', 'show', id, '--json');
  assert.deepEqual(JSON.parse(shown).progress, told);
  assert.match(await service.commandLine.get('executions', 'show', id), /^progress\.percent=41$/m);
  await leases.renew(claimed.lease, 30_000, { percent: 42 });
  assert.deepEqual(await progress(), { percent: 42 });
  await service.commandLine.get('executions', 'cancel', id);
  assert.equal(await progress(), undefined);
});

test('COMPLETED: the result, its times and sizes', async (t) => {
  const service = await startHttpService(t);
  const id = await ending(service);
  await service.publish(7, 'n,w\n1,x\n2,\n', { executionId: id });
  const envelope = {
    execution_id: id,
    query_id: 7,
    state: 'QUERY_STATE_COMPLETED',
    is_execution_finished: true,
    submitted_at: SUBMITTED,
    execution_started_at: STARTED,
    execution_ended_at: ENDED,
    expires_at: EXPIRES,
  };
  const metadata = {
    column_names: ['n', 'w'],
    column_types: ['bigint', 'varchar'],
    row_count: 2,
    result_set_bytes: 17,
    total_row_count: 2,
    total_result_set_bytes: 17,
    datapoint_count: 4,
    pending_time_millis: 1500,
    execution_time_millis: 3002,
  };
  const rows = [
    { n: 1, w: 'x' },
    { n: 2, w: null },
  ];
  assert.deepEqual(await answers(service, id), {
    results: { ...envelope, result: { rows, metadata } },
    status: { ...envelope, result_metadata: metadata },
    csv: [200, 'n,w\n1,x\n2,\n'],
  });
});

test('FAILED: the error, with its place where that is known', async (t) => {
  const service = await startHttpService(t);
  const id = await ending(service);
  const words = [
    '--message',
    'Column "x" cannot be resolved',
    '--type',
    'syntax_error',
    '--line',
    '3',
    '--column',
    '8',
  ];
  await service.commandLine.get('executions', 'fail', id, ...words);
  const envelope = {
    execution_id: id,
    query_id: 7,
    state: 'QUERY_STATE_FAILED',
    is_execution_finished: true,
    submitted_at: SUBMITTED,
    execution_started_at: STARTED,
    execution_ended_at: ENDED,
    error: {
      type: 'syntax_error',
      message: 'Column "x" cannot be resolved',
      metadata: { line: 3, column: 8 },
    },
  };
  assert.deepEqual(await answers(service, id), {
    results: envelope,
    status: envelope,
    csv: noCsv('QUERY_STATE_FAILED'),
  });
});

test('FAILED before it started: no start, no place', async (t) => {
  const service = await startHttpService(t);
  const id = await submitted(service);
  await service.commandLine.get('executions', 'fail', id, '--message', 'no engine');
  assert.deepEqual(await service.json(`/v1/execution/${id}/results`), {
    execution_id: id,
    query_id: 7,
    state: 'QUERY_STATE_FAILED',
    is_execution_finished: true,
    submitted_at: SUBMITTED,
    execution_ended_at: SUBMITTED,
    error: { type: 'execution_error', message: 'no engine' },
  });
});

test('CANCELLED: when it was cancelled, and no end', async (t) => {
  const service = await startHttpService(t);
  const id = await ending(service);
  await service.commandLine.get('executions', 'cancel', id);
  const envelope = {
    execution_id: id,
    query_id: 7,
    state: 'QUERY_STATE_CANCELLED',
    is_execution_finished: true,
    submitted_at: SUBMITTED,
    execution_started_at: STARTED,
    cancelled_at: ENDED,
  };
  assert.deepEqual(await answers(service, id), {
    results: envelope,
    status: envelope,
    csv: noCsv('QUERY_STATE_CANCELLED'),
  });
});

test('EXPIRED: at the exact millisecond, swept or not', async (t) => {
  const service = await startHttpService(t);
  const id = await ending(service);
  await service.publish(7, 'n\n1\n', { executionId: id });
  service.commandLine.now = Date.parse(EXPIRES) - 1;
  assert.equal((await service.json(`/v1/execution/${id}/results`)).state, 'QUERY_STATE_COMPLETED');
  assert.equal((await getText(service, `/v1/execution/${id}/results/csv`))[0], 200);
  service.commandLine.now += 1;
  const envelope = {
    execution_id: id,
    query_id: 7,
    state: 'QUERY_STATE_EXPIRED',
    is_execution_finished: true,
    submitted_at: SUBMITTED,
    execution_started_at: STARTED,
    execution_ended_at: ENDED,
    expires_at: EXPIRES,
  };
  const expected = { results: envelope, status: envelope, csv: noCsv('QUERY_STATE_EXPIRED') };
  assert.deepEqual(await answers(service, id), expected);
  // A read that began before may go on for a minute.
  assert.match(await service.commandLine.get('sweep', '--yes'), /^expired=0\n/);
  service.commandLine.now += 60_000;
  // The clock has jumped, so the sweep needs `--yes`.
  assert.match(await service.commandLine.get('sweep', '--yes'), /^expired=1\n/);
  assert.deepEqual(await answers(service, id), expected);
});

test('retention is a setting', async (t) => {
  const service = await startHttpService(t, { QRS_RETENTION_DAYS: '1.5' });
  const { id } = await service.publish(7, 'n\n1\n');
  assert.equal((await service.json(`/v1/execution/${id}/results`)).expires_at, '2024-03-07T08:50:59.123000Z');
});

test('COMPLETED_PARTIAL', async (t) => {
  const service = await startHttpService(t);
  const id = await ending(service);
  // Nine cell bytes a row: three rows would have 27.
  await service.publish(7, 'n,w\n1,x\n2,y\n3,z\n', { executionId: id, resultBytesMax: 26 });
  const times = {
    submitted_at: SUBMITTED,
    execution_started_at: STARTED,
    execution_ended_at: ENDED,
    expires_at: EXPIRES,
  };
  const ids = { execution_id: id, query_id: 7 };
  const results = `/v1/execution/${id}/results`;

  await t.test('not allowed: 400, and the state reads FAILED', async () => {
    for (const path of [results, `${results}/csv`, '/v1/query/7/results', '/v1/query/7/results/csv']) {
      for (const query of ['', '?allow_partial_results=false', '?allow_partial_results=']) {
        const response = await service.get(path + query);
        assert.equal(response.status, 400);
        assert.equal(response.headers.get('content-type'), 'application/json');
        assert.equal(response.headers.get('x-error-code'), 'partial_result');
        assert.deepEqual(await response.json(), {
          error: "Partial Result, please request with 'allow_partial_results=true'",
          ...ids,
          state: 'QUERY_STATE_FAILED',
          is_execution_finished: true,
          ...times,
        });
      }
    }
  });

  await t.test('allowed: the rows that are stored, cut between two rows', async () => {
    const answer = await service.json(`${results}?allow_partial_results=true`);
    const { result, ...envelope } = answer as { result: { rows: unknown; metadata: { total_row_count: number } } };
    assert.deepEqual(envelope, {
      ...ids,
      state: 'QUERY_STATE_COMPLETED_PARTIAL',
      is_execution_finished: true,
      ...times,
    });
    assert.deepEqual(result.rows, [
      { n: 1, w: 'x' },
      { n: 2, w: 'y' },
    ]);
    assert.equal(result.metadata.total_row_count, 2);
    assert.deepEqual(await getText(service, `${results}/csv?allow_partial_results=1`), [200, 'n,w\n1,x\n2,y\n']);
  });

  await t.test('status says what it is', async () => {
    const { state, result_metadata } = await service.json(`/v1/execution/${id}/status`);
    assert.equal(state, 'QUERY_STATE_COMPLETED_PARTIAL');
    assert.equal((result_metadata as { total_row_count: number }).total_row_count, 2);
  });

  await t.test('after its expiry it is EXPIRED, and no longer refused', async () => {
    service.commandLine.now = Date.parse(EXPIRES);
    assert.equal((await service.json(results)).state, 'QUERY_STATE_EXPIRED');
  });
});

test('by a setting, COMPLETED_PARTIAL is given to everybody, as COMPLETED', async (t) => {
  const service = await startHttpService(t, { QRS_PARTIAL_AS_COMPLETED: 'true', QRS_MAX_RESULT_BYTES: '16' });
  const { id } = await service.publish(7, 'n\n1\n2\n3\n');
  for (const parameters of ['', '?allow_partial_results=true', '?allow_partial_results=false']) {
    const { state, result } = await getEnvelope(service, `/v1/execution/${id}/results${parameters}`);
    assert.deepEqual([state, result.rows], ['QUERY_STATE_COMPLETED', [{ n: 1 }, { n: 2 }]]);
    assert.deepEqual(await getText(service, `/v1/query/7/results/csv${parameters}`), [200, 'n\n1\n2\n']);
  }
  assert.equal((await service.json(`/v1/execution/${id}/status`)).state, 'QUERY_STATE_COMPLETED');
});
