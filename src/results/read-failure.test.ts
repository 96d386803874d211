import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestError } from '../errors/errors.ts';
import { ObjectDamaged } from '../store/result-store.ts';
import { readFailure } from './read-failure.ts';

test('a read that does not fit into memory is told as that, with what to do, and the cause stays with it', () => {
  const cause = new Error('Out of Memory Error: failed to allocate data of size 128.0 MiB (462.8 MiB/488.2 MiB used)');
  const told = readFailure(cause);
  assert.ok(told instanceof RequestError);
  assert.equal(told.status, 503);
  assert.equal(
    told.message,
    'there is not enough memory to read so wide rows in this way; name fewer columns, or fewer rows (limit)',
  );
  assert.equal(told.cause, cause);
});

test('a damaged object is told as that, everything else as it is', () => {
  assert.equal((readFailure(new ObjectDamaged('a/b', 'it is missing')) as RequestError).code, 'result_damaged');
  const other = new Error('something else');
  assert.equal(readFailure(other), other);
});
