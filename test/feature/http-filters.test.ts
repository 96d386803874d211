/**
 * Contract §5 over HTTP: the forms that clients send, with the rows they find; each class of error with its code; each bound
 * with its own error. filters-and-sorts.property.test.ts holds what filters mean, and test/golden/ has all messages.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEnvelope } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';

const RESULTS = '/v1/query/7/results';

const TRADES = [
  {
    number: 1,
    overtip_amount: -0.5,
    chain: 'base',
    a: '0xA0b8',
    b: '0xff',
    tx_to: '0x6a3e',
    token_pair: 'USDC-WETH',
    block_time: '2024-03-05 15:02:59.999',
    project: 'uniswap',
    'special, column': 'ABC',
    amount_usd: 10.5,
  },
  {
    number: 2,
    overtip_amount: 0,
    chain: 'base',
    a: '0xa0b8',
    b: '0xa0b8',
    tx_to: '0xdbf8',
    token_pair: 'DAI-USDC',
    block_time: '2024-03-05 15:03:00',
    project: 'balancer',
    'special, column': 'abc',
    amount_usd: 99,
  },
  {
    number: 3,
    overtip_amount: 0.25,
    chain: 'ethereum',
    a: '0xA0b8',
    b: '0x00',
    tx_to: '0x6a3eff',
    token_pair: 'WBTC-WETH',
    block_time: '2024-03-05 15:03:01',
    project: 'curve',
    'special, column': 'A',
    amount_usd: 10.5,
  },
  {
    number: 4,
    overtip_amount: null,
    chain: null,
    a: null,
    b: '0xa0b8',
    tx_to: '0x6a3e',
    token_pair: 'usdc-DAI',
    block_time: '2024-03-06 00:00:00',
    project: 'uniswap',
    'special, column': 'ABC',
    amount_usd: null,
  },
] as const;

const TYPES = {
  number: 'bigint',
  overtip_amount: 'double',
  tx_to: 'varbinary',
  block_time: 'timestamp(3) with time zone',
  amount_usd: 'decimal(18, 2)',
};

async function publishTrades(service: HttpService): Promise<void> {
  const lines = TRADES.map((trade) => `${JSON.stringify(trade)}\n`).join('');
  await service.publish(7, lines, { format: 'ndjson', types: TYPES });
}

/** The numbers of the rows of the answer, in its order. */
async function numbers(
  service: HttpService,
  parameters: Readonly<Record<string, string>>,
): Promise<readonly unknown[]> {
  const { result } = await getEnvelope(service, `${RESULTS}?${new URLSearchParams(parameters)}`);
  return result.rows.map((row) => row.number);
}

/** Status, code and text of a request that must be refused. */
async function refusal(
  service: HttpService,
  parameters: Readonly<Record<string, string>>,
): Promise<readonly [number, string | null, unknown]> {
  const response = await service.get(`${RESULTS}?${new URLSearchParams(parameters)}`);
  const { error } = (await response.json()) as { readonly error: unknown };
  return [response.status, response.headers.get('x-error-code'), error];
}

test('the forms that clients send work as they are', async (t) => {
  const service = await startHttpService(t);
  await publishTrades(service);
  const expected: Readonly<Record<string, readonly number[]>> = {
    'number < 3': [1, 2],
    'overtip_amount>0': [3],
    "chain=\"base\" AND a = '0xA0b8' or b = '0xa0b8'": [1, 2, 4],
    'tx_to IN (0x6a3e, 0xdbf8)': [1, 2, 4],
    'tx_to in (0x6A3E)': [1, 4],
    "token_pair like '%USDC%'": [1, 2],
    "block_time >= '2024-03-05 15:03' AND (project = 'uniswap' OR project = 'balancer')": [2, 4],
    "block_time < '2024-03-06' and block_time >= '2024-03-05 15:03:01'": [3],
    '"special, column" = \'ABC\'': [1, 4],
    'amount_usd=10.50': [1, 3],
    'not (chain = "base") or chain is null': [3, 4],
  };
  const found: Record<string, readonly unknown[]> = {};
  for (const filters of Object.keys(expected)) found[filters] = await numbers(service, { filters });
  assert.deepEqual(found, expected);
  const sorted = async (sort_by: string) => await numbers(service, { sort_by });
  assert.deepEqual(await sorted('amount_usd desc, block_time'), [2, 1, 3, 4]);
  assert.deepEqual(await sorted('amount_usd DESC NULLS FIRST, block_time DESC'), [4, 2, 3, 1]);
  assert.deepEqual(await sorted('"special, column", number desc'), [3, 4, 1, 2]);
  assert.deepEqual(
    await numbers(service, { filters: 'amount_usd > 1', sort_by: 'number desc', limit: '1', offset: '1' }),
    [2],
  );
  assert.deepEqual(await numbers(service, { filters: "project = 'uniswap'", columns: 'chain,number' }), [1, 4]);
});

