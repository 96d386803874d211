/**
 * `Idempotency-Key`: the same request under the same key is carried out once and answered the same, whatever happens in
 * between.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { NO_CATALOG_FILE } from '../postgres-server.ts';
import { startHttpService } from './http-service.ts';
import { annWrites, assertRefused, sender } from './http-writer.ts';

const DAY_MILLIS = 86_400_000;
const CSV = 'n\n1\n2\n';

const under = (name: string, more: Readonly<Record<string, string>> = {}) => ({ 'idempotency-key': name, ...more });

test('a request that is sent again is not carried out again, and gets the same answer for 24 hours', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  const body = { name: 'prices' };
  const ask = async (name: string) => await send('POST', '/v1/query', { body, headers: under(name) });
  const first = await ask('"a 1"');
  assert.deepEqual(
    [first.status, first.text, first.headers.get('idempotency-replayed')],
    [201, '{"query_id":1}', null],
  );
  const again = await ask('"a 1"');
  assert.deepEqual(
    [again.status, again.text, again.headers.get('idempotency-replayed')],
    [201, '{"query_id":1}', 'true'],
  );
  // Without quotes, as many clients send it, it is the same key as with quotes.
  assert.equal((await ask('b')).text, '{"query_id":2}');
  assert.equal((await ask('"b"')).text, '{"query_id":2}');
  service.commandLine.now += DAY_MILLIS - 1;
  assert.equal((await ask('b')).text, '{"query_id":2}');
  service.commandLine.now += 1;
  // PostgreSQL has a clock of its own, by which no day has passed, whatever a host's clock says.
  const next = NO_CATALOG_FILE === false ? 3 : 2;
  assert.equal((await ask('b')).text, `{"query_id":${next}}`);
  // Another API key has idempotency keys of its own.
  const other = await annWrites(service);
  assert.equal((await other.send('POST', '/v1/query', { body, headers: under('b') })).text, `{"query_id":${next + 1}}`);
});

test('an API key in the address is no part of the request', async (t) => {
  const service = await startHttpService(t);
  const { send, key } = await annWrites(service);
  const sent = await send('POST', '/v1/query', { body: { name: 'a' }, headers: under('k') });
  for (const path of ['/v1/query', `/v1/query?api_key=${key}`]) {
    const again = await send('POST', path, { body: { name: 'a' }, headers: under('k') });
    assert.deepEqual([again.status, again.text], [201, sent.text], path);
  }
});

test('under the same key with another body, address or type: 422', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await send('POST', '/v1/query', { body: { name: 'a', query_id: 7 }, headers: under('k') });
  const says = 'Idempotency-Key: "k" was sent before with another request; send another key with this one';
  for (const [path, body] of [
    ['/v1/query', { name: 'b' }],
    ['/v1/query?x=1', { name: 'a', query_id: 7 }],
    ['/v1/query/7/archive', { name: 'a', query_id: 7 }],
    ['/v1/query/7/results', CSV],
  ] as const) {
    assertRefused(await send('POST', path, { body, headers: under('k') }), 422, 'idempotency_mismatch', says);
  }
  const publish = async (name: string, body: string, type = 'text/csv') =>
    await send('POST', '/v1/query/7/results', { body, headers: under(name, { 'content-type': type }) });
  const { execution_id: id } = (await publish('p', CSV)).json;
  assert.equal((await publish('p', CSV)).json.execution_id, id);
  assertRefused(await publish('p', `${CSV}3\n`), 422, 'idempotency_mismatch', /"p" was sent before/);
  assertRefused(
    await publish('p', CSV, 'application/octet-stream'),
    422,
    'idempotency_mismatch',
    /"p" was sent before/,
  );
  assert.equal((await (await service.catalog()).executions.list({ queryId: 7, limit: 9 })).length, 1);
  for (const name of ['', '""', 'a b', 'x'.repeat(256)]) {
    const refused = await send('POST', '/v1/query', { headers: under(name) });
    if (name === '') assert.equal(refused.status, 400);
    else assertRefused(refused, 400, 'invalid_idempotency_key', /^Idempotency-Key: found /);
  }
});

test('a refusal is answered again as it was; after a passing error the request is tried again', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await send('POST', '/v1/query', { body: { query_id: 7 } });
  const conflict = async () => await send('POST', '/v1/query', { body: { query_id: 7 }, headers: under('c') });
  assertRefused(await conflict(), 409, 'conflict', 'there is a query 7 already');
  await service.commandLine.get('queries', 'remove', '7');
  const again = await conflict();
  assertRefused(again, 409, 'conflict', 'there is a query 7 already');
  const csv = { body: CSV, headers: under('d', { 'content-type': 'text/csv' }) };
  // The query was looked up before the body was read. Such a refusal is not kept.
  assertRefused(await send('POST', '/v1/query/8/results', csv), 404, 'query_not_found', /./);
  await send('POST', '/v1/query', { body: { query_id: 8 } });
  assert.equal((await send('POST', '/v1/query/8/results', csv)).status, 201);
  const digest = `sha-256=:${createHash('sha256').update('other').digest('base64')}:`;
  const torn = { body: CSV, headers: { ...csv.headers, ...under('e'), 'content-digest': digest } };
  assertRefused(await send('POST', '/v1/query/8/results', torn), 400, 'digest_mismatch', /./);
  const whole = { body: CSV, headers: { ...csv.headers, ...under('e') } };
  assert.equal((await send('POST', '/v1/query/8/results', whole)).status, 201);
});

test('of many requests at once one is carried out, and the others are told to ask again', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await send('POST', '/v1/query', { body: { query_id: 7 } });
  const answers = await Promise.all(
    Array.from({ length: 8 }, () =>
      send('POST', '/v1/query/7/results', { body: CSV, headers: under('k', { 'content-type': 'text/csv' }) }),
    ),
  );
  const ids = new Set(answers.filter(({ status }) => status === 201).map(({ json }) => json.execution_id));
  assert.equal(ids.size, 1);
  const says = 'Idempotency-Key: the first request under "k" is still being carried out; ask again for its answer';
  for (const answer of answers) {
    if (answer.status !== 201) assertRefused(answer, 409, 'idempotency_in_progress', says);
  }
  assert.equal((await (await service.catalog()).executions.list({ queryId: 7, limit: 9 })).length, 1);
});

/** Of CSV, whose bytes the test sends when it wants. */
function beginUpload(url: string, headers: Readonly<Record<string, string>>): ClientRequest {
  return request(`${url}/v1/query/7/results`, {
    method: 'POST',
    headers: { ...headers, 'content-length': CSV.length },
  });
}

