/**
 * The source tables of the restaking datasets: decoded contract events and the names that operators and services give
 * themselves. docs/guides/datasets.md describes each. Events are ordered by block number, then log index.
 */
import type { SourceTable } from '../../engine/engine.ts';
import { columnsOf } from '../dataset.ts';

const EVENT = { block_time: 'timestamp(3) with time zone', block_number: 'bigint', log_index: 'bigint' };
const SHARES = { operator: 'varchar', staker: 'varchar', strategy: 'varchar', shares: 'uint256', ...EVENT };

export const SHARES_INCREASED: SourceTable = {
  name: 'restaking.operator_shares_increased',
  columns: columnsOf(SHARES),
};

export const SHARES_DECREASED: SourceTable = {
  name: 'restaking.operator_shares_decreased',
  columns: columnsOf(SHARES),
};

export const REGISTRATIONS: SourceTable = {
  name: 'restaking.operator_avs_registration_status_updated',
  columns: columnsOf({ operator: 'varchar', avs: 'varchar', status: 'integer', ...EVENT }),
};

export const EXCHANGE_RATES: SourceTable = {
  name: 'restaking.strategy_exchange_rate',
  columns: columnsOf({ strategy: 'varchar', rate: 'double', ...EVENT }),
};

export const OPERATOR_METADATA: SourceTable = {
  name: 'restaking.operator_metadata',
  columns: columnsOf({ operator: 'varchar', name: 'varchar', website: 'varchar', updated_at: EVENT.block_time }),
};

export const AVS_METADATA: SourceTable = {
  name: 'restaking.avs_metadata',
  columns: columnsOf({ avs: 'varchar', name: 'varchar', website: 'varchar', updated_at: EVENT.block_time }),
};
