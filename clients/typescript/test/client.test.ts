/** The client against a real service: every type, every page, files, runs, and the errors that the service has. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type HttpService, startHttpService } from '../../../test/feature/http-service.ts';
import { startRunningService } from '../../../test/feature/running-service.ts';
import { QueryResults, RunFailed, ServiceError } from '../src/index.ts';

async function start(t: TestContext, environment: Readonly<Record<string, string>> = {}) {
  const service = await startHttpService(t, environment);
  return { service, client: new QueryResults({ url: service.url, key: service.key }) };
}

/** Rows 0 … count − 1 of query 7, with a text that some of them share. */
async function publishNumbers(service: HttpService, count: number): Promise<string> {
  const lines = Array.from({ length: count }, (_, n) => `${n},${n % 3 === 0 ? 'base' : 'celo'}\n`);
  return (await service.publish(7, `n,chain\n${lines.join('')}`, { types: { n: 'bigint' } })).id;
}

test('values have the type of their column, and every digit', async (t) => {
  const { service, client } = await start(t);
  const types = {
    small: 'integer',
    big: 'bigint',
    huge: 'uint256',
    money: 'decimal(38, 2)',
    real: 'double',
    at: 'timestamp(3)',
    bytes: 'varbinary',
    list: 'array(bigint)',
    named: 'map(varchar, hugeint)',
    row: 'row("a, b" bigint, c varchar, d array(row(e uint256)))',
    any: 'json',
  };
  const huge = String(2n ** 256n - 1n);
  const lines = [
    `{"small":1,"big":9223372036854775807,"huge":"${huge}","money":"123456789012345678901234567890123456.78","real":0.1,"text":"é","at":"2024-03-05 20:50:59.123","bytes":"0xc0ff","list":[1,-9223372036854775808,null],"named":{"x":170141183460469231731687303715884105727},"row":{"a, b":9007199254740993,"c":"1","d":[{"e":"${huge}"}]},"any":{"n":1},"on":true}`,
    '{"small":-1,"big":2,"huge":"0","money":"0.10","real":"NaN","text":"","on":false}',
    '{"real":"-Infinity"}',
  ];
  await service.publish(7, `${lines.join('\n')}\n`, { format: 'ndjson', types });
  const { rows, columns, rowCount, isPartial } = await client.read({ query: 7 });
  assert.deepEqual([rowCount, isPartial, columns[2]], [3, false, { name: 'huge', type: 'uint256' }]);
  const [first, second, third] = rows;
  assert.deepEqual(first, {
    small: 1,
    big: 9223372036854775807n,
    huge: 2n ** 256n - 1n,
    money: '123456789012345678901234567890123456.78',
    real: 0.1,
    text: 'é',
    at: '2024-03-05 20:50:59.123',
    bytes: '0xc0ff',
    list: [1n, -9223372036854775808n, null],
    named: { x: 170141183460469231731687303715884105727n },
    row: { 'a, b': 9007199254740993n, c: '1', d: [{ e: 2n ** 256n - 1n }] },
    any: '{"n":1}',
    on: true,
  });
  // A small integer of a wide column is a bigint, too.
  assert.deepEqual([second?.big, second?.huge, second?.real, second?.list], [2n, 0n, Number.NaN, null]);
  assert.deepEqual([third?.real, third?.big, third?.text], [Number.NEGATIVE_INFINITY, null, null]);
});

