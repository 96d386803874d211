import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LogLevel, logTo } from './log.ts';
import type { AnsweredRequest, Observation } from './observation.ts';
import { readableLine } from './readable-lines.ts';
import { RequestStats } from './request-stats.ts';

function logged(observations: readonly Observation[], level: LogLevel = 'info'): readonly Record<string, unknown>[] {
  let text = '';
  const log = logTo((line) => {
    text += line;
  }, level);
  for (const observation of observations) log(observation);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

function answered(more: Partial<AnsweredRequest> = {}): AnsweredRequest {
  const facts = { executionId: '01HR864GXKFS11YG4JP5Y67S2A', queryId: 7, rowCount: 2, cellBytes: 20, datapoints: 4 };
  const stats = Object.assign(new RequestStats(), { ...facts, bodyBytes: 100, cache: 'hit' });
  stats.spent('authenticate', 0.01);
  stats.spent('resolve', 0.123456);
  return {
    kind: 'answered',
    requestId: 'r1',
    keyId: 'k1',
    method: 'GET',
    route: '/v1/query/:id/results',
    status: 200,
    startedAt: 1_709_671_859_123,
    millis: 1.5,
    aborted: false,
    traceparent: undefined,
    stats,
    ...more,
  };
}

test('a request is one line with everything that it cost', () => {
  assert.deepEqual(logged([answered()]), [
    {
      level: 'info',
      time: '2024-03-05T20:50:59.124Z',
      request_id: 'r1',
      key_id: 'k1',
      method: 'GET',
      route: '/v1/query/:id/results',
      status: 200,
      millis: 1.5,
      stages: { authenticate: 0.01, resolve: 0.123 },
      execution_id: '01HR864GXKFS11YG4JP5Y67S2A',
      query_id: 7,
      rows: 2,
      cell_bytes: 20,
      datapoints: 4,
      bytes: 100,
      cache: 'hit',
      aborted: false,
      message: 'request',
    },
  ]);
});

test('a line leaves out what does not apply to its request', () => {
  const stats = Object.assign(new RequestStats(), { errorCode: 'invalid_api_key', bodyBytes: 27 });
  const [line] = logged([answered({ keyId: undefined, route: undefined, status: 401, stats })]);
  assert.deepEqual(line, {
    level: 'info',
    time: '2024-03-05T20:50:59.124Z',
    request_id: 'r1',
    method: 'GET',
    status: 401,
    error_code: 'invalid_api_key',
    millis: 1.5,
    rows: 0,
    cell_bytes: 0,
    datapoints: 0,
    bytes: 27,
    aborted: false,
    message: 'request',
  });
});

test('probes are logged at the lowest level; nothing above the configured level is written', () => {
  const probe = answered({ keyId: undefined, route: '/healthz' });
  assert.deepEqual(logged([probe]), []);
  assert.equal(logged([probe], 'debug').length, 1);
  assert.deepEqual(logged([answered()], 'warn'), []);
  assert.deepEqual(logged([{ kind: 'fault', error: new Error('x') }], 'silent'), []);
});

test('a fault has its stack and its causes, whatever was thrown', () => {
  const [line, other] = logged([
    { kind: 'fault', requestId: 'r1', error: new Error('outer', { cause: new Error('inner') }) },
    { kind: 'fault', what: 'pruning', error: 'a text' },
  ]);
  assert.equal(line?.level, 'error');
  assert.equal(line?.request_id, 'r1');
  const stack = (line?.error as { readonly stack: string } | undefined)?.stack ?? '';
  assert.match(stack, /^Error: outer\n.*log\.test/s);
  assert.match(stack, /inner/);
  assert.equal(other?.message, 'pruning');
  assert.equal((other?.error as { readonly message: string } | undefined)?.message, 'a text');
});

test('a key is never in the log, wherever it came from', () => {
  const key = `qrs_${'k3y'.repeat(13)}z`;
  const lines = logged([
    answered({ requestId: key }),
    {
      kind: 'fault',
      requestId: `r-${key}`,
      error: new Error(`cannot read ${key}`, { cause: { address: `/?api_key=${key}` } }),
    },
    { kind: 'sweep_stopped', reason: key },
  ]);
  assert.equal(lines.length, 3);
  assert.ok(!JSON.stringify(lines).includes(key));
  assert.equal(lines[0]?.request_id, 'qrs_[key]');
  assert.equal(lines[2]?.message, 'sweep stopped: qrs_[key]');
});

test('the life of the service', () => {
  const lines = logged([
    { kind: 'listening', url: 'http://127.0.0.1:8080' },
    { kind: 'stopping', inFlight: 2 },
    { kind: 'stopped', cut: 1 },
    { kind: 'swept', expired: 1, orphans: 0, bytes: 10 },
    { kind: 'swept', expired: 0, orphans: 0, bytes: 0 },
    { kind: 'clock_jumped', about: 'the clock went from a to b' },
    { kind: 'sweep_stopped', reason: 'too much' },
    {
      kind: 'run',
      event: { kind: 'completed', dataset: 'points', queryId: 7, executionId: '01H', rowCount: 5, millis: 9 },
    },
  ]);
  assert.deepEqual(
    lines.map(({ time: _, ...line }) => line),
    [
      { level: 'info', url: 'http://127.0.0.1:8080', message: 'listening' },
      { level: 'info', under_way: 2, message: 'stopping' },
      { level: 'warn', cut: 1, message: 'stopped' },
      { level: 'info', expired: 1, orphans: 0, bytes: 10, message: 'swept' },
      { level: 'warn', message: 'the clock went from a to b' },
      { level: 'warn', message: 'sweep stopped: too much' },
      {
        level: 'info',
        dataset: 'points',
        query_id: 7,
        execution_id: '01H',
        rows: 5,
        millis: 9,
        message: 'run completed',
      },
    ],
  );
});

test('on a terminal, the same in words', () => {
  const line = '{"level":"info","time":"2024-03-05T20:50:59.124Z","status":200,"stages":{"a":1},"message":"request"}';
  assert.equal(readableLine(line), '20:50:59.124 info request status=200 stages={"a":1}\n');
  const fault =
    '{"level":"error","time":"2024-03-05T20:50:59.124Z","error":{"stack":"Error: x\\n    at y"},"message":"fault"}';
  assert.equal(readableLine(fault), '20:50:59.124 error fault\nError: x\n    at y\n');
});
