import assert from 'node:assert/strict';
import { test } from 'node:test';
import { disk, diskBytes, diskOfEach, freeForDisk } from './disk.ts';

test('disk is a size, or a share of what is free, and is divided as either', () => {
  const read = disk(1, '1 byte');
  assert.equal(diskBytes(read('10GB'), 5e9), 10e9);
  assert.equal(diskBytes(read('50%'), 5e9), 2.5e9);
  assert.equal(diskBytes(diskOfEach(read('10GB'), 4), 5e9), 2.5e9);
  assert.equal(diskBytes(diskOfEach(read('50 %'), 4), 8e9), 1e9);
  assert.equal(freeForDisk(read('25%'), 100), 400, 'a share grows with what is free');
  assert.equal(freeForDisk(read('10GB'), 100), 0, 'and a size does not');
  for (const bad of ['0%', '101%', '0.0%']) {
    assert.throws(() => read(bad), {
      message: 'expected a size, or more than 0% and at most 100% of what is free on the disk',
    });
  }
  assert.throws(() => read('half'), { message: 'expected a size of at least 1 byte, such as 512MB, 2GB or 4GiB' });
});
