import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFault, toRequestError } from './errors.ts';

test('a full disk is 503 storage_full, whatever could not be written, and the log says so', () => {
  const lease = Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 });
  const view = new Error('IO Error: Could not write file "/x": No space left on device');
  for (const error of [lease, view]) {
    const told = toRequestError(error, 'r1');
    assert.deepEqual([told.status, told.code, told.retryAfterSeconds], [503, 'storage_full', 60]);
    assert.equal(told.message, 'a disk of the service is full; ask for less, or try again when there is room');
    assert.equal(isFault(told), true);
  }
  assert.equal(toRequestError(new Error('another'), 'r1').code, 'internal');
});

test('a process that may open no more files is overloaded, in every way it is reported', () => {
  const system = Object.assign(new Error("EMFILE: too many open files, open '/data/x'"), { code: 'EMFILE' });
  const duckDb = new Error('IO Error: Cannot open file "/data/x": Too many open files');
  for (const error of [system, duckDb, new Error('reading failed', { cause: system })]) {
    const answer = toRequestError(error, 'r');
    assert.deepEqual([answer.status, answer.code, answer.retryAfterSeconds], [503, 'overloaded', 5]);
    assert.doesNotMatch(answer.message, /data/);
  }
  assert.equal(toRequestError(new Error('another'), 'r').code, 'internal');
});
