/** The Model Context Protocol at `/mcp` (contract §11): what its tools answer, what they refuse and how, and who may ask. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { findMcpClient } from '../../scripts/mcp-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { annWrites, assertRefused, sender } from './http-writer.ts';

type Json = Readonly<Record<string, unknown>>;

const CSV = `wallet,amount,at
0xa,1,2024-03-01
0xb,115792089237316195423570985008687907853269984665640564039457584007913129639935,2024-03-02
0xc,,2024-03-03
0xd,4,2024-03-04
`;
const TYPES = { amount: 'uint256', at: 'date' };

/** Messages to `/mcp`, each with the next id. */
function speaker(service: HttpService, key = service.key) {
  const send = sender(service, key);
  let id = 0;
  const ask = async (method: string, params?: object) => {
    id += 1;
    const sent = await send('POST', '/mcp', { body: { jsonrpc: '2.0', id, method, ...(params && { params }) } });
    assert.deepEqual([sent.status, sent.headers.get('cache-control')], [200, 'no-store'], sent.text);
    assert.deepEqual([sent.json.jsonrpc, sent.json.id], ['2.0', id]);
    return sent.json as { readonly result: Json; readonly error?: Json };
  };
  /** @returns the documents that the tool answers; or the text of its refusal */
  const call = async (name: string, given: object = {}) => {
    const { result } = await ask('tools/call', { name, arguments: given });
    const texts = (result.content as { readonly type: string; readonly text: string }[]).map(({ text }) => text);
    return result.isError === true ? texts.join() : texts.map((text) => JSON.parse(text));
  };
  return { ask, call, send };
}

async function withResult(t: TestContext) {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await send('POST', '/v1/query', { body: { query_id: 7, name: 'Balances of wallets', tags: ['dex'] } });
  const { id } = await service.publish(7, CSV, { types: TYPES });
  return { service, id, ...speaker(service) };
}

test('a client is introduced, sees four tools that only read, and has its pings answered', async (t) => {
  const { ask } = speaker(await startHttpService(t));
  const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const { instructions, serverInfo, ...introduced } = (await ask('initialize', hello)).result;
  assert.deepEqual(introduced, { protocolVersion: '2025-06-18', capabilities: { tools: {} } });
  assert.match(String(instructions), /describe_query, then read what you need with read_rows/);
  assert.equal((serverInfo as Json).name, 'query-results-service');
  const newer = await ask('initialize', { ...hello, protocolVersion: '2099-01-01' });
  assert.equal(newer.result.protocolVersion, '2025-11-25');
  assert.deepEqual((await ask('ping')).result, {});

  const tools = (await ask('tools/list')).result.tools as Json[];
  assert.deepEqual(
    tools.map(({ name, annotations }) => [name, annotations]),
    ['search_queries', 'describe_query', 'read_rows', 'compare_runs'].map((name) => [
      name,
      { readOnlyHint: true, openWorldHint: false },
    ]),
  );
  const { description: _, ...limit } = (tools[2] as { inputSchema: { properties: Json } }).inputSchema.properties
    .limit as Json;
  assert.deepEqual(limit, { type: 'integer', minimum: 0, maximum: 1000 });
});

test('queries are found and described, with their columns in numbers', async (t) => {
  const { call, id } = await withResult(t);
  const [found] = await call('search_queries', { search: 'wallets', has_results: true });
  assert.deepEqual([found.total, found.queries.map(({ query_id }: Json) => query_id)], [1, [7]]);
  const [described, statistics] = await call('describe_query', { query_id: 7 });
  assert.deepEqual([described.name, described.latest_execution.execution_id], ['Balances of wallets', id]);
  assert.deepEqual(described.columns, [
    { name: 'wallet', type: 'varchar' },
    { name: 'amount', type: 'uint256' },
    { name: 'at', type: 'date' },
  ]);
  assert.deepEqual(
    statistics.columns.map(({ name, null_count }: Json) => [name, null_count]),
    [
      ['wallet', 0],
      ['amount', 1],
      ['at', 0],
    ],
  );
  const [, ofOne] = await call('describe_query', { query_id: '7', columns: ['at'] });
  assert.deepEqual(
    ofOne.columns.map(({ name }: Json) => name),
    ['at'],
  );
  assert.equal((await call('describe_query', { query_id: 7, statistics: false })).length, 1);
});

