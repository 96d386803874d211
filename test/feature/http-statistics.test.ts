/** Statistics of the columns of a result over HTTP (contract §8), against the same worked out by hand, over several parts and row groups. */
import assert from 'node:assert/strict';
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { allRowsOf } from '../../src/domain/result-set.ts';
import { startHttpService } from './http-service.ts';
import { assertRefused, sender } from './http-writer.ts';
import { Random } from './random-results.ts';

const LAYOUT = { rowGroupRows: 2048, rowGroupsPerPart: 1 };
const HUGE = '115792089237316195423570985008687907853269984665640564039457584007913129639935';

interface Statistics {
  readonly execution_id: string;
  readonly row_count: number;
  readonly columns: readonly Readonly<Record<string, unknown>>[];
}

test('every type has its own: extremes exact to the last digit, nulls apart, the most frequent first', async (t) => {
  const service = await startHttpService(t);
  const types = {
    u: 'uint256',
    i: 'int256',
    d: 'decimal(20, 3)',
    x: 'double',
    t: 'varchar',
    b: 'boolean',
    at: 'timestamp(3)',
    day: 'date',
  };
  const csv = [
    'u,i,d,x,t,b,at,day',
    `9,-9,0.001,1.5,base,true,2024-03-05 20:50:59.123,2024-03-05`,
    `${HUGE},-10,-10.5,NaN,eth,false,2024-03-06 00:00:00,2024-03-06`,
    `10,11,3,2.5,base,true,2024-03-05 20:50:59.123,2024-03-07`,
    `,,,,,,,`,
  ].join('\n');
  const { id } = await service.publish(7, `${csv}\n`, { types });
  const text = await (await service.get(`/v1/execution/${id}/statistics`)).text();
  const { columns, row_count } = JSON.parse(text) as Statistics;
  assert.equal(row_count, 4);
  assert.deepEqual(
    columns.map(({ name, type, null_count }) => [name, type, null_count]),
    Object.entries(types).map(([name, type]) => [name, type, 1]),
  );
  const of = (name: string) => columns.find((column) => column.name === name) ?? assert.fail(name);
  assert.deepEqual([of('u').min, of('u').max], ['9', HUGE]);
  assert.deepEqual([of('i').min, of('i').max], ['-10', '11']);
  assert.deepEqual([of('d').min, of('d').max], ['-10.500', '3.000']);
  assert.deepEqual([of('x').min, of('x').max, of('x').mean], [1.5, 'NaN', 2]);
  assert.deepEqual([of('t').shortest, of('t').longest, of('t').distinct_count], [3, 4, 2]);
  assert.deepEqual(of('t').top, [
    { value: 'base', count: 2 },
    { value: 'eth', count: 1 },
  ]);
  assert.deepEqual(of('b').top, [
    { value: true, count: 2 },
    { value: false, count: 1 },
  ]);
  assert.deepEqual([of('at').min, of('at').max], ['2024-03-05 20:50:59.123', '2024-03-06 00:00:00.000']);
  assert.deepEqual([of('day').min, of('day').max], ['2024-03-05', '2024-03-07']);
  assert.equal(of('u').distinct_is_exact, true);
  assert.equal('histogram' in of('t'), false);
  const bins = of('day').histogram as readonly { readonly from: string; readonly to: string; readonly count: number }[];
  assert.deepEqual([bins.length, bins[0]?.from, bins.at(-1)?.to], [20, '2024-03-05', '2024-03-07']);
  assert.deepEqual(
    bins.map(({ count }) => count).filter((count) => count > 0),
    [1, 1, 1],
  );
});

test('the largest and the smallest doubles have statistics, too', async (t) => {
  const service = await startHttpService(t);
  const csv = [
    'wide,huge,mixed,tiny,same',
    '1.7e308,1e200,1e300,0,1.7e308',
    '-1.7e308,-1e200,0.1,5e-324,1.7e308',
    'NaN,Infinity,-Infinity,NaN,NaN',
  ].join('\n');
  const types = { wide: 'double', huge: 'double', mixed: 'double', tiny: 'double', same: 'double' };
  const { id } = await service.publish(7, `${csv}\n`, { types });
  const { columns } = (await service.json(`/v1/execution/${id}/statistics`)) as unknown as Statistics;
  const [wide, huge, mixed, tiny, same] = columns;
  assert.deepEqual([wide?.min, wide?.mean, wide?.standard_deviation], [-1.7e308, 0, undefined]);
  assert.ok(Math.abs(Number(huge?.standard_deviation) / (Math.SQRT2 * 1e200) - 1) < 1e-12);
  assert.ok(Math.abs(Number(mixed?.standard_deviation) / (Math.SQRT1_2 * 1e300) - 1) < 1e-12);
  for (const [column, low, high] of [
    [wide, -1.7e308, 1.7e308],
    [huge, -1e200, 1e200],
    [mixed, 0.1, 1e300],
  ] as const) {
    const bins = column?.histogram as readonly { readonly from: number; readonly to: number; readonly count: number }[];
    assert.deepEqual([bins.length, bins[0]?.from, bins.at(-1)?.to], [20, low, high]);
    assert.deepEqual(
      bins.map(({ count }) => count),
      Array.from({ length: 20 }, (_, bin) => (bin === 0 || bin === 19 ? 1 : 0)),
    );
    assert.ok(bins.every(({ from, to }) => from < to));
  }
  assert.deepEqual([tiny?.min, tiny?.histogram], [0, undefined]);
  assert.deepEqual([same?.standard_deviation, same?.histogram], [0, undefined]);
});

