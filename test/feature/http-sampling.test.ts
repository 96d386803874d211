/** Contract §2: `sample_count`. samples.property.test.ts proves how the rows are drawn. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEnvelope, getText, rawRequest } from './http-client.ts';
import { startHttpService } from './http-service.ts';

test('sampling', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'n,w\n5,a\n3,b\n4,c\n1,d\n2,e\n');
  const sample = async (query: string) => await getEnvelope(service, `/v1/query/7/results?${query}`);

  await t.test('a sample has exactly that many rows of the result, none twice', async () => {
    for (const count of [1, 2, 3, 4]) {
      const { rows, metadata } = (await sample(`sample_count=${count}`)).result;
      assert.deepEqual([rows.length, metadata.row_count], [count, count]);
      assert.equal(new Set(rows.map(({ n }) => n)).size, count);
    }
  });

  await t.test('a sample of all rows, or more, is the whole in stored order', async () => {
    for (const count of [5, 6, 1_000_000, '99999999999999999999']) {
      const { rows } = (await sample(`sample_count=${count}`)).result;
      assert.deepEqual(
        rows.map(({ n }) => n),
        [5, 3, 4, 1, 2],
      );
    }
  });

  await t.test('with a seed it is the same each time, in all formats, and has an ETag', async () => {
    const rowsOf = async (seed: number) => (await sample(`sample_count=2&sample_seed=${seed}`)).result.rows;
    const drawn = new Map<string, number>();
    for (let seed = 0; seed < 60; seed += 1) {
      const rows = JSON.stringify(await rowsOf(seed));
      assert.equal(JSON.stringify(await rowsOf(seed)), rows);
      drawn.set(rows, (drawn.get(rows) ?? 0) + 1);
    }
    // All ten pairs of five rows.
    assert.equal(drawn.size, 10);
    for (const format of ['json', 'csv', 'ndjson', 'parquet']) {
      const path = `/v1/query/7/results?sample_count=2&sample_seed=5&format=${format}`;
      const [first, again] = [await service.get(path), await service.get(path)];
      const etag = first.headers.get('etag');
      assert.ok(etag, format);
      assert.deepEqual([again.headers.get('etag'), await again.bytes()], [etag, await first.bytes()], format);
      assert.equal((await service.get(path, { headers: { 'if-none-match': etag } })).status, 304, format);
    }
    const drawnAnew = await service.get('/v1/query/7/results?sample_count=2&sample_seed=');
    assert.equal(drawnAnew.headers.get('x-service-filtered-row-count'), null);
    assert.equal(drawnAnew.headers.get('etag'), null);
  });

  await t.test('a seed without a sample, or one that is no number, is refused', async () => {
    for (const query of ['sample_seed=5', 'sample_seed=5&limit=1', 'sample_count=2&sample_seed=x']) {
      assert.equal((await service.get(`/v1/query/7/results?${query}`)).status, 400, query);
    }
  });

  await t.test('there is no next page', async () => {
    const page = await sample('sample_count=2');
    assert(!('next_offset' in page) && !('next_uri' in page));
    const csv = await service.get('/v1/query/7/results/csv?sample_count=2');
    assert.deepEqual([csv.headers.get('link'), csv.headers.get('x-service-next-uri')], [null, null]);
    assert.match(await csv.text(), /^n,w\n(\d,[a-e]\n){2}$/);
  });

  await t.test('columns apply to it', async () => {
    const { rows, metadata } = (await sample('sample_count=5&columns=w')).result;
    assert.deepEqual(rows, [{ w: 'a' }, { w: 'b' }, { w: 'c' }, { w: 'd' }, { w: 'e' }]);
    assert.equal(metadata.datapoint_count, 5);
  });

  await t.test('sort_by applies to it, also by a column that is not in the answer', async () => {
    const { rows } = (await sample('sample_count=4&sort_by=n+desc')).result;
    const numbers = rows.map(({ n }) => Number(n));
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => b - a),
    );
    assert.deepEqual(
      (await sample('sample_count=5&sort_by=n&columns=w')).result.rows.map(({ w }) => w).join(''),
      'debca',
    );
  });

  await t.test('with limit, offset or filters it is refused, naming both', async () => {
    for (const [name, value] of [
      ['limit', '1'],
      ['limit', '0'],
      ['offset', '0'],
      ['filters', 'n>1'],
    ] as const) {
      for (const path of ['/v1/query/7/results', '/v1/query/7/results/csv']) {
        const response = await service.get(`${path}?sample_count=2&${name}=${encodeURIComponent(value)}`);
        assert.deepEqual(
          [response.status, response.headers.get('x-error-code'), await response.text()],
          [
            400,
            'incompatible_parameters',
            `{"error":"sample_count and ${name} cannot be combined: a sample is drawn from the whole result"}`,
          ],
        );
      }
    }
  });

  await t.test('calls differ', async () => {
    const seen = new Set<string>();
    for (let call = 0; call < 200 && seen.size < 5; call += 1) {
      seen.add(JSON.stringify((await sample('sample_count=1')).result.rows));
    }
    assert.equal(seen.size, 5);
  });

  await t.test('no cache may keep it', async () => {
    const headers = { 'x-service-api-key': service.key };
    const answer = await rawRequest(service.url, '/v1/query/7/results?sample_count=1', headers);
    assert.deepEqual([answer.headers['cache-control'], answer.headers.etag], ['no-store', undefined]);
  });

  await t.test('a sample across parts, and of a result without rows', async () => {
    const numbers = Array.from({ length: 5000 }, (_, n) => n);
    await service.publish(8, `n\n${numbers.join('\n')}\n`, { rowGroupRows: 2048, rowGroupsPerPart: 1 });
    const { rows } = (await getEnvelope(service, '/v1/query/8/results?sample_count=1000')).result;
    const drawn = rows.map(({ n }) => Number(n));
    assert.equal(new Set(drawn).size, 1000);
    assert.deepEqual(
      drawn,
      drawn.toSorted((a, b) => a - b),
    );
    await service.publish(9, 'n\n');
    assert.equal((await getText(service, '/v1/query/9/results?sample_count=3'))[0], 200);
    assert.equal((await getText(service, '/v1/query/9/results/csv?sample_count=3'))[1], 'n\n');
  });
});

test('a large sample is not drawn on the event loop: it takes no more random numbers than a small one', async (t) => {
  const random = t.mock.method(Math, 'random');
  const service = await startHttpService(t);
  await service.publish(7, `n\n${Array.from({ length: 50_000 }, (_, n) => `${n}\n`).join('')}`);
  const numbersFor = async (path: string) => {
    const before = random.mock.callCount();
    assert.equal((await service.get(path)).status, 200);
    return random.mock.callCount() - before;
  };
  const small = await numbersFor('/v1/query/7/results?sample_count=10');
  assert.ok(small > 0);
  for (const path of [
    '/v1/query/7/results?sample_count=40000',
    '/v1/query/7/results/csv?sample_count=40000&sort_by=n',
    '/v1/query/7/results?sample_count=40000&ignore_max_datapoints_per_request=true',
    '/v1/query/7/results?sample_count=40000&format=parquet',
  ]) {
    assert.equal(await numbersFor(path), small, path);
  }
});

test('no answer says how many rows a sample matches, however it is read', async (t) => {
  for (const directRows of ['0', '10000']) {
    const service = await startHttpService(t, { QRS_DIRECT_ROWS: directRows });
    await service.publish(7, 'n\n1\n2\n3\n');
    for (const format of ['json', 'csv', 'parquet']) {
      const asked = `sample_count=2&format=${format}&ignore_max_datapoints_per_request=true`;
      const answer = await service.get(`/v1/query/7/results?${asked}`);
      assert.deepEqual(
        [answer.status, answer.headers.get('x-service-filtered-row-count')],
        [200, null],
        `${directRows} ${format}`,
      );
      await answer.bytes();
    }
  }
});
