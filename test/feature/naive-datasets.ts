/**
 * What each row of the four curated datasets is, over arrays, by the words of docs/guides/datasets.md and without SQL. Source tables are arrays of
 * rows; a time is milliseconds since 1970, shares are a bigint, and null is what is not known.
 */
import { STRATEGIES } from '../../src/datasets/restaking/strategies.ts';

type Text = string | null;

export interface Place {
  readonly block_time: number;
  readonly block_number: number;
  readonly log_index: number;
}

export interface ShareChange extends Place {
  readonly operator: Text;
  readonly staker: Text;
  readonly strategy: Text;
  readonly shares: bigint | null;
}

export interface Metadata {
  readonly name: Text;
  readonly website: Text;
  readonly updated_at: number;
}

export interface RestakingSources {
  readonly increased: readonly ShareChange[];
  readonly decreased: readonly ShareChange[];
  readonly statuses: readonly (Place & { readonly operator: Text; readonly avs: Text; readonly status: number })[];
  readonly rates: readonly (Place & { readonly strategy: Text; readonly rate: number | null })[];
  readonly operators: readonly (Metadata & { readonly operator: Text })[];
  readonly avss: readonly (Metadata & { readonly avs: Text })[];
}

export interface PointsSources {
  readonly quests: readonly { readonly wallet: Text; readonly points: number | null }[];
  readonly profiles: readonly { readonly social_id: number; readonly social_name: Text }[];
  readonly verified: readonly { readonly social_id: number; readonly wallet: Text }[];
  readonly casts: readonly {
    readonly social_id: number;
    readonly channel: Text;
    readonly embedded_domains: readonly Text[] | null;
    readonly cast_at: number;
  }[];
  readonly engagements: readonly {
    readonly social_id: number;
    readonly engager_social_id: number;
    readonly engaged_at: number;
  }[];
  readonly followers: readonly { readonly social_id: number; readonly follower_social_id: number }[];
  readonly nftTrades: readonly { readonly buyer: Text; readonly seller: Text; readonly amount_usd: number | null }[];
  readonly dexTrades: readonly { readonly taker: Text; readonly amount_usd: number | null }[];
  readonly transactions: readonly { readonly from_address: Text; readonly block_time: number }[];
  readonly deployed: readonly { readonly deployer: Text; readonly contract: Text }[];
  readonly calls: readonly { readonly contract: Text }[];
}

type Row = Readonly<Record<string, unknown>>;

const lower = (text: Text) => text?.toLowerCase() ?? null;
const known = <T>(value: T | null): value is T => value !== null;
const DAY = 86_400_000;

