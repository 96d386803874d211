/** Every file of test/feature runs over PostgreSQL and S3, or is named with its reason. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import { AT_NIGHT, clusterFiles, FEATURE_TESTS, LEFT_OUT } from '../../scripts/cluster-files.ts';

const present = readdirSync(FEATURE_TESTS).filter((name) => name.endsWith('.test.ts'));

test('whatever is left out is there, is named once, and has a reason', () => {
  const named = [...LEFT_OUT, ...AT_NIGHT].flatMap(({ files }) => files);
  assert.deepEqual(
    named.filter((name) => !present.includes(`${name}.test.ts`)),
    [],
  );
  assert.equal(new Set(named).size, named.length);
  for (const { reason } of [...LEFT_OUT, ...AT_NIGHT]) assert(reason.length > 20, reason);
});

test('all others run, and at night all that can', () => {
  const [out, atNight] = [LEFT_OUT, AT_NIGHT].map((list) => list.flatMap(({ files }) => files).length);
  const sorted = (all: boolean) => clusterFiles(all).map((path) => basename(path));
  assert.equal(sorted(true).length, present.length - (out ?? 0));
  assert.equal(sorted(false).length, present.length - (out ?? 0) - (atNight ?? 0));
  assert(sorted(false).includes('http-paging.test.ts'));
});