test('rows are filtered, sorted and paged; every digit is there, and how many rows of how many', async (t) => {
  const { call, id } = await withResult(t);
  const [page] = await call('read_rows', {
    query_id: 7,
    columns: ['wallet', 'amount'],
    filters: "wallet <> '0xd'",
    sort_by: 'wallet desc',
    limit: 2,
  });
  assert.deepEqual(page.result.rows, [
    { wallet: '0xc', amount: null },
    { wallet: '0xb', amount: '115792089237316195423570985008687907853269984665640564039457584007913129639935' },
  ]);
  const { row_count, filtered_row_count, total_row_count } = page.result.metadata;
  assert.deepEqual([row_count, filtered_row_count, total_row_count, page.next_offset], [2, 3, 4, 2]);
  const [rest] = await call('read_rows', { execution_id: id, search: '0X', offset: 3 });
  assert.deepEqual(rest.result.rows, [{ wallet: '0xd', amount: '4', at: '2024-03-04' }]);
  assert.deepEqual([rest.result.metadata.filtered_row_count, rest.next_offset], [4, undefined]);
});

test('an empty text is no argument, so 100 rows are answered and not all', async (t) => {
  const { service, call, id } = await withResult(t);
  await service.publish(8, `n\n${'1\n'.repeat(150)}`);
  for (const none of [{ limit: '' }, { sample_count: '' }, { limit: null, filters: '', execution_id: '' }]) {
    const [page] = await call('read_rows', { query_id: 8, ...none });
    assert.deepEqual([page.result.metadata.row_count, page.next_offset], [100, 100]);
  }
  const [difference] = await call('compare_runs', {
    query_id: '',
    from_execution_id: id,
    to_execution_id: id,
    limit: '',
  });
  assert.equal(difference.next_uri, undefined);
  assert.equal(
    await call('describe_query', { query_id: '' }),
    'invalid_parameter: query_id: missing, and it must be there',
  );
});

test('a result of more than 100 columns is described, and has statistics of those that are named', async (t) => {
  const { service, call } = await withResult(t);
  const names = Array.from({ length: 101 }, (_, at) => `c${at}`);
  await service.publish(8, `${names.join()}\n${names.map(() => 1).join()}\n`);
  const described = await call('describe_query', { query_id: 8 });
  assert.deepEqual([described.length, described[0].columns.length], [1, 101]);
  const [, statistics] = await call('describe_query', { query_id: 8, columns: ['c100'] });
  assert.deepEqual(
    statistics.columns.map(({ name }: Json) => name),
    ['c100'],
  );
});

test('a column may have any name, and a run is chosen by its parameters or by a time', async (t) => {
  const { service, call, id } = await withResult(t);
  await service.publish(8, '"a, ""b""\\c",d\n1,2\n');
  const [named] = await call('read_rows', { query_id: 8, columns: ['a, "b"\\c'] });
  assert.deepEqual(named.result.rows, [{ 'a, "b"\\c': 1 }]);
  await service.publish(9, 'n\n1\n', { parameters: { chain: 'base' } });
  await service.publish(9, 'n\n2\n', { parameters: { chain: 'ink', days: '30' } });
  const [run] = await call('read_rows', { query_id: 9, params: { chain: 'ink', days: 30 } });
  assert.deepEqual(run.result.rows, [{ n: 2 }]);

  const before = new Date(service.commandLine.now).toISOString();
  service.commandLine.now += 60_000;
  const { id: later } = await service.publish(7, CSV.replace('0xa,1', '0xa,2').replace('0xd,4', '0xe,5'), {
    types: TYPES,
  });
  const [asOf] = await call('read_rows', { query_id: 7, as_of: before });
  assert.equal(asOf.execution_id, id);
  const [difference] = await call('compare_runs', { query_id: 7, from: before, key: ['wallet'] });
  const counts = { added: 1, removed: 1, changed: 1, unchanged: 2, key: ['wallet'] };
  assert.deepEqual(difference.result.metadata.diff, { from_execution_id: id, to_execution_id: later, ...counts });
  const [added] = await call('compare_runs', {
    from_execution_id: id,
    to_execution_id: later,
    key: ['wallet'],
    columns: ['wallet', 'amount'],
    filters: "wallet = '0xe'",
  });
  assert.deepEqual(
    [added.result.rows, added.result.metadata.filtered_row_count],
    [[{ wallet: '0xe', amount: '5' }], 1],
  );
});

