/** Webhooks from outside: added over HTTP, told over HTTP, whatever the receivers and the service go through (contract §11). */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { logTo } from '../../src/observation/log.ts';
import { assertRefused, sender } from './http-writer.ts';
import { startTelling, type TellingService } from './telling-service.ts';
import { assertSigned, startReceiver } from './webhook-receiver.ts';

const CSV = { headers: { 'content-type': 'text/csv' }, body: 'a,b\n1,2\n3,4\n' };

interface Added {
  readonly id: string;
  readonly secret: string;
}

async function addWebhook({ send }: Pick<TellingService, 'send'>, body: object): Promise<Added> {
  const { status, json, text } = await send('POST', '/v1/webhooks', { body });
  assert.equal(status, 201, text);
  return json as unknown as Added;
}

/** Adds a query of ann's with this id. */
async function addQuery({ send }: Pick<TellingService, 'send'>, more: object = {}): Promise<void> {
  assert.equal((await send('POST', '/v1/query', { body: { query_id: 7, name: 'Trades', ...more } })).status, 201);
}

async function publish({ send }: Pick<TellingService, 'send'>, query = 7): Promise<string> {
  const { status, json, text } = await send('POST', `/v1/query/${query}/results`, CSV);
  assert.equal(status, 201, text);
  return String(json.execution_id);
}

async function fail({ send }: Pick<TellingService, 'send'>, query = 7): Promise<string> {
  const begun = await send('POST', `/v1/query/${query}/executions`, { body: {} });
  const id = String(begun.json.execution_id);
  const failed = await send('POST', `/v1/execution/${id}/fail`, { body: { type: 'oom', message: 'out of memory' } });
  assert.equal(failed.status, 200, failed.text);
  return id;
}

async function deliveries({ send }: Pick<TellingService, 'send'>, id: string, query = '') {
  const { status, json } = await send('GET', `/v1/webhooks/${id}/deliveries${query}`);
  assert.equal(status, 200);
  return json as { deliveries: Record<string, unknown>[]; total: number; next_uri?: string };
}

async function telling(t: TestContext, environment: Readonly<Record<string, string>> = {}) {
  const service = await startTelling(t, environment);
  await addQuery(service);
  return service;
}

test('a run that completes and one that fails are told, signed, and listed as delivered', async (t) => {
  const service = await telling(t);
  const receiver = await startReceiver(t);
  const webhook = await addWebhook(service, { url: receiver.url });
  service.deliver();
  const completed = await publish(service);
  await receiver.have(1);
  const failed = await fail(service);
  await service.attempted(2);

  const [first, second] = receiver.received;
  assert.ok(first !== undefined && second !== undefined);
  for (const received of receiver.received) {
    assertSigned(received, webhook.secret);
    assert.equal(received.seconds, Math.floor(service.commandLine.now / 1000));
  }
  assert.deepEqual([first.path, first.id, second.id], ['/hook', `msg_${completed}`, `msg_${failed}`]);
  const { bytes, ...data } = first.message.data;
  const at = '2024-03-05T20:50:59.123000Z';
  assert.equal(bytes, 32);
  assert.deepEqual(
    { ...first.message, data },
    {
      type: 'execution.completed',
      timestamp: at,
      data: {
        query_id: 7,
        query_name: 'Trades',
        execution_id: completed,
        state: 'QUERY_STATE_COMPLETED',
        submitted_at: at,
        execution_started_at: at,
        execution_ended_at: at,
        expires_at: '2024-06-03T20:50:59.123000Z',
        row_count: 2,
      },
    },
  );
  assert.equal(second.message.type, 'execution.failed');
  assert.deepEqual(second.message.data.error, { type: 'oom', message: 'out of memory' });
  const listed = await deliveries(service, webhook.id);
  const shared = {
    occurred_at: at,
    state: 'delivered',
    attempts: 1,
    last_attempt_at: at,
    last_status: 204,
    ended_at: at,
  };
  assert.deepEqual(listed, {
    deliveries: [
      { event_id: `msg_${failed}`, type: 'execution.failed', ...shared },
      { event_id: `msg_${completed}`, type: 'execution.completed', ...shared },
    ].toSorted((a, b) => (a.event_id < b.event_id ? 1 : -1)),
    total: 2,
  });
  const page = await deliveries(service, webhook.id, '?limit=1');
  assert.equal(page.deliveries.length, 1);
  assert.match(String(page.next_uri), new RegExp(`/v1/webhooks/${webhook.id}/deliveries\\?limit=1&offset=1$`));
  assert.deepEqual(service.faults, []);
});

