/**
 * A refresh from end to end, over the real catalog, store, engine and publishing: from small demo sources to the result set
 * that the dataset's query answers with.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { monotonicFactory } from 'ulid';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { openSqliteCatalog } from '../../src/catalog/sqlite/sqlite-catalog.ts';
import { writeDemoSources } from '../../src/datasets/demo-sources/write-demo-sources.ts';
import { pruneSuperseded } from '../../src/datasets/prune.ts';
import { registerDatasets } from '../../src/datasets/register.ts';
import { type Datasets, loadDatasets } from '../../src/datasets/registry.ts';
import { type Execution, stateAt } from '../../src/domain/execution.ts';
import { PART_LAYOUT, publish } from '../../src/publishing/publish.ts';
import { runNow } from '../../src/runs/run-now.ts';
import { RunQueue } from '../../src/runs/run-queue.ts';
import type { RunnerDeps } from '../../src/runs/runner.ts';
import { LocalResultStore } from '../../src/store/local/local-result-store.ts';
import { sleep } from '../real-time.ts';
import { newFolder, openEngine } from './dataset-fixture.ts';

const NOW = Date.parse('2024-03-31T00:07:00Z');
const signal = new AbortController().signal;
const newId = monotonicFactory();
const newExecutionId = () => newId(NOW);
const clock = () => NOW;

let sources: string;
let catalog: Catalog;
let datasets: Datasets;
let refresh: (name: string) => Promise<Execution>;

before(async () => {
  const data = await newFolder();
  sources = await newFolder();
  await writeDemoSources(sources, { size: 'small', until: NOW, signal, sleep });
  catalog = await openSqliteCatalog(join(data, 'catalog.sqlite'), { clock, sleep });
  datasets = await loadDatasets({ strategyColumnNames: 'token' });
  await registerDatasets(catalog, datasets, NOW);
  const publishing = {
    catalog,
    store: await LocalResultStore.open(join(data, 'results')),
    stagingDirectory: join(data, 'publishing'),
    memoryLimit: '512MB',
    tempSizeMax: '1GB',
    random: Math.random,
    clock,
    sleep,
    newId: newExecutionId,
    owner: 'test',
  };
  const options = { ...PART_LAYOUT, resultBytesMax: 8e9, retentionDays: 90, leaseMillis: 60_000 };
  const limits = { waitingMax: 10, waitingOfKeyMax: 10 };
  const queue = new RunQueue({ catalog, clock, newExecutionId, limits, coalesce: false });
  const deps: RunnerDeps = {
    catalog,
    engine: openEngine(sources),
    sources: [],
    findDataset: async (id) => datasets.find(({ queryId }) => queryId === id),
    publish: async ({ queryId, executionId, path, types, lease, giveUp }, stop) => {
      const held = { lease, giveUp };
      const request = { queryId, executionId, source: { kind: 'file', path }, format: 'parquet', types, held } as const;
      return await publish(publishing, request, options, stop);
    },
    queue,
    clock,
    sleep,
    owner: 'test',
    isLeaseOwnerDead: () => false,
    leaseMillis: 60_000,
    runningMax: 1,
    runningOfKeyMax: 1,
    pollMillis: 1000,
    stagingDirectory: join(data, 'publishing'),
    observe: () => {},
    onFault: (what, error) => assert.fail(`${what}: ${error}`),
  };
  refresh = async (name) => {
    const { queryId, sql } = datasets.find((d) => d.name === name) ?? assert.fail(`no dataset ${name}`);
    const { execution } = await queue.submitOutOfTurn({ id: queryId, sql, parameters: [], isArchived: false });
    return await runNow(execution.id, deps, signal);
  };
});

after(() => catalog[Symbol.asyncDispose]());

const queryOf = (name: string) => datasets.find((d) => d.name === name)?.queryId ?? Number.NaN;

async function served(name: string) {
  const execution = await catalog.executions.findLatest(queryOf(name), {}, NOW);
  return { execution, resultSet: execution && (await catalog.executions.findResultSet(execution.id)) };
}

test('each dataset is refreshed into a result set with its declared columns', async () => {
  const rows: Record<string, number | undefined> = {};
  for (const dataset of datasets) {
    await refresh(dataset.name);
    const { execution, resultSet } = await served(dataset.name);
    assert.equal(execution?.state, 'COMPLETED');
    assert.deepEqual(resultSet?.columns, dataset.columns);
    rows[dataset.name] = resultSet?.rowCount;
  }
  assert.deepEqual(
    [rows['operator-stats'], rows['avs-stats'], rows.points],
    [60, 12, 1000],
    'one row for each operator, service and wallet of the demo',
  );
});

test('superseded results are expired, except the latest of them', async () => {
  await refresh('avs-stats');
  await refresh('avs-stats');
  await pruneSuperseded(queryOf('avs-stats'), 2, { catalog, now: NOW }, signal);
  const executions = await catalog.executions.list({ queryId: queryOf('avs-stats'), limit: 10 });
  assert.deepEqual(
    executions.map((execution) => stateAt(execution, NOW)),
    ['COMPLETED', 'COMPLETED', 'EXPIRED'],
  );
});

test('a missing source fails the refresh, and the last good result is still served', async () => {
  const { execution: good } = await served('operator-to-avs-mapping');
  await rm(join(sources, 'restaking/avs_metadata.parquet'));
  const failed = await refresh('operator-to-avs-mapping');
  assert.equal(failed.state, 'FAILED');
  assert.equal(failed.error?.type, 'missing_source');
  assert.match(failed.error.message, /restaking\.avs_metadata is missing: expected restaking\/avs_metadata\.parquet/);
  assert.equal((await served('operator-to-avs-mapping')).execution?.id, good?.id);
});
