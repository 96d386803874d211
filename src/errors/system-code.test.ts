import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { isSystemFailure } from './system-code.ts';

test('an error of the system is told from one about what was read, in the words of Node and of DuckDB', async () => {
  const missing = await readdir('/no/such/folder').catch((error: Error) => error);
  assert.ok(missing instanceof Error);
  assert.equal(isSystemFailure(missing), true);
  for (const [message, isOfSystem] of [
    ['IO Error: Cannot open file "/data/parts/part-0.parquet": Too many open files', true],
    ['IO Error: Could not read from file "/data/staging/input": Input/output error', true],
    ['IO Error: Cannot open file "/data/parts/part-0.parquet": Permission denied', true],
    ['Invalid Input Error: No magic bytes found at end of file', false],
    ['Invalid Input Error: invalid value in column 0: Input/output error', false],
  ] as const) {
    assert.equal(isSystemFailure(new Error(message)), isOfSystem, message);
  }
});
