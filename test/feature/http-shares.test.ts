/** Contract §11: shares. Whoever has the address of one reads that and nothing else, without a key. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Envelope, rawRequest } from './http-client.ts';
import { type HttpService, openServer, startHttpService } from './http-service.ts';
import { annWrites, assertRefused, type Send, sender } from './http-writer.ts';
import { requestProblems } from './openapi-validator.ts';
import { readParquet } from './parquet-reader.ts';

const HOUR = 3_600_000;
const CSV = 'wallet,chain,amount\nw1,base,5\nw2,eth,7\nw3,base,9\n';
const NOTHING = 'not found: nothing is shared at this address, or no longer';

/** What is at an address, without a key. */
async function open(service: HttpService, path: string) {
  const { status, headers, body } = await rawRequest(service.url, path.replaceAll(' ', '%20'), {});
  return { status, code: headers['x-error-code'], headers, body };
}

async function envelope(service: HttpService, path: string): Promise<Envelope> {
  const { status, body } = await open(service, path);
  assert.equal(status, 200, body);
  return JSON.parse(body) as Envelope;
}

/** @returns the path of what is shared, and the id of the share */
async function share(
  send: Send,
  of: string,
  body: object = {},
): Promise<{ readonly path: string; readonly id: string }> {
  const made = await send('POST', `/v1/${of}/share`, { body });
  assert.equal(made.status, 201, made.text);
  const { pathname } = new URL(String(made.json.url));
  return { path: pathname, id: String(made.json.id) };
}

test('a share of an execution is read at its address, in every format, without a key', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  const { id } = await service.publish(7, CSV);
  const made = await send('POST', `/v1/execution/${id}/share`, { body: {} });
  assert.equal(made.status, 201);
  assert.deepEqual(Object.keys(made.json).sort(), ['id', 'url']);
  assert.match(String(made.json.url), /^http:\/\/127\.0\.0\.1:\d+\/v1\/shared\/qrss_[0-9a-z]{40}\/results$/);
  const { pathname } = new URL(String(made.json.url));
  const { execution_id, result } = await envelope(service, pathname);
  assert.equal(execution_id, id);
  assert.deepEqual(result.rows[0], { wallet: 'w1', chain: 'base', amount: 5 });
  assert.equal((await open(service, `${pathname}/csv`)).body, CSV);
  assert.equal((await open(service, `/api${pathname}?format=csv`)).body, CSV);
  assert.equal((await open(service, `${pathname}?format=ndjson&columns=wallet&limit=1`)).body, '{"wallet":"w1"}\n');
  const parquet = await fetch(`${service.url}${pathname}?format=parquet`);
  assert.deepEqual((await readParquet(await parquet.bytes())).rows[2], ['w3', 'base', '9']);
  assert.equal(
    (await open(service, `${pathname}?filters=amount > 6&columns=wallet&format=csv`)).body,
    'wallet\nw2\nw3\n',
  );
  const { headers } = await open(service, pathname);
  assert.equal(headers['cache-control'], 'private, no-cache');
  const again = await fetch(service.url + pathname, { headers: { 'if-none-match': String(headers.etag) } });
  assert.equal(again.status, 304);
});

