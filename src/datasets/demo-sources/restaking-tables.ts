/** The restaking protocol of the demo sources: operators, services, stakers, and 400 days of their events. */
import { DAY_MILLIS } from '../../domain/instant.ts';
import { STRATEGIES } from '../restaking/strategies.ts';
import type { DemoSize, DemoTable } from './demo-table.ts';
import { pickWord } from './macros.ts';

const BLOCK_SECONDS = 12;
const BLOCKS = (400 * DAY_MILLIS) / 1000 / BLOCK_SECONDS;
const FIRST_BLOCK = 18_000_000;

/** How much of all deposits goes to each strategy, in hundredths, in the order of STRATEGIES. */
const WEIGHTS = [6, 34, 8, 4, 3, 3, 3, 6, 5, 3, 2, 5, 8, 10];

const NAME_FIRST = [
  'North',
  'Blue',
  'Iron',
  'Clear',
  'Stone',
  'Silver',
  'Open',
  'Quiet',
  'Bright',
  'Deep',
  'Swift',
  'True',
];
const NAME_LAST = ['Staking', 'Nodes', 'Validators', 'Labs', 'Infra', 'Capital', 'Systems', 'Guild', 'Works', 'Stake'];
const SERVICE_LAST = ['Oracle', 'Bridge', 'DA', 'Sequencer', 'Coprocessor', 'Keeper', 'Relay', 'Prover'];

/** Columns of an event, from the share of the 400 days that had passed (0 to 1) and its index within its block. */
function eventColumns(untilSeconds: number, logIndex: string): string {
  return `to_timestamp(${untilSeconds - BLOCKS * BLOCK_SECONDS} + block * ${BLOCK_SECONDS}) AS block_time,
    ${FIRST_BLOCK} + block AS block_number, CAST(${logIndex} AS BIGINT) AS log_index`;
}

const block = (passed: string) => `CAST(floor(${BLOCKS} * ${passed}) AS BIGINT) AS block`;

export function restakingTables(size: DemoSize, untilSeconds: number): readonly DemoTable[] {
  return [
    ...shareTables(size, untilSeconds),
    ...registrationTables(size, untilSeconds),
    ...metadataTables(size, untilSeconds),
  ];
}

/**
 * A staker is with one operator at a time: an episode. It deposits during the first half of an episode, takes some of it
 * back in the next third, and at the end takes everything along to the next operator, or out.
 */