test('what is wrong with a question is told as the result of the tool, with what to ask instead', async (t) => {
  const { service, call } = await withResult(t);
  const cases: readonly (readonly [name: string, given: object, told: string | RegExp])[] = [
    ['read_rows', { query_id: 7, filter: 'x' }, 'invalid_parameter: filter: no such argument; did you mean filters?'],
    ['read_rows', { query_id: 7, limit: 1001 }, 'invalid_parameter: limit: found "1001", expected at most 1000'],
    ['read_rows', { query_id: 7, limit: [1] }, 'invalid_parameter: limit: expected a whole number'],
    ['read_rows', { query_id: 7, limit: -1 }, /^invalid_parameter: limit: found "-1", expected a whole number/],
    ['read_rows', { query_id: 7, columns: 'wallet' }, 'invalid_parameter: columns: expected a list of column names'],
    ['read_rows', {}, 'invalid_parameter: expected query_id or execution_id, one of them'],
    [
      'read_rows',
      { query_id: 7, execution_id: 'x' },
      'invalid_parameter: expected query_id or execution_id, one of them',
    ],
    ['read_rows', { query_id: 12 }, 'query_not_found: not found: Query not found or private'],
    ['read_rows', { query_id: 7, filters: 'amuont > 1' }, /^filter_column: .*Did you mean "amount"/],
    ['describe_query', {}, 'invalid_parameter: query_id: missing, and it must be there'],
    ['describe_query', { query_id: 7, columns: ['nothing'] }, /^unknown_column: /],
    ['compare_runs', { query_id: 7 }, /^invalid_parameter: from: missing/],
    ['compare_runs', { from_execution_id: 'x' }, /^invalid_parameter: expected query_id with from, or/],
  ];
  for (const [name, given, told] of cases) {
    const refused = await call(name, given);
    if (typeof told === 'string') assert.equal(refused, told);
    else assert.match(String(refused), told);
  }
  // Wider than a message may be.
  await service.publish(8, `text\n${`${'x'.repeat(2000)}\n`.repeat(600)}`);
  assert.match(
    String(await call('read_rows', { query_id: 8, limit: 600 })),
    /^invalid_parameter: limit: these rows take more/,
  );
  assert.deepEqual((await call('read_rows', { query_id: 8 }))[0].result.metadata.row_count, 100);
  const { send } = await annWrites(service);
  const long = { name: 'long', description: '€'.repeat(10_000) };
  for (let query = 0; query < 35; query += 1) await send('POST', '/v1/query', { body: long });
  assert.match(
    String(await call('search_queries', { search: 'long' })),
    /^invalid_parameter: limit: these queries take more/,
  );
  assert.equal((await call('search_queries', { search: 'long', limit: 30 }))[0].next_offset, 30);
  assert.deepEqual(service.faults, []);
});

