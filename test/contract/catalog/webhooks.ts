/** What every catalog keeps of webhooks: who is told what, in the same commit, and what becomes of the messages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Catalog, LeaseLost } from '../../../src/catalog/catalog.ts';
import type { NewWebhook } from '../../../src/domain/webhook.ts';
import {
  addFinished,
  type CatalogFactory,
  completion,
  conflict,
  executionId,
  NOON,
  openWithQuery,
  pendingRun,
  RESULT_SET,
} from './fixture.ts';

const ANN = { kind: 'user', name: 'ann' } as const;
const BOB = { kind: 'user', name: 'bob' } as const;
const CREW = { kind: 'team', name: 'crew' } as const;
const DAY = 86_400_000;
const ALL = { limit: 100, offset: 0 };

function webhook(id: string, more: Partial<NewWebhook> = {}): NewWebhook {
  return {
    id,
    owner: ANN,
    url: `https://${id}.example/hook`,
    events: ['execution.completed', 'execution.failed', 'dataset.stale'],
    secret: `whsec_${id}`,
    createdAt: NOON,
    ...more,
  };
}

/** Webhook and event of each message that is due. */
async function due(catalog: Catalog, ofEach = 100): Promise<readonly string[]> {
  return (await catalog.webhooks.listDue(ofEach)).map((one) => `${one.webhook.id} ${one.eventId}`).sort();
}

async function failed(catalog: Catalog, number: number, queryId = 7): Promise<void> {
  await catalog.executions.add(pendingRun(number, { queryId }));
  await catalog.executions.fail(executionId(number), { type: 'engine_error', message: 'no table t' }, NOON + 300);
}

const STALE = {
  queryId: 7,
  name: 'trades',
  executionId: executionId(1),
  startedAt: NOON - 10_000_500,
  ageMillis: 10_000_500,
  periodMillis: 900_000,
};

