/** The curated datasets over HTTP: every shared parameter, on columns of each type that they have. */
import assert from 'node:assert/strict';
import { before, describe, type TestContext, test } from 'node:test';
import { writeDemoSources } from '../../src/datasets/demo-sources/write-demo-sources.ts';
import { sleep } from '../real-time.ts';
import { newFolder } from './dataset-fixture.ts';
import { type Envelope, getEnvelope, getText } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';

type Row = Envelope['result']['rows'][number];

const POINTS = '/v1/points/alpha/pts';
const OPERATORS = '/v1/restaking/operator-stats';
const AVSS = '/v1/restaking/avs-stats';
const MAPPING = '/v1/restaking/operator-to-avs-mapping';

const STRATEGIES = Array.from({ length: 12 }, (_, i) => `strategy_${String(i + 1).padStart(2, '0')}_TVL double`);

let sources: string;

before(async () => {
  sources = await newFolder();
  const size = { operators: 12, avss: 4, stakers: 80, wallets: 80 };
  const until = Date.parse('2024-03-05T00:00:00Z');
  await writeDemoSources(sources, { size, until, signal: new AbortController().signal, sleep });
});

/** A service that has refreshed the dataset (or all, `--all`) once. */
async function startRefreshed(t: TestContext, name: string, environment: Readonly<Record<string, string>> = {}) {
  const service = await startHttpService(t, { QRS_SOURCES_DIR: sources, ...environment });
  await service.commandLine.get('datasets', 'refresh', name);
  return service;
}

async function rowsOf(service: HttpService, path: string, parameters: Readonly<Record<string, string>> = {}) {
  return (await getEnvelope(service, `${path}?${new URLSearchParams(parameters)}`)).result.rows;
}

const wallets = (rows: readonly Row[]) => rows.map((row) => row.wallet);

describe('the addresses', () => {
  test('answer with the columns of the specification, under both prefixes', async (t) => {
    const service = await startRefreshed(t, '--all');
    const columns: Record<string, readonly string[]> = {};
    for (const path of [POINTS, OPERATORS, AVSS, MAPPING]) {
      const { query_id, state, result } = await getEnvelope(service, `${path}?limit=1`);
      const { column_names, column_types } = result.metadata;
      columns[path] = [`${query_id} ${state}`, ...column_names.map((name, i) => `${name} ${column_types[i]}`)];
      const other = await getEnvelope(service, `/api${path}/?limit=1`);
      assert.deepEqual(other.result, result);
    }
    assert.deepEqual(columns, {
      [POINTS]: [
        '990000001 QUERY_STATE_COMPLETED',
        'wallet varchar',
        'current_pts double',
        'num_quests bigint',
        'on_social boolean',
        'social_id bigint',
        'social_name varchar',
        'connected_wallets array(varchar)',
        'L14D_active_tier varchar',
        'top_channels array(varchar)',
        'top_domains array(varchar)',
        'top_engagers array(varchar)',
        'num_followers bigint',
        'num_onchain_txns bigint',
        'days_old_onchain bigint',
        'nft_volume_usd double',
        'dex_volume_usd double',
        'contracts_deployed bigint',
        'times_contracts_called bigint',
      ],
      [OPERATORS]: [
        '990000002 QUERY_STATE_COMPLETED',
        'operator_name varchar',
        'operator_contract_address varchar',
        'total_TVL double',
        'num_stakers double',
        ...STRATEGIES,
        'beacon_chain_ETH_TVL double',
        'EIGEN_TVL double',
      ],
      [AVSS]: [
        '990000003 QUERY_STATE_COMPLETED',
        'avs_name varchar',
        'avs_contract_address varchar',
        'num_operators bigint',
        'total_TVL double',
        'num_stakers bigint',
        ...STRATEGIES,
        'beacon_chain_ETH_TVL double',
      ],
      [MAPPING]: [
        '990000004 QUERY_STATE_COMPLETED',
        'avs_contract_address varchar',
        'avs_name varchar',
        'avs_website varchar',
        'operator_contract_address varchar',
        'operator_name varchar',
        'operator_website varchar',
        'registered_time varchar',
      ],
    });
  });

  test('name the strategies by token if the setting says so', async (t) => {
    const service = await startRefreshed(t, 'operator-stats', { QRS_STRATEGY_COLUMNS: 'token' });
    const { metadata } = (await getEnvelope(service, `${OPERATORS}?limit=0`)).result;
    assert.deepEqual(metadata.column_names.slice(3, 6), ['num_stakers', 'cbETH_TVL', 'stETH_TVL']);
  });

  test('need a key, have no CSV, and are 404 before the first refresh', async (t) => {
    const service = await startHttpService(t, { QRS_SOURCES_DIR: sources });
    assert.deepEqual(await getText(service, POINTS, ''), [401, '{"error":"invalid API Key"}']);
    const unknown = 'not found: No execution found for the latest version of the given query';
    assert.deepEqual(await getText(service, POINTS), [404, `{"error":"${unknown}"}`]);
    assert.equal((await service.get(`${POINTS}/csv`)).status, 404);
    assert.equal((await service.get(POINTS, { method: 'POST' })).status, 404);
  });

  test('take any number as queryID: the specification lists it, and the address names no query', async (t) => {
    const service = await startRefreshed(t, 'avs-stats');
    for (const id of ['990000003', '7', '']) assert.equal((await service.get(`${AVSS}?queryID=${id}`)).status, 200);
    assert.deepEqual(await getText(service, `${AVSS}?queryID=x`), [
      400,
      '{"error":"queryID: found \\"x\\", expected a whole number, at least 0"}',
    ]);
  });
});

