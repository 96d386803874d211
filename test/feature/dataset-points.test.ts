/** The points dataset over sources that can be computed by hand: first a small world written out, then each rule as a case. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findDataset, loadDatasets } from '../../src/datasets/registry.ts';
import { type Row, rowsOver, type Sources } from './dataset-fixture.ts';

const points =
  findDataset(await loadDatasets({ strategyColumnNames: 'number' }), 'points') ?? assert.fail('no dataset points');

const AS_OF = '2024-03-31T00:00:00Z';
const W1 = `0x${'1'.repeat(40)}`;
const W2 = `0x${'2'.repeat(40)}`;
const W3 = `0x${'3'.repeat(40)}`;
const RECENT = '2024-03-30 12:00:00 UTC';
const LONG_AGO = '2023-03-31 06:00:00 UTC';

const quest = (wallet: string, amount = 1): Row => ({ wallet, quest: 'q', points: amount, completed_at: LONG_AGO });
const cast = (social_id: number, channel: string | null, domains: readonly string[] = [], cast_at = RECENT): Row => ({
  social_id,
  channel,
  embedded_domains: domains,
  cast_at,
});
const engagement = (social_id: number, engager_social_id: number, engaged_at = RECENT): Row => ({
  social_id,
  engager_social_id,
  engaged_at,
});
const transaction = (from_address: string, block_time = RECENT): Row => ({ from_address, block_time });
const times = (count: number, row: Row): readonly Row[] => Array.from({ length: count }, () => row);

/** The named columns of the answer, for wallet W1 alone. */
async function ofWallet1(sources: Sources, ...names: readonly string[]): Promise<readonly unknown[]> {
  const rows = await rowsOver(points, { 'points.quests_completed': [quest(W1)], ...sources }, AS_OF);
  assert.equal(rows.length, 1);
  return names.map((name) => rows[0]?.[name]);
}

test('a small world: an account with two wallets, and a wallet without a profile', async () => {
  const rows = await rowsOver(
    points,
    {
      'points.quests_completed': [quest(W1, 10.5), quest(W1, 20), quest(W2, 7), quest(W3, 100)],
      'social.profiles': [
        { social_id: 5, social_name: 'ann' },
        { social_id: 6, social_name: 'bob' },
      ],
      'social.verified_wallets': [
        { social_id: 5, wallet: W2 },
        { social_id: 5, wallet: W1.toUpperCase() },
      ],
      'social.casts': [cast(5, 'food', ['Example.com']), cast(5, 'art', ['example.com', 'b.example']), cast(5, 'art')],
      'social.engagements': [engagement(5, 6), engagement(5, 7), engagement(5, 6)],
      'social.followers': [
        { social_id: 5, follower_social_id: 6 },
        { social_id: 5, follower_social_id: 7 },
        { social_id: 5, follower_social_id: 7 },
      ],
      'nft.trades': [
        { buyer: W1, seller: W3, amount_usd: 100.25, block_time: RECENT },
        { buyer: W1, seller: W1, amount_usd: 1, block_time: RECENT },
      ],
      'dex.trades': [
        { taker: W1, amount_usd: 0.1, block_time: RECENT },
        { taker: W1, amount_usd: 0.2, block_time: RECENT },
      ],
      'chain.transactions': [transaction(W1), transaction(W1, LONG_AGO)],
      'chain.contracts_deployed': [
        { deployer: W1, contract: '0xC1', block_time: LONG_AGO },
        { deployer: W1, contract: '0xC2', block_time: LONG_AGO },
      ],
      'chain.contract_calls': [
        { contract: '0xc1', block_time: RECENT },
        { contract: '0xc2', block_time: RECENT },
        { contract: '0xc2', block_time: RECENT },
        { contract: '0xc9', block_time: RECENT },
      ],
    },
    AS_OF,
  );
  const ann = {
    on_social: true,
    social_id: 5,
    social_name: 'ann',
    connected_wallets: [W1, W2],
    top_channels: ['art', 'food'],
    top_domains: ['example.com', 'b.example'],
    top_engagers: ['bob', '7'],
    num_followers: 2,
  };
  const offChain = { num_onchain_txns: 0, days_old_onchain: null, dex_volume_usd: 0, contracts_deployed: 0 };
  assert.deepEqual(rows, [
    {
      wallet: W3,
      current_pts: 100,
      num_quests: 1,
      on_social: false,
      social_id: null,
      social_name: null,
      connected_wallets: [],
      L14D_active_tier: 'not active',
      top_channels: [],
      top_domains: [],
      top_engagers: [],
      num_followers: 0,
      ...offChain,
      nft_volume_usd: 100.25,
      times_contracts_called: 0,
    },
    {
      wallet: W1,
      current_pts: 30.5,
      num_quests: 2,
      ...ann,
      L14D_active_tier: 'active',
      num_onchain_txns: 2,
      days_old_onchain: 366,
      nft_volume_usd: 101.25,
      dex_volume_usd: 0.3,
      contracts_deployed: 2,
      times_contracts_called: 3,
    },
    {
      wallet: W2,
      current_pts: 7,
      num_quests: 1,
      ...ann,
      L14D_active_tier: 'active',
      ...offChain,
      nft_volume_usd: 0,
      times_contracts_called: 0,
    },
  ]);
});

