import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countsOfEnded } from './ended-metrics.ts';
import { sumOfMetrics } from './metrics.ts';

/** As prom-client tells of a process that answered so many requests, each in less than a second, and holds so much memory. */
function told(requests: number, bytes: number) {
  const bucket = (le: number | string, value: number) => ({
    metricName: 'seconds_bucket',
    labels: { route: '/v1', le },
    value,
  });
  const each = (suffix: string, value: number) => ({
    metricName: `seconds_${suffix}`,
    labels: { route: '/v1' },
    value,
  });
  return [
    {
      name: 'requests_total',
      help: 'h',
      type: 'counter',
      aggregator: 'sum',
      values: [{ labels: { route: '/v1', status: 200 }, value: requests }],
    },
    {
      name: 'seconds',
      help: 'h',
      type: 'histogram',
      aggregator: 'sum',
      values: [bucket(1, requests), bucket('+Inf', requests), each('sum', requests / 4), each('count', requests)],
    },
    { name: 'bytes', help: 'h', type: 'gauge', aggregator: 'sum', values: [{ labels: {}, value: bytes }] },
    { name: 'age', help: 'h', type: 'gauge', aggregator: 'max', values: [{ labels: {}, value: 7 }] },
  ];
}

test('what ended processes have counted stays in the sums, and their gauges go', async () => {
  const ended = countsOfEnded(countsOfEnded(undefined, told(2, 100)), told(4, 1000));
  const lines = (await sumOfMetrics([told(1, 10), ended])).split('\n').filter((line) => !/^(#|$)/.test(line));
  assert.deepEqual(lines, [
    'requests_total{route="/v1",status="200"} 7',
    'seconds_bucket{route="/v1",le="1"} 7',
    'seconds_bucket{route="/v1",le="+Inf"} 7',
    'seconds_sum{route="/v1"} 1.75',
    'seconds_count{route="/v1"} 7',
    'bytes 10',
    'age 7',
  ]);
});