function shareTables(size: DemoSize, untilSeconds: number): readonly DemoTable[] {
  const weights = STRATEGIES.map((strategy, i) => {
    const low = WEIGHTS.slice(0, i).reduce((sum, weight) => sum + weight, 0) / 100;
    const unit = strategy.token === 'EIGEN' ? 100 : strategy.token === 'beacon_chain_ETH' ? 32 : 1;
    return `('${strategy.contract}', ${low}, ${low + (WEIGHTS[i] ?? 0) / 100}, ${unit})`;
  });
  const shareEvents = (scratch: string, offset: number) =>
    `SELECT operator, staker, strategy, CAST(shares AS VARCHAR) AS shares,
      ${eventColumns(untilSeconds, `2 * ROW_NUMBER() OVER (PARTITION BY block ORDER BY staker, strategy, shares) - ${offset}`)}
    FROM ${scratch} WHERE shares > 0`;
  return [
    {
      kind: 'scratch',
      name: 'staker',
      sql: `SELECT i, address('staker', i) AS address, pow(unit(i, 1), 0.7) * 0.95 AS begins,
          CASE WHEN unit(i, 2) < 0.85 THEN 1 WHEN unit(i, 2) < 0.97 THEN 2 ELSE 3 END AS episodes,
          CAST(floor(tail(i, 3, 2.4, 400, 0.72)) AS BIGINT) AS deposits, unit(i, 4) < 0.1 AS leaves
        FROM range(${size.stakers}) AS t (i)`,
    },
    {
      kind: 'scratch',
      name: 'episode',
      sql: `SELECT i, e, address, address('operator', pick(i * 3 + e, 5, ${size.operators}, 3)) AS operator,
          begins + (1 - begins) * e / episodes AS begins, (1 - begins) / episodes AS lasts,
          e + 1 = episodes AS is_last, leaves
        FROM staker, UNNEST(range(episodes)) AS t (e)`,
    },
    {
      kind: 'scratch',
      name: 'weight',
      sql: `SELECT * FROM (VALUES ${weights.join(', ')}) AS t (strategy, low, high, unit)`,
    },
    {
      kind: 'scratch',
      name: 'deposit',
      sql: `WITH drawn AS (
          SELECT i, j, i * 1000 + j AS n, pick(i * 1000 + j, 6, episodes, 1) AS e
          FROM staker, UNNEST(range(deposits)) AS t (j)
        )
        SELECT n, drawn.i, drawn.e, episode.operator, episode.address AS staker, weight.strategy, begins, lasts,
          CAST(floor(weight.unit * tail(n, 8, 0.05, 2000, 0.8) * 1e9) AS HUGEINT) * 1000000000
            + CAST(floor(unit(n, 9) * 1e9) AS BIGINT) AS shares
        FROM drawn
        JOIN episode ON episode.i = drawn.i AND episode.e = drawn.e
        -- A staker keeps to three strategies at most.
        JOIN weight ON unit(drawn.i * 3 + pick(n, 7, 3, 2), 10) >= low AND unit(drawn.i * 3 + pick(n, 7, 3, 2), 10) < high`,
    },
    {
      kind: 'scratch',
      name: 'withdrawal',
      sql: `SELECT n, i, e, operator, staker, strategy, begins, lasts, shares * (1 + pick(n, 12, 9, 1)) // 10 AS shares
        FROM deposit WHERE unit(n, 11) < 0.3`,
    },
    {
      kind: 'scratch',
      name: 'ending',
      sql: `WITH own AS (
          SELECT i, e, strategy, SUM(shares) AS shares
          FROM (SELECT i, e, strategy, shares FROM deposit UNION ALL SELECT i, e, strategy, -shares FROM withdrawal)
          GROUP BY i, e, strategy
        ),
        held AS (
          SELECT episode.*, s.strategy,
            SUM(COALESCE(own.shares, 0)) OVER (PARTITION BY episode.i, s.strategy ORDER BY episode.e) AS shares,
            lead(episode.operator) OVER (PARTITION BY episode.i, s.strategy ORDER BY episode.e) AS next_operator
          FROM episode
          JOIN (SELECT DISTINCT i, strategy FROM own) AS s ON s.i = episode.i
          LEFT JOIN own ON own.i = episode.i AND own.e = episode.e AND own.strategy = s.strategy
        )
        SELECT operator, next_operator, address AS staker, strategy, shares, ${block('(begins + lasts * 0.98)')}
        FROM held WHERE shares > 0 AND (NOT is_last OR leaves)`,
    },
    {
      kind: 'scratch',
      name: 'increase',
      sql: `SELECT operator, staker, strategy, shares, ${block('(begins + lasts * 0.55 * unit(n, 13))')} FROM deposit
        UNION ALL
        SELECT next_operator, staker, strategy, shares, block FROM ending WHERE next_operator IS NOT NULL`,
    },
    {
      kind: 'scratch',
      name: 'decrease',
      sql: `SELECT operator, staker, strategy, shares, ${block('(begins + lasts * (0.6 + 0.3 * unit(n, 14)))')} FROM withdrawal
        UNION ALL
        SELECT operator, staker, strategy, shares, block FROM ending`,
    },
    {
      kind: 'source',
      name: 'restaking.operator_shares_increased',
      sql: shareEvents('increase', 1),
      orderBy: 'block_number, log_index',
    },
    {
      kind: 'source',
      name: 'restaking.operator_shares_decreased',
      sql: shareEvents('decrease', 2),
      orderBy: 'block_number, log_index',
    },
    {
      kind: 'source',
      name: 'restaking.strategy_exchange_rate',
      sql: `SELECT strategy, 1 + i % 7 * 0.01 + passed * (0.02 + 0.004 * (i % 5)) AS rate, ${eventColumns(untilSeconds, 'i')}
        FROM (
          SELECT strategy, i, week / 57e0 AS passed, ${block('week / 57e0')}
          FROM (VALUES ${STRATEGIES.slice(0, 12).map((s, i) => `('${s.contract}', ${i})`)}) AS t (strategy, i), range(58) AS w (week)
        )`,
      orderBy: 'block_number, log_index',
    },
  ];
}