export function webhooksContract(prepare: CatalogFactory): void {
  test('webhooks are found, listed newest first, and removed with their messages', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const { webhooks } = catalog;
    assert.equal(await webhooks.hasActive(), false);
    const first = webhook('first', { queryId: 7, events: ['execution.failed'] });
    const second = webhook('second', { owner: CREW, createdAt: NOON + 1 });
    assert.deepEqual(await webhooks.add(first), first);
    await webhooks.add(second);
    assert.equal(await webhooks.hasActive(), true);
    assert.deepEqual(await webhooks.find('first'), first);
    assert.equal(await webhooks.find('third'), undefined);
    assert.deepEqual(await webhooks.list(), { items: [second, first], total: 2 });
    assert.deepEqual(await webhooks.list(undefined, { limit: 1, offset: 1 }), { items: [first], total: 2 });
    assert.deepEqual(await webhooks.list({ owner: ANN, teams: [] }), { items: [first], total: 1 });
    assert.deepEqual((await webhooks.list({ owner: ANN, teams: ['crew'] })).total, 2);
    assert.deepEqual(await webhooks.list({ owner: CREW, teams: ['crew'] }), { items: [second], total: 1 });
    assert.deepEqual(await webhooks.list({ owner: BOB, teams: [] }), { items: [], total: 0 });
    await failed(catalog, 1);
    assert.equal((await webhooks.listDeliveries('first', ALL)).total, 1);
    assert.equal(await webhooks.remove('first'), true);
    assert.equal(await webhooks.remove('first'), false);
    assert.equal((await webhooks.listDeliveries('first', ALL)).total, 0);
    assert.equal(await webhooks.countWaiting(), 0);
  });

  test('an owner or a query that is not there, or not to be read, is refused, and so are too many', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const { webhooks } = catalog;
    await assert.rejects(webhooks.add(webhook('a', { owner: BOB })), conflict('there is no user "bob"'));
    await assert.rejects(webhooks.add(webhook('a', { queryId: 8 })), conflict('there is no query 8'));
    await catalog.principals.addUser('bob', NOON);
    await catalog.queries.update(7, { visibility: 'private' }, NOON);
    await assert.rejects(
      webhooks.add(webhook('a', { owner: BOB, queryId: 7 })),
      conflict('query 7 is private, and not for user bob to read: nothing would be told'),
    );
    assert.equal((await webhooks.list()).total, 0);
    for (let number = 0; number < 100; number += 1) await webhooks.add(webhook(`a${number}`));
    const most = 'user ann has 100 webhooks already, and that is the most';
    await assert.rejects(webhooks.add(webhook('one more')), conflict(most));
    await webhooks.add(webhook('of the crew', { owner: CREW }));
  });

  test('the commit that ends a run writes what its webhooks are told, and a commit that fails writes nothing', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const { webhooks } = catalog;
    await addFinished(catalog, pendingRun(1));
    await webhooks.add(webhook('w'));
    assert.deepEqual(await due(catalog), []);
    await addFinished(catalog, pendingRun(2));
    await failed(catalog, 3);
    await catalog.executions.add(pendingRun(4));
    await catalog.executions.cancel(executionId(4), NOON + 300);
    assert.deepEqual(await due(catalog), [`w msg_${executionId(2)}`, `w msg_${executionId(3)}`]);

    const lease = await catalog.leases.acquire(`write:${executionId(5)}`, 'test', 1000);
    assert.ok(lease !== undefined);
    await catalog.leases.release(lease);
    const submission = { clock: () => NOON, after: undefined };
    await assert.rejects(catalog.executions.addCompleted(pendingRun(5), completion(), lease, submission), LeaseLost);
    const stop = new Error('the rest of the commit failed');
    await assert.rejects(
      catalog.atomically(async ({ executions }) => {
        await executions.add(pendingRun(6));
        await executions.fail(executionId(6), { type: 't', message: 'm' }, NOON);
        throw stop;
      }),
      stop,
    );
    assert.equal(await webhooks.countWaiting(), 2);

    const payloads = (await webhooks.listDue(10)).map(({ payload }) => JSON.parse(payload) as unknown);
    assert.deepEqual(payloads, [
      {
        type: 'execution.completed',
        timestamp: '2024-03-05T20:50:59.200000Z',
        data: {
          query_id: 7,
          execution_id: executionId(2),
          state: 'QUERY_STATE_COMPLETED',
          submitted_at: '2024-03-05T20:50:59.002000Z',
          execution_started_at: '2024-03-05T20:50:59.100000Z',
          execution_ended_at: '2024-03-05T20:50:59.200000Z',
          expires_at: '2024-03-05T20:51:09.000000Z',
          row_count: 2,
          bytes: 41,
        },
      },
      {
        type: 'execution.failed',
        timestamp: '2024-03-05T20:50:59.300000Z',
        data: {
          query_id: 7,
          execution_id: executionId(3),
          state: 'QUERY_STATE_FAILED',
          submitted_at: '2024-03-05T20:50:59.003000Z',
          execution_ended_at: '2024-03-05T20:50:59.300000Z',
          error: { type: 'engine_error', message: 'no table t' },
        },
      },
    ]);
  });

  test('a run that was begun, and one that is truncated, are told with the name of their query', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    await catalog.queries.update(7, { name: 'Trades' }, NOON);
    await catalog.webhooks.add(webhook('w', { queryId: 7 }));
    await catalog.executions.add(pendingRun(1));
    const lease = await catalog.leases.acquire(`write:${executionId(1)}`, 'test', 1000);
    assert.ok(lease !== undefined);
    const truncated = completion({ resultSet: { ...RESULT_SET, truncated: true } });
    await catalog.executions.complete(executionId(1), truncated, lease);
    const [message] = await catalog.webhooks.listDue(1);
    const { type, data } = JSON.parse(message?.payload ?? '') as { type: string; data: Record<string, unknown> };
    assert.equal(type, 'execution.completed');
    assert.deepEqual([data.query_name, data.state], ['Trades', 'QUERY_STATE_COMPLETED_PARTIAL']);
    assert.deepEqual(message?.webhook, { id: 'w', url: 'https://w.example/hook', secret: 'whsec_w' });
  });

  test('a webhook is told of the queries it is for and the events it wants, as far as its owner may read them then', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const { webhooks, queries } = catalog;
    await catalog.principals.addUser('bob', NOON);
    await queries.add({ id: 8, owner: CREW, visibility: 'public' }, NOON);
    await webhooks.add(webhook('ann'));
    await webhooks.add(webhook('ann-on-7', { queryId: 7 }));
    await webhooks.add(webhook('ann-on-8', { queryId: 8 }));
    await webhooks.add(webhook('ann-completed', { events: ['execution.completed'] }));
    await webhooks.add(webhook('bob', { owner: BOB }));
    await webhooks.add(webhook('bob-on-7', { owner: BOB, queryId: 7 }));
    await webhooks.add(webhook('bob-on-8', { owner: BOB, queryId: 8 }));
    await webhooks.add(webhook('crew', { owner: CREW }));
    await webhooks.add(webhook('crew-on-7', { owner: CREW, queryId: 7 }));
    const toldOf = async (number: number, queryId: number) => {
      await failed(catalog, number, queryId);
      const all = (await due(catalog)).filter((one) => one.endsWith(executionId(number)));
      return all.map((one) => one.split(' ')[0]);
    };
    assert.deepEqual(await toldOf(1, 7), ['ann', 'ann-on-7', 'bob-on-7', 'crew-on-7']);
    assert.deepEqual(await toldOf(2, 8), ['ann-on-8', 'bob-on-8', 'crew']);
    await queries.update(7, { visibility: 'private' }, NOON);
    await queries.update(8, { visibility: 'private' }, NOON);
    assert.deepEqual(await toldOf(3, 7), ['ann', 'ann-on-7']);
    assert.deepEqual(await toldOf(4, 8), ['ann-on-8', 'crew']);
    await catalog.principals.removeTeamMember('crew', 'ann');
    assert.deepEqual(await toldOf(5, 8), ['crew']);
    await queries.update(7, { owner: CREW }, NOON);
    assert.deepEqual(await toldOf(6, 7), ['crew', 'crew-on-7']);
  });

  test('a user who is removed, and a query, take their webhooks with them', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const { webhooks } = catalog;
    await catalog.principals.addUser('bob', NOON);
    await catalog.queries.add({ id: 8, owner: CREW, visibility: 'public' }, NOON);
    await webhooks.add(webhook('bob', { owner: BOB, queryId: 7 }));
    await webhooks.add(webhook('eight', { queryId: 8 }));
    await webhooks.add(webhook('ann'));
    await catalog.principals.removeUser('bob', NOON);
    await catalog.queries.remove(8);
    assert.deepEqual(
      (await webhooks.list()).items.map(({ id }) => id),
      ['ann'],
    );
  });

  test('a message waits by the clock of the catalog, until it is delivered or given up', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const { webhooks } = catalog;
    await webhooks.add(webhook('w'));
    await failed(catalog, 1);
    const message = { webhookId: 'w', eventId: `msg_${executionId(1)}` };
    await catalog.moveTo(NOON + 1000);
    const [first] = await webhooks.listDue(1);
    assert.deepEqual([first?.attempts, first?.ageMillis], [0, 1000]);
    await webhooks.record({ ...message, status: 500, error: 'answered 500', retryInMillis: 5000 });
    assert.deepEqual(await due(catalog), []);
    const facts = { eventId: message.eventId, type: 'execution.failed', occurredAt: NOON + 300 };
    assert.deepEqual((await webhooks.listDeliveries('w', ALL)).items, [
      {
        ...facts,
        state: 'waiting',
        attempts: 1,
        lastAttemptAt: NOON + 1000,
        lastStatus: 500,
        lastError: 'answered 500',
        nextAttemptAt: NOON + 6000,
      },
    ]);
    await catalog.moveTo(NOON + 5999);
    assert.deepEqual(await due(catalog), []);
    await catalog.moveTo(NOON + 6000);
    assert.equal((await webhooks.listDue(1))[0]?.attempts, 1);
    await webhooks.record({ ...message, status: 204 });
    const ended = { attempts: 2, lastAttemptAt: NOON + 6000, endedAt: NOON + 6000 };
    assert.deepEqual((await webhooks.listDeliveries('w', ALL)).items, [
      { ...facts, ...ended, state: 'delivered', lastStatus: 204 },
    ]);
    // Another process says so too, too late.
    await webhooks.record({ ...message, error: 'cut' });
    assert.equal((await webhooks.listDeliveries('w', ALL)).items[0]?.state, 'delivered');
    await failed(catalog, 2);
    await webhooks.record({ webhookId: 'w', eventId: `msg_${executionId(2)}`, error: 'no answer' });
    const [second] = (await webhooks.listDeliveries('w', { limit: 1, offset: 0 })).items;
    assert.deepEqual([second?.state, second?.lastError, second?.attempts], ['failed', 'no answer', 1]);
    assert.equal(await webhooks.countWaiting(), 0);

    await webhooks.deleteUntil(NOON + 5999);
    assert.equal((await webhooks.listDeliveries('w', ALL)).total, 2);
    await webhooks.deleteUntil(NOON + 6000);
    assert.equal((await webhooks.listDeliveries('w', ALL)).total, 0);
  });

  test('of each webhook only the first messages are due, those first that have waited longest', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    await catalog.webhooks.add(webhook('many'));
    await failed(catalog, 1);
    await catalog.moveTo(NOON + 1);
    await failed(catalog, 2);
    await failed(catalog, 3);
    await catalog.webhooks.add(webhook('few', { owner: CREW, queryId: 7 }));
    await catalog.moveTo(NOON + 2);
    await failed(catalog, 4);
    const messages = (await catalog.webhooks.listDue(2)).map((one) => [one.webhook.id, one.eventId]);
    assert.deepEqual(messages, [
      ['many', `msg_${executionId(1)}`],
      ['few', `msg_${executionId(4)}`],
      ['many', `msg_${executionId(2)}`],
    ]);
  });

  test('a webhook that is disabled is told nothing more, and says why', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const { webhooks } = catalog;
    await webhooks.add(webhook('w'));
    await failed(catalog, 1);
    await catalog.moveTo(NOON + 50);
    await webhooks.disable('w', 'it is gone (410)');
    await catalog.moveTo(NOON + DAY);
    await webhooks.disable('w', 'again');
    await failed(catalog, 2);
    assert.deepEqual((await webhooks.find('w'))?.disabled, { at: NOON + 50, reason: 'it is gone (410)' });
    assert.equal(await webhooks.hasActive(), false);
    assert.deepEqual(await due(catalog), []);
    const { items } = await webhooks.listDeliveries('w', ALL);
    assert.deepEqual(
      items.map(({ state, attempts, lastError, endedAt }) => [state, attempts, lastError, endedAt]),
      [['failed', 0, 'the webhook was disabled before this was delivered', NOON + 50]],
    );
  });

  test('a dataset is told to be stale once for each of its results, and only where somebody listens', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const { webhooks } = catalog;
    assert.equal(await webhooks.tellStale(STALE), 0);
    await webhooks.add(webhook('w'));
    await webhooks.add(webhook('deaf', { events: ['execution.failed'] }));
    const both = await Promise.all([webhooks.tellStale(STALE), webhooks.tellStale(STALE)]);
    assert.deepEqual(both.toSorted(), [0, 1]);
    assert.equal(await webhooks.tellStale({ ...STALE, ageMillis: 20_000_000 }), 0);
    const [message, ...more] = await webhooks.listDue(10);
    assert.equal(more.length, 0);
    assert.equal(message?.eventId, `msg_stale_${executionId(1)}`);
    assert.deepEqual(JSON.parse(message?.payload ?? ''), {
      type: 'dataset.stale',
      timestamp: '2024-03-05T20:50:59.000000Z',
      data: {
        query_id: 7,
        dataset: 'trades',
        execution_id: executionId(1),
        execution_started_at: '2024-03-05T18:04:18.500000Z',
        age_seconds: 10_000,
        refreshed_every_seconds: 900,
      },
    });
    assert.equal(await webhooks.tellStale({ ...STALE, executionId: executionId(2), startedAt: NOON - 1 }), 1);
  });
}
