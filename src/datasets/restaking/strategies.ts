/**
 * The restaking strategies, in the order in which their columns stand: which contract is which, and what its column is
 * called. The twelve liquid-staking tokens first, then the native beacon-chain strategy and the governance token. The SQL
 * names them by token; its rows and its column names are filled in from here.
 */
import { quoteName, quoteText } from '../../duckdb/quoting.ts';
import type { StrategyColumnNames } from '../dataset.ts';

interface Strategy {
  readonly token: string;
  readonly contract: string;
}

const LIQUID_STAKING: readonly Strategy[] = [
  { token: 'cbETH', contract: '0x54945180db7943c0ed0fee7edab2bd24620256bc' },
  { token: 'stETH', contract: '0x93c4b944d05dfe6df7645a86cd2206016c51564d' },
  { token: 'rETH', contract: '0x1bee69b7dfffa4e2d53c2a2df135c388ad25dcd2' },
  { token: 'ETHx', contract: '0x9d7ed45ee2e8fc5482fa2428f15c971e6369011d' },
  { token: 'ankrETH', contract: '0x13760f50a9d7377e4f20cb8cf9e4c26586c658ff' },
  { token: 'OETH', contract: '0xa4c637e0f704745d182e4d38cab7e7485321d059' },
  { token: 'osETH', contract: '0x57ba429517c3473b6d34ca9acd56c0e735b94c02' },
  { token: 'swETH', contract: '0x0fe4f44bee93503346a3ac9ee5a26b130a5796d6' },
  { token: 'wBETH', contract: '0x7ca911e83dabf90c90dd3de5411a10f1a6112184' },
  { token: 'sfrxETH', contract: '0x8ca7a5d6f3acd3a7a8bc468a8cd0fb14b6bd28b6' },
  { token: 'lsETH', contract: '0xae60d8180437b5c34bb956822ac2710972584473' },
  { token: 'mETH', contract: '0x298afb19a105d59e74658c4c334ff360bade6dd2' },
];

export const STRATEGIES: readonly Strategy[] = [
  ...LIQUID_STAKING,
  { token: 'beacon_chain_ETH', contract: '0xbeac0eeeeeeeeeeeeeeeeeeeeeeeeeeeeeebeac0' },
  { token: 'EIGEN', contract: '0xacb55c530acdb2849e6d4f36992cd8c9d50ed8f7' },
];

/** The column of each liquid-staking strategy, in order, with its token. */
export function liquidStakingColumns(
  names: StrategyColumnNames,
): readonly { readonly token: string; readonly name: string }[] {
  return LIQUID_STAKING.map(({ token }, i) => ({
    token,
    name: names === 'token' ? `${token}_TVL` : `strategy_${String(i + 1).padStart(2, '0')}_TVL`,
  }));
}

/** Fragments for the SQL: `{{strategy_rows}}`, and `{{cbETH_TVL}}`, … for the name of each strategy's column. */
export function strategyFragments(names: StrategyColumnNames): Readonly<Record<string, string>> {
  return {
    strategy_rows: STRATEGIES.map((s) => `(${quoteText(s.token)}, ${quoteText(s.contract)})`).join(',\n    '),
    ...Object.fromEntries(liquidStakingColumns(names).map(({ token, name }) => [`${token}_TVL`, quoteName(name)])),
  };
}
