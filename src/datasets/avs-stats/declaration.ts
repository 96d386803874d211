/** AVS metrics (specification §2.6): what each service has by way of the operators registered to it. */
import { columnsOf, type DatasetDeclaration, type DatasetOptions } from '../dataset.ts';
import { PARTY_MEANINGS, strategyMeanings } from '../restaking/meanings.ts';
import {
  AVS_METADATA,
  EXCHANGE_RATES,
  REGISTRATIONS,
  SHARES_DECREASED,
  SHARES_INCREASED,
} from '../restaking/sources.ts';
import { liquidStakingColumns, strategyFragments } from '../restaking/strategies.ts';

export function declareAvsStats({ strategyColumnNames }: DatasetOptions): DatasetDeclaration {
  return {
    name: 'avs-stats',
    title: 'What each actively validated service has by way of its operators, by strategy',
    path: '/v1/restaking/avs-stats',
    queryId: 990_000_003,
    schedule: '*/15 * * * *',
    columns: columnsOf({
      avs_name: 'varchar',
      avs_contract_address: 'varchar',
      num_operators: 'bigint',
      total_TVL: 'double',
      num_stakers: 'bigint',
      ...Object.fromEntries(liquidStakingColumns(strategyColumnNames).map(({ name }) => [name, 'double'])),
      beacon_chain_ETH_TVL: 'double',
    }),
    meanings: {
      ...PARTY_MEANINGS,
      num_operators: { about: 'Operators registered to the AVS', example: 42 },
      total_TVL: { about: 'Total value locked across all strategies in the AVS', example: 654_321.5 },
      num_stakers: { about: 'Stakers currently staking to the AVS via operators', example: 8765 },
      ...strategyMeanings(strategyColumnNames),
      beacon_chain_ETH_TVL: { about: 'Value locked in the native-stake strategy', example: 128_000 },
    },
    sources: [SHARES_INCREASED, SHARES_DECREASED, EXCHANGE_RATES, REGISTRATIONS, AVS_METADATA],
    sqlFile: new URL('./query.sql', import.meta.url),
    fragments: {
      net_shares: new URL('../restaking/net-shares.sql', import.meta.url),
      strategies: new URL('../restaking/strategies.sql', import.meta.url),
      registrations: new URL('../restaking/registrations.sql', import.meta.url),
      avs_profiles: new URL('../restaking/avs-profiles.sql', import.meta.url),
      ...strategyFragments(strategyColumnNames),
    },
  };
}