test('a receiver that fails twice gets the same message again, later, and under a new signature', async (t) => {
  const service = await telling(t);
  const receiver = await startReceiver(t, (response, count) => {
    response.writeHead(count < 3 ? 503 : 200).end();
  });
  const { id, secret } = await addWebhook(service, { url: receiver.url });
  service.deliver();
  await publish(service);
  await service.attempted(1);
  const [waiting] = (await deliveries(service, id)).deliveries;
  assert.deepEqual(
    [waiting?.state, waiting?.attempts, waiting?.last_status, waiting?.last_error, waiting?.next_attempt_at],
    ['waiting', 1, 503, 'answered 503', '2024-03-05T20:51:04.123000Z'],
  );
  await service.later(5000);
  await service.attempted(2);
  await service.later(30_000);
  await service.attempted(3);
  assert.deepEqual(
    service.attempts.map(({ outcome }) => outcome),
    ['failed', 'failed', 'delivered'],
  );
  const { received } = receiver;
  for (const one of received) assertSigned(one, secret);
  assert.deepEqual(new Set(received.map((one) => one.id)).size, 1);
  assert.deepEqual(new Set(received.map(({ body }) => body)).size, 1);
  const start = received[0]?.seconds ?? 0;
  assert.deepEqual(
    received.map(({ seconds }) => seconds - start),
    [0, 5, 35],
  );
});

test('a receiver that never answers holds up no other, and its message is given up after a day', async (t) => {
  const service = await telling(t);
  const silent = await startReceiver(t, () => undefined);
  const receiver = await startReceiver(t);
  const { id } = await addWebhook(service, { url: silent.url });
  await addWebhook(service, { url: receiver.url });
  service.deliver();
  await publish(service);
  await silent.have(1);
  await receiver.have(1);
  service.endAttempts();
  await service.attempted(2);
  const [waiting] = (await deliveries(service, id)).deliveries;
  assert.deepEqual(
    [waiting?.state, waiting?.last_status, waiting?.last_error],
    ['waiting', undefined, 'no answer within 15 s'],
  );
  await service.later(86_400_000);
  await silent.have(2);
  service.endAttempts();
  await service.attempted(3);
  const [ended] = (await deliveries(service, id)).deliveries;
  assert.deepEqual([ended?.state, ended?.attempts, ended?.next_attempt_at], ['failed', 2, undefined]);
  assert.equal(service.attempts.at(-1)?.outcome, 'given_up');
});

test('a redirect is not followed', async (t) => {
  const service = await telling(t);
  const inside = await startReceiver(t);
  const receiver = await startReceiver(t, (response) => {
    response.writeHead(307, { location: inside.url }).end();
  });
  const { id } = await addWebhook(service, { url: receiver.url });
  service.deliver();
  await publish(service);
  await service.attempted(1);
  const [waiting] = (await deliveries(service, id)).deliveries;
  assert.equal(waiting?.last_error, 'answered 307, and redirects are not followed');
  assert.equal(inside.received.length, 0);
});

test('410 disables a webhook, and what waits for it is given up', async (t) => {
  const service = await telling(t);
  const receiver = await startReceiver(t, (response) => void response.writeHead(410).end());
  const { id } = await addWebhook(service, { url: receiver.url });
  service.deliver();
  await publish(service);
  await service.attempted(1);
  const { json } = await service.send('GET', `/v1/webhooks/${id}`);
  assert.deepEqual(
    [json.state, json.disabled_reason, json.disabled_at],
    ['disabled', 'answered 410: it is gone', '2024-03-05T20:50:59.123000Z'],
  );
  await publish(service);
  assert.equal((await deliveries(service, id)).total, 1);
});

