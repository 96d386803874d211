import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { sleep } from '../../../../test/real-time.ts';
import type { ResultSet } from '../../../domain/result-set.ts';
import type { DuckDb } from '../../../duckdb/duckdb.ts';
import type { Statement } from '../../../duckdb/statement.ts';
import { isStorageFull } from '../../../errors/storage-full.ts';
import type { ResultStore } from '../../../store/result-store.ts';
import { viewIdentity } from '../../compile/view.ts';
import { WorkQueue } from '../../limits/work-queue.ts';
import type { View } from '../../plan/view.ts';
import { DerivedBudget } from '../budget.ts';
import { ViewCache } from './view-cache.ts';

const RESULT: ResultSet = { columns: [], rowCount: 0, cellBytes: 0, truncated: false, parts: [] };
const VIEW: View = { rows: { kind: 'all' }, sortKeys: [] } as unknown as View;
const SOURCE = { view: VIEW, resultSet: RESULT };
const never = new AbortController().signal;

/** Views without rows, on a disk that is full while `isFull` says so. */
async function cacheOn(
  t: TestContext,
  isFull: (directory: string) => boolean,
  making?: (signal: AbortSignal) => Promise<void>,
) {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-views-'));
  t.after(async () => await rm(directory, { recursive: true, force: true }));
  const query = async ({ text }: Statement, signal: AbortSignal) => {
    if (text.startsWith('EXPLAIN')) return [['plan', '[]']];
    await making?.(signal);
    if (isFull(directory)) throw new Error('IO Error: Could not write file "x": No space left on device');
    return [[0]];
  };
  const cache = new ViewCache({
    directory,
    budget: new DerivedBudget(1e9),
    clock: () => 0,
    viewsMax: 100,
    store: {} as ResultStore,
    duckDb: { query } as unknown as DuckDb,
    queue: new WorkQueue({ runningMax: 1, waitingMax: 10 }),
    millisMax: 60_000,
    sleep,
    onRemoved: async () => undefined,
  });
  const get = (executionId: string) => cache.get(viewIdentity(executionId, VIEW), SOURCE, 'key', never);
  return { directory, get, cache };
}

test('on a full disk, views that nobody reads are removed for a new one; a view that is being read stays', async (t) => {
  let idle = '';
  const { directory, get } = await cacheOn(t, (folder) => idle !== '' && existsSync(join(folder, idle)));
  using _read = await get('A');
  const [read = ''] = await readdir(directory);
  (await get('B'))[Symbol.dispose]();
  idle = (await readdir(directory)).find((name) => name !== read) ?? assert.fail('no view was made');
  using _made = await get('C');
  const left = await readdir(directory);
  assert.equal(left.length, 2);
  assert(left.includes(read) && !left.includes(idle));
});

test('with nothing to remove, the error says that the disk is full', async (t) => {
  const { get } = await cacheOn(t, () => true);
  await assert.rejects(get('A'), isStorageFull);
});

test('closing stops a view that is being made, and waits until nothing more is written', async (t) => {
  const begun = Promise.withResolvers<void>();
  const last = Promise.withResolvers<void>();
  const { directory, get, cache } = await cacheOn(
    t,
    () => false,
    async (signal) => {
      begun.resolve();
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      // An interrupted statement goes on writing until it notices.
      await last.promise;
      const [view = ''] = await readdir(directory);
      await writeFile(join(directory, view, 'whole.parquet'), 'rows');
      throw signal.reason;
    },
  );
  const making = assert.rejects(get('A'), /the service stops/);
  await begun.promise;
  const closing = cache[Symbol.asyncDispose]();
  assert.equal((await readdir(directory)).length, 1);
  last.resolve();
  await closing;
  await making;
  assert.deepEqual(await readdir(directory), []);
});

test('a view that is finished just after the last who waited for it has left is removed', async (t) => {
  const begun = Promise.withResolvers<void>();
  const { directory, cache } = await cacheOn(
    t,
    () => false,
    async (signal) => {
      begun.resolve();
      // Too late to be interrupted: the statement ends as if nothing had been.
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    },
  );
  const leaving = new AbortController();
  const left = assert.rejects(cache.get(viewIdentity('A', VIEW), SOURCE, 'key', leaving.signal), /the client left/);
  await begun.promise;
  leaving.abort(new Error('the client left'));
  await left;
  await cache[Symbol.asyncDispose]();
  assert.deepEqual(await readdir(directory), []);
});
