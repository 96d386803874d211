/** Laws of the restaking and points datasets, over generated sources of any size, against a plain computation from the events. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import type { DemoSize } from '../../src/datasets/demo-sources/demo-table.ts';
import { writeDemoSources } from '../../src/datasets/demo-sources/write-demo-sources.ts';
import { findDataset, loadDatasets } from '../../src/datasets/registry.ts';
import { liquidStakingColumns, STRATEGIES } from '../../src/datasets/restaking/strategies.ts';
import { storageType } from '../../src/duckdb/storage-type.ts';
import { readParquetRows } from '../contract/read-parquet-rows.ts';
import { sleep } from '../real-time.ts';
import { newFolder, type Row, runDataset } from './dataset-fixture.ts';

const AS_OF = '2024-03-31T00:00:00Z';
const datasets = await loadDatasets({ strategyColumnNames: 'token' });
const COLUMNS = [...liquidStakingColumns('token').map((c) => c.name), 'beacon_chain_ETH_TVL', 'EIGEN_TVL'];

const size: fc.Arbitrary<DemoSize> = fc.record({
  operators: fc.integer({ min: 1, max: 25 }),
  avss: fc.integer({ min: 1, max: 8 }),
  stakers: fc.integer({ min: 1, max: 80 }),
  wallets: fc.integer({ min: 1, max: 40 }),
});

async function generate(demoSize: DemoSize): Promise<string> {
  const directory = await newFolder();
  const signal = new AbortController().signal;
  await writeDemoSources(directory, { size: demoSize, until: Date.parse(AS_OF), signal, sleep });
  return directory;
}

async function rowsOf(name: string, directory: string): Promise<readonly Row[]> {
  const dataset = findDataset(datasets, name) ?? assert.fail(name);
  const { columns, rows } = await runDataset(dataset, directory, AS_OF);
  assert.deepEqual(columns, dataset.columns, 'the columns are those that were declared');
  return rows;
}

const number = (row: Row | undefined, column: string) => Number(row?.[column]);
const text = (row: Row, column: string) => String(row[column]);
const sumOf = (rows: readonly Row[], column: string) => rows.reduce((sum, row) => sum + number(row, column), 0);

function assertNear(actual: number, expected: number, what: string): void {
  assert.ok(
    Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)),
    `${what}: ${actual}, not ${expected}`,
  );
}

test('the demo sources have the declared types', async () => {
  const directory = await generate({ operators: 3, avss: 2, stakers: 9, wallets: 9 });
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  for (const source of datasets.flatMap(({ sources }) => sources)) {
    const described = await connection.runAndReadAll(
      'SELECT column_name, column_type FROM (DESCRIBE FROM read_parquet($1))',
      [join(directory, `${source.name.replace('.', '/')}.parquet`)],
    );
    assert.deepEqual(
      described.getRows(),
      source.columns.map(({ name, type }) => [name, storageType(type)]),
      source.name,
    );
  }
  connection.closeSync();
  instance.closeSync();
});

/** Every strategy's net shares (in token units at the latest rate) and the registered pairs, computed event by event. */
async function reckon(directory: string) {
  const table = (name: string) => readParquetRows(join(directory, `restaking/${name}.parquet`));
  const shares = new Map<string, bigint>();
  for (const [name, sign] of [
    ['operator_shares_increased', 1n],
    ['operator_shares_decreased', -1n],
  ] as const) {
    for (const [, , strategy, amount] of await table(name)) {
      shares.set(String(strategy), (shares.get(String(strategy)) ?? 0n) + sign * BigInt(String(amount)));
    }
  }
  const rates = new Map<string, number>();
  for (const [strategy, rate] of await table('strategy_exchange_rate')) rates.set(String(strategy), Number(rate));
  // The tables are in the order of the events, so the last event of a pair is its state.
  const registered = new Set<string>();
  for (const [operator, avs, status] of await table('operator_avs_registration_status_updated')) {
    if (status === 1) registered.add(`${avs} ${operator}`);
    else registered.delete(`${avs} ${operator}`);
  }
  const values = STRATEGIES.map((s) => (Number(shares.get(s.contract) ?? 0n) / 1e18) * (rates.get(s.contract) ?? 1));
  return { values, registered };
}

