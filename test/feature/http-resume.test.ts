/** Downloads that broke off continue where they stopped, and can be checked as a whole. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { startHttpService } from './http-service.ts';
import { publishLongResult } from './long-result.ts';

const WHOLE = '?ignore_max_datapoints_per_request=true';
const PLAIN = { 'accept-encoding': 'identity' } as const;

for (const address of ['results', 'results/csv']) {
  test(`${address}: any bytes are those of the whole, and slices joined are the whole`, async (t) => {
    const service = await startHttpService(t);
    const { id } = await publishLongResult(service, 7);
    const path = `/v1/execution/${id}/${address}${WHOLE}`;
    const bytesOf = async (range: string) => {
      const answer = await service.get(path, { headers: { ...PLAIN, range } });
      assert.equal(answer.status, 206);
      const bytes = Buffer.from(await answer.arrayBuffer());
      assert.equal(answer.headers.get('content-length'), String(bytes.byteLength));
      return { bytes, range: answer.headers.get('content-range') };
    };
    // Nothing has been sent yet: the service itself finds out where the bytes are.
    const { bytes: early, range } = await bytesOf('bytes=1000000-1000099');
    const whole = Buffer.from(await (await service.get(path, { headers: PLAIN })).arrayBuffer());
    assert.equal(range, `bytes 1000000-1000099/${whole.byteLength}`);
    assert.deepEqual(early, whole.subarray(1_000_000, 1_000_100));
    const position = fc.nat({ max: whole.byteLength - 1 });
    await fc.assert(
      fc.asyncProperty(position, position, async (a, b) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        const { bytes } = await bytesOf(`bytes=${from}-${to}`);
        assert.ok(bytes.equals(whole.subarray(from, to + 1)));
      }),
      { numRuns: 10 },
    );
    const cut = 12_345_678;
    const [head, tail] = [await bytesOf(`bytes=0-${cut - 1}`), await bytesOf(`bytes=${cut}-`)];
    assert.ok(Buffer.concat([head.bytes, tail.bytes]).equals(whole));
    assert.ok((await bytesOf('bytes=-50')).bytes.equals(whole.subarray(-50)));
  });
}

test('a download tells its number of rows beforehand, and after one pass its length', async (t) => {
  const service = await startHttpService(t);
  const { id } = await publishLongResult(service, 7);
  const path = `/v1/execution/${id}/results/csv${WHOLE}`;
  const first = await service.get(path, { headers: PLAIN });
  assert.equal(first.headers.get('x-service-row-count'), '196608');
  assert.equal(first.headers.get('accept-ranges'), 'bytes');
  assert.equal(first.headers.get('content-length'), null);
  const whole = Buffer.from(await first.arrayBuffer());
  for (const method of ['GET', 'HEAD']) {
    const again = await service.get(path, { method, headers: PLAIN });
    assert.equal(again.headers.get('content-length'), String(whole.byteLength));
    assert.equal(again.headers.get('repr-digest'), null);
    await again.arrayBuffer();
  }
});

test('a client that wants the digest of a download has it before the first byte', async (t) => {
  const service = await startHttpService(t);
  const { id } = await publishLongResult(service, 7);
  const path = `/v1/execution/${id}/results/csv${WHOLE}`;
  const wanted = { ...PLAIN, 'want-repr-digest': 'sha-256=1' };
  const first = await service.get(path, { headers: wanted });
  const whole = Buffer.from(await first.arrayBuffer());
  const digest = `sha-256=:${createHash('sha256').update(whole).digest('base64')}:`;
  assert.equal(first.headers.get('repr-digest'), digest);
  assert.equal(first.headers.get('content-length'), String(whole.byteLength));
  for (const headers of [PLAIN, { ...PLAIN, range: 'bytes=5-' }]) {
    // Once known it is told to everybody, also after a pass that did not compute it.
    const again = await service.get(path, { headers });
    assert.equal(again.headers.get('repr-digest'), digest);
    await again.arrayBuffer();
  }
  const compressed = await service.get(path, { headers: { ...wanted, 'accept-encoding': 'gzip' } });
  assert.equal(compressed.headers.get('repr-digest'), null);
  assert.equal(compressed.headers.get('content-length'), null);
  await compressed.arrayBuffer();
});

for (const [answered, query] of [
  ['page', '?limit=3'],
  ['sorted page', '?sort_by=n%20desc'],
  ['result', '/csv?ignore_max_datapoints_per_request=true'],
  ['sample', '?sample_count=2&sample_seed=1'],
] as const) {
  test(`the digest of a short ${answered} is there for who wants it: HEAD, GET, a range, and out of memory`, async (t) => {
    const service = await startHttpService(t);
    const { id } = await service.publish(1, 'n\n1\n2\n3\n4\n');
    const path = `/v1/execution/${id}/results${query}`;
    const whole = Buffer.from(await (await service.get(path, { headers: PLAIN })).arrayBuffer());
    const digest = `sha-256=:${createHash('sha256').update(whole).digest('base64')}:`;
    for (const more of [{}, { method: 'HEAD' }, {}, {}, { headers: { range: 'bytes=2-5' } }]) {
      const headers = { ...PLAIN, 'want-repr-digest': 'sha-256=1', ...more.headers };
      const answer = await service.get(path, { ...more, headers });
      assert.equal(answer.headers.get('repr-digest'), digest);
      await answer.arrayBuffer();
    }
    assert.equal((await service.get(path, { headers: PLAIN })).headers.get('repr-digest'), null);
  });
}

test("If-Range with the answer's own tag gives the rest, with any other tag the whole", async (t) => {
  const service = await startHttpService(t);
  const { id } = await publishLongResult(service, 7);
  const path = `/v1/execution/${id}/results/csv${WHOLE}`;
  const etag = (await service.get(path, { method: 'HEAD', headers: PLAIN })).headers.get('etag') ?? '';
  for (const [tag, status] of [
    [etag, 206],
    ['"another"', 200],
    [etag.replace(/"$/, '+gzip"'), 200],
  ] as const) {
    const answer = await service.get(path, { headers: { ...PLAIN, range: 'bytes=20000000-', 'if-range': tag } });
    assert.equal(answer.status, status);
    await answer.body?.cancel();
  }
});

test('an answer that is compressed while it is read has a weak tag, which gives 304 and no range', async (t) => {
  const service = await startHttpService(t);
  const { id } = await publishLongResult(service, 7);
  const path = `/v1/execution/${id}/results/csv${WHOLE}`;
  const ask = async (headers: Readonly<Record<string, string>>, method = 'GET') => {
    const answer = await service.get(path, { method, headers });
    await answer.body?.cancel();
    return [answer.status, answer.headers.get('etag') ?? ''] as const;
  };
  const [, plain] = await ask(PLAIN);
  assert.match(plain, /^"[\w-]+"$/);
  for (const encoding of ['gzip', 'br', 'zstd']) {
    const accepted = { 'accept-encoding': encoding };
    const [status, weak] = await ask(accepted);
    assert.deepEqual([status, weak.replace(/-[\w-]*"$/, '"')], [200, `W/${plain.slice(0, -1)}+${encoding}"`]);
    assert.deepEqual(await ask(accepted, 'HEAD'), [200, weak]);
    const strong = weak.slice('W/'.length);
    for (const tag of [weak, strong, plain]) {
      assert.deepEqual(await ask({ ...accepted, 'if-none-match': tag }), [304, tag], 'as of earlier releases, too');
    }
    assert.deepEqual(await ask({ ...accepted, 'if-none-match': '*' }), [304, weak]);
    assert.deepEqual(await ask({ ...accepted, range: 'bytes=5-', 'if-range': weak }), [200, weak]);
    assert.deepEqual(await ask({ ...accepted, range: 'bytes=5-', 'if-range': plain }), [206, plain]);
  }
  const page = await service.get(`/v1/execution/${id}/results?limit=1000`, { headers: { 'accept-encoding': 'br' } });
  assert.match(page.headers.get('etag') ?? '', /^"[\w-]+\+br-[\w-]+"$/, 'a page is compressed in one piece');
});

test('If-Match: a piece of another run is refused, however often it is asked for, and nothing is counted', async (t) => {
  const service = await startHttpService(t);
  await service.publish(1, 'n\n1\n2\n');
  const ask = async (headers: Readonly<Record<string, string>>, path = '/v1/query/1/results/csv') => {
    const answer = await service.get(path, { headers: { ...PLAIN, ...headers } });
    return [answer.status, await answer.text()] as const;
  };
  const { headers } = await service.get('/v1/query/1/results/csv', { headers: PLAIN });
  const [etag, modified] = [headers.get('etag') ?? '', headers.get('last-modified') ?? ''];
  const conditions = [{ 'if-match': `"x", ${etag}` }, { 'if-match': '*' }, { 'if-unmodified-since': modified }];
  for (const condition of [...conditions, { 'if-match': etag.replace(/"$/, '+gzip-1"') }]) {
    assert.deepEqual(await ask({ ...condition, range: 'bytes=2-' }), [206, '1\n2\n']);
  }
  assert.equal((await ask({ 'if-match': `W/${etag}` }))[0], 412);
  service.commandLine.now += 60_000;
  await service.publish(1, 'n\n3\n4\n');
  const refusal = (await service.get('/v1/query/1/results/csv', { headers: PLAIN })).headers.get('etag');
  for (let time = 0; time < 4; time += 1) {
    for (const range of [{}, { range: 'bytes=2-' }]) {
      assert.deepEqual(await ask({ 'if-match': etag, ...range }), [
        412,
        `{"error":"If-Match: found ${etag.replaceAll('"', '\\"')}, but the answer is another one now, of ${refusal?.replaceAll('"', '\\"')}"}`,
      ]);
      assert.equal((await ask({ 'if-unmodified-since': modified, ...range }))[0], 412);
    }
    assert.deepEqual(await ask({ 'if-match': '*', range: 'bytes=2-' }), [206, '3\n4\n']);
  }
  assert.equal((await ask({ 'if-match': '"x"' }, '/v1/query/1/results?format=parquet'))[0], 412);
  assert.equal((await ask({ 'if-match': '"x"' }, '/v1/query/1/results?sample_count=1'))[0], 412);
  const { id } = await publishLongResult(service, 7);
  for (let time = 0; time < 10; time += 1) {
    assert.equal((await ask({ 'if-match': '"x"' }, `/v1/execution/${id}/results/csv${WHOLE}`))[0], 412);
  }
  const refused = service.observed.filter((seen) => seen.kind === 'answered' && seen.status === 412);
  assert.ok(refused.every((seen) => seen.kind === 'answered' && seen.stats.datapoints === 0));
});

test('a range after the end is a 416 that tells the length of the answer', async (t) => {
  const service = await startHttpService(t);
  const { id } = await publishLongResult(service, 7);
  const answer = await service.get(`/v1/execution/${id}/results/csv${WHOLE}`, {
    headers: { range: 'bytes=99999999-' },
  });
  assert.equal(answer.status, 416);
  assert.equal(answer.headers.get('x-error-code'), 'range_not_satisfiable');
  assert.match(answer.headers.get('content-range') ?? '', /^bytes \*\/2\d{7}$/);
  const { error } = (await answer.json()) as { error: string };
  assert.match(error, /^Range: found a range that begins after the end, expected one within 2\d{7} bytes$/);
});

test('a page has ranges, too, however often it was asked for; several ranges in one request get the whole', async (t) => {
  const service = await startHttpService(t);
  await service.publish(1, 'n\n1\n2\n');
  const path = '/v1/query/1/results/csv';
  const ask = async (headers: Readonly<Record<string, string>>, method = 'GET') => {
    const answer = await service.get(path, { headers: { ...PLAIN, ...headers }, method });
    return [answer.status, answer.headers.get('content-range'), await answer.text()] as const;
  };
  for (let time = 0; time < 4; time += 1) {
    assert.deepEqual(await ask({}), [200, null, 'n\n1\n2\n']);
    assert.deepEqual(await ask({ range: 'bytes=2-' }), [206, 'bytes 2-5/6', '1\n2\n']);
    assert.deepEqual(await ask({ range: 'bytes=-2' }), [206, 'bytes 4-5/6', '2\n']);
    assert.deepEqual(await ask({ range: 'bytes=0-0,2-3' }), [200, null, 'n\n1\n2\n']);
    assert.deepEqual(await ask({ range: 'bytes=2-' }, 'HEAD'), [200, null, '']);
    const [status, range, text] = await ask({ range: 'bytes=6-' });
    assert.deepEqual([status, range], [416, 'bytes */6']);
    assert.match(text, /^{"error":"Range: found a range that begins after the end, expected one within 6 bytes"}$/);
  }
});

