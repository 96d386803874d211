/** One sweep at a time, over all processes that share a catalog. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FakeTime } from '../../test/fake-time.ts';
import { sleep } from '../../test/real-time.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { openSqliteCatalog } from '../catalog/sqlite/sqlite-catalog.ts';
import { sweepAlone } from './one-sweep.ts';

const LEASE_MILLIS = 30_000;

async function start(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-one-sweep-'));
  const time = new FakeTime(1_709_671_859_000);
  const catalog = await openSqliteCatalog(join(folder, 'catalog.sqlite'), { clock: time.clock, sleep });
  t.after(async () => {
    await catalog[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  const never = new AbortController().signal;
  const sweep = async (owner: string, work: () => Promise<void>, of: Pick<Catalog, 'leases'> = catalog) =>
    await sweepAlone(
      { catalog: of, clock: time.clock, sleep: time.sleep, owner, leaseMillis: LEASE_MILLIS },
      never,
      work,
    );
  return { time, catalog, sweep };
}

test('while one process sweeps, others do not; when it has ended, the next one does', async (t) => {
  const { sweep } = await start(t);
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const first = sweep('one', async () => {
    begun.resolve();
    await end.promise;
  });
  await begun.promise;
  assert.equal(await sweep('two', async () => assert.fail('two at once')), false);
  end.resolve();
  assert.equal(await first, true);
  let swept = 0;
  const count = async () => {
    swept += 1;
  };
  assert.equal(await sweep('two', count), true);
  assert.equal(swept, 1);
});

test('one that fails leaves the way free; one that died, when its lease has ended', async (t) => {
  const { time, catalog, sweep } = await start(t);
  await assert.rejects(
    sweep('one', async () => Promise.reject(new Error('the store is away'))),
    { message: 'the store is away' },
  );
  await catalog.leases.acquire('sweep', 'another host|x|1|1', LEASE_MILLIS);
  assert.equal(await sweep('two', async () => assert.fail('two at once')), false);
  time.advance(LEASE_MILLIS);
  assert.equal(await sweep('two', async () => undefined), true);
});

test('on a full disk, where no lease can be had, the sweep goes on: it is what frees the disk', async (t) => {
  const { catalog, sweep } = await start(t);
  const full = async () => Promise.reject(Object.assign(new Error('database or disk is full'), { errcode: 13 }));
  const leases = new Proxy(catalog.leases, {
    get: (of, name) => (name === 'acquire' ? full : (Reflect.get(of, name, of) as () => unknown).bind(of)),
  });
  let swept = 0;
  const count = async () => {
    swept += 1;
  };
  assert.equal(await sweep('one', count, { leases }), true);
  assert.equal(swept, 1);
});
