import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeTime } from '../../test/fake-time.ts';
import { NotReady } from '../errors/not-ready.ts';
import { Readiness } from './readiness.ts';

function readiness(time: FakeTime, checks: Readonly<Record<string, () => Promise<void>>>) {
  const failed: string[] = [];
  const onFailed = (name: string) => void failed.push(name);
  return { failed, looking: new Readiness({ checks, monotonic: time.clock, sleep: time.sleep, onFailed }) };
}

test('a failed check is named, with its reason if that may be told', async () => {
  const checks = {
    catalog: async () => {},
    store: () => Promise.reject(new NotReady('its folder is gone')),
    engine: () => Promise.reject(new Error('ENOENT /srv/secret')),
  };
  const { looking, failed } = readiness(new FakeTime(0), checks);
  assert.deepEqual(
    [...(await looking.missing())],
    [
      ['store', 'its folder is gone'],
      ['engine', 'it cannot be used'],
    ],
  );
  assert.deepEqual(failed, ['store', 'engine']);
});

test('requests at the same time share a check, whose outcome holds for a second', async () => {
  const time = new FakeTime(0);
  let looks = 0;
  const check = async () => {
    looks += 1;
  };
  const { looking } = readiness(time, { check });
  await Promise.all([looking.missing(), looking.missing()]);
  time.advance(999);
  await looking.missing();
  assert.equal(looks, 1);
  time.advance(1);
  await looking.missing();
  assert.equal(looks, 2);
});

test('a check that does not end counts as failed', async () => {
  const time = new FakeTime(0);
  const { looking } = readiness(time, { catalog: () => new Promise(() => {}) });
  const missing = looking.missing();
  time.advance(5000);
  assert.deepEqual([...(await missing)], [['catalog', 'it does not answer within 5 seconds']]);
});
