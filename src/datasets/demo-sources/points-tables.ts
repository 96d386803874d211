/** The wallets of the demo sources: their quests, their accounts on the social network, and what they did on chain. */
import { DAY_MILLIS } from '../../domain/instant.ts';
import type { DemoSize, DemoTable } from './demo-table.ts';
import { pickWord } from './macros.ts';

const DAY_SECONDS = DAY_MILLIS / 1000;

const CHANNELS = [
  'art',
  'music',
  'food',
  'defi',
  'memes',
  'dev',
  'gaming',
  'photography',
  'travel',
  'books',
  'sports',
  'news',
];
const DOMAINS = ['video', 'blog', 'gallery', 'mirror', 'wiki', 'shop', 'podcast', 'forum', 'maps', 'paste'];
const NAMES = [
  'ann',
  'bob',
  'cat',
  'dan',
  'eve',
  'fay',
  'gus',
  'hal',
  'ivy',
  'joe',
  'kim',
  'lee',
  'mia',
  'ned',
  'ola',
  'pam',
];

export function pointsTables(size: DemoSize, untilSeconds: number): readonly DemoTable[] {
  const columns = new DrawnColumns(size.wallets, untilSeconds);
  return [questTable(columns), ...socialTables(columns), ...chainTables(columns)];
}

/** SQL for what the rows of several tables draw by their number `i`. */
class DrawnColumns {
  readonly wallets: number;
  readonly accounts: number;
  readonly #untilSeconds: number;

  constructor(wallets: number, untilSeconds: number) {
    this.wallets = wallets;
    this.accounts = Math.ceil(wallets * 0.6);
    this.#untilSeconds = untilSeconds;
  }

  /** Up to `days` before the end, recent times more often. */
  time(salt: number, days: number): string {
    return `to_timestamp(${this.#untilSeconds} - CAST(floor(${days * DAY_SECONDS} * pow(unit(i, ${salt}), 2)) AS BIGINT))`;
  }

  /** A few wallets do most of everything. */
  wallet(salt: number, power: number): string {
    return `address('wallet', pick(i, ${salt}, ${this.wallets}, ${power}))`;
  }

  account(salt: number, power: number): string {
    return `3 * pick(i, ${salt}, ${this.accounts}, ${power}) + 1000`;
  }
}

function rows(count: number): string {
  return `FROM range(${Math.ceil(count)}) AS t (i)`;
}

function source(name: string, orderBy: string, sql: string): DemoTable {
  return { kind: 'source', name, orderBy, sql };
}

function questTable(columns: DrawnColumns): DemoTable {
  return source(
    'points.quests_completed',
    'completed_at, wallet, quest',
    `SELECT address('wallet', w) AS wallet, 'quest-' || pick(i, 71, 40, 1.5) AS quest,
        10e0 * (1 + pick(i, 72, 50, 2)) AS points, ${columns.time(73, 300)} AS completed_at
      FROM (
        SELECT w, w * 64 + j AS i
        FROM range(${columns.wallets}) AS t (w), UNNEST(range(CAST(floor(tail(w, 70, 1, 40, 0.6)) AS BIGINT))) AS u (j)
      )`,
  );
}

function socialTables(columns: DrawnColumns): readonly DemoTable[] {
  return [
    source(
      'social.profiles',
      'social_id',
      `SELECT 3 * i + 1000 AS social_id, ${pickWord(NAMES, 'i', 75, 1)} || i AS social_name
      ${rows(columns.accounts)} WHERE unit(i, 74) < 0.97`,
    ),
    source(
      'social.verified_wallets',
      'social_id, wallet',
      `SELECT ${columns.account(77, 1.1)} AS social_id, shouted(address('wallet', i)) AS wallet ${rows(columns.wallets)} WHERE unit(i, 76) < 0.65`,
    ),
    source(
      'social.casts',
      'cast_at, social_id, channel, embedded_domains',
      `SELECT ${columns.account(80, 2.5)} AS social_id,
        CASE WHEN unit(i, 81) < 0.7 THEN ${pickWord(CHANNELS, 'i', 82, 2)} END AS channel,
        list_transform(range(pick(i, 83, 3, 2)), lambda k: ${pickWord(DOMAINS, 'i * 2 + k', 84, 2)} || '.example') AS embedded_domains,
        ${columns.time(85, 200)} AS cast_at
      ${rows(6 * columns.wallets)}`,
    ),
    source(
      'social.engagements',
      'engaged_at, social_id, engager_social_id',
      `SELECT ${columns.account(90, 3)} AS social_id, ${columns.account(91, 1.5)} AS engager_social_id, ${columns.time(92, 200)} AS engaged_at
      ${rows(10 * columns.wallets)}`,
    ),
    source(
      'social.followers',
      'social_id, follower_social_id',
      `SELECT DISTINCT ${columns.account(95, 2.5)} AS social_id, ${columns.account(96, 1.2)} AS follower_social_id ${rows(8 * columns.wallets)}`,
    ),
  ];
}

function chainTables(columns: DrawnColumns): readonly DemoTable[] {
  return [
    source(
      'nft.trades',
      'block_time, buyer, seller',
      `SELECT ${columns.wallet(100, 2)} AS buyer, ${columns.wallet(101, 2)} AS seller, round(tail(i, 102, 5, 50000, 0.8), 2) AS amount_usd,
        ${columns.time(103, 390)} AS block_time
      ${rows(columns.wallets)}`,
    ),
    source(
      'dex.trades',
      'block_time, taker, amount_usd',
      `SELECT ${columns.wallet(105, 2.5)} AS taker, round(tail(i, 106, 10, 500000, 0.9), 2) AS amount_usd, ${columns.time(107, 390)} AS block_time
      ${rows(3 * columns.wallets)}`,
    ),
    source(
      'chain.transactions',
      'block_time, from_address',
      `SELECT ${columns.wallet(110, 1.8)} AS from_address, ${columns.time(111, 400)} AS block_time ${rows(10 * columns.wallets)}`,
    ),
    source(
      'chain.contracts_deployed',
      'block_time, contract',
      `SELECT ${columns.wallet(115, 2)} AS deployer, address('contract', i) AS contract, ${columns.time(116, 390)} AS block_time
      ${rows(columns.wallets / 20)}`,
    ),
    source(
      'chain.contract_calls',
      'block_time, contract',
      `SELECT address('contract', pick(i, 120, ${Math.ceil(columns.wallets / 16)}, 3)) AS contract, ${columns.time(121, 390)} AS block_time
      ${rows(4 * columns.wallets)}`,
    ),
  ];
}
