/** Contract §2: which run of a query is the latest. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { getText } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';

const DAY_MILLIS = 24 * 60 * 60 * 1000;

async function latest(service: HttpService, query = ''): Promise<readonly [unknown, unknown]> {
  const { execution_id, state } = await service.json(`/v1/query/7/results${query}`);
  return [execution_id, state];
}

/** Submits a run, a minute after the one before. */
async function submit(service: HttpService): Promise<string> {
  service.commandLine.now += 60_000;
  return await service.commandLine.get('executions', 'submit', '--query', '7');
}

async function published(t: TestContext) {
  const service = await startHttpService(t);
  const { id } = await service.publish(7, 'n\n1\n');
  return { service, id, qrs: service.commandLine };
}

test('the newest run with a result is the latest, whatever triggered it', async (t) => {
  const { service, qrs } = await published(t);
  qrs.now += 1000;
  const second = await service.publish(7, 'n\n2\n');
  assert.deepEqual(await latest(service), [second.id, 'QUERY_STATE_COMPLETED']);
  const third = await submit(service);
  await qrs.get('executions', 'start', third);
  await service.publish(7, 'n\n3\n', { executionId: third });
  assert.deepEqual(await latest(service), [third, 'QUERY_STATE_COMPLETED']);
  assert.equal((await getText(service, '/v1/query/7/results/csv'))[1], 'n\n3\n');
});

test('a run in progress, failed or cancelled never blanks the endpoint', async (t) => {
  const { service, id, qrs } = await published(t);
  const stored = [id, 'QUERY_STATE_COMPLETED'];
  const failing = await submit(service);
  assert.deepEqual(await latest(service), stored);
  await qrs.get('executions', 'start', failing);
  assert.deepEqual(await latest(service), stored);
  await qrs.get('executions', 'fail', failing, '--message', 'no such table');
  assert.deepEqual(await latest(service), stored);
  await qrs.get('executions', 'cancel', await submit(service));
  assert.deepEqual(await latest(service), stored);
  assert.deepEqual(await getText(service, '/v1/query/7/results/csv'), [200, 'n\n1\n']);
});

test('a truncated result counts as one: the newest, and refused unless allowed', async (t) => {
  const { service, qrs } = await published(t);
  qrs.now += 1000;
  const partial = await service.publish(7, 'n\n1\n2\n3\n', { resultBytesMax: 16 });
  assert.equal((await getText(service, '/v1/query/7/results'))[0], 400);
  assert.deepEqual(await latest(service, '?allow_partial_results=true'), [partial.id, 'QUERY_STATE_COMPLETED_PARTIAL']);
});

test('the order is that of submission, not of completion', async (t) => {
  const { service, qrs } = await published(t);
  const slow = await submit(service);
  await qrs.get('executions', 'start', slow);
  const quick = await submit(service);
  await qrs.get('executions', 'start', quick);
  await service.publish(7, 'n\n3\n', { executionId: quick });
  qrs.now += 1000;
  await service.publish(7, 'n\n2\n', { executionId: slow });
  assert.deepEqual(await latest(service), [quick, 'QUERY_STATE_COMPLETED']);
});

test('when every result has expired, the newest run is the latest, whatever its state', async (t) => {
  const { service, id, qrs } = await published(t);
  const failed = await submit(service);
  await qrs.get('executions', 'fail', failed, '--message', 'no such table');
  const { expires_at } = await service.json('/v1/query/7/results');
  qrs.now = Date.parse(String(expires_at)) - 1;
  assert.deepEqual(await latest(service), [id, 'QUERY_STATE_COMPLETED']);
  qrs.now += 1;
  assert.deepEqual(await latest(service), [failed, 'QUERY_STATE_FAILED']);
  // The clock has jumped, so the sweep needs `--yes`.
  await qrs.get('sweep', '--yes');
  assert.deepEqual(await latest(service), [failed, 'QUERY_STATE_FAILED']);
});

test('an expired result gives way to one that has not expired', async (t) => {
  const { service, id, qrs } = await published(t);
  qrs.now += DAY_MILLIS;
  const late = await service.publish(7, 'n\n2\n');
  assert.deepEqual(await latest(service), [late.id, 'QUERY_STATE_COMPLETED']);
  qrs.now += 89 * DAY_MILLIS;
  assert.equal((await service.json(`/v1/execution/${id}/results`)).state, 'QUERY_STATE_EXPIRED');
  assert.deepEqual(await latest(service), [late.id, 'QUERY_STATE_COMPLETED']);
  qrs.now += DAY_MILLIS;
  assert.deepEqual(await latest(service), [late.id, 'QUERY_STATE_EXPIRED']);
  // A newer run begins, and is the newest of all.
  const pending = await submit(service);
  assert.deepEqual(await latest(service), [pending, 'QUERY_STATE_PENDING']);
});

