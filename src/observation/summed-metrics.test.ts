import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counter, Histogram, Registry } from 'prom-client';
import { countedBy, summed, timedBy } from './summed-metrics.ts';

const BOUNDS = [0.001, 0.01, 1];

test('a sum reads as if the registry had been told of each value', async () => {
  const ours = new Registry();
  const rows = summed('rows_total', 'Rows.', ours);
  const requests = countedBy('requests_total', 'Requests.', ['route', 'status'], ours);
  const pages = countedBy('pages_total', 'Pages.', ['outcome'], ours);
  const durations = timedBy('duration_seconds', 'Time.', 'route', BOUNDS, ours);

  const theirs = new Registry();
  const registers = [theirs];
  const toldRows = new Counter({ name: 'rows_total', help: 'Rows.', registers });
  const labelNames = ['route', 'status'];
  const toldRequests = new Counter({ name: 'requests_total', help: 'Requests.', labelNames, registers });
  const toldPages = new Counter({ name: 'pages_total', help: 'Pages.', labelNames: ['outcome'], registers });
  const histogram = { name: 'duration_seconds', help: 'Time.', labelNames: ['route'], buckets: BOUNDS, registers };
  const toldDurations = new Histogram(histogram);

  // On a bound, between two, below the first, above the last.
  for (const seconds of [0.01, 0.5, 0.0001, 1, 60, 0.001]) {
    for (const route of ['/a', '/b"c']) {
      rows(3);
      toldRows.inc(3);
      requests(route, 200);
      toldRequests.inc({ route, status: 200 });
      pages('hit');
      toldPages.inc({ outcome: 'hit' });
      durations(route, seconds);
      toldDurations.observe({ route }, seconds);
    }
    // Read in between; after that it goes on from there.
    assert.equal(await ours.metrics(), await theirs.metrics());
  }
  const [count] = /^duration_seconds_bucket{le="0.01",route="\/a"} .*$/m.exec(await ours.metrics()) ?? [];
  assert.equal(count, 'duration_seconds_bucket{le="0.01",route="/a"} 3');
});