test('rows come page by page, each once and in order, under filters, sorts, limits and offsets', async (t) => {
  const { service, client } = await start(t, { QRS_MAX_DATAPOINTS: '500' });
  const execution = await publishNumbers(service, 1234);
  const all = Array.from({ length: 1234 }, (_, n) => n);
  const base = all.filter((n) => n % 3 === 0);
  const numbers = async (read: object) => {
    const found: number[] = [];
    const target = { query: 7, ...read };
    for await (const { n } of client.rows<{ readonly n: bigint }>(target)) found.push(Number(n));
    return found;
  };
  assert.deepEqual(await numbers({}), all);
  assert.deepEqual(await numbers({ limit: 300, offset: 700 }), all.slice(700, 1000));
  assert.deepEqual(await numbers({ offset: 1200, limit: 100 }), all.slice(1200));
  assert.deepEqual(await numbers({ offset: 5000 }), []);
  assert.deepEqual(await numbers({ limit: 0 }), []);
  assert.deepEqual(await numbers({ filters: "chain = 'base'" }), base);
  assert.deepEqual(
    await numbers({ filters: "chain = 'base'", sortBy: 'n desc', offset: 10 }),
    base.toReversed().slice(10),
  );
  assert.deepEqual(await numbers({ filters: "chain = 'base'", limit: 400 }), base.slice(0, 400));
  assert.deepEqual(await numbers({ filters: 'n < 0' }), []);
  assert.deepEqual(
    await numbers({ search: '99' }),
    all.filter((n) => String(n).includes('99')),
  );
  assert.equal((await numbers({ sampleCount: 40 })).length, 40);
  const pages = await Array.fromAsync(client.pages({ execution, columns: ['n'] }));
  assert.deepEqual(
    pages.map(({ rows, rowCount, executionId, columns }) => [rows.length, rowCount, executionId, columns.length]),
    [
      [500, 1234, execution, 1],
      [500, 1234, execution, 1],
      [234, 1234, execution, 1],
    ],
  );
});

test('a column of any name is asked for by its name', async (t) => {
  const { service, client } = await start(t);
  const row = { 'a,b': 1n, 'c "d"': 2n, e: 3n, 'f\\': 4n, 'g\\"h': 5n, '\\': 6n, ' i ': 7n, '"': 8n, 'j,\\': 9n };
  const json = Object.entries(row).map(([name, value]) => `${JSON.stringify(name)}:${value}`);
  await service.publish(7, `{${json.join()}}\n`, { format: 'ndjson' });
  const { rows } = await client.read({ query: 7, columns: ['c "d"', 'a,b'] });
  assert.deepEqual(rows, [{ 'c "d"': 2n, 'a,b': 1n }]);
  assert.deepEqual((await client.read({ query: 7, columns: Object.keys(row) })).rows, [row]);
});

test('the latest run with these parameters', async (t) => {
  const { service, client } = await start(t);
  await service.publish(7, 'n\n1\n', { parameters: { day: 'monday' } });
  service.commandLine.now += 1000;
  await service.publish(7, 'n\n2\n', { parameters: { day: 'tuesday' } });
  assert.deepEqual((await client.read({ query: 7, parameters: { day: 'monday' } })).rows, [{ n: 1n }]);
  assert.deepEqual((await client.read({ query: 7 })).rows, [{ n: 2n }]);
});

test('the run that was the latest at an earlier time', async (t) => {
  const { service, client } = await start(t);
  await service.publish(7, 'n\n1\n');
  const asOf = new Date(service.commandLine.now + 1000).toISOString();
  service.commandLine.now += 60_000;
  await service.publish(7, 'n\n2\n');
  assert.deepEqual((await client.read({ query: 7, asOf })).rows, [{ n: 1n }]);
  assert.equal(await new Response(await client.csv({ query: 7, asOf })).text(), 'n\n1\n');
  assert.deepEqual((await client.read({ query: 7 })).rows, [{ n: 2n }]);
  await assert.rejects(client.read({ query: 7, asOf: '2020-01-01' }), {
    name: 'ServiceError',
    status: 404,
    message: /no run of query 7 that had ended by 2020-01-01/,
  });
});

test('CSV and Parquet come as streams, whole, whatever the limit of one answer', async (t) => {
  const { service, client } = await start(t, { QRS_MAX_DATAPOINTS: '500' });
  await publishNumbers(service, 3000);
  const csv = await new Response(await client.csv({ query: 7, filters: 'n >= 10', columns: ['n'] })).text();
  assert.equal(csv, `n\n${Array.from({ length: 2990 }, (_, i) => `${i + 10}\n`).join('')}`);
  const parquet = await new Response(await client.parquet({ query: 7 })).bytes();
  const marks = [parquet.subarray(0, 4), parquet.subarray(-4)].map((bytes) => Buffer.from(bytes).toString('latin1'));
  assert.deepEqual(marks, ['PAR1', 'PAR1']);
});

