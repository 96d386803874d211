import assert from 'node:assert/strict';
import { test } from 'node:test';
import { declaredChangeProblem } from './declared-by-dataset.ts';
import { CURATORS } from './register.ts';

const CURATED = { id: 990_000_001, owner: { kind: 'team', name: CURATORS } } as const;

test('what the start would set back is named', () => {
  const changes = { sql: 'select 1', schedule: undefined, visibility: 'private', description: 'd' } as const;
  assert.equal(
    declaredChangeProblem(CURATED, changes),
    "query 990000001 is a curated dataset: its SQL, its schedule, that it is public would be set back at the next start; change the dataset's declaration (dataset.json and query.sql of one of your own), and start the service again; description, tags and archiving may be changed here",
  );
});

test('what no declaration says may be changed', () => {
  const changes = { description: 'd', tags: ['a'], isArchived: true, visibility: 'public' } as const;
  assert.equal(declaredChangeProblem(CURATED, changes), undefined);
});

test('a query that has the id of a dataset and belongs to somebody else is its own', () => {
  const query = { id: 990_000_001, owner: { kind: 'user', name: 'ann' } } as const;
  assert.equal(declaredChangeProblem(query, { sql: 'select 1' }), undefined);
});
