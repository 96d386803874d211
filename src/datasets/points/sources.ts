/** The source tables of the points dataset; docs/guides/datasets.md describes each. */
import type { SourceTable } from '../../engine/engine.ts';
import { columnsOf } from '../dataset.ts';

const TIME = 'timestamp(3) with time zone';

export const POINTS_SOURCES: readonly SourceTable[] = [
  {
    name: 'points.quests_completed',
    columns: columnsOf({ wallet: 'varchar', quest: 'varchar', points: 'double', completed_at: TIME }),
  },
  { name: 'social.profiles', columns: columnsOf({ social_id: 'bigint', social_name: 'varchar' }) },
  { name: 'social.verified_wallets', columns: columnsOf({ social_id: 'bigint', wallet: 'varchar' }) },
  {
    name: 'social.casts',
    columns: columnsOf({ social_id: 'bigint', channel: 'varchar', embedded_domains: 'array(varchar)', cast_at: TIME }),
  },
  {
    name: 'social.engagements',
    columns: columnsOf({ social_id: 'bigint', engager_social_id: 'bigint', engaged_at: TIME }),
  },
  { name: 'social.followers', columns: columnsOf({ social_id: 'bigint', follower_social_id: 'bigint' }) },
  {
    name: 'nft.trades',
    columns: columnsOf({ buyer: 'varchar', seller: 'varchar', amount_usd: 'double', block_time: TIME }),
  },
  { name: 'dex.trades', columns: columnsOf({ taker: 'varchar', amount_usd: 'double', block_time: TIME }) },
  { name: 'chain.transactions', columns: columnsOf({ from_address: 'varchar', block_time: TIME }) },
  {
    name: 'chain.contracts_deployed',
    columns: columnsOf({ deployer: 'varchar', contract: 'varchar', block_time: TIME }),
  },
  { name: 'chain.contract_calls', columns: columnsOf({ contract: 'varchar', block_time: TIME }) },
];
