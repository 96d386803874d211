import assert from 'node:assert/strict';
import { stat } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { test } from 'node:test';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Principal } from '../../domain/principal.ts';
import { CatalogCache } from './catalog-cache.ts';

const ANN: Principal = { keyId: 'k', owner: { kind: 'user', name: 'ann' }, teams: [] } as never;

const turnNumber = () => performance.nodeTiming.uvMetricsInfo.loopCount;

/** Counts look-ups in a catalog with one right key. */
function countRows() {
  const asked: string[] = [];
  const state = { version: 1, isBroken: false };
  const version = () => {
    if (state.isBroken) throw new Error('disk I/O error');
    return state.version;
  };
  const catalog = { version } as unknown as Catalog;
  const catalogCache = new CatalogCache(
    1_000_000,
    catalog,
    async (key) => {
      asked.push(key);
      return key === 'right' ? ANN : undefined;
    },
    async () => false,
    turnNumber,
  );
  const find = async (key: string) => await catalogCache.principal(key, `hash of ${key}`);
  const commit = async () => {
    state.version += 1;
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { asked, find, commit, state };
}

test('a wrong key costs one look-up until the next commit', async () => {
  const { asked, find, commit } = countRows();
  for (let time = 0; time < 3; time += 1) assert.equal(await find('wrong'), undefined);
  assert.deepEqual(asked, ['wrong']);
  await commit();
  await find('wrong');
  assert.deepEqual(asked, ['wrong', 'wrong'], 'it may have been added');
});

test('a commit is seen by a request of the next turn, though one at the end of the turn before has asked', async () => {
  const { asked, find, state } = countRows();
  await new Promise<void>((resolve, reject) => {
    // Requests that had to wait begin at the end of a turn, when all that came in it has been dealt with.
    setImmediate(() => {
      find('wrong').catch(reject);
      stat(import.meta.filename, () => find('wrong').then(() => resolve(), reject));
      state.version += 1;
      // What is known of the file is there before the next turn looks for what has come.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    });
  });
  assert.deepEqual(asked, ['wrong', 'wrong']);
});

test('a catalog that cannot tell its version is asked anew by the next request of the turn', async () => {
  const { asked, find, commit, state } = countRows();
  await find('wrong');
  await commit();
  state.isBroken = true;
  const refused = assert.rejects(find('wrong'), /^Error: disk I\/O error$/);
  state.isBroken = false;
  await find('wrong');
  await refused;
  assert.deepEqual(asked, ['wrong', 'wrong']);
});

test('a request whose question failed after a while is told so again in that turn, and not made to wait for another', async () => {
  const questions: PromiseWithResolvers<number>[] = [];
  const version = () => {
    const question = Promise.withResolvers<number>();
    questions.push(question);
    if (questions.length > 2) question.reject(new Error('it is silent again'));
    return question.promise;
  };
  const cache = new CatalogCache(
    1_000_000,
    { version } as unknown as Catalog,
    async () => undefined,
    async () => false,
    turnNumber,
  );
  const nextTurn = async () => await new Promise((resolve) => setImmediate(resolve));
  const asTheRouterAsks = async () => await cache.principal('right', 'hash');
  const waiting = [cache.refresh()];
  await nextTurn();
  waiting.push(cache.refresh());
  await nextTurn();
  const refused = waiting.map((answer) => Promise.resolve(answer).catch(asTheRouterAsks));
  for (const { reject } of questions) reject(new Error('it is silent'));
  for (const answer of refused) await assert.rejects(answer, /^Error: it is silent$/);
  await nextTurn();
  await assert.rejects(asTheRouterAsks(), /^Error: it is silent again$/);
});

test('any number of wrong keys leaves the entries of right ones', async () => {
  const { asked, find } = countRows();
  await find('right');
  for (let number = 0; number < 50_000; number += 1) await find(`wrong ${number}`);
  asked.length = 0;
  assert.equal(await find('right'), ANN);
  assert.deepEqual(asked, []);
});

test('entries take a bounded number of bytes; the least recently used is looked up again', async () => {
  const asked: string[] = [];
  // A manifest of 5,000 columns takes as much as thousands of executions.
  const columns = Array.from({ length: 5000 }, (_, index) => ({ name: `column ${index}`, type: { kind: 'bigint' } }));
  const executions = {
    find: async (id: string) => {
      asked.push(id);
      return { id };
    },
    findResultSet: async (id: string) => {
      asked.push(`result ${id}`);
      return { columns };
    },
  };
  const catalog = { version: () => 1, executions } as unknown as Catalog;
  const cache = new CatalogCache(
    8_000_000,
    catalog,
    async () => undefined,
    async () => false,
    turnNumber,
  );
  await cache.execution('first');
  await cache.resultSet('first');
  for (let number = 0; number < 1000; number += 1) await cache.execution(`${number}`);
  asked.length = 0;
  await cache.execution('first');
  await cache.resultSet('first');
  assert.deepEqual(asked, [], 'all of it fits');
  for (let number = 0; number < 20; number += 1) await cache.resultSet(`${number}`);
  assert.ok(cache.bytes <= 8_000_000);
  asked.length = 0;
  await cache.execution('first');
  await cache.resultSet('19');
  assert.deepEqual(asked, ['first']);
});