test('addresses that are not public are refused, when they are added and when they are connected to', async (t) => {
  const service = await telling(t, { QRS_WEBHOOKS_PRIVATE: 'false' });
  const expected = 'expected an http or https URL without user and password, at a public address';
  for (const [url, found] of [
    ['http://127.0.0.1:8080/', 'a URL of 127.0.0.1, which is no public address'],
    ['http://[::ffff:10.0.0.1]/', 'a URL of [::ffff:a00:1], which is no public address'],
    ['http://169.254.169.254/latest', 'a URL of 169.254.169.254, which is no public address'],
    ['http://localhost/', 'a URL of localhost, which is no public address'],
    ['https://ann:hunter2@example.com/', 'a URL with a user or a password'],
    ['file:///etc/passwd', 'a URL of file'],
    ['hook', 'no URL'],
  ]) {
    const refused = await service.send('POST', '/v1/webhooks', { body: { url } });
    assertRefused(refused, 400, 'invalid_body', `url: found ${found}, ${expected}`);
    assert.ok(!refused.text.includes('hunter2'));
  }
  // One from when they were allowed.
  const receiver = await startReceiver(t);
  const catalog = await service.service.catalog();
  await catalog.webhooks.add({
    id: 'from-before',
    owner: { kind: 'user', name: 'ann' },
    url: receiver.url,
    events: ['execution.completed'],
    secret: `whsec_${'A'.repeat(43)}=`,
    createdAt: service.commandLine.now,
  });
  service.deliver();
  await publish(service);
  await service.attempted(1);
  const [waiting] = (await deliveries(service, 'from-before')).deliveries;
  assert.equal(waiting?.last_error, '127.0.0.1 is at no public address, and only such are connected to');
  assert.equal(receiver.received.length, 0);
});

test('a restart of the service between attempts, or during one, loses nothing', async (t) => {
  const before = await telling(t);
  let answers = false;
  const receiver = await startReceiver(t, (response, count) => {
    if (count === 1) response.writeHead(500).end();
    else if (answers) response.writeHead(200).end();
  });
  const { secret } = await addWebhook(before, { url: receiver.url });
  before.deliver();
  await publish(before);
  await before.attempted(1);
  await before.later(5000);
  // The second attempt is on its way, and not answered.
  await receiver.have(2);
  await publish(before);
  await before.close();
  answers = true;
  const after = await startTelling(t, {}, before);
  after.deliver();
  await after.attempted(2);
  assert.deepEqual(after.faults, []);
  const ids = receiver.received.map(({ id }) => id);
  assert.equal(new Set(ids).size, 2);
  assert.equal(ids[1], ids[0]);
  for (const received of receiver.received) assertSigned(received, secret);
  const catalog = await after.service.catalog();
  assert.equal(await catalog.webhooks.countWaiting(), 0);
});

test('of two processes one delivers; when it stops the other goes on', async (t) => {
  const service = await telling(t);
  const receiver = await startReceiver(t);
  await addWebhook(service, { url: receiver.url });
  const [stopFirst] = [service.deliver(), service.deliver()];
  for (let count = 1; count <= 5; count += 1) await publish(service);
  await service.attempted(5);
  await stopFirst();
  await publish(service);
  await service.attempted(6);
  assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 6);
  assert.equal(receiver.received.length, 6);
});

test('who may not read a query cannot have it told, and is told nothing once it is private', async (t) => {
  const service = await telling(t);
  const { commandLine: qrs } = service;
  await qrs.get('users', 'add', 'bob');
  const bobs = await qrs.get('keys', 'create', '--user', 'bob', '--scope', 'write');
  const reading = await qrs.get('keys', 'create', '--user', 'bob');
  const admin = await qrs.get('keys', 'create', '--user', 'bob', '--scope', 'admin');
  const receiver = await startReceiver(t);
  const asBob = { send: sender({ url: service.url }, bobs) };
  const bob = await addWebhook(asBob, { url: receiver.url, query_id: 7 });
  const ann = await addWebhook(service, { url: receiver.url, query_id: 7 });
  await publish(service);
  await service.send('POST', '/v1/query/7/private');
  await publish(service);
  assert.equal((await deliveries(asBob, bob.id)).total, 1);
  assert.equal((await deliveries(service, ann.id)).total, 2);

  const hidden = await asBob.send('POST', '/v1/webhooks', { body: { url: receiver.url, query_id: 7 } });
  assertRefused(hidden, 404, 'query_not_found', 'not found: Query not found or private');
  const unknown = await asBob.send('POST', '/v1/webhooks', { body: { url: receiver.url, query_id: 8 } });
  assertRefused(unknown, 404, 'query_not_found', 'not found: Query not found or private');
  const useless = await asBob.send('POST', '/v1/webhooks', { key: admin, body: { url: receiver.url, query_id: 7 } });
  const problem = 'query 7 is private, and not for user bob to read: nothing would be told';
  assertRefused(useless, 409, 'conflict', problem);

  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/deliveries'],
    ['DELETE', ''],
  ] as const) {
    const refused = await asBob.send(method, `/v1/webhooks/${ann.id}${path}`);
    assertRefused(refused, 404, 'webhook_not_found', 'not found: Webhook not found, or not yours');
    const onlyReads = await asBob.send(method, `/v1/webhooks/${bob.id}${path}`, { key: reading });
    assertRefused(onlyReads, 403, 'scope', 'this API key may only read');
  }
  const idsFor = async (key: string) => {
    const { json } = await asBob.send('GET', '/api/v1/webhooks', { key });
    return (json.webhooks as { readonly id: string }[]).map(({ id }) => id).toSorted();
  };
  assert.deepEqual(await idsFor(bobs), [bob.id]);
  assert.deepEqual(await idsFor(admin), [ann.id, bob.id].toSorted());
  assert.equal((await asBob.send('DELETE', `/v1/webhooks/${bob.id}`)).status, 200);
  assert.deepEqual(await idsFor(bobs), []);
});

