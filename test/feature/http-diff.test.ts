/** Contract §8: the difference of two runs over HTTP. diff.property.test.ts holds which rows it has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatInstant } from '../../src/domain/instant.ts';
import { getEnvelope } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { readParquet } from './parquet-reader.ts';

const HOUR = 3_600_000;
const TYPES = { id: 'uint256', price: 'double' };
const BEFORE = 'id,chain,price\n10,base,1.5\n9,eth,NaN\n,none,\n7,gone,1\n8,same,2\n';
const AFTER = 'id,chain,price\n8,same,2\n9,eth,NaN\n10,base,2.5\n,none,0\n100,new,1\n';

async function published(service: HttpService) {
  const before = await service.publish(7, BEFORE, { types: TYPES });
  const beforeAt = service.commandLine.now;
  service.commandLine.now += HOUR;
  const after = await service.publish(7, AFTER, { types: TYPES });
  return { before: before.id, after: after.id, beforeAt, path: `/v1/execution/${after.id}/diff/${before.id}` };
}

async function refusal(service: HttpService, path: string): Promise<readonly unknown[]> {
  const response = await service.get(path);
  const { error } = (await response.json()) as { readonly error: string };
  return [response.status, response.headers.get('x-error-code'), error];
}

test('with a key: what was added, removed and changed, in the order of the key as its type has it', async (t) => {
  const service = await startHttpService(t);
  const { before, after, path } = await published(service);
  const { result, execution_id } = await getEnvelope(service, `${path}?key=id`);
  assert.equal(execution_id, after);
  assert.deepEqual(result.rows, [
    { change: 'removed', id: '7', chain: 'gone', price: 1 },
    { change: 'changed_from', id: '10', chain: 'base', price: 1.5 },
    { change: 'changed_to', id: '10', chain: 'base', price: 2.5 },
    { change: 'added', id: '100', chain: 'new', price: 1 },
    { change: 'changed_from', id: null, chain: 'none', price: null },
    { change: 'changed_to', id: null, chain: 'none', price: 0 },
  ]);
  assert.deepEqual(result.metadata.column_types, ['varchar', 'uint256', 'varchar', 'double']);
  assert.deepEqual((result.metadata as { diff?: unknown }).diff, {
    from_execution_id: before,
    to_execution_id: after,
    added: 1,
    removed: 1,
    changed: 2,
    unchanged: 2,
    key: ['id'],
  });
});

test('without a key: rows as a whole, each as often as one side has more of it', async (t) => {
  const service = await startHttpService(t);
  const one = await service.publish(7, 'a\nx\nx\ny\n');
  service.commandLine.now += HOUR;
  const two = await service.publish(7, 'a\nz\nx\nx\nx\n');
  const answer = await service.get(`/v1/execution/${two.id}/diff/${one.id}?format=csv`);
  assert.equal(await answer.text(), 'change,a\nadded,z\nadded,x\nremoved,y\n');
  const none = await service.get(`/v1/execution/${two.id}/diff/${two.id}?format=csv`);
  assert.equal(await none.text(), 'change,a\n');
});

test('pages, filters, search, order, columns and formats are those of every answer; an ETag, and the same runs on each page', async (t) => {
  const service = await startHttpService(t);
  const { beforeAt, path, after, before } = await published(service);
  const first = await getEnvelope(service, `${path}?key=id&limit=4`);
  const next = new URL(first.next_uri ?? '');
  assert.equal(next.pathname, path);
  const second = await getEnvelope(service, next.pathname + next.search);
  assert.deepEqual([second.result.rows.length, second.next_uri], [2, undefined]);
  const csv = async (more: string) => await (await service.get(`${path}?key=id&format=csv&${more}`)).text();
  assert.equal(await csv("filters=change = 'added'&columns=id,change"), 'id,change\n100,added\n');
  assert.equal(await csv('search=GONE&columns=change'), 'change\nremoved\n');
  assert.equal(await csv('sort_by=price desc&columns=price&limit=2'), 'price\n2.5\n1.5\n');
  const { rows } = await readParquet(await (await service.get(`${path}?key=id&format=parquet`)).bytes());
  assert.deepEqual(rows[0], ['removed', '7', 'gone', 1]);
  const sample = await getEnvelope(service, `${path}?key=id&sample_count=3&sample_seed=1`);
  assert.equal(sample.result.rows.length, 3);

  const answer = await service.get(`${path}?key=id`);
  const etag = answer.headers.get('etag') ?? '';
  assert.match(answer.headers.get('cache-control') ?? '', /^private, max-age=/);
  assert.equal((await service.get(`${path}?key=id`, { headers: { 'if-none-match': etag } })).status, 304);
  assert.notEqual((await service.get(path)).headers.get('etag'), etag, 'another key is another difference');

  // By time: from the run that was the latest then to the latest now, or the latest of another time.
  const byTime = `/v1/query/7/diff?key=id&from=${formatInstant(beforeAt)}&limit=4`;
  const timed = await getEnvelope(service, byTime);
  assert.deepEqual(timed.result.rows, first.result.rows);
  const onwards = new URL(timed.next_uri ?? '');
  assert.deepEqual(
    [onwards.pathname, onwards.searchParams.get('from')],
    [`/v1/execution/${after}/diff/${before}`, null],
  );
  const back = `/v1/query/7/diff?from=${formatInstant(service.commandLine.now)}&to=${formatInstant(beforeAt)}&format=csv&filters=change='added'&key=id&columns=id`;
  assert.equal(await (await service.get(back)).text(), 'id\n7\n');
});

test('what a row was and what it has become stand together, though intervals of the key are equally long', async (t) => {
  const service = await startHttpService(t);
  const types = { k: 'interval' };
  const one = await service.publish(7, 'k,v\n720:00:00,a\n30 days,b\n1 month,c\n2 days,d\n', { types });
  service.commandLine.now += HOUR;
  const two = await service.publish(7, 'k,v\n720:00:00,A\n30 days,B\n1 month,C\n2 days,D\n', { types });
  const answer = await service.get(`/v1/execution/${two.id}/diff/${one.id}?key=k&columns=change,v&format=csv`);
  assert.equal(
    await answer.text(),
    'change,v\nchanged_from,d\nchanged_to,D\nchanged_from,c\nchanged_to,C\nchanged_from,b\nchanged_to,B\nchanged_from,a\nchanged_to,A\n',
  );
});

test('a long difference stays until it is sent, though it takes more disk than there may be', async (t) => {
  const service = await startHttpService(t, { QRS_VIEW_CACHE: '1KB' });
  const rows = (from: number) => Array.from({ length: 20_000 }, (_, n) => n + from).join('\n');
  // Names as long as these make it too long for memory.
  const name = 'x'.repeat(1000);
  const one = await service.publish(7, `${name}\n${rows(0)}\n`);
  service.commandLine.now += HOUR;
  const two = await service.publish(7, `${name}\n${rows(50_000)}\n`);
  const path = `/v1/execution/${two.id}/diff/${one.id}?format=ndjson&ignore_max_datapoints_per_request=true`;
  const whole = await (await service.get(path)).bytes();
  const line = (change: string, value: number) => `{"change":"${change}","${name}":${value}}\n`;
  const ends = [line('added', 50_000), line('removed', 19_999)] as const;
  assert.deepEqual(
    [Buffer.from(whole).indexOf(ends[0]), Buffer.from(whole).indexOf(ends[1])],
    [0, whole.length - ends[1].length],
  );
  const part = await service.get(path, { headers: { range: `bytes=${whole.length - 5_000_000}-` } });
  assert.equal(part.status, 206);
  assert(Buffer.from(whole.subarray(-5_000_000)).equals(await part.bytes()));
  assert.deepEqual(service.faults, []);
});

for (const [length, isLong] of [
  ['short', false],
  ['long', true],
] as const) {
  test(`a ${length} difference that is being made keeps both results from a sweep, though they expire meanwhile`, async (t) => {
    // They expire after 8.64 seconds.
    const service = await startHttpService(t, { QRS_RETENTION_DAYS: '0.0001', QRS_LEASE_SECONDS: '300' });
    const numbers = (from: number) => Array.from({ length: 200_000 }, (_, n) => n + from);
    const [before, now] = [numbers(0), numbers(isLong ? 200_000 : 1)];
    const one = await service.publish(7, `n\n${before.join('\n')}\n`);
    const two = await service.publish(7, `n\n${now.join('\n')}\n`);
    const path = `/v1/execution/${two.id}/diff/${one.id}?format=csv&ignore_max_datapoints_per_request=true`;
    let isAnswered = false;
    const answering = service.get(path).finally(() => {
      isAnswered = true;
    });
    const { leases } = await service.catalog();
    const held = new Set<string>();
    while (held.size < 2 && !isAnswered) {
      for (const { resource } of await leases.list('read:')) held.add(resource.split(':')[1] ?? '');
    }
    assert.deepEqual([...held].sort(), [one.id, two.id].sort());
    // And the sweep waits 60 seconds for reads without a lease.
    service.commandLine.now += 80_000;
    assert.match(await service.commandLine.get('sweep'), /^expired=2\n/);
    const answer = await answering;
    const lines = isLong
      ? [...now.map((n) => `added,${n}`), ...before.map((n) => `removed,${n}`)]
      : ['added,200000', 'removed,0'];
    assert.deepEqual([answer.status, await answer.text()], [200, `change,n\n${lines.join('\n')}\n`]);
    assert.deepEqual(service.faults, []);
  });
}

test('columns that are not in both are named, and not compared; a column called change keeps its name', async (t) => {
  const service = await startHttpService(t);
  const one = await service.publish(7, 'a,b,change\n1,2,x\n');
  service.commandLine.now += HOUR;
  const two = await service.publish(7, 'change,c,a,b\ny,3,1,text\n');
  const { result } = await getEnvelope(service, `/v1/execution/${two.id}/diff/${one.id}?key=a`);
  assert.deepEqual(result.rows, [
    { _change: 'changed_from', change: 'x', a: 1 },
    { _change: 'changed_to', change: 'y', a: 1 },
  ]);
  const { diff } = result.metadata as unknown as { readonly diff: Readonly<Record<string, unknown>> };
  assert.deepEqual([diff.columns_only_in_from, diff.columns_only_in_to], [['b'], ['c', 'b']]);
});

test('what cannot be compared is refused, and says why', async (t) => {
  const service = await startHttpService(t);
  const { before, after, path } = await published(service);
  assert.deepEqual(await refusal(service, `${path}?key=idd`), [
    400,
    'unknown_column',
    'key, of the columns in common: there is no column "idd". Did you mean "id"?',
  ]);
  assert.deepEqual(await refusal(service, '/v1/query/7/diff'), [
    400,
    'invalid_parameter',
    'from: missing, expected a time such as 2024-03-05: what changed since the run that was the latest then',
  ]);
  for (const [times, name] of [
    ['from=yesterday', 'from'],
    ['from=2999-01-01&to=yesterday', 'to'],
  ] as const) {
    assert.deepEqual(await refusal(service, `/v1/query/7/diff?${times}`), [
      400,
      'invalid_parameter',
      `${name}: found "yesterday", expected a time such as 2024-03-05 or 2024-03-05T20:50:59Z`,
    ]);
  }
  // That the query is not there comes first.
  assert.equal((await refusal(service, '/v1/query/99/diff'))[0], 404);
  assert.equal((await refusal(service, `${path}?filters=nothing = 1`))[1], 'filter_column');
  assert.equal((await refusal(service, '/v1/query/7/diff?from=2001-01-01'))[0], 404);
  const other = await service.publish(8, 'x\n1\n');
  assert.match(
    String((await refusal(service, `/v1/execution/${other.id}/diff/${before}`))[2]),
    /no column of the same name/,
  );
  const pending = await service.commandLine.get('executions', 'submit', '--query', '7');
  assert.deepEqual((await refusal(service, `/v1/execution/${after}/diff/${pending}`)).slice(0, 2), [409, 'no_result']);
  assert.equal((await refusal(service, `/v1/execution/${after}/diff/01HR7PD8XYZ3M4N5P6Q7R8S9TA`))[0], 404);
  await service.commandLine.get('users', 'add', 'eve');
  await service.commandLine.get('queries', 'set', '7', '--private');
  const key = await service.commandLine.get('keys', 'create', '--user', 'eve');
  assert.equal((await service.get(path, { key })).status, 404, 'of a private query');
});

test('a difference that two threads have no memory for is made by one', async (t) => {
  const service = await startHttpService(t, { QRS_HEAVY_MEMORY: '64MB', QRS_HEAVY_THREADS: '2' });
  const count = 400_000;
  const long = 'x'.repeat(90);
  const rows = (of: string) =>
    Array.from({ length: count }, (_, n) => `${n},${of} ${(n * 7919) % count} ${long}\n`).join('');
  const before = await service.publish(7, `n,text\n${rows('before')}`);
  service.commandLine.now += HOUR;
  const after = await service.publish(7, `n,text\n${rows('after')}0,before 0 ${long}\n`);
  const { result } = await getEnvelope(service, `/v1/execution/${after.id}/diff/${before.id}?limit=1&columns=change,n`);
  assert.deepEqual(result.rows, [{ change: 'added', n: 0 }]);
  const { added, removed, unchanged } = (result.metadata as unknown as { diff: Record<string, number> }).diff;
  assert.deepEqual([added, removed, unchanged], [count, count - 1, 1]);
});

test('a difference that there is no memory for is refused, with what would give more', async (t) => {
  const service = await startHttpService(t, { QRS_HEAVY_MEMORY: '64MB', QRS_TEMP_MAX: '0' });
  const rows = Array.from({ length: 300_000 }, (_, n) => `${n},${'x'.repeat(200)} ${n}\n`).join('');
  const before = await service.publish(7, `n,text\n${rows}`);
  service.commandLine.now += HOUR;
  const after = await service.publish(7, 'n,text\n0,none\n');
  const problem =
    'there is not enough memory, or disk for what does not fit into it, to compare these results (QRS_HEAVY_MEMORY, QRS_TEMP_MAX)';
  assert.deepEqual(await refusal(service, `/v1/execution/${after.id}/diff/${before.id}`), [503, 'overloaded', problem]);
});
