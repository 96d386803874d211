import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestIdPrefix } from '../replicas/request-id-prefix.ts';
import { requestIds } from './request-ids.ts';

test('each request has an id of its own, in 24 hexadecimal digits, of which the first six tell the replica', () => {
  const ids = Array.from({ length: 1000 }, requestIds('web-1'));
  assert.equal(requestIdPrefix('web-1'), 'c4719a');
  assert.deepEqual(
    ids.filter((id) => !/^c4719a[0-9a-f]{18}$/.test(id)),
    [],
  );
  assert.equal(new Set(ids).size, 1000);
});
