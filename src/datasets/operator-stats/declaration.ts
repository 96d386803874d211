/** Operator metrics (specification §2.5): what is delegated to each operator, by strategy, and by how many stakers. */
import { columnsOf, type DatasetDeclaration, type DatasetOptions } from '../dataset.ts';
import { PARTY_MEANINGS, strategyMeanings } from '../restaking/meanings.ts';
import {
  EXCHANGE_RATES,
  OPERATOR_METADATA,
  REGISTRATIONS,
  SHARES_DECREASED,
  SHARES_INCREASED,
} from '../restaking/sources.ts';
import { liquidStakingColumns, strategyFragments } from '../restaking/strategies.ts';

export function declareOperatorStats({ strategyColumnNames }: DatasetOptions): DatasetDeclaration {
  return {
    name: 'operator-stats',
    title: 'What is delegated to each restaking operator, by strategy',
    path: '/v1/restaking/operator-stats',
    queryId: 990_000_002,
    schedule: '*/15 * * * *',
    columns: columnsOf({
      operator_name: 'varchar',
      operator_contract_address: 'varchar',
      total_TVL: 'double',
      num_stakers: 'double',
      ...Object.fromEntries(liquidStakingColumns(strategyColumnNames).map(({ name }) => [name, 'double'])),
      beacon_chain_ETH_TVL: 'double',
      EIGEN_TVL: 'double',
    }),
    meanings: {
      ...PARTY_MEANINGS,
      total_TVL: {
        about: 'Total value locked in the operator across all strategies but the governance token',
        example: 98_765.43,
      },
      num_stakers: { about: 'Stakers currently staking to the operator', example: 321 },
      ...strategyMeanings(strategyColumnNames),
      beacon_chain_ETH_TVL: { about: 'Value locked in the native-stake strategy', example: 32_000 },
      EIGEN_TVL: { about: 'Value locked in the governance-token strategy', example: 1200.5 },
    },
    sources: [SHARES_INCREASED, SHARES_DECREASED, EXCHANGE_RATES, REGISTRATIONS, OPERATOR_METADATA],
    sqlFile: new URL('./query.sql', import.meta.url),
    fragments: {
      net_shares: new URL('../restaking/net-shares.sql', import.meta.url),
      strategies: new URL('../restaking/strategies.sql', import.meta.url),
      operator_profiles: new URL('../restaking/operator-profiles.sql', import.meta.url),
      ...strategyFragments(strategyColumnNames),
    },
  };
}