test('operators, services and stakers agree on what is delegated', async () => {
  await fc.assert(
    fc.asyncProperty(size, async (demoSize) => {
      const directory = await generate(demoSize);
      const { values, registered } = await reckon(directory);
      const operators = await rowsOf('operator-stats', directory);
      const avss = await rowsOf('avs-stats', directory);
      const mapping = await rowsOf('operator-to-avs-mapping', directory);

      for (const [i, column] of COLUMNS.entries()) {
        assertNear(sumOf(operators, column), values[i] ?? Number.NaN, `${column} of all operators`);
      }
      const pairs = mapping.map((row) => `${row.avs_contract_address} ${row.operator_contract_address}`);
      assert.deepEqual(pairs, [...registered].toSorted(), 'the mapping is the registered pairs, in order');

      const operatorOf = new Map(operators.map((row) => [text(row, 'operator_contract_address'), row]));
      for (const row of operators) {
        assertNear(
          number(row, 'total_TVL'),
          COLUMNS.slice(0, 13).reduce((sum, c) => sum + number(row, c), 0),
          'total_TVL',
        );
        assert.ok(number(row, 'num_stakers') >= 0 && number(row, 'num_stakers') <= demoSize.stakers);
      }
      for (const avs of avss) {
        const its = mapping
          .filter((pair) => pair.avs_contract_address === avs.avs_contract_address)
          .map((pair) => operatorOf.get(text(pair, 'operator_contract_address')) ?? assert.fail('an unknown operator'));
        assert.equal(avs.num_operators, its.length);
        for (const column of COLUMNS.slice(0, 13)) assertNear(number(avs, column), sumOf(its, column), column);
        assertNear(
          number(avs, 'total_TVL'),
          sumOf(its, 'total_TVL') + sumOf(its, 'EIGEN_TVL'),
          'total_TVL of a service',
        );
        // A staker has one operator at a time, so none is counted twice.
        assert.equal(avs.num_stakers, sumOf(its, 'num_stakers'));
      }
    }),
    { numRuns: 6 },
  );
});

test('every wallet with a quest has one row, and holds the sum of its quests', async () => {
  await fc.assert(
    fc.asyncProperty(size, async (demoSize) => {
      const directory = await generate(demoSize);
      const points = await rowsOf('points', directory);
      const quests = await readParquetRows(join(directory, 'points/quests_completed.parquet'));
      assert.equal(points.length, new Set(quests.map(([wallet]) => wallet)).size);
      assertNear(
        sumOf(points, 'current_pts'),
        quests.reduce((sum, quest) => sum + Number(quest[2]), 0),
        'all points',
      );
      for (const row of points) {
        for (const list of ['top_channels', 'top_domains', 'top_engagers']) {
          const entries = row[list] as readonly string[];
          assert.ok(entries.length <= 3 && new Set(entries).size === entries.length);
        }
        assert.equal(row.on_social, row.social_id !== null);
        assert.equal((row.connected_wallets as readonly string[]).includes(text(row, 'wallet')), row.on_social);
      }
    }),
    { numRuns: 4 },
  );
});

test('the same size and end give the same rows', async () => {
  const demoSize = { operators: 5, avss: 3, stakers: 40, wallets: 20 };
  const [first, second] = [await generate(demoSize), await generate(demoSize)];
  for (const dataset of datasets) {
    for (const source of dataset.sources) {
      const file = `${source.name.replace('.', '/')}.parquet`;
      assert.deepEqual(
        await readParquetRows(join(first, file)),
        await readParquetRows(join(second, file)),
        source.name,
      );
    }
  }
});
