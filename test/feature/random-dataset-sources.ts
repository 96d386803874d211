/**
 * Small random source tables of the curated datasets: few addresses in any spelling, so that most rows meet others; ties, nulls, unknown strategies,
 * withdrawals of what was never there, times at the edges of the 14 days, texts that only their code points order.
 */
import { STRATEGIES } from '../../src/datasets/restaking/strategies.ts';
import type { Place, PointsSources, RestakingSources } from './naive-datasets.ts';
import type { Random } from './random-results.ts';

const TEXTS = ['', 'Ann', 'ann', 'é', '\u{1f600}', '\uffee', 'a,b', 'a"b', 'line\nbreak', "o'x", '2', ' a '];
const DAY = 86_400_000;
const ETHER = 10n ** 18n;

const listOf = <T>(random: Random, max: number, make: () => T): T[] =>
  Array.from({ length: random.below(max + 1) }, make);
const orNull = <T>(random: Random, value: T): T | null => (random.chance(5) ? null : value);

/** In lower case, in upper case, or in both. */
function spelled(random: Random, address: string): string {
  const percent = random.pick([0, 100, 50]);
  return [...address].map((char) => (random.chance(percent) ? char.toUpperCase() : char)).join('');
}

function addresses(random: Random, group: string, count: number): () => string {
  return () => spelled(random, `0x${group}${'abcdef'[random.below(count)]}`.padEnd(42, 'e'));
}

export function randomRestaking(random: Random): RestakingSources {
  const [operator, staker, avs] = ['a', 'b', 'c'].map((group) => {
    const address = addresses(random, group, 1 + random.below(5));
    return () => orNull(random, address());
  }) as [() => string | null, () => string | null, () => string | null];
  const listed = STRATEGIES.slice(-random.pick([1, 3, 14]));
  const unlisted = addresses(random, 'd', 1);
  const strategy = () => orNull(random, random.chance(10) ? unlisted() : spelled(random, random.pick(listed).contract));
  const placed = new Set<string>();
  /** No two events have the same. */
  const place = (): Place => {
    const [block_number, log_index] = [random.below(9), random.below(40)];
    const key = `${block_number} ${log_index}`;
    if (placed.has(key)) return place();
    placed.add(key);
    // A block is of one moment, but what the tables say of it need not be.
    return { block_number, log_index, block_time: Date.parse('2024-03-01') + random.below(4) * 12_345 };
  };
  const shares = () =>
    orNull(random, random.pick([0n, 1n, ETHER, 32n * ETHER, random.whole(20) ** 2n / 10n ** 5n, ETHER / 2n]));
  const change = () => ({ operator: operator(), staker: staker(), strategy: strategy(), shares: shares(), ...place() });
  const increased = listOf(random, 40, change);
  const takenOut = increased.filter(() => random.chance(30)).map((one) => ({ ...one, ...place() }));
  const metadata = () => ({
    name: orNull(random, random.pick(TEXTS)),
    website: orNull(random, random.pick(TEXTS)),
    updated_at: Date.parse('2024-01-01') + random.below(3) * 1000,
  });
  return {
    increased,
    decreased: [...takenOut, ...listOf(random, 10, change)],
    statuses: listOf(random, 25, () => ({
      operator: operator(),
      avs: avs(),
      status: random.pick([0, 1, 1, 1, 2]),
      ...place(),
    })),
    rates: listOf(random, 12, () => ({
      strategy: strategy(),
      rate: random.pick([null, 0, 1, 1.1, 1.0470287, 2.5e-7, 3e9]),
      ...place(),
    })),
    operators: listOf(random, 8, () => ({ operator: operator(), ...metadata() })),
    avss: listOf(random, 6, () => ({ avs: avs(), ...metadata() })),
  };
}

export function randomPoints(random: Random, asOf: number): PointsSources {
  const count = 1 + random.below(6);
  const id = () => random.below(count) + (random.chance(5) ? Number.MAX_SAFE_INTEGER - 10 : 0);
  const address = addresses(random, 'a', count);
  const wallet = () => orNull(random, address());
  const contract = addresses(random, 'b', 4);
  const midnight = asOf - (asOf % DAY);
  const time = () =>
    random.pick([
      random.pick([asOf, asOf - 14 * DAY, midnight]) + random.below(3) - 1,
      asOf - random.below(40 * DAY),
      Date.parse('1969-12-31T23:59:59.999Z'),
    ]);
  const amount = () =>
    orNull(
      random,
      random.pick([
        0,
        -0,
        0.1,
        0.2,
        1e-6,
        -3.25,
        random.below(1e9) / 100,
        Number(`${random.whole(12)}.${random.below(100)}`),
        1e17,
      ]),
    );
  const domain = () => orNull(random, random.pick(['a.example', 'A.example', 'b.example', 'c.example', ...TEXTS]));
  const text = () => orNull(random, random.pick(TEXTS));
  return {
    quests: listOf(random, 15, () => ({ wallet: wallet(), points: amount() })),
    profiles: listOf(random, 6, () => ({ social_id: id(), social_name: text() })),
    verified: listOf(random, 8, () => ({ social_id: id(), wallet: wallet() })),
    casts: listOf(random, 25, () => ({
      social_id: id(),
      channel: text(),
      embedded_domains: orNull(random, listOf(random, 3, domain)),
      cast_at: time(),
    })),
    engagements: listOf(random, random.pick([25, 25, 1500]), () => ({
      social_id: id(),
      engager_social_id: id(),
      engaged_at: time(),
    })),
    followers: listOf(random, 15, () => ({ social_id: id(), follower_social_id: id() })),
    nftTrades: listOf(random, 12, () => ({ buyer: wallet(), seller: wallet(), amount_usd: amount() })),
    dexTrades: listOf(random, 8, () => ({ taker: wallet(), amount_usd: amount() })),
    transactions: listOf(random, 15, () => ({ from_address: wallet(), block_time: time() })),
    deployed: listOf(random, 6, () => ({ deployer: wallet(), contract: contract() })),
    calls: listOf(random, 12, () => ({ contract: orNull(random, contract()) })),
  };
}
