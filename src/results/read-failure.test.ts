import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestError } from '../errors/errors.ts';
import { WorkspaceUnavailable } from '../errors/workspace-unavailable.ts';
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

test('a folder that cannot be spilled into is named, whoever says so', () => {
  const spilled = '/data/tmp/scratch-1-abcdef/spilled-U6sJbt';
  const duckDb = new Error(
    `IO Error: Cannot open file "${spilled}/duckdb_temp_storage_DEFAULT-0.tmp": Not a directory`,
  );
  const system = Object.assign(new Error(`EACCES: permission denied, mkdir '${spilled}'`), { code: 'EACCES' });
  for (const cause of [duckDb, system]) {
    const told = readFailure(cause);
    assert.ok(told instanceof WorkspaceUnavailable);
    assert.equal(
      told.message,
      `what does not fit into memory cannot be written to ${spilled}: remove what is in the way of it, or give this user the right to write`,
    );
    assert.equal(told.cause, cause);
  }
  const full = new Error(`IO Error: Could not write file "${spilled}/x.tmp": No space left on device`);
  assert.equal(readFailure(full), full);
  const part = new Error('IO Error: Cannot open file "/data/results/a/part-00000.parquet": Permission denied');
  assert.equal(readFailure(part), part);
});

test('a damaged object is told as that, everything else as it is', () => {
  assert.equal((readFailure(new ObjectDamaged('a/b', 'it is missing')) as RequestError).code, 'result_damaged');
  const other = new Error('something else');
  assert.equal(readFailure(other), other);
});
