/**
 * The law of webhooks: whatever receivers and deliverers go through, each message that was committed arrives at least once, and no other. The
 * seed is in the message of a failure.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { letOthersRun } from '../../src/domain/time.ts';
import { deliverWebhooks } from '../../src/webhooks/deliverer.ts';
import type { PostOutcome, PostRequest } from '../../src/webhooks/post.ts';
import { addFinished, addQuery, completion, executionId, NOON, pendingRun } from '../contract/catalog/fixture.ts';
import { FakeTime } from '../fake-time.ts';
import { sleep } from '../real-time.ts';

const WEBHOOKS = ['a', 'b', 'c'] as const;
const MINUTE = 60_000;

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('publish' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('fail' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('broken commit' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('receiver' as const),
      of: fc.constantFrom(...WEBHOOKS),
      does: fc.constantFrom('take', 'fail', 'hang', 'take and hang'),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), millis: fc.integer({ min: 1, max: MINUTE }) }),
  },
);

/** A deliverer that can die at any moment: from then on it reaches the catalog and the receivers no more. */
class Process {
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  #isAlive = true;

  constructor(
    name: string,
    catalog: Catalog,
    time: FakeTime,
    post: (request: PostRequest, signal: AbortSignal) => Promise<PostOutcome>,
  ) {
    const living = <T extends object>(section: T): T =>
      new Proxy(section, {
        get: (target, method) => {
          const value = Reflect.get(target, method) as unknown;
          if (typeof value !== 'function') return value;
          return async (...given: unknown[]) => {
            if (!this.#isAlive) throw new Error('this process is dead');
            return await Reflect.apply(value, target, given);
          };
        },
      });
    const reached = { webhooks: living(catalog.webhooks), leases: living(catalog.leases), now: () => catalog.now() };
    const { clock, sleep: wait } = time;
    const deps = {
      catalog: reached,
      leases: { catalog: reached, clock, sleep: wait, owner: name, leaseMillis: 30_000 },
      post,
      tellStale: async () => undefined,
      clock,
      monotonic: clock,
      sleep: wait,
      random: () => 0.5,
      observe: () => undefined,
      onFault: () => undefined,
    };
    this.#ended = deliverWebhooks(deps, this.#stopping.signal);
  }

  async die(): Promise<void> {
    this.#isAlive = false;
    this.#stopping.abort(new Error('killed'));
    await this.#ended;
  }
}

async function settle(): Promise<void> {
  // The catalog's thread answers in its own time, so some of it has to go by; when does not matter to the law.
  for (let turn = 0; turn < 20; turn += 1) await letOthersRun();
}

test('each message that was committed arrives at least once, and none that was not', async () => {
  const runs = Number(process.env.TEST_CASES ?? 25);
  const seed = process.env.TEST_SEED;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const directory = await mkdtemp(join(tmpdir(), 'qrs-webhooks-'));
      const time = new FakeTime(NOON);
      const catalog = await openSqliteCatalog(join(directory, 'catalog.sqlite'), { clock: time.clock, sleep });
      const arrived = new Set<string>();
      const does = new Map<string, string>(WEBHOOKS.map((id) => [`https://${id}.example/`, 'take']));
      const post = async ({ url, headers }: PostRequest, signal: AbortSignal): Promise<PostOutcome> => {
        const how = does.get(url);
        if (how === 'take' || how === 'take and hang') arrived.add(`${url} ${headers['webhook-id']}`);
        if (how === 'take') return { kind: 'answered', status: 200 };
        if (how === 'fail') return { kind: 'answered', status: 500 };
        await time.sleep(15_000, signal);
        return { kind: 'failed', error: 'no answer' };
      };
      try {
        await addQuery(catalog);
        for (const id of WEBHOOKS) {
          await catalog.webhooks.add({
            id,
            owner: { kind: 'user', name: 'ann' },
            url: `https://${id}.example/`,
            events: id === 'c' ? ['execution.failed'] : ['execution.completed', 'execution.failed'],
            secret: 'whsec_AAAA',
            createdAt: NOON,
          });
        }
        const expected = new Set<string>();
        const expect = (number: number, ids: readonly string[]) => {
          for (const id of ids) expected.add(`https://${id}.example/ msg_${executionId(number)}`);
        };
        let started = 1;
        let deliverer = new Process(`p${started}`, catalog, time, post);
        for (const [number, one] of steps.entries()) {
          switch (one.kind) {
            case 'publish':
              await addFinished(catalog, pendingRun(number), { expiresAt: NOON + 1_000_000_000 });
              expect(number, ['a', 'b']);
              break;
            case 'fail':
              await catalog.executions.add(pendingRun(number));
              await catalog.executions.fail(executionId(number), { type: 't', message: 'm' }, time.clock());
              expect(number, ['a', 'b', 'c']);
              break;
            case 'broken commit': {
              const lease = await catalog.leases.acquire(`write:${executionId(number)}`, 'test', 1000);
              assert.ok(lease !== undefined);
              const broken = catalog.atomically(async ({ executions }) => {
                const submission = { clock: time.clock, after: undefined };
                await executions.addCompleted(pendingRun(number), completion(), lease, submission);
                throw new Error('broken');
              });
              await assert.rejects(broken, /broken/);
              break;
            }
            case 'crash':
              await deliverer.die();
              started += 1;
              deliverer = new Process(`p${started}`, catalog, time, post);
              break;
            case 'receiver':
              does.set(`https://${one.of}.example/`, one.does);
              break;
            case 'wait':
              time.advance(one.millis);
              break;
          }
          await settle();
        }
        for (const url of does.keys()) does.set(url, 'take');
        for (let waited = 0; (await catalog.webhooks.countWaiting()) > 0; waited += MINUTE / 6) {
          assert.ok(waited < 20 * 60 * MINUTE, 'messages still wait after 20 hours');
          time.advance(MINUTE / 6);
          await settle();
        }
        await deliverer.die();
        assert.deepEqual([...arrived].toSorted(), [...expected].toSorted());
      } finally {
        await catalog[Symbol.asyncDispose]();
        await rm(directory, { recursive: true, force: true });
      }
    }),
    { numRuns: runs, ...(seed !== undefined && { seed: Number(seed) }) },
  );
});
