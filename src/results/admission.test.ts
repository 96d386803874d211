import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Admission } from './admission.ts';

test('one key may have so many heavy reads, all keys together so many', () => {
  const admission = new Admission({ heavyReadsMax: 3, heavyReadsPerKeyMax: 2 });
  const first = admission.enter('ann');
  admission.enter('ann');
  assert.throws(() => admission.enter('ann'), { code: 'rate_limited', status: 429, retryAfterSeconds: 5 });
  admission.enter('bob');
  assert.throws(() => admission.enter('bob'), { code: 'overloaded', status: 503, retryAfterSeconds: 5 });
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  assert.equal(admission.total, 2);
  admission.enter('ann');
  assert.equal(admission.total, 3);
});
