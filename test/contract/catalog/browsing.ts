/** What every catalog keeps of browsing: lists of queries and runs. What they find is held by test/feature/http-browsing.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addFinished, type CatalogFactory, NOON, openWithQuery, pendingRun, RESULT_SET } from './fixture.ts';

export function browsingContract(prepare: CatalogFactory): void {
  test('a text that some databases take for no text keeps no list from being read', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const strange = ['nul \u0000', 'half a pair \ud83d', '\\u0000 written out', 'a pair 😀'];
    await catalog.queries.update(7, { tags: [...strange, 'plain'] }, NOON);
    const columns = strange.map((name) => ({ name, type: { kind: 'varchar' } }) as const);
    await addFinished(catalog, pendingRun(1), { resultSet: { ...RESULT_SET, columns } });
    const reader = { owner: { kind: 'user', name: 'ann' }, teams: [], scope: 'admin', keyId: 'k' } as const;
    const search = { reader, now: NOON + 300, limit: 10, offset: 0 };
    const { items, total } = await catalog.browsing.searchQueries({ ...search, tag: 'plain' });
    assert.equal(total, 1);
    assert.deepEqual(items[0]?.query.tags, [...strange, 'plain']);
    assert.equal(items[0]?.latest?.rowCount, 2);
    assert.equal((await catalog.browsing.searchQueries({ ...search, tag: 'a pair 😀' })).total, 1);
    assert.equal((await catalog.browsing.searchQueries({ ...search, tag: 'none' })).total, 0);
  });
}
