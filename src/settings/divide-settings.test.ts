import assert from 'node:assert/strict';
import { test } from 'node:test';
import { divideSettings } from './divide-settings.ts';
import { loadSettings } from './load-settings.ts';

function settingsOf(environment: Readonly<Record<string, string>>) {
  return loadSettings({ environment, readFile: () => undefined }).settings;
}

test('memory, disk, connections and limits of a whole service are divided; limits of one request or key are not', () => {
  const whole = settingsOf({ QRS_MEMORY: '2GB', QRS_READ_MEMORY: '800MB', QRS_CONNECTIONS_MAX: '1001' });
  const part = divideSettings(whole, 2);
  assert.equal(part.memoryBytes, 1_000_000_000);
  assert.equal(part.readMemoryBytes, 400_000_000);
  assert.equal(part.pageCacheBytes, 100_000_000);
  assert.equal(part.viewBytesMax, 10_000_000_000);
  assert.equal(part.storeCacheBytesMax, 5_000_000_000);
  assert.equal(part.connectionsMax, 500);
  assert.equal(part.authFailuresPerMinute, 30);
  assert.equal(part.datapointsMax, whole.datapointsMax);
  assert.equal(part.heavyReadsPerKeyMax, whole.heavyReadsPerKeyMax);
  assert.equal(part.rateBurst, whole.rateBurst);
});

test('an unlimited setting stays unlimited, and none becomes zero', () => {
  const part = divideSettings(
    settingsOf({ QRS_MEMORY: '4GB', QRS_FAILED_KEYS_PER_MINUTE: '0', QRS_VIEWS_MAX: '1' }),
    4,
  );
  assert.equal(part.authFailuresPerMinute, 0);
  assert.equal(part.viewsMax, 1);
});

test('workers that would get too little memory are refused', () => {
  assert.throws(() => divideSettings(settingsOf({ QRS_MEMORY: '800MB' }), 4), {
    message:
      'QRS_MEMORY is 800 MB, which leaves each of 4 workers 200 MB; each needs 256 MB: give more memory, or fewer workers',
  });
});
