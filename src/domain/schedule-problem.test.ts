import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scheduleProblem } from './schedule-problem.ts';

const NO_SQL = 'a schedule needs SQL: results of a query without are published by whoever runs it';
const NO_VALUE = 'a schedule names no values: give parameter day one of its own';
const [sql, schedule] = ['SELECT {{day}} AS day', '* * * * *'];
const day = { key: 'day', type: 'datetime' } as const;
const withValue = { ...day, value: '2024-03-05' };

test('a schedule is for a query that it can run', () => {
  assert.equal(scheduleProblem(undefined, { schedule }), NO_SQL);
  assert.equal(scheduleProblem(undefined, { schedule, sql, parameters: [day] }), NO_VALUE);
  assert.equal(scheduleProblem(undefined, { schedule, sql, parameters: [withValue] }), undefined);
  assert.equal(scheduleProblem({ sql, parameters: [day] }, { schedule }), NO_VALUE);
  assert.equal(scheduleProblem({ sql, parameters: [day] }, { schedule, parameters: [withValue] }), undefined);
});

test('no change leaves a schedule behind that cannot run the query; others are not held up by one that is there', () => {
  const before = { sql, schedule, parameters: [withValue] };
  assert.equal(scheduleProblem(before, { sql: undefined }), NO_SQL);
  assert.equal(scheduleProblem(before, { sql: undefined, schedule: undefined }), undefined);
  assert.equal(scheduleProblem(before, { parameters: [day] }), NO_VALUE);
  assert.equal(scheduleProblem({ ...before, parameters: [day] }, { name: 'Days' }), undefined);
});
