import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lookAtClock } from './clock-record.ts';
import { DAY_MILLIS } from './instant.ts';

const HOUR = DAY_MILLIS / 24;
const NOON = 1_709_640_000_000;

test('the first look trusts the clock, and so does a look within a day of the last one, before or after', () => {
  assert.deepEqual(lookAtClock(undefined, NOON, undefined), { latestSeen: NOON });
  assert.deepEqual(lookAtClock({ latestSeen: NOON }, NOON + DAY_MILLIS, undefined), { latestSeen: NOON + DAY_MILLIS });
  assert.deepEqual(lookAtClock({ latestSeen: NOON }, NOON - DAY_MILLIS, undefined), { latestSeen: NOON });
});

test('a clock more than a day away is not trusted until the service has run for a day', () => {
  for (const jump of [DAY_MILLIS + 1, 200 * DAY_MILLIS, -DAY_MILLIS - 1]) {
    const to = NOON + jump;
    let record = lookAtClock({ latestSeen: NOON }, to, NOON - HOUR);
    assert.deepEqual(record, { latestSeen: to, doubt: { from: NOON, to, leftMillis: DAY_MILLIS } });
    for (let hour = 1; hour < 24; hour += 1) {
      record = lookAtClock(record, to + hour * HOUR, to + (hour - 1) * HOUR);
      assert.equal(record.doubt?.leftMillis, DAY_MILLIS - hour * HOUR);
    }
    record = lookAtClock(record, to + DAY_MILLIS, to + 23 * HOUR);
    assert.deepEqual(record, { latestSeen: to + DAY_MILLIS });
  }
});

test('time in which nothing runs does not count, and time in which two processes run counts once', () => {
  const doubt = { from: 0, to: NOON, leftMillis: DAY_MILLIS };
  const restarted = lookAtClock({ latestSeen: NOON, doubt }, NOON + 20 * HOUR, undefined);
  assert.equal(restarted.doubt?.leftMillis, DAY_MILLIS);
  const one = lookAtClock(restarted, NOON + 21 * HOUR, NOON + 20 * HOUR);
  const other = lookAtClock(one, NOON + 21 * HOUR, NOON + 20 * HOUR);
  assert.equal(other.doubt?.leftMillis, 23 * HOUR);
});