test('of a share with columns and filters nothing else can be seen: not by names, counts, searches or errors', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  const { id } = await service.publish(7, CSV);
  const body = { columns: ['amount', 'wallet'], filters: "chain = 'base'" };
  const { path } = await share(send, `execution/${id}`, body);
  const { result } = await envelope(service, path);
  assert.deepEqual(result.rows, [
    { amount: 5, wallet: 'w1' },
    { amount: 9, wallet: 'w3' },
  ]);
  const { column_names, column_types, total_row_count, total_result_set_bytes } = result.metadata;
  assert.deepEqual(column_names, ['amount', 'wallet']);
  assert.deepEqual(column_types, ['bigint', 'varchar']);
  // Two integers of 8 bytes, two texts of 2.
  assert.deepEqual([total_row_count, total_result_set_bytes], [2, 20]);
  const csv = async (asked: string) => (await open(service, `${path}?format=csv&${asked}`)).body;
  assert.equal(await csv('columns=wallet&sort_by=amount desc'), 'wallet\nw3\nw1\n');
  assert.equal(await csv('filters=amount > 5 or amount < 100'), 'amount,wallet\n5,w1\n9,w3\n');
  assert.equal(await csv("filters=wallet = 'w2'"), 'amount,wallet\n');
  assert.equal(await csv('search=base'), 'amount,wallet\n');
  assert.equal(await csv('search=W3&columns=amount'), 'amount\n9\n');
  assert.equal(await csv('sample_count=50&sample_seed=1'), 'amount,wallet\n5,w1\n9,w3\n');
  assert.equal(
    (await open(service, `${path}?count=exact&filters=amount > 6`)).headers['x-service-filtered-row-count'],
    '1',
  );
  const { rows } = await readParquet(await (await fetch(`${service.url}${path}?format=parquet`)).bytes());
  assert.deepEqual(rows, [
    ['5', 'w1'],
    ['9', 'w3'],
  ]);
  // The nearest name that there is in the whole result is not told.
  for (const [asked, code] of [
    ['columns=chai', 'unknown_column'],
    ["filters=chai = 'eth'", 'filter_column'],
    ['sort_by=chai', 'sort_column'],
  ] as const) {
    const refused = await open(service, `${path}?${asked}`);
    assert.deepEqual([refused.status, refused.code], [400, code], refused.body);
    assert.doesNotMatch(refused.body, /chain/);
    const whole = await open(service, `${path}?${asked.replace('chai', 'chain')}`);
    assert.equal(whole.body, refused.body.replaceAll('chai', 'chain'));
  }
});

test('columns alone, or rows alone', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await service.publish(7, CSV);
  const { path: some } = await share(send, 'query/7', { columns: 'chain, wallet' });
  assert.equal((await open(service, `${some}/csv`)).body, 'chain,wallet\nbase,w1\neth,w2\nbase,w3\n');
  const { headers } = await open(service, `${some}/csv`);
  assert.match(String(headers['content-disposition']), /^attachment; filename="query-7_[0-9A-Z]{26}\.csv"$/);
  const { path: few } = await share(send, 'query/7', { filters: 'amount between 6 and 8' });
  assert.equal((await open(service, `${few}/csv`)).body, 'wallet,chain,amount\nw2,eth,7\n');
});

test('a share of a query is of its latest run; the pages of a walk stay on the run in which it began', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  const first = await service.publish(7, CSV);
  for (const body of [{}, { columns: ['wallet'] }]) {
    const { path } = await share(send, 'query/7', body);
    const page = await envelope(service, `${path}?limit=2`);
    assert.equal(page.execution_id, first.id);
    const next = new URL(page.next_uri ?? '');
    assert.equal(`${next.pathname}${next.search}`, `${path}?execution_id=${first.id}&limit=2&offset=2`);
  }
  const { path } = await share(send, 'query/7', { columns: ['wallet'] });
  const begun = await envelope(service, `${path}?limit=2`);
  service.commandLine.now += HOUR;
  await service.publish(7, 'wallet,chain,amount\nnew,base,1\n');
  const { pathname, search } = new URL(begun.next_uri ?? '');
  assert.deepEqual((await envelope(service, pathname + search)).result.rows, [{ wallet: 'w3' }]);
  assert.deepEqual((await envelope(service, path)).result.rows, [{ wallet: 'new' }]);
});

