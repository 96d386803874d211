/** What columns mean that several restaking datasets have (specification §§2.5–2.7). */
import type { ColumnMeanings, StrategyColumnNames } from '../dataset.ts';
import { liquidStakingColumns } from './strategies.ts';

export const PARTY_MEANINGS: ColumnMeanings = {
  operator_name: { about: 'Name of the operator', example: 'Staking House' },
  operator_contract_address: {
    about: 'Contract address of the operator',
    example: '0x5accc90436492f24e6af278569691e2c942a676d',
  },
  avs_name: { about: 'Name of the actively validated service (AVS)', example: 'Data Layer' },
  avs_contract_address: {
    about: 'Contract address of the AVS',
    example: '0x870679e138bcdf293b7ff14dd44b70fc97e12fc0',
  },
};

/** Of the twelve strategies, which are called by number or by token, as a setting says. */
export function strategyMeanings(names: StrategyColumnNames): ColumnMeanings {
  const columns = liquidStakingColumns(names).map(({ name }) => {
    const strategy = name.replace(/^strategy_/, '').replace(/_TVL$/, '');
    return [name, { about: `Value locked in the liquid-staking strategy ${strategy}`, example: 1234.5 }] as const;
  });
  return Object.fromEntries(columns);
}
