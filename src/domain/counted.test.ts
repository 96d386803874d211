import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesInWords, counted, durationInWords } from './counted.ts';

test('one is singular, every other number plural', () => {
  assert.deepEqual(
    [counted(0, 'row'), counted(1, 'row'), counted(1234, 'row'), counted(2, 'query', 'queries')],
    ['0 rows', '1 row', '1,234 rows', '2 queries'],
  );
});

test('bytes and durations have as many digits as are worth reading', () => {
  assert.deepEqual([0, 999, 1000, 4249, 99_949, 99_960, 999_600, 1_340_000_000, 8e15].map(bytesInWords), [
    '0 B',
    '999 B',
    '1.0 kB',
    '4.2 kB',
    '99.9 kB',
    '100 kB',
    '1.0 MB',
    '1.3 GB',
    '8000 TB',
  ]);
  assert.deepEqual([0, 0.2, 99, 100, 5940, 6000, 7201].map(durationInWords), [
    '0 s',
    '1 s',
    '99 s',
    '2 min',
    '99 min',
    '1 h 40 min',
    '2 h 1 min',
  ]);
});