test('no other run, query or address can be reached by a share', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  const { id } = await service.publish(7, CSV);
  const other = await service.publish(8, 'secret\n1\n');
  for (const body of [{}, { columns: ['wallet'] }]) {
    const { path } = await share(send, 'query/7', body);
    const refused = async (asked: string) => {
      const { status, code, body: text } = await open(service, `${path}?${asked}`);
      return [status, code, (JSON.parse(text) as { readonly error: string }).error];
    };
    const notFound = `The requested execution ID (ID ${other.id}) was not found.`;
    assert.deepEqual(await refused(`execution_id=${other.id}`), [404, 'execution_not_found', notFound]);
    const latest = 'as_of, params: this address shows the latest run and no other';
    assert.deepEqual(await refused('as_of=2024-03-05'), [400, 'incompatible_parameters', latest]);
    assert.deepEqual(await refused('params.chain=eth'), [400, 'incompatible_parameters', latest]);
    assert.deepEqual((await refused('queryID=8'))[1], 'invalid_parameter');
    assert.deepEqual((await refused('limit=x'))[1], 'invalid_parameter');

    // The token is no key, and a key is no token.
    const [, , , token = ''] = path.split('/');
    for (const address of ['/v1/query/7/results', `/v1/execution/${id}/status`, '/v1/queries', '/v1/usage', '/mcp']) {
      const asked = await service.get(address, { key: token });
      assert.deepEqual([asked.status, await asked.text()], [401, '{"error":"invalid API Key"}'], address);
    }
    const byParameter = await open(service, `/v1/query/7/results?api_key=${token}`);
    assert.equal(byParameter.status, 401);
    assert.equal((await send('POST', '/v1/query/7/share', { key: token, body: {} })).status, 401);
  }
  const byKey = await open(service, `/v1/shared/${service.key}/results`);
  assert.deepEqual([byKey.status, byKey.code, byKey.body], [404, 'share_not_found', `{"error":"${NOTHING}"}`]);
});

test('an error never repeats the token, wherever it was written', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await service.publish(7, CSV);
  const { path } = await share(send, 'query/7', {});
  const [, , , token = ''] = path.split('/');
  const told = async (asked: string, given = token) => {
    const answer = await service.get(asked.replace('TOKEN', given));
    return [answer.status, ((await answer.json()) as { readonly error: string }).error];
  };
  const below = 'not found: GET /v1/shared/qrss_[key]/rows';
  assert.deepEqual(await told('/v1/shared/TOKEN/rows'), [404, below]);
  assert.deepEqual(await told('/v1/TOKEN', service.key), [404, 'not found: GET /v1/qrs_[key]']);
  const malformed = 'The requested execution ID (ID: qrss_[key]) is invalid.';
  assert.deepEqual(await told('/v1/execution/TOKEN/results'), [400, malformed]);
  const limit = 'limit: found "qrss_[key]", expected a whole number, at least 0';
  assert.deepEqual(await told('/v1/query/7/results?limit=TOKEN'), [400, limit]);
});

test('a share of an execution shows that one, also when others come, and names no other', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  const { id } = await service.publish(7, CSV);
  const { path } = await share(send, `execution/${id}`);
  service.commandLine.now += HOUR;
  const later = await service.publish(7, 'n\n1\n');
  assert.equal((await envelope(service, path)).execution_id, id);
  const refused = await open(service, `${path}?execution_id=${later.id}`);
  assert.deepEqual([refused.status, refused.code], [400, 'invalid_parameter']);
  const { body } = await open(service, `${path}?as_of=2024-03-05`);
  assert.equal(body, '{"error":"as_of, params: this address shows one execution and no other"}');
});

test('a share is over when it is ended, when it expires, and when its key is revoked; also for answers from memory', async (t) => {
  const service = await startHttpService(t);
  const { commandLine: qrs } = service;
  const { send } = await annWrites(service);
  const { id } = await service.publish(7, CSV);
  const isOver = async (path: string) => {
    const { status, code, body } = await open(service, path);
    assert.deepEqual([status, code, body], [404, 'share_not_found', `{"error":"${NOTHING}"}`]);
  };
  const read = async (path: string) => {
    for (let time = 0; time < 4; time += 1) assert.equal((await open(service, path)).status, 200);
  };
  for (const [of, body] of [
    ['query/7', {}],
    [`execution/${id}`, { columns: ['wallet'] }],
  ] as const) {
    const { path, id: ended } = await share(send, of, body);
    await read(path);
    assert.deepEqual((await send('DELETE', `/v1/${of}/share/${ended}`)).json, { success: true });
    await isOver(path);
    const again = await send('DELETE', `/v1/${of}/share/${ended}`);
    const [noun, name] = of.split('/');
    assertRefused(again, 404, 'share_not_found', `not found: ${noun} ${name} has no share ${ended} that has not ended`);

    const revoked = await share(send, of, body);
    await read(revoked.path);
    assert.equal(await qrs.get('shares', 'end', revoked.id), revoked.id);
    await isOver(revoked.path);

    const expiring = await send('POST', `/v1/${of}/share`, { body: { ...body, expires_in: 3600 } });
    assert.equal(expiring.json.expires_at, '2024-03-05T21:50:59.123000Z');
    const { pathname } = new URL(String(expiring.json.url));
    await read(pathname);
    qrs.now += HOUR;
    await isOver(pathname);
    qrs.now -= HOUR;
  }
});