describe('accounts', () => {
  test('an account without a profile is connected, but has no name', async () => {
    const verified = [{ social_id: 5, wallet: W1 }];
    const row = await ofWallet1({ 'social.verified_wallets': verified }, 'on_social', 'social_id', 'social_name');
    assert.deepEqual(row, [true, 5, null]);
  });

  test('an account with two profiles is one account, of the first name', async () => {
    const sources = {
      'social.profiles': [
        { social_id: 5, social_name: 'bob' },
        { social_id: 5, social_name: 'ann' },
        { social_id: 6, social_name: 'cid' },
        { social_id: 6, social_name: 'cid' },
      ],
      'social.verified_wallets': [{ social_id: 5, wallet: W1 }],
      'social.casts': times(3, cast(5, null)),
      // Twice as many would make a star.
      'social.engagements': times(13, engagement(5, 6)),
    };
    assert.deepEqual(await ofWallet1(sources, 'social_name', 'top_engagers', 'L14D_active_tier'), [
      'ann',
      ['cid'],
      'active',
    ]);
  });

  test('a wallet that two accounts verified belongs to the one with the lower id', async () => {
    const verified = [
      { social_id: 9, wallet: W1 },
      { social_id: 5, wallet: W1 },
      { social_id: 9, wallet: W2 },
    ];
    const row = await ofWallet1({ 'social.verified_wallets': verified }, 'social_id', 'connected_wallets');
    assert.deepEqual(row, [5, [W1]]);
  });

  test('top lists have at most three entries, by count, ties by name; casts outside channels do not count', async () => {
    const row = await ofWallet1(
      {
        'social.verified_wallets': [{ social_id: 5, wallet: W1 }],
        'social.casts': [
          ...times(9, cast(5, null)),
          cast(5, 'delta', ['d.example']),
          cast(5, 'beta', ['b.example']),
          cast(5, 'alpha', ['z.example', 'a.example']),
          cast(5, 'zeta', ['z.example']),
          cast(5, 'zeta'),
        ],
      },
      'top_channels',
      'top_domains',
    );
    assert.deepEqual(row, [
      ['zeta', 'alpha', 'beta'],
      ['z.example', 'a.example', 'b.example'],
    ]);
  });

  test('what is not known of a domain or a wallet is in no list', async () => {
    const account = [
      { social_id: 5, wallet: W1 },
      { social_id: 5, wallet: null },
    ];
    const embedded = { ...cast(5, 'food'), embedded_domains: [null, 'example.com', null] };
    assert.deepEqual(
      await ofWallet1(
        { 'social.verified_wallets': account, 'social.casts': [embedded] },
        'connected_wallets',
        'top_domains',
      ),
      [[W1], ['example.com']],
    );
  });

  test('engagers of one name are two users, each with its own engagements', async () => {
    const row = await ofWallet1(
      {
        'social.verified_wallets': [{ social_id: 5, wallet: W1 }],
        'social.profiles': [
          { social_id: 6, social_name: 'sam' },
          { social_id: 7, social_name: 'sam' },
          { social_id: 8, social_name: 'ann' },
          { social_id: 9, social_name: '11' },
        ],
        'social.engagements': [
          ...times(2, engagement(5, 6)),
          ...times(2, engagement(5, 7)),
          ...times(3, engagement(5, 8)),
          engagement(5, 9),
          engagement(5, 11),
        ],
      },
      'top_engagers',
    );
    assert.deepEqual(row, [['ann', 'sam', 'sam']]);
  });

  test('nobody counts as an engager of themselves', async () => {
    const row = await ofWallet1(
      {
        'social.verified_wallets': [{ social_id: 5, wallet: W1 }],
        'social.engagements': [engagement(5, 5), engagement(5, 8)],
      },
      'top_engagers',
    );
    assert.deepEqual(row, [['8']]);
  });
});