describe('filters', () => {
  const median = (rows: readonly Row[], name: string) =>
    Number(rows.map((row) => row[name]).toSorted((a, b) => Number(a) - Number(b))[Math.floor(rows.length / 2)]);

  test('compare each type of column', async (t) => {
    const service = await startRefreshed(t, 'points');
    const all = await rowsOf(service, POINTS);
    const points = median(all, 'current_pts');
    const named = all.find((row) => typeof row.social_name === 'string')?.social_name;
    const linked = all.find((row) => row.on_social)?.wallet;
    const has = (row: Row, name: string, value: unknown) => (row[name] as readonly unknown[]).includes(value);
    const cases: readonly (readonly [string, (row: Row) => boolean])[] = [
      [`current_pts >= ${points}`, (row) => Number(row.current_pts) >= points],
      ['num_quests between 2 and 5', ({ num_quests: n }) => Number(n) >= 2 && Number(n) <= 5],
      ['on_social', (row) => row.on_social === true],
      ['not on_social', (row) => row.on_social === false],
      ['social_id is null', (row) => row.social_id === null],
      [`social_name = '${named}'`, (row) => row.social_name === named],
      [`wallet = ${all[3]?.wallet}`, (row) => row.wallet === all[3]?.wallet],
      ["wallet like '0x1%'", (row) => String(row.wallet).startsWith('0x1')],
      ["L14D_active_tier in ('active', 'npc')", (row) => ['active', 'npc'].includes(String(row.L14D_active_tier))],
      ["contains(top_channels, 'defi')", (row) => has(row, 'top_channels', 'defi')],
      [`contains(connected_wallets, '${linked}')`, (row) => has(row, 'connected_wallets', linked)],
      ['num_onchain_txns > num_followers', (row) => Number(row.num_onchain_txns) > Number(row.num_followers)],
      [
        "not contains(top_channels, 'defi') and (nft_volume_usd > 0 or dex_volume_usd > 0)",
        (row) => !has(row, 'top_channels', 'defi') && Number(row.nft_volume_usd) + Number(row.dex_volume_usd) > 0,
      ],
    ];
    for (const [filters, matches] of cases) {
      const expected = all.filter(matches);
      assert.ok(expected.length > 0 && expected.length < all.length, `${filters}: ${expected.length} rows`);
      assert.deepEqual(await rowsOf(service, POINTS, { filters }), expected, filters);
    }
  });
});

