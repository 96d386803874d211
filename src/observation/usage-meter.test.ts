import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeTime } from '../../test/fake-time.ts';
import type { Usage } from '../catalog/catalog.ts';
import type { Use } from '../domain/usage.ts';
import type { AnsweredRequest, Observation } from './observation.ts';
import { RequestStats } from './request-stats.ts';
import { UsageMeter } from './usage-meter.ts';

/** 2024-03-05T23:59:59Z */
const EVENING = 1_709_683_199_000;

/** An answer that took a millisecond. */
function answered(
  keyId: string | undefined,
  queryId: number | undefined,
  datapoints: number,
  startedAt = EVENING,
): AnsweredRequest {
  const stats = Object.assign(new RequestStats(), { queryId, datapoints, bodyBytes: datapoints * 10 });
  const rest = { requestId: 'r', method: 'GET', route: '/', status: 200, startedAt, millis: 1, aborted: false };
  return { kind: 'answered', keyId, stats, traceparent: undefined, ...rest };
}

function meterWith(add: Usage['add']) {
  const time = new FakeTime(EVENING);
  const observed: Observation[] = [];
  const meter = new UsageMeter({
    usage: { add, sum: async () => [] },
    observe: (observation) => observed.push(observation),
    writer: 'p1',
  });
  return { meter, time, observed };
}

test('requests are summed by key, query and the day on which the answer ended, and written once', async () => {
  const written: (readonly Use[])[] = [];
  const { meter } = meterWith(async (uses) => {
    written.push(uses);
  });
  meter.observe(answered('k1', 7, 5));
  meter.observe(answered('k1', 7, 6));
  meter.observe(answered('k1', undefined, 0));
  meter.observe(answered(undefined, undefined, 0));
  meter.observe(answered('k1', 7, 1, EVENING + 998));
  meter.observe(answered('k1', 7, 1, EVENING + 999));
  await meter.write();
  await meter.write();
  assert.deepEqual(written, [
    [
      { day: '2024-03-05', keyId: 'k1', queryId: 7, requests: 3, datapoints: 12, bytes: 120 },
      { day: '2024-03-05', keyId: 'k1', requests: 1, datapoints: 0, bytes: 0 },
      { day: '2024-03-06', keyId: 'k1', queryId: 7, requests: 1, datapoints: 1, bytes: 10 },
    ],
  ]);
});

test('usage that could not be written is written as the same batch, before later usage', async () => {
  const sent: unknown[] = [];
  let broken = true;
  const { meter, observed } = meterWith(async (uses, batch) => {
    sent.push([batch?.writer, batch?.number, uses.map(({ requests }) => requests)]);
    if (!broken) return;
    meter.observe(answered('k1', 7, 2));
    throw new Error('the answer to the commit was lost');
  });
  meter.observe(answered('k1', 7, 1));
  await meter.write();
  assert.equal(observed[0]?.kind, 'usage_not_written');
  assert.equal(meter.waiting, 2);
  broken = false;
  await meter.write();
  assert.deepEqual(sent, [
    ['p1', 1, [1]],
    ['p1', 1, [1]],
    ['p1', 2, [1]],
  ]);
  assert.equal(meter.waiting, 0);
});

test('it writes at every interval, and the rest when it is stopped', async () => {
  const written: number[] = [];
  const { meter, time } = meterWith(async (uses) => {
    written.push(uses.length);
  });
  const stop = new AbortController();
  const asleep = time.nextSleep();
  const running = meter.run(5000, time.sleep, stop.signal);
  await asleep;
  meter.observe(answered('k1', 7, 1));
  const next = time.nextSleep();
  time.advance(5000);
  await next;
  assert.deepEqual(written, [1]);
  meter.observe(answered('k1', 7, 1));
  stop.abort(new Error('stopping'));
  await running;
  assert.deepEqual(written, [1, 1]);
});
