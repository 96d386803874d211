/** The guide says what the datasets are made from: the tables they read, the strategies, the tiers, the schedules. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { loadDatasets } from '../../src/datasets/registry.ts';
import { liquidStakingColumns, STRATEGIES } from '../../src/datasets/restaking/strategies.ts';

const guide = (await readFile(new URL('../../docs/guides/datasets.md', import.meta.url), 'utf8')).split('\n');
const datasets = await loadDatasets({ strategyColumnNames: 'number' });

/** The row of a table in the guide whose first cell this is. */
function rowOf(cell: string): string {
  return guide.find((line) => line.startsWith(`| ${cell} |`)) ?? assert.fail(`the guide has no row | ${cell} |`);
}

test('every dataset, with its address, query id and schedule', () => {
  for (const { name, path, queryId, schedule } of datasets) {
    const row = rowOf(`\`${name}\``);
    for (const part of [`\`${path}\``, `| ${queryId} |`, `\`${schedule}\``])
      assert.ok(row.includes(part), `${row}: ${part}`);
  }
});

test('every source table, with the columns that are read', () => {
  for (const source of datasets.flatMap((dataset) => dataset.sources)) {
    const row = rowOf(`\`${source.name}\``);
    if (row.includes('the same')) continue;
    const event = row.includes('*event*') ? ['block_time', 'block_number', 'log_index'] : [];
    for (const { name } of source.columns) {
      assert.ok(row.includes(`\`${name}\``) || event.includes(name), `${source.name}: ${name}`);
    }
  }
});

test('every strategy, with its contract and the names of its column', () => {
  const named = (names: 'number' | 'token') => liquidStakingColumns(names).map((column) => `\`${column.name}\``);
  const byToken = named('token');
  for (const [i, cell] of named('number').entries()) {
    const { token, contract } = STRATEGIES[i] ?? assert.fail();
    assert.ok(rowOf(`${cell} or ${byToken[i]}`).endsWith(`| ${token} | \`${contract}\` |`));
  }
  for (const { token, contract } of STRATEGIES.slice(12)) assert.ok(rowOf(`\`${token}_TVL\``).includes(contract));
});

test('every tier, with its minimums', () => {
  const sql = datasets.find((dataset) => dataset.name === 'points')?.sql ?? '';
  const tiers = [...sql.matchAll(/\([1-6], '([a-z ]+)', ([0-9]+), ([0-9]+)\)/g)];
  assert.equal(tiers.length, 6);
  for (const [, name, engagements, actions] of tiers) {
    assert.equal(rowOf(`\`${name}\``), `| \`${name}\` | ${engagements} | ${actions} |`);
  }
});