test('those of a truncated result are not those of the whole: they are refused unless that is allowed', async (t) => {
  const service = await startHttpService(t);
  const csv = `n\n${Array.from({ length: 5000 }, (_, n) => `${n}\n`).join('')}`;
  const { id } = await service.publish(7, csv, { ...LAYOUT, resultBytesMax: 16_000 });
  const refusal = await service.get(`/v1/execution/${id}/statistics`);
  assert.deepEqual([refusal.status, refusal.headers.get('x-error-code')], [400, 'partial_result']);
  const { row_count } = await service.json(`/v1/execution/${id}/statistics?allow_partial_results=true`);
  assert.equal(row_count, 2000);
});

test('the mean of large whole numbers keeps the small ones, and each bin counts what lies between its edges', async (t) => {
  const service = await startHttpService(t);
  const large = ['4611686018427387905,0', '-4611686018427387904,0', '3,0'];
  const small = Array.from({ length: 45 }, (_, i) => `${i - 5}`);
  const statisticsOf = async (csv: string, types: Record<string, string>) => {
    const { id } = await service.publish(7, csv, { types });
    return ((await service.json(`/v1/execution/${id}/statistics`)) as unknown as Statistics).columns;
  };
  const [n] = await statisticsOf(`n,k\n${large.join('\n')}\n`, { n: 'bigint' });
  assert.equal(n?.mean, 4 / 3);
  const [k] = await statisticsOf(`k\n${small.join('\n')}\n`, { k: 'integer' });
  const bins = k?.histogram as readonly { readonly from: number; readonly to: number; readonly count: number }[];
  const isIn = ({ from, to }: (typeof bins)[number], value: number) =>
    value >= from && (value < to || (to === 39 && value === 39));
  assert.deepEqual(
    bins.map(({ count }) => count),
    bins.map((bin) => small.filter((value) => isIn(bin, Number(value))).length),
  );
});

test('over many parts: sums of the histogram, the mean, distinct values', async (t) => {
  const service = await startHttpService(t);
  const rows = 30_000;
  const lines = Array.from({ length: rows }, (_, n) => `${n},${n % 100},w${n % 7 === 0 ? 0 : n}`);
  const { id } = await service.publish(7, `n,k,w\n${lines.join('\n')}\n`, { types: { n: 'bigint' }, ...LAYOUT });
  const { columns } = (await service.json(`/v1/execution/${id}/statistics`)) as unknown as Statistics;
  const [n, k, w] = columns;
  assert.ok(n !== undefined && k !== undefined && w !== undefined);
  assert.deepEqual([n.min, n.max, n.mean], [0, rows - 1, (rows - 1) / 2]);
  assert.ok(Math.abs(Number(n.standard_deviation) - Math.sqrt((rows * (rows + 1)) / 12)) < 1e-6);
  const bins = n.histogram as readonly { readonly from: number; readonly to: number; readonly count: number }[];
  assert.deepEqual(
    bins.map(({ count }) => count),
    Array.from({ length: 20 }, () => rows / 20),
  );
  assert.deepEqual([n.distinct_count, n.distinct_is_exact], [rows, true]);
  assert.deepEqual([k.distinct_count, k.distinct_is_exact], [100, true]);
  assert.equal((k.top as readonly unknown[]).length, 20);
  assert.deepEqual((k.top as readonly unknown[])[0], { value: 0, count: rows / 100 });
  assert.deepEqual((w.top as readonly unknown[])[0], { value: 'w0', count: Math.ceil(rows / 7) });
});

