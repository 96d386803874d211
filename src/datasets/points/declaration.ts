/** The points balance (specification §2.4): each wallet's points beside who holds it and what it did on chain. */
import { type ColumnMeanings, columnsOf, type DatasetDeclaration } from '../dataset.ts';
import { POINTS_SOURCES } from './sources.ts';

export function declarePoints(): DatasetDeclaration {
  return {
    name: 'points',
    title: 'Points of each wallet, with its social account and its activity on chain',
    path: '/v1/points/alpha/pts',
    queryId: 990_000_001,
    schedule: '0 0 * * *',
    columns: columnsOf({
      wallet: 'varchar',
      current_pts: 'double',
      num_quests: 'bigint',
      on_social: 'boolean',
      social_id: 'bigint',
      social_name: 'varchar',
      connected_wallets: 'array(varchar)',
      L14D_active_tier: 'varchar',
      top_channels: 'array(varchar)',
      top_domains: 'array(varchar)',
      top_engagers: 'array(varchar)',
      num_followers: 'bigint',
      num_onchain_txns: 'bigint',
      days_old_onchain: 'bigint',
      nft_volume_usd: 'double',
      dex_volume_usd: 'double',
      contracts_deployed: 'bigint',
      times_contracts_called: 'bigint',
    }),
    meanings: MEANINGS,
    sources: POINTS_SOURCES,
    sqlFile: new URL('./query.sql', import.meta.url),
    fragments: {},
  };
}

const WALLET = '0xd8da6bf26964af9d7eed9e03e53415d37aa96045';

const MEANINGS: ColumnMeanings = {
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
    values: ['vip', 'influencer', 'star', 'active', 'npc', 'not active', null],
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
};