test('while the first request is arriving, the second is refused; once the first has died, the second is carried out', async (t) => {
  const service = await startHttpService(t);
  const { key, send } = await annWrites(service);
  await send('POST', '/v1/query', { body: { query_id: 7 } });
  const headers = under('k', { 'content-type': 'text/csv' });
  const upload = beginUpload(service.url, { ...headers, 'x-service-api-key': key });
  upload.on('error', () => undefined);
  upload.write(CSV.slice(0, 3));
  const { leases, executions } = await service.catalog();
  const held = async () => (await leases.list('idempotency:')).length;
  while ((await held()) === 0) await new Promise((resolve) => setImmediate(resolve));
  const second = async () => await send('POST', '/v1/query/7/results', { body: CSV, headers });
  assertRefused(await second(), 409, 'idempotency_in_progress', /./);
  upload.destroy();
  while ((await held()) > 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal((await second()).status, 201);
  assert.equal((await executions.list({ queryId: 7, limit: 9 })).length, 1);
});

test('the 24 hours of an answer begin with it, however long its request took', { skip: NO_CATALOG_FILE }, async (t) => {
  const service = await startHttpService(t);
  const { key, send } = await annWrites(service);
  await send('POST', '/v1/query', { body: { query_id: 7 } });
  const headers = under('k', { 'content-type': 'text/csv' });
  const upload = beginUpload(service.url, { ...headers, 'x-service-api-key': key, expect: '100-continue' });
  upload.flushHeaders();
  await once(upload, 'continue');
  service.commandLine.now += DAY_MILLIS;
  upload.end(CSV);
  const [response] = await once(upload, 'response');
  const first = await text(response);
  service.commandLine.now += DAY_MILLIS - 1;
  const again = await send('POST', '/v1/query/7/results', { body: CSV, headers });
  assert.deepEqual([response.statusCode, again.text, again.headers.get('idempotency-replayed')], [201, first, 'true']);
});

test('only the beginning of a long refusal is kept', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await send('POST', '/v1/query', { body: { query_id: 7, query_sql: 'SELECT 1 AS n' } });
  const names = Array.from({ length: 100 }, (_, i) => [`${i}`.padEnd(100, 'n'), 'x'] as const);
  const body = { query_parameters: Object.fromEntries(names) };
  const ask = async () => await send('POST', '/v1/query/7/execute', { body, headers: under('k') });
  const [first, again] = [await ask(), await ask()];
  for (const one of [first, again]) assertRefused(one, 400, 'invalid_query_parameter', /^unknown parameters \(0n/);
  assert.ok(String(first.json.error).length > 10_000);
  assert.equal(again.json.error, `${String(first.json.error).slice(0, 2000)}…`);
});

test('a lease lost on the way is a passing error: 503, and the answer is not kept', async (t) => {
  const service = await startHttpService(t);
  const { key, send } = await annWrites(service);
  await send('POST', '/v1/query', { body: { query_id: 7 } });
  const { leases, executions } = await service.catalog();
  const headers = { ...under('k', { 'content-type': 'text/csv' }), 'x-service-api-key': key };
  /** Sends a body in two pieces; the lease is lost between them. */
  const losing = async (path: string, resource: string, body: string) => {
    const sent = request(service.url + path, {
      method: 'POST',
      headers: { ...headers, 'content-length': body.length },
    });
    sent.write(body.slice(0, 3));
    for (;;) {
      const [held] = await leases.list(resource);
      if (held !== undefined && (await leases.revoke(held))) break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    sent.end(body.slice(3));
    const [response] = await once(sent, 'response');
    const { 'x-error-code': code, 'retry-after': after } = response.headers;
    await text(response);
    return [response.statusCode, code, after];
  };
  const lost = [503, 'taken_over', '1'];
  const results = '/v1/query/7/results';
  assert.deepEqual(await losing(results, 'write:', CSV), lost);
  assert.deepEqual(await losing(results, 'idempotency:', CSV), lost);
  // A refusal. It is kept after the work.
  assert.deepEqual(await losing('/v1/query', 'idempotency:', '{"query_id":7}'), lost);
  assert.deepEqual(await executions.list({ queryId: 7, limit: 9 }), []);
  const again = await send('POST', results, { body: CSV, headers: under('k', { 'content-type': 'text/csv' }) });
  assert.deepEqual([again.status, again.headers.get('idempotency-replayed')], [201, null]);
  assert.deepEqual(service.faults, []);
});

test('a killed process holds up its request no longer than its lease; one known to be dead, not at all', async (t) => {
  const service = await startHttpService(t, { QRS_LEASE_SECONDS: '30' });
  const { send } = await annWrites(service);
  const { leases } = await service.catalog();
  const [key] = (await (await service.catalog()).principals.listKeys()).filter(({ scope }) => scope === 'write');
  const resource = (name: string) => `idempotency:${key?.id}:${createHash('sha256').update(name).digest('hex')}`;
  const ask = async (name: string) => await send('POST', '/v1/query', { headers: under(name) });
  await leases.acquire(resource('elsewhere'), 'another host|x|1|1', 30_000);
  assertRefused(await ask('elsewhere'), 409, 'idempotency_in_progress', /./);
  await leases.acquire(resource('ended'), 'another host|x|1|1', 0);
  assert.equal((await ask('ended')).status, 201);
  // PostgreSQL has a clock of its own.
  if (NO_CATALOG_FILE === false) {
    service.commandLine.now += 30_001;
    assert.equal((await ask('elsewhere')).status, 201);
  }
  const child = await import('node:child_process').then(({ spawn }) => spawn(process.execPath, ['-e', '']));
  const { currentLeaseOwner } = await import('../../src/leases/lease-owner.ts');
  const [host, namespace] = currentLeaseOwner().split('|');
  await once(child, 'exit');
  await leases.acquire(resource('here'), `${host}|${namespace}|${child.pid}|1`, 30_000);
  assert.equal((await ask('here')).status, 201);
});

test('the answer and its change are one commit: if the answer cannot be kept, nothing is done', {
  skip: NO_CATALOG_FILE,
}, async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await send('POST', '/v1/query', { body: { query_id: 7 } });
  const { DatabaseSync } = await import('node:sqlite');
  const path = `${service.commandLine.dataDir}/catalog.sqlite`;
  const broken = (sql: string) => {
    using database = new DatabaseSync(path);
    database.exec(sql);
  };
  broken(`create trigger refuse before insert on idempotency_keys begin select raise(abort, 'disk I/O error'); end`);
  const csv = { body: CSV, headers: under('k', { 'content-type': 'text/csv' }) };
  for (const path of ['/v1/query/7/results', '/v1/query', '/v1/query/7/executions']) {
    const body = path.endsWith('results') ? csv : { headers: under(path) };
    assert.equal((await send('POST', path, body)).status, 500);
  }
  const catalog = await service.catalog();
  assert.deepEqual(await catalog.executions.list({ limit: 9 }), []);
  assert.equal((await catalog.queries.list()).filter(({ id }) => id < 990_000_001).length, 1);
  assert.equal(service.faults.length, 3);
  broken('drop trigger refuse');
  assert.equal((await send('POST', '/v1/query/7/results', csv)).status, 201);
});

test('the API key that a request made is not kept with its answer', async (t) => {
  const service = await startHttpService(t);
  const admin = await service.commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'admin');
  const send = sender(service, admin);
  const ask = async () => await send('POST', '/v1/keys', { body: { user: 'ann' }, headers: under('k') });
  const { key, ...first } = (await ask()).json;
  assert.match(String(key), /^qrs_/);
  assert.deepEqual((await ask()).json, first);
  assert.equal((await (await service.catalog()).principals.listKeys()).length, 3);
});

