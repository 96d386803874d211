/** What columns mean: said with the command, over HTTP or by a dataset's declaration; shown with the query and in Parquet files. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type HttpService, startHttpService } from './http-service.ts';
import { annWrites, assertRefused } from './http-writer.ts';
import { readParquetMetadata } from './parquet-reader.ts';

const CSV = 'wallet,amount,constructor\n0xab,1,x\n';

interface Seen {
  readonly version: number;
  readonly columns: readonly { readonly name: string; readonly description?: string }[];
  readonly column_descriptions?: Readonly<Record<string, string>>;
}

async function seen(service: HttpService, id = 7): Promise<Seen> {
  return (await service.json(`/v1/query/${id}`)) as unknown as Seen;
}

async function described(service: HttpService, id = 7): Promise<Readonly<Record<string, string | undefined>>> {
  const { columns } = await seen(service, id);
  return Object.fromEntries(columns.map(({ name, description }) => [name, description]));
}

async function metadata(service: HttpService, parameters = ''): Promise<Readonly<Record<string, string>>> {
  const response = await service.get(`/v1/query/7/results?format=parquet${parameters}`);
  assert.equal(response.status, 200);
  return await readParquetMetadata(await response.bytes());
}

test('with the command: added, kept with each publishing, changed one by one, taken away', async (t) => {
  const service = await startHttpService(t);
  const qrs = service.commandLine;
  const file = join(qrs.directory, 'rows.csv');
  await writeFile(file, CSV);
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann', '--describe', 'wallet=Who has it');
  const publish = async (...descriptions: readonly string[]) => {
    const options = descriptions.flatMap((text) => ['--describe', text]);
    return await qrs.run(['publish', file, '--query', '7', ...options]);
  };
  assert.equal((await publish('amount=In wei, = 10^-18 ether')).code, 0);
  assert.deepEqual(await described(service), {
    wallet: 'Who has it',
    amount: 'In wei, = 10^-18 ether',
    // Not what every object has under that name.
    constructor: undefined,
  });
  const { version } = await seen(service);
  assert.equal((await publish('amount=In wei, = 10^-18 ether')).code, 0);
  assert.equal((await seen(service)).version, version, 'saying the same again changes nothing');
  await qrs.get('queries', 'set', '7', '--describe', 'wallet=', '--describe', 'constructor=Who made it');
  assert.deepEqual((await seen(service)).column_descriptions, {
    amount: 'In wei, = 10^-18 ether',
    constructor: 'Who made it',
  });
  const runs = await qrs.get('executions', 'list', '--query', '7');
  const { code, err, out } = await publish('amont=x');
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, /error: --describe: the result has no column amont; did you mean amount\?\n$/);
  assert.equal(await qrs.get('executions', 'list', '--query', '7'), runs, 'nothing is published');
  const usage = await qrs.run(['queries', 'set', '7', '--describe', 'amount']);
  assert.equal(usage.code, 2);
  assert.match(usage.err, /A description is COLUMN=TEXT/);
});

test('over HTTP: all of them at once; what is too long is refused', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  const body = { query_id: 7, name: 'Balances', column_descriptions: { wallet: 'Who', amount: 'How much', gone: '' } };
  assert.equal((await send('POST', '/v1/query', { body })).status, 201);
  await service.publish(7, CSV);
  assert.deepEqual(await described(service), { wallet: 'Who', amount: 'How much', constructor: undefined });
  const change = async (column_descriptions: unknown) =>
    await send('PATCH', '/v1/query/7', { body: { column_descriptions } });
  assert.equal((await change({ amount: 'How many', later: 'Not there yet' })).status, 200);
  assert.deepEqual(await described(service), { wallet: undefined, amount: 'How many', constructor: undefined });
  assert.deepEqual((await seen(service)).column_descriptions, { amount: 'How many', later: 'Not there yet' });
  assert.equal((await send('PATCH', '/v1/query/7', { body: { name: 'Sums' } })).status, 200);
  assert.deepEqual((await seen(service)).column_descriptions, { amount: 'How many', later: 'Not there yet' });
  assertRefused(
    await change(['amount']),
    400,
    'invalid_body',
    /column_descriptions: found a list of 1, expected an object/,
  );
  assertRefused(await change({ amount: 'x'.repeat(1001) }), 400, 'invalid_body', /column_descriptions\.amount/);
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`c${i}`, 'x'.repeat(1000)]));
  assertRefused(
    await change(many),
    400,
    'invalid_body',
    /all together have 101\d+ characters, and at most 100000 are kept/,
  );
  assert.equal((await change({})).status, 200);
  assert.equal((await seen(service)).column_descriptions, undefined);
});

test('a Parquet file says what the query and its columns are; other words make another file', async (t) => {
  const service = await startHttpService(t);
  const qrs = service.commandLine;
  await qrs.get(
    'queries',
    'add',
    '--id',
    '7',
    '--user',
    'ann',
    '--name',
    "Ann's",
    '--description',
    'Line one.\nLine "two".',
  );
  await service.publish(7, CSV);
  const get = async (etag = '') =>
    await service.get('/v1/query/7/results?format=parquet', { headers: { 'if-none-match': etag } });
  const etag = (await get()).headers.get('etag') ?? '';
  assert.equal((await get(etag)).status, 304);
  const csvTag = (await service.get('/v1/query/7/results?format=csv')).headers.get('etag');
  const { 'query-results-service.column_types': types, ...before } = await metadata(service);
  assert.equal(types, '["varchar","bigint","varchar"]');
  assert.deepEqual(before, {
    'query-results-service.name': "Ann's",
    'query-results-service.description': 'Line one.\nLine "two".',
  });
  await qrs.get('queries', 'set', '7', '--describe', "amount=It's ½; drop table x --", '--describe', 'wallet=Who');
  assert.equal((await get(etag)).status, 200);
  assert.equal((await service.get('/v1/query/7/results?format=csv')).headers.get('etag'), csvTag);
  const key = 'query-results-service.column_descriptions';
  assert.deepEqual(JSON.parse((await metadata(service))[key] ?? ''), {
    amount: "It's ½; drop table x --",
    wallet: 'Who',
  });
  // Of the columns that are in the file.
  assert.deepEqual(JSON.parse((await metadata(service, '&columns=wallet'))[key] ?? ''), { wallet: 'Who' });
  assert.equal((await metadata(service, '&columns=constructor'))[key], undefined);
});

test('two commands that describe columns at the same moment keep what each says', async (t) => {
  const service = await startHttpService(t);
  const qrs = service.commandLine;
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
  const columns = ['a', 'b', 'c', 'd'];
  await Promise.all(
    columns.map((column) => qrs.get('queries', 'set', '7', '--describe', `${column}=what ${column} is`)),
  );
  const query = await (await service.catalog()).queries.find(7);
  assert.deepEqual(query?.columnDescriptions, { a: 'what a is', b: 'what b is', c: 'what c is', d: 'what d is' });
});