test('whoever may change the query may share it: nobody else, and what may not be seen is not there', async (t) => {
  const service = await startHttpService(t);
  const { commandLine: qrs } = service;
  const { send } = await annWrites(service);
  const { id } = await service.publish(7, CSV);
  await qrs.get('users', 'add', 'bob');
  const bob = sender(service, await qrs.get('keys', 'create', '--user', 'bob', '--scope', 'write'));
  const admin = sender(service, await qrs.get('keys', 'create', '--user', 'bob', '--scope', 'admin'));
  for (const name of ['query/7', `execution/${id}`]) {
    const onlyRead = 'this API key may only read this query: it belongs to another user or team';
    const byReader = await sender(service, service.key)('POST', `/v1/${name}/share`, { body: {} });
    assertRefused(byReader, 403, 'scope', 'this API key may only read');
    assertRefused(await bob('POST', `/v1/${name}/share`, { body: {} }), 403, 'scope', onlyRead);
    assertRefused(await bob('GET', `/v1/${name}/share`), 403, 'scope', onlyRead);
    const { path, id: shared } = await share(admin, name);
    assertRefused(await bob('DELETE', `/v1/${name}/share/${shared}`), 403, 'scope', onlyRead);
    assert.equal((await open(service, path)).status, 200);
  }
  await send('POST', '/v1/query/7/private');
  const hidden = await bob('POST', '/v1/query/7/share', { body: {} });
  assertRefused(hidden, 404, 'query_not_found', 'not found: Query not found or private');
  const hiddenRun = await bob('POST', `/v1/execution/${id}/share`, { body: {} });
  assertRefused(hiddenRun, 404, 'execution_not_found', `The requested execution ID (ID ${id}) was not found.`);
});

test('a private query can be shared, and what was shared stays so when the query becomes private; not when it is given away', async (t) => {
  const service = await startHttpService(t);
  const { commandLine: qrs } = service;
  const { send } = await annWrites(service);
  await service.publish(7, CSV);
  const { path: before } = await share(send, 'query/7');
  await send('POST', '/v1/query/7/private');
  const { path: after } = await share(send, 'query/7', { columns: ['wallet'] });
  for (const path of [before, after]) assert.equal((await open(service, path)).status, 200);
  await qrs.get('users', 'add', 'bob');
  await qrs.get('queries', 'set', '7', '--user', 'bob');
  for (const path of [before, after]) {
    const { status, code } = await open(service, path);
    assert.deepEqual([status, code], [404, 'query_not_found']);
  }
});

test('what a share is to show must be there when it is made; when a later run has it no more, the address says so', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await service.publish(7, CSV);
  const refused = async (body: object) => {
    const { status, headers, json } = await send('POST', '/v1/query/7/share', { body });
    return [status, headers.get('x-error-code'), json.error];
  };
  const [status, code, error] = await refused({ columns: ['walet'] });
  assert.deepEqual([status, code], [400, 'unknown_column']);
  assert.match(String(error), /wallet/);
  assert.deepEqual((await refused({ filters: 'amount >' })).slice(0, 2), [400, 'filter_syntax']);
  assert.deepEqual((await refused({ filters: 'price > 5' })).slice(0, 2), [400, 'filter_column']);
  assert.deepEqual(await refused({ columns: [] }), [
    400,
    'invalid_body',
    'columns: found a list of 0, expected at least one name',
  ]);
  assert.deepEqual((await refused({ colums: ['a'] }))[2], 'colums: no such field; did you mean columns?');
  assert.deepEqual((await refused({ expires_in: 0 }))[1], 'invalid_body');

  const { path } = await share(send, 'query/7', { filters: 'amount > 5' });
  service.commandLine.now += HOUR;
  const { id } = await service.publish(7, 'wallet,price\nw1,1\n');
  const gone = await open(service, path);
  const problem = `execution ${id} does not have the columns that this share shows, or filters by; whoever shared it can share it anew`;
  assert.deepEqual([gone.status, gone.code, gone.body], [409, 'no_result', JSON.stringify({ error: problem })]);
});

