/**
 * The four curated datasets, over small random sources with nulls, ties and addresses in any case, have the rows that a plain computation has, in
 * its order, to the last digit. TEST_CASES=… makes a night of it, TEST_SEED=… repeats a run.
 */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { findDataset, loadDatasets } from '../../src/datasets/registry.ts';
import type { SourceTable } from '../../src/engine/engine.ts';
import { newFolder, type Row, runDataset } from './dataset-fixture.ts';
import { naiveAvsStats, naiveMapping, naiveOperatorStats, naivePoints } from './naive-datasets.ts';
import { randomPoints, randomRestaking } from './random-dataset-sources.ts';
import { Random } from './random-results.ts';

const CASES = Number(process.env.TEST_CASES ?? 3);
const SEED = Number(process.env.TEST_SEED ?? 1);
const AS_OF = '2024-03-31T05:06:07Z';
const datasets = await loadDatasets({ strategyColumnNames: 'number' });

/** The table of each list of rows. */
const TABLES = {
  increased: 'restaking.operator_shares_increased',
  decreased: 'restaking.operator_shares_decreased',
  statuses: 'restaking.operator_avs_registration_status_updated',
  rates: 'restaking.strategy_exchange_rate',
  operators: 'restaking.operator_metadata',
  avss: 'restaking.avs_metadata',
  quests: 'points.quests_completed',
  profiles: 'social.profiles',
  verified: 'social.verified_wallets',
  casts: 'social.casts',
  engagements: 'social.engagements',
  followers: 'social.followers',
  nftTrades: 'nft.trades',
  dexTrades: 'dex.trades',
  transactions: 'chain.transactions',
  deployed: 'chain.contracts_deployed',
  calls: 'chain.contract_calls',
} as const;

test(`${CASES} random sources have the rows of the naive computation (seed ${SEED})`, {
  timeout: 300_000 + CASES * 30_000,
}, async () => {
  for (let number = 0; number < CASES; number += 1) {
    const random = new Random(SEED * 1_000_003 + number);
    const restaking = randomRestaking(random);
    const points = randomPoints(random, Date.parse(AS_OF));
    const directory = await newFolder();
    const sources = new Map(datasets.flatMap((dataset) => dataset.sources.map((source) => [source.name, source])));
    for (const [list, rows] of Object.entries({ ...restaking, ...points })) {
      const source = sources.get(TABLES[list as keyof typeof TABLES]) ?? assert.fail(list);
      await write(
        random,
        directory,
        source,
        rows.map((row): Row => ({ ...row })),
      );
    }
    const expected = {
      'operator-stats': naiveOperatorStats(restaking),
      'avs-stats': naiveAvsStats(restaking),
      'operator-to-avs-mapping': naiveMapping(restaking),
      points: naivePoints(points, Date.parse(AS_OF)),
    };
    for (const [name, rows] of Object.entries(expected)) {
      const dataset = findDataset(datasets, name) ?? assert.fail(name);
      const found = await runDataset(dataset, directory, AS_OF);
      assert.deepEqual(found.rows, rows, `${name}, case ${number} of seed ${SEED}`);
    }
  }
});

/** As CSV or NDJSON. */
async function write(random: Random, directory: string, source: SourceTable, rows: readonly Row[]): Promise<void> {
  const names = source.columns.map(({ name }) => name);
  const format = random.chance(50) || names.includes('embedded_domains') ? 'ndjson' : 'csv';
  const cells = rows.map((row) => source.columns.map(({ name, type }) => plain(row[name], type.kind)));
  // A row of nulls gives an NDJSON table its columns. No dataset makes a row of it.
  if (format === 'ndjson') cells.push(names.map(() => null));
  const lines =
    format === 'ndjson'
      ? cells.map((row) => JSON.stringify(Object.fromEntries(row.map((cell, i) => [names[i], cell]))))
      : [names, ...cells].map((row) => row.map(csv).join(','));
  const path = join(directory, `${source.name.replace('.', '/')}.${format}`);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, lines.map((line) => `${line}\n`).join(''));
}

function plain(value: unknown, kind: string): unknown {
  if (kind === 'timestamp') return typeof value === 'number' ? new Date(value).toISOString() : null;
  return typeof value === 'bigint' ? String(value) : (value ?? null);
}

function csv(cell: unknown): string {
  return cell === null ? '' : typeof cell === 'string' ? `"${cell.replaceAll('"', '""')}"` : String(cell);
}