test('a result that a clock ahead of its time took for expired is the latest again when the clock is right', async (t) => {
  const { service, id, qrs } = await published(t);
  const failed = await submit(service);
  await qrs.get('executions', 'fail', failed, '--message', 'no such table');
  qrs.now += 91 * DAY_MILLIS;
  assert.deepEqual(await latest(service), [failed, 'QUERY_STATE_FAILED']);
  qrs.now -= 91 * DAY_MILLIS;
  assert.deepEqual(await latest(service), [id, 'QUERY_STATE_COMPLETED']);
});

test('without any result, the newest run is the latest', async (t) => {
  const service = await startHttpService(t);
  await service.commandLine.get('queries', 'add', '--id', '7', '--user', 'ann');
  await submit(service);
  const second = await submit(service);
  assert.deepEqual(await latest(service), [second, 'QUERY_STATE_PENDING']);
  assert.deepEqual(await getText(service, '/v1/query/7/results/csv'), [
    409,
    '{"error":"Query state is QUERY_STATE_PENDING, cannot provide CSV result","state":"QUERY_STATE_PENDING"}',
  ]);
});

test('params.*', async (t) => {
  const service = await startHttpService(t);
  const publish = async (parameters: Readonly<Record<string, string>>) => {
    service.commandLine.now += 1000;
    return (await service.publish(7, 'n\n1\n', { parameters })).id;
  };
  const base = await publish({ chain: 'base' });
  const both = await publish({ chain: 'base', day: '2024-03-05' });
  const blank = await publish({ 'the chain': 'a & b', empty: '' });
  const plain = await publish({});
  const idOf = async (query: string) => (await latest(service, query))[0];
  const never = [404, '{"error":"not found: No execution found for the latest version of the given query"}'];

  await t.test('without them, the latest run, whatever its parameters', async () => {
    assert.equal(await idOf(''), plain);
    assert.equal(await idOf('?params='), plain);
  });

  await t.test('with any, the latest run having these values, and possibly others', async () => {
    assert.equal(await idOf('?params.chain=base'), both);
    assert.equal(await idOf('?params.day=2024-03-05'), both);
    assert.equal(await idOf('?params.day=2024-03-05&params.chain=base'), both);
    assert.equal(await idOf('?params.the+chain=a+%26+b'), blank);
    assert.equal(await idOf('?params.empty='), blank);
  });

  await t.test('none such: 404', async () => {
    for (const query of [
      'params.chain=optimism',
      'params.chain=BASE',
      'params.other=base',
      'params.chain=base&params.day=2024-03-06',
    ]) {
      assert.deepEqual(await getText(service, `/v1/query/7/results?${query}`), never);
      assert.deepEqual(await getText(service, `/v1/query/7/results/csv?${query}`), never);
    }
  });

  await t.test('a result with these values wins over a newer run without one', async () => {
    service.commandLine.now += 1000;
    const failed = await service.commandLine.get('executions', 'submit', '--query', '7', '--param', 'chain=base');
    await service.commandLine.get('executions', 'fail', failed, '--message', 'no');
    assert.equal(await idOf('?params.chain=base'), both);
    assert.equal(await idOf('?params.chain=base&limit=1'), both);
  });

  await t.test('ignored on execution endpoints', async () => {
    const { execution_id } = await service.json(`/v1/execution/${base}/results?params.chain=optimism`);
    assert.equal(execution_id, base);
  });
});

test('a query that has never run: 404', async (t) => {
  const service = await startHttpService(t);
  await service.commandLine.get('queries', 'add', '--id', '7', '--user', 'ann');
  for (const path of ['/v1/query/7/results', '/v1/query/7/results/csv']) {
    const response = await service.get(path);
    assert.deepEqual(
      [response.status, response.headers.get('x-error-code'), await response.text()],
      [
        404,
        'no_execution_found',
        '{"error":"not found: No execution found for the latest version of the given query"}',
      ],
    );
  }
});