test('each class of error has its status, its code and a line that tells how to mend it', async (t) => {
  const service = await startHttpService(t);
  await publishTagged(service);
  const refused = {
    filter_syntax: [
      { filters: 'number == 1' },
      'filters, position 8: found "==", expected a comparison such as =, <, in, like or is null. Did you mean "="? In: number »==« 1',
    ],
    filter_column: [
      { filters: 'numbr = 1' },
      'filters, position 1: there is no column "numbr". Did you mean "number"? In: »numbr« = 1',
    ],
    filter_type: [
      { filters: "number like '1%'" },
      `filters, position 1: like compares text, and "number" is bigint. Use =, < or between. In: »number« like '1%'`,
    ],
    filter_value: [
      { filters: "block_time > '2024-02-30'" },
      `filters, position 14: found '2024-02-30', expected a date or time such as '2024-03-05' or '2024-03-05 15:03:07'. February 2024 has 29 days. Column "block_time" is timestamp(3). In: block_time > »'2024-02-30'«`,
    ],
    filter_unsupported: [
      { filters: 'lower(number) = 1' },
      'filters, position 1: found "lower", expected a condition such as amount > 5. There are no functions here, except contains(column, value) for arrays. In: »lower«(number) = 1',
    ],
    sort_syntax: [
      { sort_by: 'number descending' },
      'sort_by, position 8: found "descending", expected "desc", "asc", "nulls first", "nulls last", "," or the end. Did you mean "desc"? In: number »descending«',
    ],
    sort_column: [
      { sort_by: 'blocktime' },
      'sort_by, position 1: there is no column "blocktime". Did you mean "block_time"? In: »blocktime«',
    ],
    sort_type: [
      { sort_by: 'tags' },
      'sort_by, position 1: "tags" is array(varchar), and values of that type have no order. In: »tags«',
    ],
    unknown_column: [{ columns: 'block_tim' }, 'columns: there is no column "block_tim". Did you mean "block_time"?'],
  } as const;
  for (const [code, [parameters, message]] of Object.entries(refused)) {
    assert.deepEqual(await refusal(service, parameters), [400, code, message]);
  }
});

test('each bound is a setting with an error of its own', async (t) => {
  const service = await startHttpService(t, {
    QRS_FILTER_LENGTH_MAX: '60',
    QRS_FILTER_TERMS_MAX: '2',
    QRS_FILTER_DEPTH_MAX: '2',
    QRS_FILTER_IN_MAX: '3',
    QRS_SORT_KEYS_MAX: '1',
  });
  await publishTagged(service);
  const bounds = [
    [
      { filters: `number = ${'1'.repeat(52)}` },
      'filter_limit',
      'filters, position 61: the expression has 61 characters, at most 60 are read. In: …111111111111111111111111»1«',
    ],
    [
      { filters: 'number = 1 or number = 2 or number = 3' },
      'filter_limit',
      'filters, position 29: the expression has more than 2 conditions; in (…) is one, however many values it lists. In: …er = 1 or number = 2 or »number« = 3',
    ],
    [
      { filters: 'not (not (number = 1))' },
      'filter_limit',
      'filters, position 6: parentheses and "not" are nested more than 2 deep. In: not (»not« (number = 1))',
    ],
    [
      { filters: 'number in (1, 2, 3, 4)' },
      'filter_limit',
      'filters, position 21: the list has more than 3 values. In: number in (1, 2, 3, »4«)',
    ],
    [
      { sort_by: 'number, block_time' },
      'sort_limit',
      'sort_by, position 9: there are more than 1 columns to sort by. In: number, »block_time«',
    ],
    [
      { sort_by: `number ${' '.repeat(54)}` },
      'sort_limit',
      'sort_by, position 61: the expression has 61 characters, at most 60 are read. In: …                        » «',
    ],
  ] as const;
  for (const [parameters, code, message] of bounds) {
    assert.deepEqual(await refusal(service, parameters), [400, code, message]);
  }
  // A filter just within the bounds is read.
  assert.deepEqual(await numbers(service, { filters: `number = ${'0'.repeat(50)}1`, sort_by: 'number' }), [1]);
  assert.deepEqual(await numbers(service, { filters: 'not (number in (2, 3, 4)) or number = 5' }), [1]);
});

