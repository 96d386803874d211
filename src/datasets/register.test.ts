import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { sleep } from '../../test/real-time.ts';
import { openSqliteCatalog } from '../catalog/sqlite/sqlite-catalog.ts';
import { registerDatasets } from './register.ts';
import { loadDatasets } from './registry.ts';

const root = await mkdtemp(join(tmpdir(), 'qrs-register-'));
after(() => rm(root, { recursive: true, force: true }));
const datasets = await loadDatasets({ strategyColumnNames: 'number' });

test('the datasets become public queries, once, however many processes start at the same time', async () => {
  const path = join(root, 'catalog.sqlite');
  const catalogs = [
    await openSqliteCatalog(path, { clock: Date.now, sleep }),
    await openSqliteCatalog(path, { clock: Date.now, sleep }),
  ];
  await Promise.all([...catalogs, ...catalogs].map((catalog) => registerDatasets(catalog, datasets, 0)));
  const queries = (await catalogs[0]?.queries.list()) ?? [];
  assert.deepEqual(
    queries.map(({ id, name, visibility }) => [id, name, visibility]),
    [
      [990_000_001, 'points', 'public'],
      [990_000_002, 'operator-stats', 'public'],
      [990_000_003, 'avs-stats', 'public'],
      [990_000_004, 'operator-to-avs-mapping', 'public'],
    ],
  );
  for (const catalog of catalogs) await catalog[Symbol.asyncDispose]();
});

test('the meanings of their columns are those of their queries, and follow the declaration', async () => {
  await using catalog = await openSqliteCatalog(join(root, 'meanings.sqlite'), { clock: Date.now, sleep });
  const versionOf = async () => (await catalog.queries.find(990_000_003))?.version;
  await registerDatasets(catalog, datasets, 0);
  const [avsStats] = datasets.filter(({ name }) => name === 'avs-stats');
  assert.ok(avsStats);
  const [first] = avsStats.columns;
  const described = (await catalog.queries.find(990_000_003))?.columnDescriptions;
  assert.equal(described?.[first?.name ?? ''], avsStats.meanings[first?.name ?? '']?.about);
  await registerDatasets(catalog, datasets, 0);
  assert.equal(await versionOf(), 1, 'nothing was changed');
  const meanings = { [first?.name ?? '']: { about: 'Other words', example: null } };
  await registerDatasets(catalog, [{ ...avsStats, meanings }], 0);
  assert.deepEqual((await catalog.queries.find(990_000_003))?.columnDescriptions, {
    [first?.name ?? '']: 'Other words',
  });
  assert.equal(await versionOf(), 2);
});

test('one that was made private is public again', async () => {
  await using catalog = await openSqliteCatalog(join(root, 'private.sqlite'), { clock: Date.now, sleep });
  await registerDatasets(catalog, datasets, 0);
  await catalog.queries.update(990_000_001, { visibility: 'private' }, 0);
  await registerDatasets(catalog, datasets, 0);
  assert.equal((await catalog.queries.find(990_000_001))?.visibility, 'public');
});

test('one that was given parameters has none again', async () => {
  await using catalog = await openSqliteCatalog(join(root, 'parameters.sqlite'), { clock: Date.now, sleep });
  await registerDatasets(catalog, datasets, 0);
  await catalog.queries.update(990_000_001, { parameters: [{ key: 'n', type: 'number' }] }, 0);
  await registerDatasets(catalog, datasets, 0);
  assert.deepEqual((await catalog.queries.find(990_000_001))?.parameters, []);
});

test('a dataset whose name was changed, as by renaming its folder, has a query of the new name', async () => {
  await using catalog = await openSqliteCatalog(join(root, 'renamed.sqlite'), { clock: Date.now, sleep });
  await registerDatasets(catalog, datasets, 0);
  await registerDatasets(
    catalog,
    datasets.map((dataset) => ({ ...dataset, name: `new-${dataset.name}` })),
    0,
  );
  assert.equal((await catalog.queries.find(990_000_003))?.name, 'new-avs-stats');
});

test("a reserved query id that is somebody else's: that dataset is left out, the others are registered", async () => {
  await using catalog = await openSqliteCatalog(join(root, 'taken.sqlite'), { clock: Date.now, sleep });
  await catalog.principals.addUser('ann', 0);
  await catalog.queries.add({ id: 990_000_001, owner: { kind: 'user', name: 'ann' }, visibility: 'private' }, 0);
  const registered = await registerDatasets(catalog, datasets, 0);
  assert.deepEqual(
    registered.datasets.map(({ queryId }) => queryId),
    [990_000_003, 990_000_002, 990_000_004],
  );
  assert.deepEqual(registered.refusals, [
    'query 990000001 is reserved for the dataset points, but belongs to user ann',
  ]);
});
