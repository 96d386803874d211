import assert from 'node:assert/strict';
import { test } from 'node:test';
import { declaredChangeProblem } from './declared-by-dataset.ts';
import { CURATORS } from './register.ts';

const DATASET = {
  queryId: 990_000_001,
  name: 'points',
  sql: 'select 2',
  schedule: '0 * * * *',
  columns: [],
  meanings: {},
} as const;
const CURATED = {
  id: 990_000_001,
  owner: { kind: 'team', name: CURATORS },
  name: 'points',
  sql: 'select 2',
  parameters: [],
  schedule: '0 * * * *',
  visibility: 'public',
} as const;
const SERVICE = { datasets: async () => [DATASET] };

test('what the start would set back is named', async () => {
  const changes = { sql: 'select 1', schedule: undefined, visibility: 'private', description: 'd' } as const;
  assert.equal(
    await declaredChangeProblem(CURATED, changes, SERVICE),
    "query 990000001 is a curated dataset: its SQL, its schedule, that it is public would be set back at the next start; change the dataset's declaration (dataset.json and query.sql of one of your own), and start the service again; description, tags and archiving may be changed here",
  );
});

test('what no declaration says may be changed', async () => {
  const changes = { description: 'd', tags: ['a'], isArchived: true, visibility: 'public' } as const;
  assert.equal(await declaredChangeProblem(CURATED, changes, SERVICE), undefined);
});

test('what is sent back as it was told changes nothing', async () => {
  const { name, sql, schedule } = CURATED;
  for (const columnDescriptions of [undefined, {}]) {
    const changes = { name, sql, parameters: [], schedule, columnDescriptions, visibility: 'public' } as const;
    assert.equal(await declaredChangeProblem(CURATED, changes, SERVICE), undefined);
  }
});

test('what the declaration says may be set before the start that sets it', async () => {
  const before = { ...CURATED, schedule: '5 * * * *', visibility: 'private' } as const;
  const changes = { schedule: '0 * * * *', visibility: 'public' } as const;
  assert.equal(await declaredChangeProblem(before, changes, SERVICE), undefined);
  assert.match(
    (await declaredChangeProblem(before, { ...changes, sql: 'select 1' }, SERVICE)) ?? '',
    /: its SQL would/,
  );
});

test('a query that has the id of a dataset and belongs to somebody else is its own', async () => {
  const query = { ...CURATED, owner: { kind: 'user', name: 'ann' } } as const;
  assert.equal(await declaredChangeProblem(query, { sql: 'select 1' }, SERVICE), undefined);
});

test('a query of a dataset that is declared no more may be changed: no start sets it back', async () => {
  const service = { datasets: async () => [{ ...DATASET, queryId: 990_000_002 }] };
  assert.equal(await declaredChangeProblem(CURATED, { visibility: 'private' }, service), undefined);
});
