/** Queries: what is stored of them, how they change and are removed, and how ids are chosen. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Owner } from '../../../src/domain/principal.ts';
import type { Query, QueryChanges } from '../../../src/domain/query.ts';
import { addFinished, type CatalogFactory, conflict, executionId, NOON, openWithQuery, pendingRun } from './fixture.ts';

const ANN: Owner = { kind: 'user', name: 'ann' };
const CREW: Owner = { kind: 'team', name: 'crew' };

/** A query with the catalog's default values. */
const MADE = { version: 1, createdAt: NOON, updatedAt: NOON, scheduledAt: NOON } as const;
const PLAIN = { tags: [], parameters: [], isArchived: false, ...MADE } as const;
const SEVEN: Query = { id: 7, owner: ANN, visibility: 'public', ...PLAIN };

const WHOLE = {
  name: 'Größe 尺寸',
  description: 'Line one.\nLine two.',
  tags: ['daily', 'dex'],
  columnDescriptions: { chain: 'Größe "n"', constructor: "it's" },
  sql: 'select * from t where chain = {{chain}}',
  parameters: [
    { key: 'chain', type: 'enum', value: 'base', enumOptions: ['base', 'eth'] },
    { key: 'n', type: 'number' },
  ],
  schedule: '*/15 * * * *',
  visibility: 'private',
  isArchived: true,
} as const;

export function queriesContract(prepare: CatalogFactory): void {
  test('queries are found as they were added, and listed by id', async (t) => {
    const { queries } = await openWithQuery(prepare, t);
    const added = await queries.add({ id: 3, owner: CREW, ...WHOLE }, NOON + 1);
    assert.deepEqual(added, {
      id: 3,
      owner: CREW,
      ...WHOLE,
      version: 1,
      createdAt: NOON + 1,
      updatedAt: NOON + 1,
      scheduledAt: NOON + 1,
    });
    assert.deepEqual(await queries.find(3), added);
    assert.equal(await queries.find(4), undefined);
    assert.deepEqual(await queries.list(), [added, SEVEN]);
  });

  test('a query needs an id of its own and an existing owner', async (t) => {
    const { queries } = await openWithQuery(prepare, t);
    await assert.rejects(
      queries.add({ id: 7, owner: CREW, visibility: 'public' }, NOON),
      conflict('there is a query 7 already'),
    );
    await assert.rejects(
      queries.add({ id: 8, owner: { kind: 'user', name: 'crew' }, visibility: 'public' }, NOON),
      conflict('there is no user "crew"'),
    );
  });

  test('each change makes a new version, and changes only what it names', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const { queries } = catalog;
    const before = await catalog.version();
    const named = await queries.update(7, { name: 'prices', tags: ['dex'] }, NOON + 5);
    assert.deepEqual(named, { ...SEVEN, name: 'prices', tags: ['dex'], version: 2, updatedAt: NOON + 5 });
    assert.notEqual(await catalog.version(), before);
    const whole = await queries.update(7, WHOLE, NOON + 6);
    assert.deepEqual(whole, { ...SEVEN, ...WHOLE, version: 3, updatedAt: NOON + 6 });
    const { name: _, description: __, sql: ___, schedule: ____, columnDescriptions: _____, ...rest } = whole;
    const none = {
      name: undefined,
      description: undefined,
      sql: undefined,
      schedule: undefined,
      columnDescriptions: {},
    };
    const bare = { ...rest, version: 4, updatedAt: NOON + 7 };
    assert.deepEqual(await queries.update(7, none, NOON + 7), bare);
    assert.deepEqual(await queries.find(7), bare);
    await assert.rejects(queries.update(8, {}, NOON), conflict('there is no query 8'));
  });

  test('a query has its schedule since that was changed, or since it has been run by it again', async (t) => {
    const { queries } = await openWithQuery(prepare, t);
    const since = async (changes: QueryChanges, at: number) =>
      (await queries.update(7, changes, NOON + at)).scheduledAt - NOON;
    assert.equal(await since({ sql: 'SELECT 1', schedule: '0 * * * *' }, 1), 1);
    assert.equal(await since({ name: 'prices', visibility: 'private' }, 2), 1);
    assert.equal(await since({ sql: 'SELECT 2', schedule: '0 * * * *', isArchived: false }, 3), 1);
    assert.equal(await since({ schedule: '5 * * * *' }, 4), 4);
    assert.equal(await since({ isArchived: true }, 5), 5);
    assert.equal(await since({ name: undefined }, 6), 5);
    assert.equal(await since({ isArchived: false }, 7), 7);
  });

  test('a query can be given to another owner that exists', async (t) => {
    const { queries } = await openWithQuery(prepare, t);
    assert.deepEqual((await queries.update(7, { owner: CREW }, NOON)).owner, CREW);
    const nobody: Owner = { kind: 'user', name: 'nobody' };
    await assert.rejects(queries.update(7, { owner: nobody }, NOON), conflict('there is no user "nobody"'));
    assert.deepEqual((await queries.find(7))?.owner, CREW);
  });

  test('chosen ids go up, past those that are or were taken', async (t) => {
    const { queries } = await openWithQuery(prepare, t);
    const next = async () => (await queries.addWithNextId({ owner: ANN, visibility: 'public' }, NOON, 11)).id;
    assert.equal(await next(), 1);
    await queries.add({ id: 3, owner: ANN, visibility: 'public' }, NOON);
    assert.equal(await next(), 2);
    await queries.remove(2);
    assert.equal(await next(), 4);
    assert.equal(await next(), 5);
    await queries.add({ id: 6, owner: ANN, visibility: 'public' }, NOON);
    await queries.remove(6);
    await queries.add({ id: 9, owner: ANN, visibility: 'public' }, NOON);
    assert.equal(await next(), 8);
    assert.equal(await next(), 10);
    await assert.rejects(next(), conflict('there is no id left below 11'));
    assert.deepEqual(
      (await queries.list()).map(({ id }) => id),
      [1, 3, 4, 5, 7, 8, 9, 10],
    );
  });

  test('queries added at the same moment get different ids', async (t) => {
    const { queries } = await openWithQuery(prepare, t);
    const adding = Array.from({ length: 8 }, () =>
      queries.addWithNextId({ owner: ANN, visibility: 'public' }, NOON, 100),
    );
    const ids = (await Promise.all(adding)).map(({ id }) => id);
    assert.deepEqual(
      ids.sort((one, other) => one - other),
      [1, 2, 3, 4, 5, 6, 8, 9],
    );
  });

  test('a query without stored results and runs in progress is removed with its runs', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const { queries, executions } = catalog;
    await addFinished(catalog, pendingRun(1, { parameters: { chain: 'base' } }));
    await executions.add(pendingRun(2));
    await assert.rejects(
      queries.remove(7),
      conflict(
        'query 7 has 1 stored result, kept until 2024-03-05T20:51:09.000000Z: archive it or make it private, and remove it when they are gone',
      ),
    );
    await executions.expire(executionId(1));
    await assert.rejects(
      queries.remove(7),
      conflict(`execution ${executionId(2)} of query 7 is PENDING: cancel it first`),
    );
    assert.equal((await executions.list({ limit: 9 })).length, 2);
    await executions.cancel(executionId(2), NOON);
    await queries.remove(7);
    assert.equal(await queries.find(7), undefined);
    assert.deepEqual(await executions.list({ limit: 9 }), []);
    assert.equal(await executions.findLatest(7, { chain: 'base' }, NOON), undefined);
    await assert.rejects(queries.remove(7), conflict('there is no query 7'));
    await assert.rejects(executions.add(pendingRun(3)), conflict('there is no query 7'));
  });
}