test('made again and again of the same rows, a mean and a deviation have the same digits: doubles are added up in one order', async (t) => {
  const service = await startHttpService(t);
  const random = new Random(1);
  const lines = Array.from({ length: 60_000 }, () => `${(random.below(2 ** 31) * 10 ** random.below(9)) / 7}`);
  const made = new Set<string>();
  for (let time = 0; time < 8; time += 1) {
    const { id } = await service.publish(7, `d\n${lines.join('\n')}\n`, { types: { d: 'double' }, ...LAYOUT });
    const { columns } = (await service.json(`/v1/execution/${id}/statistics`)) as unknown as Statistics;
    made.add(`${columns[0]?.mean} ${columns[0]?.standard_deviation}`);
  }
  assert.equal(made.size, 1, [...made].join('\n'));
});

test('some columns, in the order asked; the same answer for ever; no rows; what is refused', async (t) => {
  const service = await startHttpService(t);
  const { id } = await service.publish(7, 'a,b\n1,x\n', {});
  const path = `/v1/execution/${id}/statistics`;
  const first = await service.get(`${path}?columns=b`);
  const body = (await first.json()) as Statistics;
  assert.deepEqual(
    body.columns.map(({ name }) => name),
    ['b'],
  );
  assert.match(first.headers.get('cache-control') ?? '', /^private, max-age=/);
  const etag = first.headers.get('etag') ?? '';
  assert.equal((await service.get(`${path}?columns=b`, { headers: { 'if-none-match': etag } })).status, 304);
  assert.equal((await service.get(path, { method: 'HEAD' })).status, 200);
  const empty = await service.publish(8, 'a\n', {});
  const none = (await service.json(`/v1/execution/${empty.id}/statistics`)) as unknown as Statistics;
  assert.deepEqual(none.columns, [{ name: 'a', type: 'varchar', row_count: 0, null_count: 0 }]);
  const send = sender(service, service.key);
  assertRefused(await send('GET', `${path}?columns=c`), 400, 'unknown_column', /there is no column "c"/);
  const wide = Array.from({ length: 101 }, (_, n) => `c${n}`).join(',');
  const many = await service.publish(9, `${wide}\n${wide}\n`, {});
  assertRefused(
    await send('GET', `/v1/execution/${many.id}/statistics`),
    400,
    'invalid_parameter',
    'columns: 101 columns at once, expected at most 100; name them, some at a time',
  );
  const pending = await service.commandLine.get('executions', 'submit', '--query', '7');
  const refused = await send('GET', `/v1/execution/${pending}/statistics`);
  assertRefused(refused, 409, 'no_result', 'Query state is QUERY_STATE_PENDING, cannot provide statistics');
});

test('lists, maps and names that could end a text are harmless', async (t) => {
  const service = await startHttpService(t);
  const bytes = `0x${'ab'.repeat(1000)}`;
  const row = { 'a"b': ['x'], "it's": `'); drop "x"`, time: '2024-03-05 20:50:59', bytes };
  const { id } = await service.publish(7, JSON.stringify(row), {
    format: 'ndjson',
    types: { time: 'timestamp(6)', bytes: 'varbinary' },
  });
  const { columns } = (await service.json(`/v1/execution/${id}/statistics`)) as unknown as Statistics;
  assert.deepEqual(columns[0], { name: 'a"b', type: 'array(varchar)', row_count: 1, null_count: 0 });
  assert.deepEqual(columns[1]?.top, [{ value: `'); drop "x"`, count: 1 }]);
  assert.equal(columns[2]?.min, '2024-03-05 20:50:59.000000');
  assert.deepEqual(columns[3]?.top, [{ value: bytes.slice(0, 200), count: 1 }]);
  assert.deepEqual(service.faults, []);
});

test('of very many different values the number is an estimate, and none is told as frequent', async (t) => {
  const service = await startHttpService(t);
  const rows = 1_500_000;
  const path = join(service.commandLine.directory, 'many.parquet');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`COPY (SELECT range AS n FROM range(${rows})) TO '${path}' (FORMAT parquet)`);
  connection.closeSync();
  instance.closeSync();
  const { id } = await service.publish(7, await readFile(path), { format: 'parquet' });
  const { columns } = (await service.json(`/v1/execution/${id}/statistics`)) as unknown as Statistics;
  const [n] = columns;
  assert.equal(n?.distinct_is_exact, false);
  assert.ok(Math.abs(Number(n.distinct_count) / rows - 1) < 0.1, `${n.distinct_count}`);
  assert.equal('top' in n, false);
  assert.deepEqual([n.min, n.max], [0, rows - 1]);
});