test('the secret is shown once, under an idempotency key too, and is in no log', async (t) => {
  const service = await telling(t);
  const receiver = await startReceiver(t, (response, count) => {
    response.writeHead(count === 1 ? 500 : 200).end();
  });
  const url = `${receiver.url}?token=sesame`;
  const options = { body: { url, events: ['execution.completed'] }, headers: { 'idempotency-key': 'k1' } };
  const first = await service.send('POST', '/v1/webhooks', options);
  const again = await service.send('POST', '/v1/webhooks', options);
  const { secret, ...rest } = first.json;
  assert.match(String(secret), /^whsec_/);
  assert.deepEqual(again.json, rest);
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
  assert.deepEqual(rest, {
    id: rest.id,
    user: 'ann',
    url,
    events: ['execution.completed'],
    state: 'active',
    created_at: '2024-03-05T20:50:59.123000Z',
  });
  assert.deepEqual((await service.send('GET', '/v1/webhooks')).json, { webhooks: [rest], total: 1 });
  assert.deepEqual((await service.send('GET', `/v1/webhooks/${rest.id}`)).json, rest);
  service.deliver();
  await publish(service);
  await service.attempted(1);
  await service.later(5000);
  await service.attempted(2);
  const lines: string[] = [];
  const log = logTo((line) => void lines.push(line), 'trace', 'test');
  for (const observation of service.observed) log(observation);
  const told = lines.filter((line) => line.includes('webhook'));
  assert.equal(told.filter((line) => line.includes('webhook not delivered, and tried again later')).length, 1);
  for (const line of lines) assert.ok(!line.includes(String(secret)) && !line.includes('sesame'), line);
});

test('a body that is not what it must be is refused', async (t) => {
  const service = await startTelling(t);
  const refused = async (body: object, error: string) =>
    assertRefused(await service.send('POST', '/v1/webhooks', { body }), 400, 'invalid_body', error);
  await refused({}, 'url: missing, and it must be there');
  await refused({ url: 7 }, 'url: found 7, expected a text of 1 to 2000 characters');
  const url = 'https://example.com/';
  await refused(
    { url, events: [] },
    'events: found a list of 0, expected at least one of execution.completed, execution.failed, dataset.stale',
  );
  await refused(
    { url, events: ['execution.cancelled'] },
    'events[0]: found "execution.cancelled", expected one of execution.completed, execution.failed, dataset.stale',
  );
  await refused({ url, query: 7 }, 'query: no such field; did you mean query_id?');
});

