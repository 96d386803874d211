/** Replicas find each other in the catalog, and divide limits among them. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FakeTime } from '../../test/fake-time.ts';
import { sleep } from '../../test/real-time.ts';
import { openSqliteCatalog } from '../catalog/sqlite/sqlite-catalog.ts';
import { TokenBuckets } from '../domain/token-buckets.ts';
import { LiveReplicas } from './live-replicas.ts';

const SECOND = 1000;

async function start(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-replicas-'));
  const time = new FakeTime(1_709_671_859_000);
  const catalog = await openSqliteCatalog(join(folder, 'catalog.sqlite'), { clock: time.clock, sleep });
  t.after(async () => {
    await catalog[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  const errors: unknown[] = [];
  const replica = (name: string) =>
    new LiveReplicas({
      catalog,
      replica: { id: name, name, version: '1.0.0' },
      beats: true,
      sleep: time.sleep,
      onError: (error) => errors.push(error),
    });
  return { time, catalog, replica, errors };
}

test('replicas count each other; one that stops is gone at once, one that died after half a minute', async (t) => {
  const { time, replica, errors } = await start(t);
  const [a, b, c] = [replica('a'), replica('b'), replica('c')];
  await a.beat();
  assert.equal(a.count, 1);
  await b.beat();
  const running = new AbortController();
  const bRuns = b.run(running.signal);
  await c.beat();
  await a.beat();
  assert.deepEqual([a.count, b.count, c.count], [3, 2, 3]);
  running.abort();
  await bRuns;
  await a.beat();
  assert.equal(a.count, 2, 'b has said that it stops');
  time.advance(29 * SECOND);
  await a.beat();
  assert.equal(a.count, 2);
  time.advance(SECOND);
  await a.beat();
  assert.equal(a.count, 1, 'c was not heard of for 30 s');
  assert.deepEqual(errors, []);
});

test('while the catalog is away, the number of before holds', async (t) => {
  const { catalog, replica, time } = await start(t);
  await replica('b').beat();
  const errors: unknown[] = [];
  let isAway = false;
  const replicas = new Proxy(catalog.replicas, {
    get: (target, name, receiver) => {
      if (isAway) throw new Error('away');
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : Reflect.get(target, name, receiver);
    },
  });
  const a = new LiveReplicas({
    catalog: { replicas },
    replica: { id: 'a', name: 'a', version: '1' },
    beats: true,
    sleep: time.sleep,
    onError: (error) => errors.push(error),
  });
  await a.beat();
  isAway = true;
  const running = new AbortController();
  const runs = a.run(running.signal);
  const asleep = time.nextSleep();
  time.advance(10_000);
  await asleep;
  assert.equal(a.count, 2);
  assert.deepEqual(errors, [new Error('away')]);
  isAway = false;
  running.abort();
  await runs;
});

test('each replica applies its part of a limit, and a larger one when others have gone', async (t) => {
  const { time, replica } = await start(t);
  const [a, b] = [replica('a'), replica('b')];
  await a.beat();
  await b.beat();
  await a.beat();
  const limits = { perSecond: 10, burst: 21 };
  const bucketsOf = (live: LiveReplicas) =>
    new TokenBuckets({
      get perSecond() {
        return live.partOf(limits.perSecond);
      },
      get burst() {
        return live.wholePartOf(limits.burst);
      },
      namesMax: 10,
      monotonic: time.clock,
    });
  const [ofA, ofB] = [bucketsOf(a), bucketsOf(b)];
  const taken = (buckets: TokenBuckets) => {
    let count = 0;
    while (buckets.take('key').allowed) count += 1;
    return count;
  };
  assert.deepEqual([taken(ofA), taken(ofB)], [10, 10], 'of 21 at once, over both');
  time.advance(SECOND);
  assert.deepEqual([taken(ofA), taken(ofB)], [5, 5], 'of 10 a second, over both');
  time.advance(60 * SECOND);
  await a.beat();
  assert.equal(a.count, 1);
  assert.equal(taken(ofA), 21, 'b has died');
  assert.equal(a.wholePartOf(0), 0, 'no limit');
  assert.equal(b.wholePartOf(1), 1, 'at least one');
});
