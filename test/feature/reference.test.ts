/** The reference pages have every setting and every command of the code, and nothing else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REFERENCES, readReference } from '../../scripts/reference.ts';

for (const [page, reference] of Object.entries(REFERENCES)) {
  test(`docs/reference/${page} is up to date (if not: node scripts/reference.ts)`, async () => {
    assert.equal((await readReference(page)).written, reference());
  });
}
