import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whileBusy } from './busy.ts';

/** As `node:sqlite` throws it: the extended result code SQLITE_BUSY_SNAPSHOT. */
const locked = Object.assign(new Error('database is locked'), { errcode: 517 });

test('a locked catalog is tried again after pauses of up to 20 ms, for ten seconds', async () => {
  const pauses: number[] = [];
  const sleep = async (millis: number) => void pauses.push(millis);
  const attempt = () => {
    throw locked;
  };
  await assert.rejects(whileBusy(attempt, sleep), {
    message: 'the catalog has been locked by another process for 10 seconds',
    cause: locked,
  });
  assert.deepEqual(pauses.slice(0, 7), [1, 2, 4, 8, 16, 20, 20]);
  assert.equal(
    pauses.reduce((sum, pause) => sum + pause),
    10_011,
  );
});

test('it succeeds as soon as the catalog is free; another error is not tried again', async () => {
  let attempts = 0;
  const second = () => {
    attempts += 1;
    if (attempts === 1) throw locked;
    return 'done';
  };
  assert.equal(await whileBusy(second, async () => {}), 'done');
  const broken = () => {
    attempts += 1;
    throw new Error('broken');
  };
  await assert.rejects(
    whileBusy(broken, async () => assert.fail('not waited for')),
    { message: 'broken' },
  );
  assert.equal(attempts, 3);
});
