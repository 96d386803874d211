/** Who is sent what at a time: bounds, receivers that hang, outcomes that cannot be written down. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeTime } from '../../test/fake-time.ts';
import type { Catalog, DueDelivery, RecordedAttempt } from '../catalog/catalog.ts';
import { letOthersRun } from '../domain/time.ts';
import { type DelivererDeps, deliverWebhooks } from './deliverer.ts';
import type { PostOutcome, PostRequest } from './post.ts';

const NOON = Date.UTC(2024, 2, 5, 12);

/** A catalog with these messages, by webhook, and receivers whose answers the test gives. */
class World {
  readonly time = new FakeTime(NOON);
  readonly sent: { readonly url: string; readonly answer: (outcome: PostOutcome) => void }[] = [];
  readonly recorded: RecordedAttempt[] = [];
  readonly faults: unknown[] = [];
  readonly disabled: string[] = [];
  staleLooks = 0;
  lookFails = false;
  /** How many attempts cannot be written down. */
  unwritable = 0;
  /** Until it is resolved, the catalog answers no question that is asked meanwhile. */
  answering: Promise<void> | undefined;
  #waiting: DueDelivery[] = [];

  add(webhookId: string, count: number): void {
    for (let number = 1; number <= count; number += 1) {
      this.#waiting.push({
        webhook: { id: webhookId, url: `https://${webhookId}.example/`, secret: 'whsec_AAAA' },
        eventId: `msg_${number}`,
        payload: '{}',
        attempts: 0,
        ageMillis: 0,
      });
    }
  }

  readonly deps = (): DelivererDeps => {
    const { time } = this;
    const catalog = {
      now: async () => time.clock(),
      leases: {
        list: async () => [],
        acquire: async (resource: string) => ({ resource, owner: 'test', token: 1, expiresAt: NOON + 30_000 }),
        renew: async (lease: object) => lease,
        revoke: async () => true,
      },
      webhooks: {
        hasActive: async () => true,
        listDue: async (ofEach: number) => {
          const counts = new Map<string, number>();
          const due = this.#waiting.filter(({ webhook: { id } }) => {
            counts.set(id, (counts.get(id) ?? 0) + 1);
            return (counts.get(id) ?? 0) <= ofEach;
          });
          await this.answering;
          return due;
        },
        record: async (attempt: RecordedAttempt) => {
          if (this.unwritable > 0) {
            this.unwritable -= 1;
            throw new Error('the disk is full');
          }
          this.recorded.push(attempt);
          this.#waiting = this.#waiting.filter(
            ({ webhook, eventId }) => webhook.id !== attempt.webhookId || eventId !== attempt.eventId,
          );
        },
        disable: async (id: string) => void this.disabled.push(id),
      },
    } as unknown as Catalog;
    return {
      catalog,
      leases: { catalog, clock: time.clock, sleep: time.sleep, owner: 'test', leaseMillis: 30_000 },
      post: ({ url }: PostRequest, signal) =>
        new Promise((answer, reject) => {
          this.sent.push({ url, answer });
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
      tellStale: async () => {
        this.staleLooks += 1;
        if (this.lookFails) throw new Error('a dataset cannot be read');
      },
      clock: time.clock,
      monotonic: time.clock,
      sleep: time.sleep,
      random: () => 0.5,
      observe: () => undefined,
      onFault: (_what, error) => void this.faults.push(error),
    };
  };

  /** To whom so far. */
  urls(): readonly string[] {
    return this.sent.map(({ url }) => url.slice('https://'.length, -'.example/'.length));
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 50; turn += 1) await letOthersRun();
  }

  /** Delivers during the work. */
  async during(work: () => Promise<void>): Promise<void> {
    const stopping = new AbortController();
    const ended = deliverWebhooks(this.deps(), stopping.signal);
    await this.settle();
    await work();
    stopping.abort(new Error('the test has ended'));
    await ended;
  }
}

const TAKEN: PostOutcome = { kind: 'answered', status: 204 };
const BROKEN: PostOutcome = { kind: 'answered', status: 500 };