test('a dataset that has become stale is told once', async (t) => {
  const service = await startTelling(t);
  const catalog = await service.service.catalog();
  const [dataset] = await service.service.datasets();
  assert.ok(dataset !== undefined);
  const { queryId, name } = dataset;
  const receiver = await startReceiver(t);
  await addWebhook(service, { url: receiver.url, query_id: queryId, events: ['dataset.stale'] });
  const { now } = service.commandLine;
  const id = '01HR7PD8XYZ3M4N5P6Q7R8S9TA';
  const lease = await catalog.leases.acquire(`write:${id}`, 'test', 1000);
  assert.ok(lease !== undefined);
  const startedAt = now - 3 * 86_400_000;
  const resultSet = { columns: dataset.columns, rowCount: 0, cellBytes: 0, truncated: false, parts: [] };
  await catalog.executions.addCompleted(
    { id, queryId, parameters: {}, state: 'PENDING', submittedAt: startedAt },
    { startedAt, endedAt: startedAt + 1000, expiresAt: now + 86_400_000, resultSet },
    lease,
    { clock: () => now, after: undefined },
  );
  const stop = service.deliver();
  await service.attempted(1);
  await stop();
  service.deliver();
  await addQuery(service);
  await addWebhook(service, { url: receiver.url, query_id: 7 });
  await publish(service);
  await service.attempted(2);
  const types = receiver.received.map(({ message }) => message.type);
  assert.deepEqual(types, ['dataset.stale', 'execution.completed']);
  const { data } = receiver.received[0]?.message ?? {};
  assert.deepEqual(
    [data?.query_id, data?.dataset, data?.execution_id, data?.age_seconds, data?.execution_started_at],
    [queryId, name, id, 3 * 86_400, '2024-03-02T20:50:59.123000Z'],
  );
});

test('messages that ended a week ago are swept, and those that wait are not', async (t) => {
  const service = await telling(t);
  const receiver = await startReceiver(t);
  const { id } = await addWebhook(service, { url: receiver.url, events: ['execution.completed'] });
  const stop = service.deliver();
  const first = await publish(service);
  await service.attempted(1);
  await stop();
  await service.later(7 * 86_400_000 - 1);
  const second = await publish(service);
  const swept = async () => {
    const { code, err } = await service.commandLine.run(['sweep', '--yes']);
    assert.equal(code, 0, err);
    return (await deliveries(service, id)).deliveries.map(({ event_id: event, state }) => [event, state]);
  };
  const waiting = [`msg_${second}`, 'waiting'];
  assert.deepEqual(await swept(), [waiting, [`msg_${first}`, 'delivered']]);
  await service.later(1);
  assert.deepEqual(await swept(), [waiting]);
});

test('the command adds, lists and removes webhooks, and prints what became of their messages', async (t) => {
  const service = await telling(t);
  const { commandLine: qrs } = service;
  const receiver = await startReceiver(t);
  const added = await qrs.run(['webhooks', 'add', receiver.url, '--user', 'ann', '--query', '7', '--json']);
  assert.equal(added.code, 0, added.err);
  const { secret, ...record } = JSON.parse(added.out) as Record<string, unknown>;
  const id = String(record.id);
  assert.match(added.err, new RegExp(`qrs webhooks remove ${id}`));
  const second = await qrs.get('webhooks', 'add', 'https://example.com/', '--user', 'ann', '--event', 'dataset.stale');
  assert.match(second, /^whsec_/);
  service.deliver();
  const execution = await publish(service);
  await service.attempted(1);
  for (const received of receiver.received) assertSigned(received, String(secret));
  assert.equal(await qrs.get('webhooks', 'deliveries', id), `msg_${execution}`);
  const [delivery] = JSON.parse(await qrs.get('webhooks', 'deliveries', id, '--json'));
  assert.deepEqual([delivery.state, delivery.last_status], ['delivered', 204]);
  const all = JSON.parse(await qrs.get('webhooks', 'list', '--json'));
  assert.deepEqual(
    all.find((one: { id: string }) => one.id === id),
    { ...record, query_id: 7, state: 'active' },
  );
  assert.equal(await qrs.get('webhooks', 'remove', id), id);
  assert.equal((await qrs.get('webhooks', 'list')).split('\n').length, 1);
  const gone = await qrs.run(['webhooks', 'remove', id]);
  assert.deepEqual([gone.code, gone.err], [1, `error: there is no webhook ${id}\n`]);
});

test('the command refuses private addresses too, and says which setting allows them', async (t) => {
  const service = await telling(t, { QRS_WEBHOOKS_PRIVATE: 'false' });
  const { code, err } = await service.commandLine.run(['webhooks', 'add', 'http://10.0.0.1/', '--user', 'ann']);
  const expected =
    'error: the address is a URL of 10.0.0.1, which is no public address: expected an http or https URL without user and password, at a public address (QRS_WEBHOOKS_PRIVATE=true allows others)\n';
  assert.deepEqual([code, err], [2, expected]);
});
