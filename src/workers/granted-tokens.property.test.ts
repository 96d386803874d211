/**
 * Law: several workers together allow a key no more requests than one process would. Tokens that one worker does not use are
 * free for the others after a moment, and for its own requests at once.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FakeTime } from '../../test/fake-time.ts';
import { TokenBuckets } from '../domain/token-buckets.ts';
import { GrantedTokens } from './granted-tokens.ts';

const MOMENT_MILLIS = 250;

function workersWith(count: number, perSecond: number, burst: number) {
  const time = new FakeTime(0);
  const stopped = new AbortController();
  const buckets = new TokenBuckets({ perSecond, burst, namesMax: 10, monotonic: time.clock });
  const workers = Array.from(
    { length: count },
    () =>
      new GrantedTokens({
        ask: async (keyId) => ({ tokens: buckets.takeShare(keyId, 4 * count), allowance: buckets.look(keyId) }),
        giveBack: (keyId, tokens) => buckets.giveBack(keyId, tokens),
        sleep: time.sleep,
        signal: stopped.signal,
      }),
  );
  return { time, workers, stop: () => stopped.abort() };
}

const small = fc.integer({ min: 1, max: 50 });

test('workers never allow more than the burst and what has refilled since, whichever is asked', async () => {
  const asks = fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 0, max: 600 })), { maxLength: 150 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), small, small, asks, async (count, perSecond, burst, order) => {
      const { time, workers, stop } = workersWith(count, perSecond, burst);
      let allowed = 0;
      for (const [worker, pause] of order) {
        time.advance(pause);
        await settle();
        if ((await workers[worker % count]?.take('k'))?.allowed) allowed += 1;
      }
      stop();
      assert(allowed <= burst + (time.clock() / 1000) * perSecond + 1e-6, `${allowed} of ${burst}`);
    }),
    { numRuns: Number(process.env.TEST_CASES ?? 100) },
  );
});

test('tokens that one worker holds and does not use are free for another after a moment', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 2, max: 4 }), small, async (count, burst) => {
      // So slow that nothing refills during the test.
      const { time, workers, stop } = workersWith(count, 0.001, burst);
      const [first, second] = workers;
      assert.equal((await first?.take('k'))?.allowed, true);
      time.advance(MOMENT_MILLIS);
      await settle();
      let allowed = 1;
      while ((await second?.take('k'))?.allowed) allowed += 1;
      stop();
      assert.equal(allowed, burst);
    }),
    { numRuns: Number(process.env.TEST_CASES ?? 50) },
  );
});

test('requests that come together are allowed as many as there are tokens, whichever answers come first', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), small, small, async (count, burst, requests) => {
      const { workers, stop } = workersWith(count, 0.001, burst);
      const together = await Promise.all(Array.from({ length: requests }, () => workers[0]?.take('k')));
      stop();
      assert.equal(together.filter((allowance) => allowance?.allowed).length, Math.min(requests, burst));
    }),
    { numRuns: Number(process.env.TEST_CASES ?? 50) },
  );
});

/** Lets everything run that the clock has woken. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
