/** A file that is removed between a look at it and the read of it. */
import assert from 'node:assert/strict';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FakeTime } from '../../../test/fake-time.ts';
import type { Part } from '../../domain/result-set.ts';
import type { DuckDb } from '../../duckdb/duckdb.ts';
import { DiskRoom } from '../../files/disk-room.ts';
import { ObjectDamaged } from '../../store/result-store.ts';
import { readParts } from './read-parts.ts';

const { signal } = new AbortController();
const part = { key: 'a', rowCount: 1 } as unknown as Part;

/** Reads a part that is opened anew each time. @param removed how many of the opened files are removed before they are read */
async function read(t: TestContext, removed: number, open: (path: string, time: number) => Promise<void>) {
  const folder = await mkdtemp(join(tmpdir(), 'read-parts-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'part.parquet');
  let [opened, queried] = [0, 0];
  const deps = {
    open: async () => {
      opened += 1;
      await open(path, opened);
      return { path, [Symbol.asyncDispose]: async () => undefined };
    },
    statementMillisMax: 1000,
    sleep: new FakeTime(0).sleep,
    room: new DiskRoom(),
  };
  const duckDb = {
    query: async () => {
      queried += 1;
      if (queried <= removed) await rm(path);
      await access(path);
      return [[7]];
    },
  } as unknown as DuckDb;
  const rows = await readParts(
    deps,
    duckDb,
    [{ part, from: 0, to: 1 }],
    () => ({ text: 'SELECT 7', values: [] }),
    signal,
  );
  return { rows, opened };
}

test('a file that is gone when it is read is opened once more', async (t) => {
  const fetched = async (path: string) => await writeFile(path, 'PAR1');
  assert.deepEqual(await read(t, 0, fetched), { rows: [[7]], opened: 1 });
  assert.deepEqual(await read(t, 1, fetched), { rows: [[7]], opened: 2 });
  await assert.rejects(read(t, 2, fetched), { code: 'ENOENT' });
});

test('one that cannot be had again is told as missing', async (t) => {
  const onceThere = async (path: string, time: number) => {
    if (time > 1) throw new ObjectDamaged('a', 'it is missing');
    await writeFile(path, 'PAR1');
  };
  await assert.rejects(read(t, 1, onceThere), { code: 'result_damaged' });
});