test('they are kept on disk with what else is derived from the result, and made again where that is gone or damaged', async (t) => {
  // Nothing is kept in memory.
  const service = await startHttpService(t, { QRS_PAGE_CACHE: '0' });
  const rows = Array.from({ length: 10_000 }, (_, n) => `${n},${n % 7}`).join('\n');
  const { id } = await service.publish(7, `n,m\n${rows}\n`);
  const derived = join(service.commandLine.dataDir, 'derived');
  const store = await service.store();
  const [part] = (await (await service.catalog()).executions.findResultSet(id))?.parts ?? [];
  assert(part !== undefined);
  const copy = join(service.commandLine.directory, 'copy');
  {
    await using opened = await store.open(part, allRowsOf(part), t.signal);
    await copyFile(opened.path, copy);
  }
  const kept = async () => (await readdir(derived)).filter((name) => name.endsWith('.statistics')).sort();
  const ask = async (columns: string) => await service.get(`/v1/execution/${id}/statistics?columns=${columns}`);
  const first = await (await ask('m')).text();
  const [name, ...others] = await kept();
  assert.match(name ?? '', new RegExp(`^${id}\\.c1\\.[0-9a-f]{16}\\.statistics$`));
  assert.deepEqual(others, []);

  // Not a row is read.
  assert.deepEqual(await store.delete([part.key]), []);
  assert.equal(await (await ask('m')).text(), first);
  assert.equal((await ask('n')).status, 500);
  const path = join(derived, name ?? '');
  const whole = await readFile(path, 'utf8');
  await writeFile(path, whole.replace('"null_count":0', '"null_count":9'));
  assert.equal((await ask('m')).status, 500, 'what is damaged is not told');
  assert.deepEqual(await kept(), []);

  await store.put(part.key, copy, t.signal);
  assert.equal(await (await ask('m')).text(), first);
  assert.equal(await readFile(path, 'utf8'), whole);

  const ofOther = await (await ask('n')).text();
  const pathOfOther = join(derived, (await kept()).find((file) => file !== name) ?? 'none');
  await copyFile(path, pathOfOther);
  assert.equal(await (await ask('n')).text(), ofOther, 'what is of another column is not told');

  const small = await service.publish(8, 'n\n1\n');
  assert.equal((await service.get(`/v1/execution/${small.id}/statistics`)).status, 200);
  assert.equal((await kept()).length, 2, 'of a small result they are made again as quickly');
});

test('of intervals that are equally long, the same one is told whatever their order in the result', async (t) => {
  const service = await startHttpService(t);
  const told = async (values: readonly string[]) => {
    const { id } = await service.publish(7, `k\n${values.join('\n')}\n`, { types: { k: 'interval' } });
    const { columns } = (await service.json(`/v1/execution/${id}/statistics`)) as unknown as Statistics;
    return [columns[0]?.min, columns[0]?.max, columns[0]?.top];
  };
  const top = ['1 month', '30 days', '720:00:00'].map((value) => ({ value, count: 1 }));
  const expected = ['1 month', '720:00:00', top];
  assert.deepEqual(await told(['720:00:00', '30 days', '1 month']), expected);
  assert.deepEqual(await told(['30 days', '1 month', '720:00:00']), expected);
});

test('each bin of dates and times counts what lies between its edges, which are dates and times themselves', async (t) => {
  const service = await startHttpService(t);
  const at = (n: number) => `2024-03-05 20:50:59.${String(n).padStart(6, '0')}`;
  const rows = Array.from({ length: 262 }, (_, n) => ({
    day: new Date(Date.UTC(2024, 0, 10 + n)).toISOString().slice(0, 10),
    few: n < 200 ? '2024-03-05' : '2024-03-08',
    micro: at(n),
    nano: `${at(n)}${n % 2 === 0 ? '000' : '999'}`,
    milli: at(n * 1000).slice(0, -3),
  }));
  const types = { day: 'date', few: 'date', micro: 'timestamp(6)', nano: 'timestamp(9)', milli: 'timestamp(3)' };
  const ndjson = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const { id } = await service.publish(7, ndjson, { format: 'ndjson', types });
  const { columns } = (await service.json(`/v1/execution/${id}/statistics`)) as unknown as Statistics;
  for (const { name, histogram } of columns) {
    const bins = histogram as readonly { readonly from: string; readonly to: string; readonly count: number }[];
    // Written with as many digits, they are in order as texts.
    const whole = (value: string) =>
      value.includes('.') ? value.padEnd('2024-03-05 20:50:59.000000000'.length, '0') : value;
    const values = rows.map((row) => whole(row[name as keyof typeof row]));
    const isIn = (value: string, n: number) =>
      value >= whole(bins[n]?.from ?? '') && (value < whole(bins[n]?.to ?? '') || n === bins.length - 1);
    const counted = bins.map((_, n) => values.filter((value) => isIn(value, n)).length);
    assert.deepEqual(
      bins.map(({ count }) => count),
      counted,
      String(name),
    );
  }
});
