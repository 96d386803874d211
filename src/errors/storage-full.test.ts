import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isStorageFull } from './storage-full.ts';

test('a full disk is recognised in every error that says so, however deep', () => {
  const sqlite = Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 });
  const system = Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' });
  const duckDb = new Error('IO Error: Could not write file "/x": No space left on device');
  for (const error of [sqlite, system, duckDb, Object.assign(new Error('quota'), { code: 'EDQUOT' })]) {
    assert.equal(isStorageFull(error), true, error.message);
    assert.equal(isStorageFull(new Error('outer', { cause: new Error('inner', { cause: error }) })), true);
  }
  // Values of a file, which an error quotes.
  for (const value of ['No space left on device', 'IO Error: Could not write file "/x": Disk quota exceeded']) {
    for (const kind of [
      'Invalid Input Error: invalid value in column 0',
      'Conversion Error: Could not convert string',
    ]) {
      assert.equal(isStorageFull(new Error(`${kind}: ${value}`)), false, value);
    }
  }
  const ioError = Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 });
  for (const other of [ioError, new Error('full'), 'ENOSPC', undefined]) assert.equal(isStorageFull(other), false);
});
