import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatColumnType } from '../domain/column-type.ts';
import type { Dataset } from './dataset.ts';
import { findDataset, loadDatasets } from './registry.ts';
import { STRATEGIES } from './restaking/strategies.ts';

const numbered = await loadDatasets({ strategyColumnNames: 'number' });
const byToken = await loadDatasets({ strategyColumnNames: 'token' });

const columns = (dataset: Dataset | undefined) =>
  dataset?.columns.map((column) => `${column.name} ${formatColumnType(column.type)}`).join('\n');

test('the four datasets of the specification, with their addresses and schedules', () => {
  assert.deepEqual(
    numbered.map((d) => [d.name, d.path, d.queryId, d.schedule]),
    [
      ['avs-stats', '/v1/restaking/avs-stats', 990_000_003, '*/15 * * * *'],
      ['operator-stats', '/v1/restaking/operator-stats', 990_000_002, '*/15 * * * *'],
      ['operator-to-avs-mapping', '/v1/restaking/operator-to-avs-mapping', 990_000_004, '*/15 * * * *'],
      ['points', '/v1/points/alpha/pts', 990_000_001, '0 0 * * *'],
    ],
  );
});

describe('columns, in the order of the specification', () => {
  const NUMBERED = ['01', '02', '03', '04', '05', '06', '07', '08', '09', '10', '11', '12'];
  const strategies = NUMBERED.map((n) => `strategy_${n}_TVL double`);
  const tokens = [
    'cbETH',
    'stETH',
    'rETH',
    'ETHx',
    'ankrETH',
    'OETH',
    'osETH',
    'swETH',
    'wBETH',
    'sfrxETH',
    'lsETH',
    'mETH',
  ];

  test('operator-stats', () => {
    const before = [
      'operator_name varchar',
      'operator_contract_address varchar',
      'total_TVL double',
      'num_stakers double',
    ];
    const after = ['beacon_chain_ETH_TVL double', 'EIGEN_TVL double'];
    assert.equal(columns(findDataset(numbered, 'operator-stats')), [...before, ...strategies, ...after].join('\n'));
  });

  test('avs-stats', () => {
    const before = [
      'avs_name varchar',
      'avs_contract_address varchar',
      'num_operators bigint',
      'total_TVL double',
      'num_stakers bigint',
    ];
    assert.equal(
      columns(findDataset(numbered, 'avs-stats')),
      [...before, ...strategies, 'beacon_chain_ETH_TVL double'].join('\n'),
    );
  });

  test('a setting names the strategies by token instead', () => {
    const names = findDataset(byToken, 'operator-stats')
      ?.columns.slice(4, 16)
      .map((column) => column.name);
    assert.deepEqual(
      names,
      tokens.map((token) => `${token}_TVL`),
    );
  });
});

test('every strategy contract is an address in lower case, and belongs to one token', () => {
  for (const { contract } of STRATEGIES) assert.match(contract, /^0x[0-9a-f]{40}$/);
  assert.equal(new Set(STRATEGIES.map((s) => s.contract)).size, 14);
});
