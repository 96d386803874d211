import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeTime } from '../../test/fake-time.ts';
import { Traffic } from './traffic.ts';

test('it is quiet when the last request has ended', async () => {
  const { sleep } = new FakeTime(0);
  const traffic = new Traffic();
  traffic.begin();
  traffic.begin();
  traffic.end();
  assert.deepEqual([traffic.underWay, traffic.stopping], [1, false]);
  traffic.refuse();
  assert.equal(traffic.stopping, true);
  const quiet = traffic.quiet(1000, sleep);
  traffic.end();
  assert.equal(await quiet, 0);
});

test('with no request it is quiet at once; with one that does not end, when the time is up', async () => {
  const time = new FakeTime(0);
  const idle = new Traffic();
  idle.refuse();
  assert.equal(await idle.quiet(1000, time.sleep), 0);
  const busy = new Traffic();
  busy.begin();
  busy.refuse();
  const quiet = busy.quiet(1000, time.sleep);
  time.advance(1000);
  assert.equal(await quiet, 1);
});