test('a share goes on as it was made where what a request may filter by is bounded more narrowly since', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await service.publish(7, CSV);
  const { path } = await share(send, 'query/7', { filters: "chain in ('base', 'x') and not (amount < 6)" });
  for (const narrower of ['LENGTH_MAX=10', 'TERMS_MAX=1', 'DEPTH_MAX=1', 'IN_MAX=1']) {
    const [name = '', value = ''] = narrower.split('=');
    const { server, close } = await openServer(service.commandLine, { [`QRS_FILTER_${name}`]: value });
    t.after(close);
    const { body } = await rawRequest(server.url, `${path}/csv`, {});
    assert.equal(body, 'wallet,chain,amount\nw3,base,9\n', narrower);
    const asked = `${path}/csv?filters=chain in ('a', 'b') and not (amount < 1)`.replaceAll(' ', '%20');
    assert.equal((await rawRequest(server.url, asked, {})).status, 400, 'but what is asked of it is bounded');
  }
});

test('a query can be shared before its first run; until then, and after one that failed, the address says that there is no result, not why', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await send('POST', '/v1/query', { body: { query_id: 7, name: 'later' } });
  const early = await send('POST', '/v1/query/7/share', { body: { columns: ['wallet'] } });
  assertRefused(
    early,
    409,
    'no_result',
    /^query 7 has no stored result yet, so it is not known which columns there are/,
  );
  const { path } = await share(send, 'query/7');
  assert.deepEqual((await open(service, path)).code, 'no_execution_found');
  const begun = String((await send('POST', '/v1/query/7/executions', { body: {} })).json.execution_id);
  await send('POST', `/v1/execution/${begun}/fail`, { body: { type: 'syntax', message: 'near select secret' } });
  const failed = await open(service, path);
  const problem = `the state of execution ${begun} is QUERY_STATE_FAILED: it has no result to show`;
  assert.deepEqual([failed.status, failed.code], [409, 'no_result']);
  assert.deepEqual(JSON.parse(failed.body), { error: problem, state: 'QUERY_STATE_FAILED' });
  const never = await send('POST', `/v1/execution/${begun}/share`, { body: {} });
  assertRefused(
    never,
    409,
    'no_result',
    `the state of execution ${begun} is QUERY_STATE_FAILED: it has no result to share`,
  );
  await service.publish(7, CSV);
  assert.equal((await open(service, path)).status, 200);
});

test('shares are listed for whoever may change the query, without tokens, and for the operator', async (t) => {
  const service = await startHttpService(t, { QRS_USAGE_INTERVAL: '3600' });
  const { commandLine: qrs } = service;
  const { send } = await annWrites(service);
  const { id } = await service.publish(7, CSV);
  const one = await share(send, 'query/7', { columns: ['wallet'], filters: 'amount > 5', expires_in: 60 });
  qrs.now += 1000;
  const two = await share(send, `execution/${id}`);
  const first = {
    id: one.id,
    user: 'ann',
    query_id: 7,
    columns: ['wallet'],
    filters: 'amount > 5',
    expires_at: '2024-03-05T20:51:59.123000Z',
    created_at: '2024-03-05T20:50:59.123000Z',
  };
  const second = { id: two.id, user: 'ann', query_id: 7, execution_id: id, created_at: '2024-03-05T20:51:00.123000Z' };
  const { json: listed } = await send('GET', '/v1/query/7/share');
  assert.deepEqual(listed, { shares: [first, second], total: 2 });
  const document = await service.json('/openapi.json');
  for (const item of [first, second]) assert.deepEqual(requestProblems(document, 'Share', item), []);
  const idsOf = async (active: boolean) => {
    const { shares } = (await send('GET', `/v1/query/7/share?active=${active}`)).json;
    return (shares as readonly { readonly id: string }[]).map((item) => item.id);
  };
  assert.deepEqual([await idsOf(true), await idsOf(false)], [[one.id, two.id], []]);
  qrs.now += 60_000;
  assert.deepEqual([await idsOf(true), await idsOf(false)], [[two.id], [one.id]]);
  assert.deepEqual((await send('GET', `/v1/execution/${id}/share`)).json, { shares: [second], total: 1 });
  const page = (await send('GET', '/v1/query/7/share?limit=1')).json;
  assert.deepEqual([page.shares, page.next_offset], [[first], 1]);
  assert.match(String(page.next_uri), /\/v1\/query\/7\/share\?limit=1&offset=1$/);
  assert.deepEqual(JSON.parse(await qrs.get('shares', 'list', '--json')), [first, second]);
  assert.deepEqual(JSON.parse(await qrs.get('shares', 'list', '--query', '8', '--json')), []);
  assert.equal(await qrs.get('shares', 'list'), `${one.id}\n${two.id}`);
  // They are no keys that somebody could take for one of a program.
  assert.equal(JSON.parse(await qrs.get('keys', 'list', '--json')).length, 2);
});

