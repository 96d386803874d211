import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeTime } from '../../test/fake-time.ts';
import { InFlightRequests } from './in-flight-requests.ts';

test('it is drained when the last request has ended', async () => {
  const { sleep } = new FakeTime(0);
  const inFlight = new InFlightRequests();
  inFlight.begin();
  inFlight.begin();
  inFlight.end();
  assert.deepEqual([inFlight.count, inFlight.stopping], [1, false]);
  inFlight.stopAccepting();
  assert.equal(inFlight.stopping, true);
  const drained = inFlight.drained(1000, sleep);
  inFlight.end();
  assert.equal(await drained, 0);
});

test('without requests it is drained at once; with one that does not end, when the time is up', async () => {
  const time = new FakeTime(0);
  const idle = new InFlightRequests();
  idle.stopAccepting();
  assert.equal(await idle.drained(1000, time.sleep), 0);
  const busy = new InFlightRequests();
  busy.begin();
  busy.stopAccepting();
  const drained = busy.drained(1000, time.sleep);
  time.advance(1000);
  assert.equal(await drained, 1);
});