/** A pair registers once; some leave, and some of these come back, half of them in the very same block. */
function registrationTables(size: DemoSize, untilSeconds: number): readonly DemoTable[] {
  return [
    {
      kind: 'scratch',
      name: 'registration',
      sql: `SELECT n, address('operator', o) AS operator, address('avs', a) AS avs, unit(n, 21) * 0.6 AS begins
        FROM (
          SELECT o * ${size.avss} + a AS n, o, a, 1 - o / ${size.operators}e0 AS weight, 1 - a / ${size.avss}e0 AS fame
          FROM range(${size.operators}) AS t (o), range(${size.avss}) AS u (a)
        )
        WHERE unit(n, 20) < (0.15 + 0.6 * weight) * (0.03 + 0.9 * fame * fame)`,
    },
    {
      kind: 'scratch',
      name: 'status_change',
      sql: `WITH left_again AS (SELECT *, begins + 0.05 + 0.2 * unit(n, 23) AS ends FROM registration WHERE unit(n, 22) < 0.15)
        SELECT n, 0 AS step, operator, avs, 1 AS status, ${block('begins')} FROM registration
        UNION ALL
        SELECT n, 1, operator, avs, 0, ${block('ends')} FROM left_again
        UNION ALL
        SELECT n, 2, operator, avs, 1, ${block('(ends + CASE WHEN unit(n, 25) < 0.5 THEN 0 ELSE 0.1 END)')}
        FROM left_again WHERE unit(n, 24) < 0.4`,
    },
    {
      kind: 'source',
      name: 'restaking.operator_avs_registration_status_updated',
      sql: `SELECT operator, avs, CAST(status AS INTEGER) AS status,
          ${eventColumns(untilSeconds, 'ROW_NUMBER() OVER (PARTITION BY block ORDER BY n, step)')}
        FROM status_change`,
      orderBy: 'block_number, log_index',
    },
  ];
}

/** Most have a name, some changed it, and some addresses are written in capitals. */
function metadataTables(size: DemoSize, untilSeconds: number): readonly DemoTable[] {
  const metadata = (kind: string, count: number, salt: number, name: string): DemoTable => ({
    kind: 'source',
    name: `restaking.${kind}_metadata`,
    sql: `SELECT CASE WHEN unit(i, ${salt}) < 0.5 THEN shouted(address('${kind}', i)) ELSE address('${kind}', i) END AS ${kind},
        CASE WHEN version = 0 AND unit(i, ${salt + 1}) < 0.1 THEN 'Formerly ' || name ELSE name END AS name,
        CASE WHEN unit(i, ${salt + 2}) < 0.8 THEN 'https://' || lower(replace(name, ' ', '-')) || '.example' END AS website,
        to_timestamp(${untilSeconds} - ${DAY_MILLIS / 1000} * (390 - 200 * version - i % 90)) AS updated_at
      FROM (
        SELECT i, version, ${name} AS name
        FROM range(${count}) AS t (i), range(2) AS v (version)
        WHERE unit(i, ${salt + 3}) < 0.88 AND (version = 0 OR unit(i, ${salt + 1}) < 0.1)
      )`,
    orderBy: `updated_at, ${kind}`,
  });
  const named = (words: readonly string[], salt: number) =>
    `${pickWord(NAME_FIRST, 'i', salt, 1)} || ' ' || ${pickWord(words, 'i', salt + 1, 1)} || CASE WHEN i >= 20 THEN ' ' || i ELSE '' END`;
  return [
    metadata('operator', size.operators, 30, named(NAME_LAST, 40)),
    metadata('avs', size.avss, 50, named(SERVICE_LAST, 60)),
  ];
}