test('large amounts come back to the digit: a sum of one amount is that amount', async () => {
  for (const amount of [4406568420.56, 639315521249.39, 20469904917984, 8811220089068316, 1e17, -4406568420.56]) {
    const row = await ofWallet1(
      {
        'points.quests_completed': [quest(W1, amount)],
        'nft.trades': [{ buyer: W1, seller: W2, amount_usd: amount, block_time: RECENT }],
        'dex.trades': [{ taker: W1, amount_usd: amount, block_time: RECENT }],
      },
      'current_pts',
      'nft_volume_usd',
      'dex_volume_usd',
    );
    assert.deepEqual(row, [amount, amount, amount]);
  }
});

test('an NFT that somebody unknown bought or sold counts for the other side', async () => {
  const trades = [
    { buyer: null, seller: W1, amount_usd: 10, block_time: RECENT },
    { buyer: W1, seller: null, amount_usd: 4, block_time: RECENT },
    { buyer: null, seller: null, amount_usd: 1, block_time: RECENT },
  ];
  assert.deepEqual(await ofWallet1({ 'nft.trades': trades }, 'nft_volume_usd'), [14]);
});

describe('L14D_active_tier', () => {
  /** Within the 14 days. */
  const cases: readonly (readonly [tier: string, engagements: number, casts: number, transactions: number])[] = [
    ['vip', 500, 10, 0],
    ['vip', 500, 4, 6],
    ['influencer', 500, 9, 0],
    ['influencer', 100, 5, 0],
    ['star', 100, 4, 0],
    ['star', 25, 3, 0],
    ['active', 24, 3, 0],
    ['active', 0, 0, 3],
    ['npc', 500, 2, 0],
    ['npc', 0, 0, 1],
    ['not active', 500, 0, 0],
  ];
  test('is the first tier of which both minimums are reached', async () => {
    const wallet = (i: number) => `0x${String(i).padStart(40, '0')}`;
    const rows = await rowsOver(
      points,
      {
        'points.quests_completed': cases.map((_, i) => quest(wallet(i))),
        'social.verified_wallets': cases.map((_, i) => ({ social_id: i, wallet: wallet(i) })),
        'social.engagements': cases.flatMap(([, engagements], i) => times(engagements, engagement(i, 99))),
        'social.casts': cases.flatMap(([, , casts], i) => times(casts, cast(i, 'art'))),
        'chain.transactions': cases.flatMap(([, , , transactions], i) => times(transactions, transaction(wallet(i)))),
      },
      AS_OF,
    );
    assert.deepEqual(
      rows.map((row, i) => [row.L14D_active_tier, ...(cases[i] ?? []).slice(1)]),
      cases,
    );
  });

  test('exactly fourteen days ago is too old, a second later is not; what comes after the run does not count', async () => {
    const tierAt = (time: string) => ofWallet1({ 'chain.transactions': [transaction(W1, time)] }, 'L14D_active_tier');
    assert.deepEqual(await tierAt('2024-03-17 00:00:00 UTC'), ['not active']);
    assert.deepEqual(await tierAt('2024-03-17 00:00:01 UTC'), ['npc']);
    assert.deepEqual(await tierAt('2024-03-31 00:00:00 UTC'), ['npc']);
    assert.deepEqual(await tierAt('2024-03-31 00:00:01 UTC'), ['not active']);
  });
});
