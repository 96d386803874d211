/** Contract §2: datapoints, cell bytes, totals, and what happens at the limit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEnvelope, getText, rowsOf, walk, walkCsv } from './http-client.ts';
import { startHttpService } from './http-service.ts';

test('cell bytes', async (t) => {
  const service = await startHttpService(t);
  const cells: readonly (readonly [type: string, json: string, bytes: number])[] = [
    ['boolean', 'true', 1],
    ['tinyint', '1', 1],
    ['smallint', '1', 2],
    ['integer', '1', 4],
    ['bigint', '1', 8],
    ['hugeint', '"1"', 16],
    ['decimal(4, 1)', '"1.5"', 16],
    ['decimal(38, 0)', '"1"', 16],
    ['uint256', '"1"', 32],
    ['int256', '"-1"', 32],
    ['real', '1.5', 4],
    ['double', '1.5', 8],
    ['varchar', '"abc"', 3],
    ['varchar', '"é😀"', 6],
    ['varchar', '""', 0],
    ['varbinary', '"0x00ff10"', 3],
    ['json', '{"a":1}', 7],
    ['uuid', '"0188e99b-aab1-7c4f-8000-000000000001"', 16],
    ['date', '"2024-03-05"', 4],
    ['timestamp(3)', '"2024-03-05 20:50:59.000"', 8],
    ['timestamp(6) with time zone', '"2024-03-05 20:50:59.000000 UTC"', 8],
    ['time', '"20:50:59"', 8],
    ['array(bigint)', '[1,2,3]', 24],
    ['array(varchar)', '["ab","é",""]', 4],
    ['array(array(integer))', '[[1,2],[],[3]]', 12],
    ['array(uint256)', '["1"]', 32],
    ['map(varchar, bigint)', '{"a":1,"bc":2}', 19],
    ['row(a bigint, b varchar)', '{"a":1,"b":"xyz"}', 11],
    ['row(a bigint, b varchar)', '{"a":null,"b":"xyz"}', 3],
    ['varchar', 'null', 0],
    ['bigint', 'null', 0],
    ['array(bigint)', 'null', 0],
  ];
  const types = Object.fromEntries(cells.map(([type], i) => [`c${i}`, type]));
  const line = `{${cells.map(([, json], i) => `"c${i}":${json}`).join(',')}}\n`;
  await service.publish(7, line, { format: 'ndjson', types });
  const total = cells.reduce((sum, [, , bytes]) => sum + bytes, 0);

  for (const [i, [type, json, bytes]] of cells.entries()) {
    await t.test(`${type} ${json}: ${bytes}`, async () => {
      const { metadata } = (await getEnvelope(service, `/v1/query/7/results?columns=c${i}`)).result;
      assert.deepEqual([metadata.result_set_bytes, metadata.total_result_set_bytes], [bytes, total]);
    });
  }

  await t.test('the whole is their sum', async () => {
    const { metadata } = (await getEnvelope(service, '/v1/query/7/results')).result;
    assert.deepEqual([metadata.result_set_bytes, metadata.total_result_set_bytes], [total, total]);
    assert.equal(metadata.datapoint_count, cells.length);
  });
});

test('datapoints are cells, or hundredths of cell bytes where those are more', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, `n,w\n1,${'x'.repeat(250)}\n2,${'y'.repeat(251)}\n`);
  const datapoints = async (query: string) =>
    (await getEnvelope(service, `/v1/query/7/results?${query}`)).result.metadata.datapoint_count;
  assert.equal(await datapoints('columns=n'), 2);
  assert.equal(await datapoints('columns=w'), 6);
  assert.equal(await datapoints('columns=w&limit=1'), 3);
  assert.equal(await datapoints(''), 6);
  assert.equal(await datapoints('limit=0'), 0);
});

test('totals are of the whole stored result, whatever part of it is asked for', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'n,w\n1,x\n2,y\n3,z\n');
  for (const query of [
    '',
    'limit=1',
    'offset=2',
    'columns=w',
    'sample_count=2',
    'filters=n>2',
    'sort_by=n',
    'offset=9',
  ]) {
    const { total_row_count, total_result_set_bytes } = (await getEnvelope(service, `/v1/query/7/results?${query}`))
      .result.metadata;
    assert.deepEqual([total_row_count, total_result_set_bytes], [3, 27], query);
  }
});

test('at the limit, by cells', async (t) => {
  const service = await startHttpService(t, { QRS_MAX_DATAPOINTS: '20' });
  const numbers = Array.from({ length: 50 }, (_, n) => n);
  const { id } = await service.publish(7, `n,m,k\n${numbers.map((n) => `${n},${n},${n}`).join('\n')}\n`);
  const path = '/v1/query/7/results';

  await t.test('JSON ends at the limit and says where it continues', async () => {
    const page = await getEnvelope(service, path);
    assert.equal(page.result.metadata.row_count, 6);
    assert.equal(page.result.metadata.datapoint_count, 18);
    assert.equal(page.next_offset, 6);
    assert.equal(page.next_uri, `${service.url}/v1/execution/${id}/results?limit=6&offset=6`);
  });

  await t.test('a limit that the client gave is carried on, though the page was shorter', async () => {
    const page = await getEnvelope(service, `${path}?limit=40`);
    assert.deepEqual([page.result.metadata.row_count, page.next_offset], [6, 6]);
    assert.equal(page.next_uri, `${service.url}/v1/execution/${id}/results?limit=40&offset=6`);
  });

  await t.test('a walk to the end loses no row and repeats none', async () => {
    for (const query of ['', '?limit=40', '?limit=4', '?columns=n', '?columns=n,m&limit=11']) {
      const pages = await walk(service, path + query);
      assert.deepEqual(
        rowsOf(pages).map(({ n }) => n),
        numbers,
      );
      assert(pages.every((page) => page.result.metadata.datapoint_count <= 20));
    }
  });

  await t.test('fewer columns, more rows', async () => {
    assert.equal((await getEnvelope(service, `${path}?columns=n`)).result.metadata.row_count, 20);
    assert.equal((await getEnvelope(service, `${path}?columns=n,k`)).result.metadata.row_count, 10);
  });

  await t.test('CSV with a limit goes on too', async () => {
    const pages = await walkCsv(service, `${path}/csv?limit=40&columns=n`);
    assert.deepEqual(
      pages.map((page) => page.split('\n').length - 2),
      [20, 20, 10],
    );
    assert.equal(pages.map((page) => page.slice(2)).join(''), `${numbers.join('\n')}\n`);
  });

  await t.test('CSV without a limit is refused, and told what to add', async () => {
    const response = await service.get(`${path}/csv`);
    assert.deepEqual(
      [response.status, response.headers.get('x-error-code'), await response.text()],
      [
        400,
        'datapoint_limit',
        '{"error":"the CSV would exceed the limit of 20 datapoints; add limit=6 and follow the paging headers, name fewer columns, or ignore_max_datapoints_per_request=true lifts the limit"}',
      ],
    );
    assert.equal((await getText(service, `${path}/csv?offset=10`))[0], 400);
  });

  await t.test('CSV without a limit that fits is answered', async () => {
    assert.deepEqual(await getText(service, `${path}/csv?offset=44`), [
      200,
      `n,m,k\n${[44, 45, 46, 47, 48, 49].map((n) => `${n},${n},${n}`).join('\n')}\n`,
    ]);
  });

  await t.test('ignore_max_datapoints_per_request lifts it', async () => {
    const page = await getEnvelope(service, `${path}?ignore_max_datapoints_per_request=true`);
    assert.deepEqual([page.result.metadata.row_count, page.result.metadata.datapoint_count], [50, 150]);
    assert(!('next_uri' in page));
    const [status, text] = await getText(service, `${path}/csv?ignore_max_datapoints_per_request=true`);
    assert.deepEqual([status, text.split('\n').length], [200, 52]);
  });

  await t.test('with a limit as well, the page and its successor are as asked for', async () => {
    const query = 'ignore_max_datapoints_per_request=true&limit=30';
    const pages = await walk(service, `${path}?${query}`);
    assert.deepEqual(
      pages.map((page) => page.result.metadata.row_count),
      [30, 20],
    );
  });

  await t.test('a sample beyond it is refused', async () => {
    assert.equal((await getEnvelope(service, `${path}?sample_count=6`)).result.metadata.row_count, 6);
    assert.deepEqual(await getText(service, `${path}?sample_count=7`), [
      400,
      '{"error":"sample_count: the sample would exceed the limit of 20 datapoints; ask for fewer rows or name fewer columns, or ignore_max_datapoints_per_request=true lifts the limit"}',
    ]);
    assert.equal((await getText(service, `${path}/csv?sample_count=7`))[0], 400);
    assert.equal((await getText(service, `${path}?sample_count=20&columns=n`))[0], 200);
    assert.equal((await getText(service, `${path}?sample_count=7&ignore_max_datapoints_per_request=1`))[0], 200);
  });
});

test('at the limit, by bytes', async (t) => {
  const service = await startHttpService(t, { QRS_MAX_DATAPOINTS: '20' });
  // 2,000 cell bytes a page. The fifth row alone has more than that.
  const widths = [600, 600, 600, 600, 5000, 10, 1985, 6, 0, 1990];
  const rows = widths.map((width, n) => `${n},${'x'.repeat(width)}`);
  await service.publish(7, `n,w\n${rows.join('\n')}\n`, { types: { n: 'integer' } });

  await t.test('a page ends before the row that would exceed it, but has at least one', async () => {
    const pages = await walk(service, '/v1/query/7/results');
    assert.deepEqual(
      pages.map((page) => page.result.rows.map(({ n }) => n)),
      [[0, 1, 2], [3], [4], [5], [6, 7], [8, 9]],
    );
    assert.deepEqual(
      pages.map((page) => page.result.metadata.result_set_bytes),
      [1812, 604, 5004, 14, 1999, 1998],
    );
    assert.deepEqual(
      pages.map((page) => page.result.metadata.datapoint_count),
      [19, 7, 51, 2, 20, 20],
    );
  });

  await t.test('the same in CSV with a limit', async () => {
    const pages = await walkCsv(service, '/v1/query/7/results/csv?limit=10');
    assert.deepEqual(
      pages.map((page) => page.split('\n').length - 2),
      [3, 1, 1, 1, 2, 2],
    );
    assert.equal(pages.map((page) => page.slice('n,w\n'.length)).join(''), `${rows.join('\n')}\n`);
  });

  await t.test('CSV without a limit is refused', async () => {
    assert.equal((await getText(service, '/v1/query/7/results/csv'))[0], 400);
    assert.equal((await getText(service, '/v1/query/7/results/csv?columns=n'))[0], 200);
  });

  await t.test('a sample whose bytes exceed it is refused, in both formats', async () => {
    assert.equal((await getText(service, '/v1/query/7/results?sample_count=10'))[0], 400);
    assert.equal((await getText(service, '/v1/query/7/results/csv?sample_count=10'))[0], 400);
    assert.equal((await getText(service, '/v1/query/7/results?sample_count=10&columns=n'))[0], 200);
  });
});
