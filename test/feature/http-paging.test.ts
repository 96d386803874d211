/** Contract §2: order and paging. Every row once, in order; where the next page is, and at which address. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEnvelope, getText, rawRequest, rowsOf, walk, walkCsv } from './http-client.ts';
import { startHttpService } from './http-service.ts';

const PAGING_HEADERS = ['link', 'x-service-next-offset', 'x-service-next-uri', 'x-dune-next-offset', 'x-dune-next-uri'];

test('paging', async (t) => {
  const service = await startHttpService(t);
  const { url } = service;
  const { id } = await service.publish(7, 'n,w\n5,a\n3,b\n4,c\n1,d\n2,e\n', { parameters: { chain: 'base' } });
  const json = `${url}/v1/execution/${id}/results`;

  await t.test('rows come in stored order', async () => {
    const { result } = await getEnvelope(service, '/v1/query/7/results');
    assert.deepEqual(result.rows, [
      { n: 5, w: 'a' },
      { n: 3, w: 'b' },
      { n: 4, w: 'c' },
      { n: 1, w: 'd' },
      { n: 2, w: 'e' },
    ]);
    assert.equal((await getText(service, '/v1/query/7/results/csv'))[1], 'n,w\n5,a\n3,b\n4,c\n1,d\n2,e\n');
  });

  await t.test('next_offset is offset and rows; next_uri is the next page, pinned to the execution', async () => {
    const page = await getEnvelope(service, '/v1/query/7/results?limit=2&offset=1');
    assert.deepEqual(page.result.rows, [
      { n: 3, w: 'b' },
      { n: 4, w: 'c' },
    ]);
    assert.equal(page.next_offset, 3);
    assert.equal(page.next_uri, `${json}?limit=2&offset=3`);
    const csv = await service.get('/v1/query/7/results/csv?limit=2&offset=1');
    assert.equal(await csv.text(), 'n,w\n3,b\n4,c\n');
    const next = `${json}/csv?limit=2&offset=3`;
    assert.deepEqual(
      PAGING_HEADERS.map((name) => csv.headers.get(name)),
      [`<${next}>; rel="next"`, '3', next, '3', next],
    );
  });

  await t.test('JSON has the Link header too, and the paging headers only in CSV', async () => {
    const { headers } = await service.get('/v1/query/7/results?limit=2');
    assert.deepEqual(
      PAGING_HEADERS.map((name) => headers.get(name)),
      [`<${json}?limit=2&offset=2>; rel="next"`, null, null, null, null],
    );
  });

  await t.test('on the last page they are absent', async () => {
    for (const query of ['limit=5', 'limit=6', 'limit=2&offset=3', 'offset=4', '']) {
      const page = await service.get(`/v1/query/7/results?${query}`);
      const body = (await page.json()) as object;
      assert(!('next_offset' in body) && !('next_uri' in body), query);
      const csv = await service.get(`/v1/query/7/results/csv?${query}`);
      for (const name of PAGING_HEADERS) {
        assert.deepEqual([page.headers.has(name), csv.headers.has(name)], [false, false], `${query} ${name}`);
      }
    }
  });

  await t.test('an offset at or past the end: no rows, totals kept', async () => {
    for (const offset of [5, 6, 1_000_000_000_000]) {
      const page = await getEnvelope(service, `/v1/query/7/results?limit=2&offset=${offset}`);
      assert.deepEqual(page.result.rows, []);
      assert(!('next_offset' in page) && !('next_uri' in page));
      const { row_count, total_row_count, total_result_set_bytes } = page.result.metadata;
      assert.deepEqual([row_count, total_row_count, total_result_set_bytes], [0, 5, 45]);
      assert.equal((await getText(service, `/v1/query/7/results/csv?offset=${offset}`))[1], 'n,w\n');
    }
  });

  await t.test('next_uri carries every parameter but the key, form-encoded, names sorted', async () => {
    const query = 'x=a+b%26c&limit=1&columns=%22w%22,n&api_key=no&é=100%&params.chain=base&allow_partial_results=TRUE';
    const { next_uri } = await getEnvelope(service, `/v1/query/7/results?${query}`);
    assert.equal(
      next_uri,
      `${json}?allow_partial_results=TRUE&columns=%22w%22%2Cn&limit=1&offset=1&params.chain=base&x=a+b%26c&%C3%A9=100%25`,
    );
  });

  await t.test('next_uri has the prefix and host that the client used', async () => {
    const nextOf = async (path: string, host: string) => {
      const answer = await rawRequest(url, path, { 'x-service-api-key': service.key, host });
      return (JSON.parse(answer.body) as { next_uri: string }).next_uri;
    };
    const follows = `execution/${id}/results?limit=1&offset=1`;
    assert.equal(await nextOf('/v1/query/7/results?limit=1', 'data.example'), `http://data.example/v1/${follows}`);
    assert.equal(
      await nextOf('/api/v1/query/7/results/?limit=1', 'data.example:8443'),
      `http://data.example:8443/api/v1/${follows}`,
    );
    assert.equal(await nextOf('/v1/query/7/results?limit=1', '[::1]:80'), `http://[::1]:80/v1/${follows}`);
  });

  await t.test('an invalid Host header is refused, and not sent back', async () => {
    for (const host of ['evil.example/x?', 'a b', '"><script>', 'a@b']) {
      const answer = await rawRequest(url, '/v1/query/7/results?limit=1', { 'x-service-api-key': service.key, host });
      assert.equal(answer.status, 400);
      assert(!answer.body.includes(host));
    }
  });

  await t.test('a walk with any page size has every row once', async () => {
    for (const limit of [1, 2, 3, 4, 5, 6]) {
      const pages = await walk(service, `/v1/query/7/results?limit=${limit}&columns=n`);
      assert.deepEqual(
        rowsOf(pages).map(({ n }) => n),
        [5, 3, 4, 1, 2],
      );
      assert.equal(pages.length, Math.ceil(5 / limit));
      const csv = await walkCsv(service, `/v1/query/7/results/csv?limit=${limit}&columns=n`);
      assert.equal(csv.map((page) => page.replace(/^n\n/, '')).join(''), '5\n3\n4\n1\n2\n');
    }
  });

  await t.test('a walk stays on its execution when a newer run appears', async () => {
    const first = await getEnvelope(service, '/v1/query/7/results?limit=3');
    service.commandLine.now += 1000;
    await service.publish(7, 'n,w\n9,z\n');
    const second = await getEnvelope(service, (first.next_uri ?? '').replace(url, ''));
    assert.equal(second.execution_id, id);
    assert.deepEqual(second.result.rows, [
      { n: 1, w: 'd' },
      { n: 2, w: 'e' },
    ]);
  });
});

test('next_uri has the public address where one is configured', async (t) => {
  const service = await startHttpService(t, { QRS_PUBLIC_URL: 'https://data.example' });
  const { id } = await service.publish(7, 'n\n1\n2\n');
  const { next_uri } = await getEnvelope(service, '/api/v1/query/7/results?limit=1');
  assert.equal(next_uri, `https://data.example/api/v1/execution/${id}/results?limit=1&offset=1`);
  const csv = await service.get('/v1/query/7/results/csv?limit=1');
  assert.equal(
    csv.headers.get('x-service-next-uri'),
    `https://data.example/v1/execution/${id}/results/csv?limit=1&offset=1`,
  );
});

test('the prefixes of the paging headers are a setting', async (t) => {
  const service = await startHttpService(t, { QRS_COMPAT_HEADER_PREFIXES: 'X-Mine' });
  await service.publish(7, 'n\n1\n2\n');
  const { headers } = await service.get('/v1/query/7/results/csv?limit=1');
  const names = ['x-service-next-offset', 'x-mine-next-offset', 'x-dune-next-offset'];
  assert.deepEqual(
    names.map((name) => headers.get(name)),
    ['1', '1', null],
  );
});

test('joined pages are the whole across stored parts', async (t) => {
  const service = await startHttpService(t);
  const numbers = Array.from({ length: 5000 }, (_, n) => n);
  await service.publish(7, `n\n${numbers.join('\n')}\n`, { rowGroupRows: 2048, rowGroupsPerPart: 1 });
  for (const limit of [999, 2048, 2500, 5000]) {
    const pages = await walk(service, `/v1/query/7/results?limit=${limit}`);
    assert.deepEqual(
      rowsOf(pages).map(({ n }) => n),
      numbers,
    );
    const csv = await walkCsv(service, `/v1/query/7/results/csv?limit=${limit}`);
    assert.equal(csv.map((page) => page.slice(2)).join(''), `${numbers.join('\n')}\n`);
  }
  const across = await getEnvelope(service, '/v1/query/7/results?offset=2046&limit=4');
  assert.deepEqual(
    across.result.rows.map(({ n }) => n),
    [2046, 2047, 2048, 2049],
  );
});

test('a result without rows', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'n,w\n', { types: { n: 'bigint', w: 'varchar' } });
  const page = await getEnvelope(service, '/v1/query/7/results?limit=10');
  assert.deepEqual(page.result.rows, []);
  assert.deepEqual(page.result.metadata.column_types, ['bigint', 'varchar']);
  assert.equal(page.result.metadata.total_row_count, 0);
  assert(!('next_uri' in page));
  assert.equal((await getText(service, '/v1/query/7/results/csv'))[1], 'n,w\n');
});
