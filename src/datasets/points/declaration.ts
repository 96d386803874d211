/** The points balance (specification §2.4): each wallet's points beside who holds it and what it did on chain. */
import { columnsOf, type DatasetDeclaration } from '../dataset.ts';
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
    sources: POINTS_SOURCES,
    sqlFile: new URL('./query.sql', import.meta.url),
    fragments: {},
  };
}