test('a key is shown what it may read, is charged for it, and nothing is told without one', async (t) => {
  const { service, call } = await withResult(t);
  const { commandLine: qrs } = service;
  await qrs.get('queries', 'add', '--id', '8', '--user', 'ann', '--private');
  await service.publish(8, 'n\n1\n');
  await qrs.get('users', 'add', 'bob');
  const bob = speaker(service, await qrs.get('keys', 'create', '--user', 'bob'));
  const unknown = 'query_not_found: not found: Query not found or private';
  for (const tool of ['read_rows', 'describe_query']) assert.equal(await bob.call(tool, { query_id: 8 }), unknown);
  assert.equal(await bob.call('compare_runs', { query_id: 8, from: '2024-01-01' }), unknown);
  assert.equal((await bob.call('search_queries', { search: '8' }))[0].total, 0);

  await call('read_rows', { query_id: 7 });
  const answered = service.observed.filter((one) => one.kind === 'answered').at(-1);
  assert.deepEqual(
    [answered?.route, answered?.stats.queryId, answered?.stats.rowCount, answered?.stats.datapoints],
    ['/mcp', 7, 4, 12],
  );
  await call('read_rows', { query_id: 7, columns: ['nothing'] });
  const refused = service.observed.filter((one) => one.kind === 'answered').at(-1);
  assert.deepEqual([refused?.stats.errorCode, refused?.stats.rowCount], ['unknown_column', 0]);

  const message = { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } };
  assertRefused(await bob.send('POST', '/mcp', { ...message, key: '' }), 401, 'invalid_api_key', 'invalid API Key');
});

test('what is no message, or comes by another way, is refused as everything is over HTTP', async (t) => {
  const { ask, send } = speaker(await startHttpService(t, { QRS_CORS_ORIGINS: 'https://app.example.com' }));
  const post = async (body: object | string, headers = {}) => await send('POST', '/mcp', { body, headers });
  assertRefused(await post('{"jsonrpc":'), 400, 'invalid_body', /^the body is no JSON: /);
  assertRefused(await post([{ jsonrpc: '2.0', id: 1, method: 'ping' }]), 400, 'invalid_body', /^expected one message/);
  assertRefused(await post({ jsonrpc: '2.0', id: 1 }), 400, 'invalid_body', 'method: missing, and it must be a text');
  const tooLarge = '{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}';
  assertRefused(await post(tooLarge), 400, 'invalid_body', 'id: expected a text, or a number that a double holds');
  assertRefused(await post(' '.repeat(300_000)), 413, 'body_too_large', /more than 200000 bytes/);
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const refused = await send(method, '/mcp');
    assertRefused(refused, 405, 'method_not_allowed', /^only POST is answered here/);
    assert.equal(refused.headers.get('allow'), 'POST');
  }
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const versions = 'MCP-Protocol-Version: expected 2025-11-25 or 2025-06-18';
  assertRefused(await post(ping, { 'mcp-protocol-version': '2024-11-05' }), 400, 'bad_request', versions);
  const elsewhere = await post(ping, { origin: 'https://evil.example.com' });
  assertRefused(elsewhere, 403, 'origin_not_allowed', /QRS_CORS_ORIGINS says which may/);
  assert.equal((await post(ping, { origin: 'https://app.example.com' })).status, 200);

  assert.deepEqual((await ask('resources/list')).error, { code: -32601, message: 'resources/list: no such method' });
  assert.deepEqual((await ask('tools/call', { name: 'drop' })).error, { code: -32602, message: 'drop: no such tool' });
  for (const name of [{ toString: 1 }, [], null, undefined]) {
    const unnamed = { code: -32602, message: 'name: expected the name of a tool' };
    assert.deepEqual((await ask('tools/call', { name })).error, unnamed);
  }
  for (const silent of [{ method: 'notifications/initialized' }, { id: 1, result: {} }]) {
    const { status, text } = await post({ jsonrpc: '2.0', ...silent });
    assert.deepEqual([status, text], [202, '']);
  }
});

const modules = findMcpClient();
const skip = modules === undefined && 'npm run setup:mcp-client installs it';

test("the protocol's own client reads results", { skip }, async (t) => {
  const { service } = await withResult(t);
  const load = async (name: string) => await import(pathToFileURL(join(modules ?? '', name)).href);
  const { Client } = await load('index.js');
  const { StreamableHTTPClientTransport } = await load('streamableHttp.js');
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { 'x-service-api-key': service.key } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit }));
  t.after(() => client.close());
  const { tools } = await client.listTools();
  assert.equal(tools.length, 4);
  const { content } = await client.callTool({ name: 'read_rows', arguments: { query_id: 7, limit: 1 } });
  assert.deepEqual(JSON.parse(content[0].text).result.rows, [{ wallet: '0xa', amount: '1', at: '2024-03-01' }]);
});