test('what the service refuses is an error with its text, status and code', async (t) => {
  const { service, client } = await start(t);
  await publishNumbers(service, 3);
  const refused = async (work: Promise<unknown>, status: number, code: string, message: RegExp) =>
    await assert.rejects(work, (error) => {
      assert.ok(error instanceof ServiceError);
      assert.match(error.message, message);
      assert.deepEqual([error.name, error.status, error.code], ['ServiceError', status, code]);
      return true;
    });
  await refused(client.read({ query: 7, filters: 'nn = 1' }), 400, 'filter_column', /nn/);
  await refused(client.csv({ query: 8 }), 404, 'query_not_found', /Query not found or private/);
  await refused(client.status('nonsense'), 400, 'invalid_execution_id', /invalid/);
  const other = new QueryResults({ url: `${service.url}/`, key: 'wrong' });
  await refused(other.read({ query: 7 }), 401, 'invalid_api_key', /invalid API Key/);
  await refused(client.execute(7), 403, 'scope', /may only read/);
});

test('a result that was cut when it was stored is refused, or says so', async (t) => {
  const { service, client } = await start(t);
  const file = `n\n${'1\n'.repeat(1000)}`;
  const { id } = await service.publish(7, file, { types: { n: 'bigint' }, resultBytesMax: 800, rowGroupRows: 50 });
  await assert.rejects(client.read({ execution: id }), { code: 'partial_result' });
  const { rows, isPartial } = await client.read({ execution: id, allowPartialResults: true });
  assert.deepEqual([rows.length, isPartial], [100, true]);
});

test('runQuery: executes, waits, reads; what fails or is cancelled is an error', async (t) => {
  const service = await startRunningService(t, { 'shop/orders.csv': 'id,amount\n1,5\n2,7\n' });
  const client = new QueryResults({ url: service.url, key: service.key });
  const add = async (query_sql: string, parameters: object[] = []) =>
    Number((await service.send('POST', '/v1/query', { name: 'Orders', query_sql, parameters })).body.query_id);
  const query = await add(
    'SELECT id::INT AS id, amount::HUGEINT * {{factor}}::HUGEINT AS cost FROM shop.orders ORDER BY id',
    [{ key: 'factor', type: 'number', value: 1 }],
  );
  const waiting = await client.execute(query);
  const status = await client.status(waiting);
  assert.deepEqual([status.state, status.isFinished, status.queuePosition], ['QUERY_STATE_PENDING', false, 1]);
  await assert.rejects(client.read({ execution: waiting }), { name: 'RunFailed', state: 'QUERY_STATE_PENDING' });
  await client.cancel(waiting);
  assert.equal((await client.finished(waiting)).state, 'QUERY_STATE_CANCELLED');
  await assert.rejects(client.read({ execution: waiting }), {
    message: `the run ${waiting} has no result: QUERY_STATE_CANCELLED`,
  });
  service.startRunner();
  const { rows } = await client.runQuery<{ readonly id: number; readonly cost: bigint }>(query, {
    parameters: { factor: '100000000000000000000' },
    filters: 'id > 1',
  });
  assert.deepEqual(rows, [{ id: 2, cost: 7n * 10n ** 20n }]);
  const failing = await add("SELECT error('no such luck') FROM shop.orders");
  await assert.rejects(client.runQuery(failing), (error) => {
    assert.ok(error instanceof RunFailed);
    assert.match(error.message, /no such luck/);
    assert.equal(error.state, 'QUERY_STATE_FAILED');
    return true;
  });
  await assert.rejects(client.runQuery(query, { parameters: { nofactor: 1 } }), {
    message: /unknown parameters \(nofactor\)/,
  });
});