test('answers older than a day are forgotten by the sweep', { skip: NO_CATALOG_FILE }, async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await send('POST', '/v1/query', { headers: under('old') });
  service.commandLine.now += DAY_MILLIS;
  await send('POST', '/v1/query', { headers: under('new') });
  await service.commandLine.run(['sweep', '--yes']);
  const { DatabaseSync } = await import('node:sqlite');
  using database = new DatabaseSync(`${service.commandLine.dataDir}/catalog.sqlite`);
  assert.deepEqual(
    database
      // The service keeps there, too, that it has written down usage, as it does every few seconds.
      .prepare("select name from idempotency_keys where name in ('old', 'new')")
      .all()
      .map(({ name }) => name),
    ['new'],
  );
});

test('a body sent in pieces is the same request as one sent at once', async (t) => {
  const service = await startHttpService(t);
  const { key, send } = await annWrites(service);
  await send('POST', '/v1/query', { body: { query_id: 7 } });
  const headers = under('k', { 'content-type': 'text/csv' });
  const { execution_id: id } = (await send('POST', '/v1/query/7/results', { body: CSV, headers })).json;
  const upload = request(`${service.url}/v1/query/7/results`, {
    method: 'POST',
    headers: { ...headers, 'x-service-api-key': key },
  });
  for (const byte of CSV) upload.write(byte);
  upload.end();
  const [response] = await once(upload, 'response');
  assert.deepEqual([response.statusCode, response.headers['idempotency-replayed']], [201, 'true']);
  assert.equal(JSON.parse(await text(response)).execution_id, id);
});
