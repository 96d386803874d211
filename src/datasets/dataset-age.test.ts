import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Execution, ExecutionState } from '../domain/execution.ts';
import { datasetAgeOf, periodMillisOf, staleDatasetOf, ticksOf } from './dataset-age.ts';
import { findDataset, loadDatasets } from './registry.ts';

const at = (time: string) => Date.parse(`2024-03-05T${time}Z`);
const datasets = await loadDatasets({ strategyColumnNames: 'number' });
const dataset = findDataset(datasets, 'avs-stats') ?? assert.fail('no dataset avs-stats');

const run = (id: string, state: ExecutionState, time: string): Execution => ({
  id,
  queryId: dataset.queryId,
  parameters: {},
  state,
  submittedAt: at(time),
  startedAt: at(time),
});

const catalogWith = (latest: Execution, served: Execution) => ({
  executions: { list: async () => [latest], findLatest: async () => served },
});

test('the ticks before and after now, at each now', () => {
  let now = at('10:07:00');
  const { last, next } = ticksOf(dataset, () => now);
  const seen = ['10:07:00', '10:14:59.999', '10:15:00', '09:59:00'].map((time) => {
    now = at(time);
    return [last(), next()];
  });
  assert.deepEqual(seen, [
    [at('10:00:00'), at('10:15:00')],
    [at('10:00:00'), at('10:15:00')],
    [at('10:15:00'), at('10:30:00')],
    [at('09:45:00'), at('10:00:00')],
  ]);
});

test('the age is that of the last good run, though a newer one failed', async () => {
  const good = run('1', 'COMPLETED', '10:00:00');
  const failed = run('2', 'FAILED', '10:15:00');
  const age = await datasetAgeOf(dataset, catalogWith(failed, good), at('10:20:00'));
  assert.deepEqual(age, {
    latest: failed,
    latestState: 'FAILED',
    served: good,
    hasExpired: false,
    ageMillis: 20 * 60_000,
    nextTick: at('10:30:00'),
  });
});

test('the age is never negative, even if a wrong clock says that the run has not begun yet', async () => {
  const ahead = run('1', 'COMPLETED', '23:00:00');
  assert.equal((await datasetAgeOf(dataset, catalogWith(ahead, ahead), at('10:20:00'))).ageMillis, 0);
});

test('a dataset that never had a good run has no age', async () => {
  const failed = run('1', 'FAILED', '10:15:00');
  const age = await datasetAgeOf(dataset, catalogWith(failed, failed), at('10:20:00'));
  assert.deepEqual([age.served, age.ageMillis], [undefined, undefined]);
});

test('a dataset whose last result has expired serves none, swept or not', async () => {
  const expired = { ...run('1', 'COMPLETED', '10:00:00'), expiresAt: at('10:20:00') };
  const seenAt = async (time: string) => {
    const { served, hasExpired, latestState } = await datasetAgeOf(dataset, catalogWith(expired, expired), at(time));
    return [served, hasExpired, latestState];
  };
  assert.deepEqual(await seenAt('10:19:59.999'), [expired, false, 'COMPLETED']);
  assert.deepEqual(await seenAt('10:20:00'), [undefined, true, 'EXPIRED']);
});

test('the period is the longest interval around now, also where refreshes are not evenly spaced', () => {
  const hours = (schedule: string, now: string) => periodMillisOf({ schedule }, Date.parse(now)) / 3_600_000;
  assert.equal(hours('*/15 * * * *', '2024-03-05T10:07:00Z'), 0.25);
  assert.equal(hours('0 0 * * *', '2024-03-05T10:07:00Z'), 24);
  // Weekdays only: Friday to Monday is three days, and just after Monday's time the result is still Friday's.
  assert.deepEqual(
    ['2024-03-07T12:00:00Z', '2024-03-09T12:00:00Z', '2024-03-11T00:01:00Z', '2024-03-12T00:01:00Z'].map((now) =>
      hours('0 0 * * 1-5', now),
    ),
    [24, 72, 72, 24],
  );
});

test('a dataset is stale when its latest result is older than the period and an hour', async () => {
  const good = run('1', 'COMPLETED', '10:00:00');
  const catalog = catalogWith(run('2', 'FAILED', '11:00:00'), good);
  assert.equal(await staleDatasetOf(dataset, catalog, at('11:15:00')), undefined);
  assert.deepEqual(await staleDatasetOf(dataset, catalog, at('11:15:01')), {
    queryId: dataset.queryId,
    name: 'avs-stats',
    executionId: '1',
    startedAt: at('10:00:00'),
    ageMillis: 4_501_000,
    periodMillis: 900_000,
  });
  const daily = { ...dataset, schedule: '0 3 * * *' };
  assert.equal(await staleDatasetOf(daily, catalog, at('11:15:01')), undefined);
});

test('a dataset without a result, or whose result has expired, is not stale', async () => {
  const failed = run('1', 'FAILED', '10:00:00');
  assert.equal(await staleDatasetOf(dataset, catalogWith(failed, failed), at('12:00:00')), undefined);
  const expired = { ...run('1', 'COMPLETED', '10:00:00'), expiresAt: at('10:20:00') };
  assert.equal(await staleDatasetOf(dataset, catalogWith(expired, expired), at('12:00:00')), undefined);
});