async function publishTagged(service: HttpService): Promise<void> {
  const types = { number: 'bigint', block_time: 'timestamp(3)', tags: 'array(varchar)' };
  await service.publish(7, '{"number":1,"block_time":"2024-03-05 00:00:00","tags":["x"]}\n', {
    format: 'ndjson',
    types,
  });
}

/** A filter that takes DuckDB many seconds over `publishSlow`'s rows, and that no row passes. */
const SLOW_FILTER = Array.from({ length: 900 }, (_, i) => `w like '%${i}_a%'`).join(' or ');

async function publishSlow(service: HttpService): Promise<void> {
  const lines = Array.from({ length: 20_000 }, (_, n) => `${n},${String(n).repeat(40)}`).join('\n');
  await service.publish(7, `number,w\n${lines}\n`, { types: { number: 'bigint', w: 'varchar' } });
}

test('504: a filter that takes too long, read directly or through a view', async (t) => {
  const service = await startHttpService(t, {
    QRS_READ_TIMEOUT: '100ms',
    QRS_VIEW_TIMEOUT: '200ms',
    QRS_DIRECT_ROWS: '0',
  });
  await publishSlow(service);
  const message = (seconds: number) =>
    `the read exceeded its limit of ${seconds} s; ask for fewer rows or columns, or a simpler filter`;
  assert.deepEqual(await refusal(service, { filters: SLOW_FILTER }), [504, 'read_timeout', message(0.1)]);
  assert.deepEqual(await refusal(service, { filters: SLOW_FILTER, offset: '1' }), [504, 'read_timeout', message(0.2)]);
  // A limit that was reached is a 504, not a fault.
  assert.deepEqual(service.faults, []);
});

test('a client that leaves stops the making of its view, and the next in the queue gets its turn', {
  timeout: 180_000,
}, async (t) => {
  const service = await startHttpService(t, { QRS_HEAVY_RUNNING: '1', QRS_DIRECT_ROWS: '0' });
  await publishSlow(service);
  const leaving = new AbortController();
  const slow = service.get(`${RESULTS}?${new URLSearchParams({ filters: SLOW_FILTER, offset: '1' })}`, {
    signal: leaving.signal,
  });
  await untilHeavyRuns(service);
  const next = numbers(service, { filters: 'number < 3', sort_by: 'number desc', offset: '1' });
  leaving.abort(new Error('the client leaves'));
  await assert.rejects(slow, /the client leaves/);
  assert.deepEqual(await next, [1, 0]);
  const left = service.observed.find((seen) => seen.kind === 'answered' && seen.aborted);
  assert(left?.kind === 'answered' && left.millis < 30_000);
});

/** Asks the metrics until a view is being made, a bounded number of times. */
async function untilHeavyRuns(service: HttpService): Promise<void> {
  for (let tries = 0; tries < 1000; tries += 1) {
    const metrics = await (await service.get('/metrics')).text();
    if (metrics.includes('qrs_queue_running{queue="heavy"} 1')) return;
  }
  throw new Error('no view is being made');
}

test('a large result, sorted: first rows are found by their keys, and read where they are', async (t) => {
  const service = await startHttpService(t);
  const rows = Array.from({ length: 140_000 }, (_, n) => `${n},${n % 1000},"row ${n}"\n`);
  await service.publish(7, `n,k,w\n${rows.join('')}`);
  const page = async (parameters: Readonly<Record<string, string>>) => {
    const { result, next_offset } = await service.json(`/v1/query/7/results?${new URLSearchParams(parameters)}`);
    return { rows: (result as { rows: readonly Record<string, unknown>[] }).rows, next_offset };
  };
  assert.deepEqual(await page({ sort_by: 'k desc', limit: '3' }), {
    rows: [
      { n: 999, k: 999, w: 'row 999' },
      { n: 1999, k: 999, w: 'row 1999' },
      { n: 2999, k: 999, w: 'row 2999' },
    ],
    next_offset: 3,
  });
  // The last thousand rows, the largest first.
  const last = await page({ sort_by: 'k desc', filters: 'n >= 139000', limit: '1000', columns: 'w' });
  assert.deepEqual(
    last.rows.map(({ w }) => w),
    Array.from({ length: 1000 }, (_, index) => `row ${139_999 - index}`),
  );
  assert.equal(last.next_offset, undefined);
  assert.deepEqual(await page({ sort_by: 'k desc', filters: 'n > 140000', limit: '3' }), {
    rows: [],
    next_offset: undefined,
  });
  assert.deepEqual(await page({ sort_by: 'k desc', limit: '0' }), { rows: [], next_offset: undefined });
});