test('the command makes shares, too, for the owner of the query', async (t) => {
  const service = await startHttpService(t);
  const { commandLine: qrs } = service;
  const { id } = await service.publish(7, CSV);
  const make = async (...words: readonly string[]) =>
    (await qrs.run(['shares', 'create', ...words])) as { out: string };
  const of = ['7', '--columns', 'wallet, amount', '--filter', 'amount > 5', '--expires', '2d', '--json'];
  const made = JSON.parse((await make(...of)).out) as { readonly url: string; readonly id: string };
  assert.deepEqual(Object.entries(made).slice(1), [
    ['id', made.id],
    ['expires_at', '2024-03-07T20:50:59.123000Z'],
  ]);
  const read = async (url: string) => (await open(service, `${new URL(url).pathname}/csv`)).body;
  assert.equal(await read(made.url), 'wallet,amount\nw2,7\nw3,9\n');
  assert.equal(await read((await make(id)).out.trim()), CSV);
  assert.equal((await qrs.get('shares', 'list', '--query', '7')).split('\n').length, 2);
  const failed = async (...words: readonly string[]) => await qrs.run(['shares', ...words]);
  assert.deepEqual(await failed('create', '9'), { code: 1, out: '', err: 'error: there is no query 9\n' });
  const gone = { code: 1, out: '', err: 'error: there is no share x that has not ended\n' };
  assert.deepEqual(await failed('end', 'x'), gone);
  const wrong = (await failed('create', '7', '--columns', 'wallett')) as {
    readonly code: number;
    readonly err: string;
  };
  assert.deepEqual([wrong.code, wrong.err.includes('wallet')], [1, true]);
});

test('under an idempotency key a share is made once, and its address is told once', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await service.publish(7, CSV);
  const ask = async () =>
    (await send('POST', '/v1/query/7/share', { body: {}, headers: { 'idempotency-key': 'k1' } })).json;
  const made = await ask();
  const { url, id } = made;
  const document = await service.json('/openapi.json');
  for (const answer of [made, { id }]) assert.deepEqual(requestProblems(document, 'MadeShare', answer), []);
  assert.match(String(url), /\/v1\/shared\/qrss_/);
  assert.deepEqual(await ask(), { id });
  assert.equal((await send('GET', '/v1/query/7/share')).json.total, 1);
});

test('what is read by a share counts as usage of the owner, under the id of the share', async (t) => {
  const service = await startHttpService(t);
  const { commandLine: qrs } = service;
  const { send } = await annWrites(service);
  await service.publish(7, CSV);
  const { path, id } = await share(send, 'query/7', { columns: ['wallet'] });
  await envelope(service, path);
  await service.close();
  const usage = JSON.parse(await qrs.get('usage', '--by', 'key', '--json')) as { key_id: string; datapoints: number }[];
  assert.equal(usage.find(({ key_id }) => key_id === id)?.datapoints, 3);
});
