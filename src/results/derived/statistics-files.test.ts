import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { StatisticsFiles } from './statistics-files.ts';

test('what could not be put into its place leaves nothing behind, and is no failure', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-statistics-'));
  t.after(async () => await rm(directory, { recursive: true, force: true }));
  const files = {
    pathOf: (name: string) => join(directory, name),
    stagingPath: () => join(directory, 'staged'),
    publish: async () => {
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    },
    remove: async (name: string) => await rm(join(directory, name), { force: true }),
    touch: async () => undefined,
  };
  const columns = [{ name: 'n', type: { kind: 'bigint' } }] as const;
  const resultSet = { columns, rowCount: 10_000, cellBytes: 80_000, truncated: false, parts: [] };
  const origin = { executionId: '01ARZ3NDEKTSV4RRFFQ69G5FAV', resultSet, index: 0 };
  const statistics = new StatisticsFiles(files, '1.0.0');
  await statistics.keep(origin, '{}');
  assert.deepEqual(await readdir(directory), []);
  assert.equal(await statistics.find(origin), undefined);
});
