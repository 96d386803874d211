/**
 * Short notation for a test's restaking sources. A world is a few deposits, withdrawals, registrations, rates and names. Block
 * n is n × 12 seconds after 2024-03-01, and shares are written in ether.
 */
import assert from 'node:assert/strict';
import type { Dataset } from '../../src/datasets/dataset.ts';
import { findDataset, loadDatasets } from '../../src/datasets/registry.ts';
import { STRATEGIES } from '../../src/datasets/restaking/strategies.ts';
import { type Row, rowsOver } from './dataset-fixture.ts';

const datasets = await loadDatasets({ strategyColumnNames: 'number' });
const dataset = (name: string): Dataset => findDataset(datasets, name) ?? assert.fail(`no dataset ${name}`);
const AS_OF = '2024-03-31T00:00:00Z';

export const address = (digit: string) => `0x${digit.repeat(40)}`;

/** Null is an address that is not known. */
type Address = string | null;
type Events = readonly (readonly [operator: Address, staker: Address, token: string, ether: string, block?: number])[];
export type Statuses = readonly (readonly [
  operator: Address,
  avs: Address,
  status: 0 | 1,
  /** A fraction is one of its 12 seconds. */
  block: number,
  logIndex: number,
])[];

export interface World {
  readonly increased?: Events;
  readonly decreased?: Events;
  readonly statuses?: Statuses;
  readonly rates?: readonly (readonly [token: string, rate: number | null, block: number])[];
  readonly operators?: readonly (readonly [operator: Address, name: string, website: string, updatedAt?: string])[];
  readonly avss?: readonly (readonly [avs: Address, name: string, website: string])[];
}

export const contractOf = (token: string) => STRATEGIES.find((s) => s.token === token)?.contract ?? token;

/** `1.5` → `1500000000000000000`. */
function wei(ether: string): string {
  const [whole = '', fraction = ''] = ether.split('.');
  return `${whole}${fraction.padEnd(18, '0')}`.replace(/^0+(?=.)/, '');
}

/** Block n is n × 12 seconds after 2024-03-01. */
function place(block: number, logIndex: number): Row {
  const at = new Date(Date.parse('2024-03-01T00:00:00Z') + block * 12_000).toISOString();
  return { block_number: Math.floor(block), log_index: logIndex, block_time: at };
}

export function rowsIn(name: string, world: World): Promise<readonly Row[]> {
  const shares = (events: Events = []) =>
    events.map(([operator, staker, token, ether, block = 1], i) => ({
      operator,
      staker,
      strategy: contractOf(token),
      shares: wei(ether),
      ...place(block, i),
    }));
  return rowsOver(
    dataset(name),
    {
      'restaking.operator_shares_increased': shares(world.increased),
      'restaking.operator_shares_decreased': shares(world.decreased),
      'restaking.operator_avs_registration_status_updated': (world.statuses ?? []).map(
        ([operator, avs, status, block, logIndex]) => ({ operator, avs, status, ...place(block, logIndex) }),
      ),
      'restaking.strategy_exchange_rate': (world.rates ?? []).map(([token, rate, block]) => ({
        strategy: contractOf(token),
        rate,
        ...place(block, 0),
      })),
      'restaking.operator_metadata': (world.operators ?? []).map(
        ([operator, name, website, updated_at = '2024-01-01 00:00:00 UTC']) => ({
          operator,
          name,
          website,
          updated_at,
        }),
      ),
      'restaking.avs_metadata': (world.avss ?? []).map(([avs, name, website]) => ({
        avs,
        name,
        website,
        updated_at: '2024-01-01 00:00:00 UTC',
      })),
    },
    AS_OF,
  );
}

/** A row with 0 in every strategy column that is not given. */
export function strategies(values: Row, withEigen: boolean): Row {
  const zeros = Array.from({ length: 12 }, (_, i) => [`strategy_${String(i + 1).padStart(2, '0')}_TVL`, 0]);
  const eigen = withEigen ? { EIGEN_TVL: 0 } : {};
  return { ...Object.fromEntries(zeros), beacon_chain_ETH_TVL: 0, ...eigen, ...values };
}

/** Two of the columns, for cases where the others do not matter. */
export const only = (rows: readonly Row[], ...names: readonly string[]) =>
  rows.map((row) => names.map((name) => row[name]));