describe('sort_by', () => {
  /** By code point, nulls last in both directions, ties in stored order, as `sort_by` promises. */
  const sorted = (rows: readonly Row[], name: string, descending: boolean) =>
    rows.toSorted(({ [name]: a }, { [name]: b }) => {
      if (a === b) return 0;
      if (a === null || b === null) return a === null ? 1 : -1;
      return (Number(a) > Number(b) || (typeof a === 'string' && a > String(b)) ? 1 : -1) * (descending ? -1 : 1);
    });

  test('sorts by each type of column that has an order', async (t) => {
    const service = await startRefreshed(t, 'points');
    const all = await rowsOf(service, POINTS);
    for (const name of ['wallet', 'current_pts', 'on_social', 'social_id', 'social_name', 'days_old_onchain']) {
      for (const direction of ['asc', 'desc']) {
        const sortBy = `${name} ${direction}`;
        const found = wallets(await rowsOf(service, POINTS, { sort_by: sortBy }));
        assert.deepEqual(found, wallets(sorted(all, name, direction === 'desc')), sortBy);
      }
    }
  });

  test('says that an array has no order', async (t) => {
    const service = await startRefreshed(t, 'points');
    const [status, text] = await getText(service, `${POINTS}?sort_by=top_channels`);
    assert.equal(status, 400);
    assert.match(text, /top_channels\\" is array\(varchar\), and values of that type have no order/);
  });
});

describe('columns, pages and samples', () => {
  test('columns come as asked for, also under a filter and a sort by other columns', async (t) => {
    const service = await startRefreshed(t, 'avs-stats');
    const all = await rowsOf(service, AVSS);
    const rows = await rowsOf(service, AVSS, {
      columns: 'num_operators,avs_name',
      filters: 'num_stakers > 0',
      sort_by: 'total_TVL asc',
    });
    const expected = all
      .filter((row) => Number(row.num_stakers) > 0)
      .toReversed()
      .map(({ num_operators, avs_name }) => ({ num_operators, avs_name }));
    assert.deepEqual(rows, expected);
  });

  test('joined pages are the whole result', async (t) => {
    const service = await startRefreshed(t, 'operator-stats');
    const all = await rowsOf(service, OPERATORS);
    const joined: Row[] = [];
    for (let offset = 0; offset < all.length; offset += 5) {
      const { result, next_offset } = await getEnvelope(service, `${OPERATORS}?limit=5&offset=${offset}`);
      joined.push(...result.rows);
      assert.equal(next_offset, offset + 5 < all.length ? offset + 5 : undefined);
      assert.equal(result.metadata.total_row_count, all.length);
    }
    assert.deepEqual(joined, all);
  });

  test('a sample has rows of the result, each once', async (t) => {
    const service = await startRefreshed(t, 'points');
    const all = new Set(wallets(await rowsOf(service, POINTS)));
    const sample = wallets(await rowsOf(service, POINTS, { sample_count: '10' }));
    assert.equal(new Set(sample).size, 10);
    assert.ok(sample.every((wallet) => all.has(wallet)));
    assert.equal((await service.get(`${POINTS}?sample_count=10&limit=5`)).status, 400);
  });

  test('the datapoint limit cuts a page, unless it is lifted', async (t) => {
    const service = await startRefreshed(t, 'operator-stats', { QRS_MAX_DATAPOINTS: '100' });
    const cut = await getEnvelope(service, OPERATORS);
    assert.deepEqual([cut.result.rows.length, cut.next_offset], [5, 5], '5 rows × 18 columns = 90 datapoints');
    const whole = await getEnvelope(service, `${OPERATORS}?ignore_max_datapoints_per_request=true`);
    assert.deepEqual([whole.result.rows.length, whole.next_offset], [12, undefined]);
  });

  test('allow_partial_results lets a truncated dataset through', async (t) => {
    const service = await startRefreshed(t, 'points', { QRS_MAX_RESULT_BYTES: '5000' });
    const [status, text] = await getText(service, POINTS);
    assert.equal(status, 400);
    assert.match(text, /Partial Result, please request with 'allow_partial_results=true'/);
    const { state, result } = await getEnvelope(service, `${POINTS}?allow_partial_results=true`);
    assert.equal(state, 'QUERY_STATE_COMPLETED_PARTIAL');
    assert.ok(result.rows.length > 0 && result.rows.length < 80);
  });
});