test('four messages are on their way to one webhook, and 32 in all', async () => {
  const world = new World();
  world.add('a', 6);
  await world.during(async () => {
    assert.deepEqual(world.urls(), ['a', 'a', 'a', 'a']);
    for (let number = 0; number < 10; number += 1) world.add(`w${number}`, 4);
    world.time.advance(1000);
    await world.settle();
    assert.equal(world.sent.length, 32);
    world.sent[0]?.answer(TAKEN);
    await world.settle();
    assert.equal(world.sent.length, 33);
  });
  assert.deepEqual(world.faults, []);
});

test('a message that arrives while the outbox is asked is not sent again because of what the outbox said before', async () => {
  const world = new World();
  world.add('a', 2);
  await world.during(async () => {
    const answering = Promise.withResolvers<void>();
    world.answering = answering.promise;
    world.time.advance(1000);
    await world.settle();
    world.sent[0]?.answer(TAKEN);
    await world.settle();
    world.answering = undefined;
    answering.resolve();
    await world.settle();
    assert.equal(world.sent.length, 2);
    assert.equal(world.recorded.length, 1);
  });
});

test('webhooks that failed take one place each, half of all together, and come after the others', async () => {
  const world = new World();
  const dead = Array.from({ length: 20 }, (_, number) => `dead${number}`);
  for (const id of dead) world.add(id, 3);
  await world.during(async () => {
    for (let answered = 0; answered < 60; answered += 1) {
      world.sent[answered]?.answer(BROKEN);
      await world.settle();
    }
    assert.equal(world.sent.length, 60);
    for (const id of dead) world.add(id, 2);
    world.add('alive', 3);
    world.time.advance(1000);
    await world.settle();
    const hanging = ['alive', 'alive', 'alive', ...dead.slice(0, 16)];
    assert.deepEqual(world.urls().slice(60), hanging);
    world.add('other', 4);
    world.time.advance(1000);
    await world.settle();
    assert.deepEqual(world.urls().slice(60), [...hanging, 'other', 'other', 'other', 'other']);
    // One that takes a message is a webhook like any other again.
    world.sent[63]?.answer(TAKEN);
    await world.settle();
    assert.deepEqual(world.urls().slice(83, 85), ['dead0', 'dead16']);
  });
});

test('what came of an attempt is written down until it is, and not sent again meanwhile', async () => {
  const world = new World();
  world.add('a', 1);
  world.unwritable = 3;
  await world.during(async () => {
    world.sent[0]?.answer(TAKEN);
    await world.settle();
    for (const millis of [1000, 2000, 4000]) {
      assert.deepEqual(world.recorded, []);
      world.time.advance(millis);
      await world.settle();
    }
    assert.deepEqual(world.recorded, [{ webhookId: 'a', eventId: 'msg_1', status: 204 }]);
    assert.equal(world.sent.length, 1);
    assert.equal(world.faults.length, 3);
  });
});

test('410 disables the webhook', async () => {
  const world = new World();
  world.add('a', 1);
  await world.during(async () => {
    world.sent[0]?.answer({ kind: 'answered', status: 410 });
    await world.settle();
  });
  assert.deepEqual(world.disabled, ['a']);
  const gone = { webhookId: 'a', eventId: 'msg_1', status: 410, error: 'answered 410: it is gone' };
  assert.deepEqual(world.recorded, [gone]);
});

test('a stop breaks attempts off and writes nothing down', async () => {
  const world = new World();
  world.add('a', 2);
  await world.during(async () => assert.equal(world.sent.length, 2));
  assert.deepEqual([world.recorded, world.faults], [[], []]);
});

test('stale datasets are looked for each minute, and a look that fails keeps no message back', async () => {
  const world = new World();
  world.lookFails = true;
  world.add('a', 1);
  await world.during(async () => {
    assert.deepEqual([world.sent.length, world.staleLooks, world.faults.length], [1, 1, 1]);
    for (let second = 1; second <= 60; second += 1) {
      assert.equal(world.staleLooks, 1);
      world.time.advance(1000);
      await world.settle();
    }
    assert.deepEqual([world.staleLooks, world.faults.length], [2, 2]);
  });
});
