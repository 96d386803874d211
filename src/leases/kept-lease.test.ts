import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeTime } from '../../test/fake-time.ts';
import { type Lease, LeaseLost } from '../catalog/catalog.ts';
import type { RunProgress } from '../domain/run-progress.ts';
import { letOthersRun } from '../domain/time.ts';
import { KeptLease } from './kept-lease.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The leases of a catalog that the test controls. */
class Leases {
  readonly calls: string[] = [];
  renewal: 'renewed' | 'lost' | 'busy' = 'renewed';

  readonly #time: FakeTime;

  constructor(time: FakeTime) {
    this.#time = time;
  }

  readonly acquire = async (resource: string, owner: string, millis: number): Promise<Lease> => ({
    resource,
    owner,
    token: 7,
    expiresAt: this.#catalogTime() + millis,
  });

  readonly renew = async (lease: Lease, millis: number, progress?: RunProgress): Promise<Lease | undefined> => {
    const told = progress === undefined ? '' : `, ${progress.percent} %`;
    this.calls.push(`renew ${this.#time.clock() / MINUTE}${told}`);
    if (this.renewal === 'busy') throw new Error('busy');
    return this.renewal === 'lost' ? undefined : { ...lease, expiresAt: this.#catalogTime() + millis };
  };

  /** The catalog is on another host, whose clock is an hour behind. */
  #catalogTime(): number {
    return this.#time.clock() - HOUR;
  }

  readonly revoke = async (): Promise<boolean> => {
    this.calls.push('revoke');
    return true;
  };

  readonly release = async (): Promise<void> => undefined;
  readonly list = async (): Promise<readonly Lease[]> => [];
}

async function keep() {
  const time = new FakeTime(0);
  const leases = new Leases(time);
  const errors: unknown[] = [];
  const { clock, sleep } = time;
  const work = { during: 'while working', onError: (error: unknown) => errors.push(error) };
  const options = { catalog: { leases }, clock, sleep, owner: 'a', leaseMillis: 3 * MINUTE };
  const lease = await KeptLease.acquire('write:1', work, options);
  assert.ok(lease !== undefined);
  const pass = async (millis: number) => {
    const asleep = time.nextSleep();
    time.advance(millis);
    await asleep;
  };
  return { time, leases, errors, lease, pass };
}

test('it is renewed three times within its duration, and released at the end', async () => {
  const { leases, lease, pass } = await keep();
  await pass(MINUTE);
  await pass(MINUTE);
  assert.equal(lease.current.expiresAt, 5 * MINUTE - HOUR);
  assert.equal(await lease.end(), true);
  await lease[Symbol.asyncDispose]();
  assert.deepEqual(leases.calls, ['renew 1', 'renew 2', 'revoke']);
});

test('how far the work is goes with a renewal that comes early for it, but not within 3 s of the last', async () => {
  const { leases, lease, time, pass } = await keep();
  /** Tells, and waits until the lease has been renewed for it. */
  const tellAndRenew = async (percent: number) => {
    const asleep = time.nextSleep();
    lease.tell({ percent });
    await asleep;
  };
  time.advance(2999);
  lease.tell({ percent: 1 });
  await letOthersRun();
  assert.deepEqual(leases.calls, []);
  time.advance(1);
  await tellAndRenew(2);
  lease.tell({ percent: 3 });
  await letOthersRun();
  assert.deepEqual(leases.calls, ['renew 0.05, 2 %']);
  // What could not be told early goes with the renewal that is due.
  await pass(MINUTE);
  await pass(MINUTE);
  await lease.end();
  lease.tell({ percent: 100 });
  assert.deepEqual(leases.calls, ['renew 0.05, 2 %', 'renew 1.05, 3 %', 'renew 2.05, 3 %', 'revoke']);
});

test('losing the lease aborts the work, and the error names the lease', async () => {
  const { leases, lease, time } = await keep();
  leases.renewal = 'lost';
  const lost = Promise.withResolvers<void>();
  lease.signal.addEventListener('abort', () => lost.resolve());
  time.advance(MINUTE);
  await lost.promise;
  assert.ok(lease.signal.reason instanceof LeaseLost);
  assert.equal(lease.signal.reason.message, 'the lease write:1 was lost while working');
});

test('while the catalog is busy the lease is lost only once it has expired', async () => {
  const { leases, errors, lease, time, pass } = await keep();
  leases.renewal = 'busy';
  await pass(MINUTE);
  await pass(MINUTE);
  assert.equal(lease.signal.aborted, false);
  const lost = Promise.withResolvers<void>();
  lease.signal.addEventListener('abort', () => lost.resolve());
  time.advance(MINUTE);
  await lost.promise;
  assert.equal(errors.length, 3);
});