test('only the part of a page that is sent is counted', async (t) => {
  const service = await startHttpService(t);
  await service.publish(1, `n\n${'1\n'.repeat(99)}`);
  const path = '/v1/query/1/results/csv';
  await (await service.get(path, { headers: PLAIN })).arrayBuffer();
  await (await service.get(path, { headers: { ...PLAIN, range: 'bytes=0-49' } })).arrayBuffer();
  const counted = service.observed.flatMap((seen) =>
    seen.kind === 'answered' ? [[seen.status, seen.stats.rowCount, seen.stats.datapoints, seen.stats.bodyBytes]] : [],
  );
  assert.deepEqual(counted, [
    [200, 99, 99, 200],
    [206, 25, 25, 50],
  ]);
});

test('of a download only the part that is sent is counted, so that its pieces together cost what it costs in one', async (t) => {
  const service = await startHttpService(t);
  const { id } = await publishLongResult(service, 7);
  const path = `/v1/execution/${id}/results/csv${WHOLE}`;
  const ask = async (headers: Readonly<Record<string, string>>) => {
    const answer = await service.get(path, { headers: { ...PLAIN, ...headers } });
    return (await answer.arrayBuffer()).byteLength;
  };
  const bytes = await ask({});
  await ask({ range: 'bytes=1000000-1000009' });
  const pieces = 10;
  for (let piece = 0; piece < pieces; piece += 1) {
    const [from, to] = [piece, piece + 1].map((cut) => Math.floor((bytes * cut) / pieces)) as [number, number];
    assert.equal(await ask({ range: `bytes=${from}-${to - 1}` }), to - from);
  }
  const [whole, few, ...costs] = service.observed.flatMap((seen) =>
    seen.kind === 'answered' ? [seen.stats.datapoints] : [],
  );
  assert.deepEqual([whole, few, costs.length], [393_216, 1, pieces]);
  const sum = costs.reduce((all, cost) => all + cost, 0);
  // Each piece rounds what it cuts up: a datapoint at each of its ends.
  assert.ok(sum >= 393_216 && sum <= 393_216 + 2 * pieces, String(sum));
});

test('a sweep during the first pass over a download does not remove its parts', async (t) => {
  const service = await startHttpService(t, { QRS_RETENTION_DAYS: '0.0001', QRS_LEASE_SECONDS: '300' });
  const { id } = await publishLongResult(service, 7);
  const store = await service.store();
  const open = store.open.bind(store);
  let opened = 0;
  t.mock.method(store, 'open', async (...asked: Parameters<typeof open>) => {
    opened += 1;
    if (opened === 3) {
      // After the expiry (8.64 s) and the time limit of reads (60 s), within the reader's lease (300 s).
      service.commandLine.now += 80_000;
      await service.commandLine.get('sweep');
    }
    return await open(...asked);
  });
  const range = 'bytes=1000000-1000099';
  const answer = await service.get(`/v1/execution/${id}/results/csv${WHOLE}`, { headers: { ...PLAIN, range } });
  assert.equal(answer.status, 206);
  assert.equal((await answer.arrayBuffer()).byteLength, 100);
  assert(opened > 3);
});