/** By code point, as texts are compared; `<` compares UTF-16. */
function compareTexts(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function byKey<T>(rows: readonly T[], keyOf: (row: T) => string | number | null): Map<string | number, T[]> {
  const found = new Map<string | number, T[]>();
  for (const row of rows) {
    const key = keyOf(row);
    if (key === null) continue;
    const of = found.get(key);
    if (of === undefined) found.set(key, [row]);
    else of.push(row);
  }
  return found;
}

const later = (a: Place, b: Place) =>
  a.block_number > b.block_number || (a.block_number === b.block_number && a.log_index > b.log_index);

/** The last of the events. */
function lastOf<T extends Place>(events: readonly T[] = []): T | undefined {
  let last: T | undefined;
  for (const event of events) if (last === undefined || later(event, last)) last = event;
  return last;
}

function latestMetadata<T extends Metadata>(rows: readonly T[], addressOf: (row: T) => Text) {
  const found = new Map<string | number, { name: Text; website: Text }>();
  for (const [address, its] of byKey(rows, (row) => lower(addressOf(row)))) {
    const latest = Math.max(...its.map((row) => row.updated_at));
    const text = (value: Text) => value ?? '\u{10ffff}';
    const [first] = its
      .filter((row) => row.updated_at === latest)
      .toSorted((a, b) => compareTexts(text(a.name), text(b.name)) || compareTexts(text(a.website), text(b.website)));
    found.set(address, { name: first?.name ?? null, website: first?.website ?? null });
  }
  return found;
}

/** Net shares of each staker with each operator: operator → staker and strategy → wei. */
function reckon(sources: RestakingSources) {
  const net = new Map<string, { staker: Text; strategy: Text; shares: bigint }[]>();
  const add = ({ operator, staker, strategy, shares }: ShareChange, sign: bigint) => {
    if (operator === null) return;
    const its = net.get(operator.toLowerCase()) ?? [];
    net.set(operator.toLowerCase(), its);
    const change = sign * (shares ?? 0n);
    const found = its.find((one) => one.staker === lower(staker) && one.strategy === lower(strategy));
    if (found === undefined) its.push({ staker: lower(staker), strategy: lower(strategy), shares: change });
    else found.shares += change;
  };
  for (const change of sources.increased) add(change, 1n);
  for (const change of sources.decreased) add(change, -1n);

  const ratesOf = byKey(sources.rates, ({ strategy, rate }) => (rate === null ? null : lower(strategy)));
  const pairsOf = byKey(sources.statuses, ({ avs, operator }) =>
    avs === null || operator === null ? null : `${avs} ${operator}`.toLowerCase(),
  );
  const registered = [...pairsOf].flatMap(([pair, events]) => {
    const last = lastOf(events);
    const [avs = '', operator = ''] = String(pair).split(' ');
    return last?.status === 1 ? [{ avs, operator, at: last.block_time }] : [];
  });
  /** Of these operators together: each strategy's value, and the stakers. */
  const held = (operators: readonly string[]) => {
    const all = operators.flatMap((operator) => net.get(operator) ?? []);
    const values = STRATEGIES.map(({ contract }) => {
      const wei = all.filter((one) => one.strategy === contract).reduce((sum, one) => sum + one.shares, 0n);
      // There is one zero.
      return (Number(wei) / 1e18) * (lastOf(ratesOf.get(contract))?.rate ?? 1) + 0;
    });
    const stakers = new Set(
      all
        .filter((one) => one.shares > 0n)
        .map((one) => one.staker)
        .filter(known),
    ).size;
    return { values, stakers };
  };
  return { net, registered, held };
}

const STRATEGY_COLUMNS = [
  ...Array.from({ length: 12 }, (_, i) => `strategy_${String(i + 1).padStart(2, '0')}_TVL`),
  'beacon_chain_ETH_TVL',
  'EIGEN_TVL',
];
const named = (values: readonly number[]) => Object.fromEntries(values.map((v, i) => [STRATEGY_COLUMNS[i], v]));
const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
const byTotal = (address: string) => (a: Row, b: Row) =>
  Number(b.total_TVL) - Number(a.total_TVL) || compareTexts(String(a[address]), String(b[address]));

export function naiveOperatorStats(sources: RestakingSources): readonly Row[] {
  const { net, held } = reckon(sources);
  const names = latestMetadata(sources.operators, ({ operator }) => operator);
  const all = new Set([
    ...net.keys(),
    ...sources.statuses.map(({ operator }) => lower(operator)).filter(known),
    ...(names.keys() as Iterable<string>),
  ]);
  return [...all]
    .map((operator) => {
      const { values, stakers } = held([operator]);
      return {
        operator_name: names.get(operator)?.name ?? null,
        operator_contract_address: operator,
        total_TVL: sumOf(values.slice(0, 13)),
        num_stakers: stakers,
        ...named(values),
      };
    })
    .toSorted(byTotal('operator_contract_address'));
}

export function naiveAvsStats(sources: RestakingSources): readonly Row[] {
  const { registered, held } = reckon(sources);
  const names = latestMetadata(sources.avss, ({ avs }) => avs);
  const all = new Set([
    ...sources.statuses.map(({ avs }) => lower(avs)).filter(known),
    ...(names.keys() as Iterable<string>),
  ]);
  return [...all]
    .map((avs) => {
      const operators = registered.filter((pair) => pair.avs === avs).map(({ operator }) => operator);
      const { values, stakers } = held(operators);
      return {
        avs_name: names.get(avs)?.name ?? null,
        avs_contract_address: avs,
        num_operators: operators.length,
        total_TVL: sumOf(values),
        num_stakers: stakers,
        ...named(values.slice(0, 13)),
      };
    })
    .toSorted(byTotal('avs_contract_address'));
}

export function naiveMapping(sources: RestakingSources): readonly Row[] {
  const { registered } = reckon(sources);
  const operators = latestMetadata(sources.operators, ({ operator }) => operator);
  const avss = latestMetadata(sources.avss, ({ avs }) => avs);
  return registered
    .map(({ avs, operator, at }) => ({
      avs_contract_address: avs,
      avs_name: avss.get(avs)?.name ?? null,
      avs_website: avss.get(avs)?.website ?? null,
      operator_contract_address: operator,
      operator_name: operators.get(operator)?.name ?? null,
      operator_website: operators.get(operator)?.website ?? null,
      registered_time: `${new Date(at).toISOString().replace('T', ' ').slice(0, 23)} UTC`,
    }))
    .toSorted(
      (a, b) =>
        compareTexts(a.avs_contract_address, b.avs_contract_address) ||
        compareTexts(a.operator_contract_address, b.operator_contract_address),
    );
}

/** The three most frequent, ties by name. */
function topThree(names: readonly string[]): readonly string[] {
  return [...byKey(names, (name) => name).entries()]
    .toSorted(([a, as], [b, bs]) => bs.length - as.length || compareTexts(String(a), String(b)))
    .slice(0, 3)
    .map(([name]) => String(name));
}

/** To the millionth, as the nearest double; null if none is known. */
function exactSum(amounts: readonly (number | null)[]): number | null {
  const millionths = amounts.filter(known).map((amount) => BigInt(amount.toFixed(6).replace('.', '')));
  return millionths.length === 0 ? null : Number(`${millionths.reduce((sum, one) => sum + one, 0n)}e-6`);
}

const TIERS = [
  ['vip', 500, 10],
  ['influencer', 100, 5],
  ['star', 25, 3],
  ['active', 0, 3],
  ['npc', 0, 1],
  ['not active', 0, 0],
] as const;

export function naivePoints(sources: PointsSources, asOf: number): readonly Row[] {
  const recent = (at: number) => at > asOf - 14 * DAY && at <= asOf;
  const accountOf = new Map<string, number>();
  for (const { social_id, wallet } of sources.verified) {
    if (wallet === null) continue;
    const address = wallet.toLowerCase();
    accountOf.set(address, Math.min(social_id, accountOf.get(address) ?? social_id));
  }
  const nameOf = (account: number) =>
    sources.profiles
      .filter(({ social_id }) => social_id === account)
      .map(({ social_name }) => social_name)
      .filter(known)
      .toSorted(compareTexts)[0] ?? null;

  const ofAccount = (account: number | undefined) => {
    const casts = sources.casts.filter(({ social_id }) => social_id === account);
    const engagements = sources.engagements.filter(
      ({ social_id, engager_social_id }) => social_id === account && engager_social_id !== account,
    );
    const engagers = [...byKey(engagements, ({ engager_social_id }) => engager_social_id)]
      .map(([id, its]) => ({ id: Number(id), count: its.length, name: nameOf(Number(id)) ?? String(id) }))
      .toSorted((a, b) => b.count - a.count || compareTexts(a.name, b.name) || a.id - b.id);
    return {
      casts,
      engagements,
      columns: {
        on_social: account !== undefined,
        social_id: account ?? null,
        social_name: account === undefined ? null : nameOf(account),
        connected_wallets: [...accountOf]
          .filter(([, its]) => its === account)
          .map(([wallet]) => wallet)
          .toSorted(compareTexts),
        top_channels: topThree(casts.map(({ channel }) => channel).filter(known)),
        top_domains: topThree(
          casts
            .flatMap(({ embedded_domains }) => embedded_domains ?? [])
            .map(lower)
            .filter(known),
        ),
        top_engagers: engagers.slice(0, 3).map(({ name }) => name),
        num_followers: new Set(
          sources.followers
            .filter(({ social_id }) => social_id === account)
            .map(({ follower_social_id }) => follower_social_id),
        ).size,
      },
    };
  };

  const quests = byKey(sources.quests, ({ wallet }) => lower(wallet));
  const rows = [...quests].map(([key, its]) => {
    const wallet = String(key);
    const { casts, engagements, columns } = ofAccount(accountOf.get(wallet));
    const transactions = sources.transactions.filter(({ from_address }) => lower(from_address) === wallet);
    const actions =
      casts.filter(({ cast_at }) => recent(cast_at)).length +
      transactions.filter(({ block_time }) => recent(block_time)).length;
    const engaged = engagements.filter(({ engaged_at }) => recent(engaged_at)).length;
    const [tier] = TIERS.find(([, engagedMin, actionsMin]) => engaged >= engagedMin && actions >= actionsMin) ?? [];
    const first = Math.min(...transactions.map(({ block_time }) => block_time));
    const contracts = [
      ...new Set(
        sources.deployed.filter(({ deployer }) => lower(deployer) === wallet).map(({ contract }) => lower(contract)),
      ),
    ];
    return {
      wallet,
      current_pts: exactSum(its.map((quest) => quest.points)),
      num_quests: its.length,
      ...columns,
      L14D_active_tier: tier,
      num_onchain_txns: transactions.length,
      days_old_onchain: transactions.length === 0 ? null : Math.floor(asOf / DAY) - Math.floor(first / DAY),
      nft_volume_usd:
        exactSum(
          sources.nftTrades
            .filter(({ buyer, seller }) => lower(buyer) === wallet || lower(seller) === wallet)
            .map(({ amount_usd }) => amount_usd),
        ) ?? 0,
      dex_volume_usd:
        exactSum(
          sources.dexTrades.filter(({ taker }) => lower(taker) === wallet).map(({ amount_usd }) => amount_usd),
        ) ?? 0,
      contracts_deployed: contracts.length,
      times_contracts_called: sources.calls.filter(({ contract }) => contracts.includes(lower(contract))).length,
    };
  });
  const rank = (row: Row) => (row.current_pts === null ? Number.NEGATIVE_INFINITY : Number(row.current_pts));
  return rows.toSorted((a, b) => Math.sign(rank(b) - rank(a) || 0) || compareTexts(a.wallet, b.wallet));
}
