/** What the columns of the curated datasets mean (specification §§2.4–2.7), each with a value as it could stand there. */
import type { Fragment } from './schema.ts';

export interface ColumnMeaning {
  readonly about: string;
  readonly example: unknown;
  /** Further keywords of the schema. */
  readonly more?: Fragment;
}

type Meanings = Readonly<Record<string, ColumnMeaning>>;

const WALLET = '0xd8da6bf26964af9d7eed9e03e53415d37aa96045';
const OPERATOR = '0x5accc90436492f24e6af278569691e2c942a676d';
const AVS = '0x870679e138bcdf293b7ff14dd44b70fc97e12fc0';
const TIERS = ['vip', 'influencer', 'star', 'active', 'npc', 'not active'];

const PARTIES: Meanings = {
  operator_name: { about: 'Name of the operator', example: 'Staking House' },
  operator_contract_address: { about: 'Contract address of the operator', example: OPERATOR },
  avs_name: { about: 'Name of the actively validated service (AVS)', example: 'Data Layer' },
  avs_contract_address: { about: 'Contract address of the AVS', example: AVS },
};

const MEANINGS: Readonly<Record<string, Meanings>> = {
  points: {
    wallet: { about: 'Wallet holding the points', example: WALLET },
    current_pts: { about: 'Current points balance', example: 1520.5 },
    num_quests: { about: 'Quests completed to obtain the points', example: 4 },
    on_social: { about: 'Whether the wallet is connected to a social-network account', example: true },
    social_id: { about: 'Identifier on the social network of the connected user', example: 5650 },
    social_name: { about: 'Name on the social network of the connected user', example: 'vitalik' },
    connected_wallets: { about: 'Wallet addresses connected to the user', example: [WALLET] },
    L14D_active_tier: {
      about: 'Active tier over the last 14 days',
      example: 'star',
      more: { enum: [...TIERS, null] },
    },
    top_channels: { about: 'Top 3 channels where the user is active', example: ['dev', 'art', 'food'] },
    top_domains: { about: 'Top 3 domains frequently cast by the user', example: ['example.org'] },
    top_engagers: { about: 'Top 3 users who engage with the user', example: ['alice', 'bob', 'carol'] },
    num_followers: { about: 'Followers on the social network', example: 12_345 },
    num_onchain_txns: { about: 'On-chain transactions performed', example: 678 },
    days_old_onchain: { about: 'Days since the first on-chain transaction', example: 901 },
    nft_volume_usd: { about: 'NFT transaction volume in USD', example: 2300.25 },
    dex_volume_usd: { about: 'DEX transaction volume in USD', example: 45_000.75 },
    contracts_deployed: { about: 'Smart contracts deployed', example: 3 },
    times_contracts_called: { about: "Times the user's deployed contracts were called", example: 210 },
  },
  'operator-stats': {
    ...PARTIES,
    total_TVL: {
      about: 'Total value locked in the operator across all strategies but the governance token',
      example: 98_765.43,
    },
    num_stakers: { about: 'Stakers currently staking to the operator', example: 321 },
    beacon_chain_ETH_TVL: { about: 'Value locked in the native-stake strategy', example: 32_000 },
    EIGEN_TVL: { about: 'Value locked in the governance-token strategy', example: 1200.5 },
  },
  'avs-stats': {
    ...PARTIES,
    num_operators: { about: 'Operators registered to the AVS', example: 42 },
    total_TVL: { about: 'Total value locked across all strategies in the AVS', example: 654_321.5 },
    num_stakers: { about: 'Stakers currently staking to the AVS via operators', example: 8765 },
    beacon_chain_ETH_TVL: { about: 'Value locked in the native-stake strategy', example: 128_000 },
  },
  'operator-to-avs-mapping': {
    ...PARTIES,
    avs_website: { about: 'Website of the AVS', example: 'https://avs.example.org' },
    operator_website: { about: 'Website of the operator', example: 'https://operator.example.org' },
    registered_time: { about: 'When the operator registered to the AVS', example: '2024-04-09 18:11:23.000 UTC' },
  },
};

/** The meaning of a dataset's column, or undefined where none is written down. */
export function columnMeaning(dataset: string, column: string): ColumnMeaning | undefined {
  const known = MEANINGS[dataset]?.[column];
  if (known !== undefined) return known;
  // The twelve strategies are called by number or by token, as a setting says.
  const strategy = /^(?:strategy_)?(\w+)_TVL$/.exec(column)?.[1];
  return strategy === undefined
    ? undefined
    : { about: `Value locked in the liquid-staking strategy ${strategy}`, example: 1234.5 };
}
