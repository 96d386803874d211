/** Transactions, and the answers that are kept under idempotency keys. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Catalog, type Lease, LeaseLost } from '../../../src/catalog/catalog.ts';
import {
  addFinished,
  type CatalogFactory,
  completion,
  executionId,
  NOON,
  openWithQuery,
  pendingRun,
} from './fixture.ts';

const ANSWER = { keyId: 'k1', name: 'a 1', fingerprint: 'f', status: 201, body: '{"query_id":8}' };
const KEPT = { ...ANSWER, answeredAt: NOON };

async function leaseOf(catalog: Catalog, resource = 'idempotency:1'): Promise<Lease> {
  const lease = await catalog.leases.acquire(resource, 'test', 1000);
  assert.ok(lease !== undefined);
  return lease;
}

export function idempotencyKeysContract(prepare: CatalogFactory): void {
  test('an answer is found by API key and idempotency key, until it is too old', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const { idempotencyKeys } = catalog;
    await idempotencyKeys.keep(ANSWER, await leaseOf(catalog));
    assert.deepEqual(await idempotencyKeys.find('k1', 'a 1', NOON - 1), KEPT);
    assert.equal(await idempotencyKeys.find('k1', 'a 1', NOON), undefined);
    assert.equal(await idempotencyKeys.find('k2', 'a 1', 0), undefined);
    assert.equal(await idempotencyKeys.find('k1', 'A 1', 0), undefined);
    await idempotencyKeys.deleteUntil(NOON - 1);
    assert.deepEqual(await idempotencyKeys.find('k1', 'a 1', 0), KEPT);
    await idempotencyKeys.deleteUntil(NOON);
    assert.equal(await idempotencyKeys.find('k1', 'a 1', 0), undefined);
  });

  test('a new answer replaces an older one; a process that has lost the lease keeps nothing', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const { idempotencyKeys } = catalog;
    const lease = await leaseOf(catalog);
    await idempotencyKeys.keep(ANSWER, lease);
    assert.deepEqual(await catalog.leases.list('idempotency:'), []);
    await assert.rejects(idempotencyKeys.keep({ ...ANSWER, status: 400 }, lease), LeaseLost);
    assert.deepEqual(await idempotencyKeys.find('k1', 'a 1', 0), KEPT);
    await catalog.moveTo(NOON + 5);
    await idempotencyKeys.keep({ ...ANSWER, status: 409 }, await leaseOf(catalog));
    assert.deepEqual(await idempotencyKeys.find('k1', 'a 1', 0), { ...ANSWER, status: 409, answeredAt: NOON + 5 });
  });

  test('the steps of a transaction are committed together, and each sees those before it', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const [write, lease] = [await leaseOf(catalog, `write:${executionId(1)}`), await leaseOf(catalog)];
    const id = await catalog.atomically(async ({ principals, queries, executions, idempotencyKeys }) => {
      await principals.addUser('bob', NOON);
      await principals.addTeam('duo', ['ann', 'bob'], NOON);
      const query = await queries.addWithNextId(
        { owner: { kind: 'team', name: 'duo' }, visibility: 'private' },
        NOON,
        9,
      );
      await queries.update(query.id, { name: 'pairs' }, NOON);
      await executions.addCompleted(pendingRun(1, { queryId: query.id }), completion(), write, {
        clock: () => NOON + 200,
      });
      await executions.add(pendingRun(2, { queryId: query.id }));
      assert.equal((await executions.start(executionId(2), NOON)).state, 'EXECUTING');
      await idempotencyKeys.keep(ANSWER, lease);
      return query.id;
    });
    assert.equal((await catalog.queries.find(id))?.name, 'pairs');
    assert.equal((await catalog.executions.find(executionId(1)))?.state, 'COMPLETED');
    assert.deepEqual(await catalog.idempotencyKeys.find('k1', 'a 1', 0), KEPT);
  });

  test('a transaction with a failing step leaves nothing behind, and others can write afterwards', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const lease = await leaseOf(catalog);
    const failing = catalog.atomically(async ({ principals, queries, idempotencyKeys }) => {
      await principals.addUser('bob', NOON);
      await idempotencyKeys.keep(ANSWER, lease);
      await queries.add({ id: 7, owner: { kind: 'user', name: 'bob' }, visibility: 'public' }, NOON);
    });
    await assert.rejects(failing, /there is a query 7 already/);
    assert.deepEqual(await catalog.principals.listUsers(), [{ name: 'ann', createdAt: NOON }]);
    assert.equal(await catalog.idempotencyKeys.find('k1', 'a 1', 0), undefined);
    assert.deepEqual(await catalog.leases.list('idempotency:'), [lease]);
    await addFinished(catalog, pendingRun(1));
  });
}
