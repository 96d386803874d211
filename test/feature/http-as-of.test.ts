/** Contract §8: `as_of=`. The run that was the latest at an earlier time. test/contract/catalog/latest.ts has the rule in detail. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { formatInstant } from '../../src/domain/instant.ts';
import { getEnvelope } from './http-client.ts';
import { startHttpService } from './http-service.ts';

const HOUR = 3_600_000;

/** Three runs, an hour apart. */
async function publishedThrice(t: TestContext) {
  const service = await startHttpService(t);
  const ends: number[] = [];
  const ids: string[] = [];
  for (const n of [1, 2, 3]) {
    ids.push((await service.publish(7, `n\n${n}\n${n}0\n`)).id);
    ends.push(service.commandLine.now);
    service.commandLine.now += HOUR;
  }
  const [first = 0, second = 0, third = 0] = ends;
  const pathOf = (asOf: string, more = '') => `/v1/query/7/results?as_of=${encodeURIComponent(asOf)}${more}`;
  const runAt = async (time: number) => (await getEnvelope(service, pathOf(formatInstant(time)))).execution_id;
  return { service, qrs: service.commandLine, ids, first, second, third, pathOf, runAt };
}

test('the run that had ended by then answers, whatever came later, in all formats', async (t) => {
  const { service, ids, first, second, third, pathOf, runAt } = await publishedThrice(t);
  assert.equal(await runAt(first), ids[0]);
  assert.equal(await runAt(second - 1), ids[0]);
  assert.equal(await runAt(second), ids[1]);
  assert.equal(await runAt(third + 1000 * HOUR), ids[2]);
  const at = formatInstant(second);
  assert.equal(await (await service.get(`/v1/query/7/results/csv?as_of=${at}`)).text(), 'n\n2\n20\n');
  assert.equal(await (await service.get(pathOf(at, '&format=ndjson&filters=n > 2'))).text(), '{"n":20}\n');
  assert.equal(await (await service.get(pathOf(at, '&search=0&format=csv'))).text(), 'n\n20\n');
  // Times as people write them: a date is its first moment.
  const day = new Date(first + 48 * HOUR).toISOString().slice(0, 10);
  assert.equal((await getEnvelope(service, pathOf(day))).execution_id, ids[2]);
});

test('the next page is of the same run, and an address that names a run ignores the time', async (t) => {
  const { service, ids, first, pathOf } = await publishedThrice(t);
  const page = await getEnvelope(service, pathOf(formatInstant(first), '&limit=1'));
  const next = new URL(page.next_uri ?? '');
  assert.equal(next.pathname, `/v1/execution/${ids[0]}/results`);
  const { result } = await getEnvelope(service, next.pathname + next.search);
  assert.deepEqual(result.rows, [{ n: 10 }]);
  for (const time of ['2000-01-01', 'long ago']) {
    const path = `/v1/execution/${ids[1]}/results?as_of=${encodeURIComponent(time)}`;
    assert.equal((await getEnvelope(service, path)).execution_id, ids[1]);
  }
});

test('no such run: 404, which says which there are; no time: 400', async (t) => {
  const { service, qrs, ids, first, second, third, pathOf } = await publishedThrice(t);
  const refusal = async (path: string) => {
    const response = await service.get(path);
    const { error } = (await response.json()) as { readonly error: string };
    return [response.status, response.headers.get('x-error-code'), error];
  };
  const time = formatInstant(first - 1);
  const ends = [first, second, third].map((at, i) => `${formatInstant(at)} (${ids[i]})`).join(', ');
  assert.deepEqual(await refusal(pathOf(time)), [
    404,
    'no_execution_found',
    `not found: no run of query 7 that had ended by ${time} has a stored result; those that have one ended at ${ends}. /v1/query/7/executions lists all`,
  ]);
  assert.deepEqual(await refusal(pathOf('yesterday')), [
    400,
    'invalid_parameter',
    'as_of: found "yesterday", expected a time such as 2024-03-05 or 2024-03-05T20:50:59Z',
  ]);
  assert.equal(
    (await refusal('/v1/query/99/results?as_of=yesterday'))[0],
    404,
    'that the query is not there comes first',
  );
  // A run without a result is none to go back to.
  await qrs.get('queries', 'add', '--id', '8', '--user', 'ann');
  await qrs.get('executions', 'cancel', await qrs.get('executions', 'submit', '--query', '8'));
  const [status, , text] = await refusal(`/v1/query/8/results?as_of=${formatInstant(qrs.now + HOUR)}`);
  assert.equal(status, 404);
  assert.match(String(text), /no other run has one either/);
});

test('with params.NAME, of the runs that had these values', async (t) => {
  const { service, qrs, pathOf } = await publishedThrice(t);
  const base = await service.publish(7, 'n\n4\n', { parameters: { chain: 'base' } });
  const at = formatInstant(qrs.now);
  qrs.now += HOUR;
  await service.publish(7, 'n\n5\n', { parameters: { chain: 'base' } });
  await service.publish(7, 'n\n6\n');
  assert.equal((await getEnvelope(service, pathOf(at, '&params.chain=base'))).execution_id, base.id);
  const refused = await service.get(pathOf(at, '&params.chain=optimism'));
  assert.equal(refused.status, 404);
  // There are runs of the query, with other values.
  assert.deepEqual(await refused.json(), {
    error: `not found: no run of query 7 with these parameters that had ended by ${at} has a stored result; no other run with them has one either. /v1/query/7/executions lists all`,
  });
});

test('caches ask again: what was the latest at a time may change', async (t) => {
  const { service, qrs, ids, first, pathOf } = await publishedThrice(t);
  const path = pathOf(formatInstant(first + HOUR / 2));
  const answer = await service.get(path);
  const etag = answer.headers.get('etag') ?? '';
  assert.deepEqual([answer.headers.get('cache-control'), etag.length > 2], ['private, no-cache', true]);
  const again = async () => await service.get(path, { headers: { 'if-none-match': etag } });
  assert.equal((await again()).status, 304);

  // A machine whose clock is slow publishes a run that ended before the others: it came last, so it is the latest of then.
  const now = qrs.now;
  qrs.now = first + 1000;
  const late = await service.publish(7, 'n\n9\n');
  qrs.now = now;
  const changed = await again();
  assert.equal(changed.status, 200);
  assert.equal(((await changed.json()) as { readonly execution_id: string }).execution_id, late.id);

  // And by time alone, when results expire.
  qrs.now = first + 90 * 24 * HOUR;
  assert.equal(((await (await again()).json()) as { readonly execution_id: string }).execution_id, late.id);
  qrs.now = first + 90 * 24 * HOUR + 1000;
  assert.equal((await again()).status, 404);
  assert.equal((await getEnvelope(service, '/v1/query/7/results')).execution_id, ids[2]);
});

test('a result that has lost parts gives way to the one before, and is named', async (t) => {
  const { service, ids, second, pathOf } = await publishedThrice(t);
  const store = await service.store();
  const keys = await Array.fromAsync(store.list(`${ids[1]}/`), ({ key }) => key);
  assert(keys.length > 0);
  assert.deepEqual(await store.delete(keys), []);
  const answer = await service.get(pathOf(formatInstant(second)));
  const { execution_id } = (await answer.json()) as { readonly execution_id: string };
  assert.deepEqual([execution_id, answer.headers.get('x-service-skipped-execution-id')], [ids[0], ids[1]]);
});
