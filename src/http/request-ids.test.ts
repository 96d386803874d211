import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRequestId } from './request-ids.ts';

test('each request has an id of its own, in 24 hexadecimal digits', () => {
  const ids = Array.from({ length: 1000 }, newRequestId);
  assert.deepEqual(
    ids.filter((id) => !/^[0-9a-f]{24}$/.test(id)),
    [],
  );
  assert.equal(new Set(ids).size, 1000);
});
