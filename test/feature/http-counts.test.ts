/** How many rows match, and what an answer costs, told before it is paid for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttpService } from './http-service.ts';
import { replaceObject } from './replace-object.ts';

const ROWS = 3000;

test('count=exact: how many rows match, on every page and in every format', async (t) => {
  const service = await startHttpService(t);
  const lines = Array.from({ length: ROWS }, (_, n) => `${n},${n % 3}`).join('\n');
  await service.publish(7, `n,m\n${lines}\n`, { rowGroupRows: 256, rowGroupsPerPart: 2 });
  for (const [asked, count] of [
    ['filters=m = 1&limit=10', '1000'],
    ['filters=m = 1&limit=0', '1000'],
    ['filters=m = 1&sort_by=n desc&limit=5&offset=995', '1000'],
    ['filters=m = 1&limit=5&offset=5000', '1000'],
    ['filters=m = 9', '0'],
    ['limit=2', '3000'],
    ['sort_by=m&limit=2', '3000'],
  ] as const) {
    for (const format of ['json', 'csv', 'ndjson', 'parquet']) {
      for (const method of ['GET', 'HEAD']) {
        const path = `/v1/query/7/results?${asked}&format=${format}&count=exact`;
        const answer = await service.get(path, { method });
        assert.equal(answer.status, 200, path);
        assert.equal(answer.headers.get('x-service-filtered-row-count'), count, `${method} ${path}`);
        const body = await answer.text();
        if (format !== 'json' || method === 'HEAD') continue;
        assert.equal(JSON.parse(body).result.metadata.filtered_row_count, Number(count), path);
      }
    }
  }
  assert.equal((await service.get('/v1/query/7/results?count=roughly')).status, 400);
});

test('without count=exact the header and the body say how many rows match where counting costs little, the same each time', async (t) => {
  // No indexes, which would know more the more is asked.
  const service = await startHttpService(t, { QRS_INDEX_USES: 'off' });
  // 3,000 numbers are counted at once, 3,000 texts of 600 characters are not.
  const lines = Array.from({ length: ROWS }, (_, n) => `${n},${n % 3},${String(n).repeat(600).slice(0, 600)}`);
  await service.publish(7, `n,m,t\n${lines.join('\n')}\n`, { rowGroupRows: 256, rowGroupsPerPart: 2 });
  for (const [asked, count] of [
    ['filters=m = 1&limit=10', '1000'],
    ['filters=m = 1&limit=0', '1000'],
    ['filters=m = 1&sort_by=t&limit=10', '1000'],
    ['filters=m = 1 and n < 30&limit=1', '10'],
    ['filters=m = 9&limit=1', '0'],
    ["filters=t like '1%25'&limit=10", null],
    ["filters=t like '1%25'&limit=0", null],
  ] as const) {
    const answers = [];
    for (const method of ['GET', 'HEAD', 'GET']) {
      const answer = await service.get(`/v1/query/7/results?${asked}`, { method });
      answers.push([answer.status, answer.headers.get('x-service-filtered-row-count'), answer.headers.get('etag')]);
      const body = await answer.text();
      if (method === 'HEAD') continue;
      const told = JSON.parse(body).result.metadata.filtered_row_count;
      assert.equal(told, count === null ? undefined : Number(count), asked);
    }
    const etag = answers[0]?.[2];
    assert.ok(etag);
    assert.deepEqual(answers, Array(3).fill([200, count, etag]), asked);
  }
  // Without a filter `total_row_count` says it.
  const sorted = await service.get('/v1/query/7/results?sort_by=n desc&limit=1');
  assert.equal(sorted.headers.get('x-service-filtered-row-count'), '3000');
  assert.doesNotMatch(await sorted.text(), /filtered_row_count/);
});

test('limit=0 reads no rows: it is answered though the rows are damaged, unless these must be counted', async (t) => {
  const service = await startHttpService(t);
  const lines = Array.from({ length: ROWS }, (_, n) => `${n},${String(n).repeat(600).slice(0, 600)}`);
  const { id } = await service.publish(7, `n,t\n${lines.join('\n')}\n`);
  const [part] = (await (await service.catalog()).executions.findResultSet(id))?.parts ?? [];
  await replaceObject(await service.store(), service.commandLine.directory, part?.key ?? '', 'damaged');
  const statusOf = async (asked: string) => (await service.get(`/v1/query/7/results?${asked}`)).status;
  assert.equal(await statusOf("filters=t like '1%25'&limit=0"), 200);
  assert.equal(await statusOf("filters=t like '1%25'&sort_by=t&limit=0"), 200);
  assert.equal(await statusOf("filters=t like '1%25'&limit=1"), 500);
});

test('HEAD says what GET will cost, before any GET, and costs nothing', async (t) => {
  const service = await startHttpService(t);
  const lines = Array.from({ length: 40 }, (_, n) => `${n},aé,${'x'.repeat(600)}`);
  await service.publish(7, `n,w,t\n${lines.join('\n')}\n`, { rowGroupRows: 16, rowGroupsPerPart: 1 });
  const charged: (readonly [string, number, number])[] = [];
  for (const [asked, rows, datapoints] of [
    ['limit=10&columns=n,w', '10', '20'],
    ['format=csv&columns=n&limit=7', '7', '7'],
    ['format=ndjson&limit=2', '2', '13'],
    ["filters=w = 'aé' and n < 3", '3', '19'],
    // Of Parquet no row is read: a number is 8 bytes, and 40 rows with all columns are the whole result.
    ['format=parquet&columns=n&limit=3', '3', '3'],
    ['format=parquet', '40', '245'],
    ['format=parquet&filters=n < 3', '3', '19'],
    ['format=parquet&filters=n < 3&columns=n', '3', '3'],
    ['format=parquet&filters=n < 0', '0', '0'],
    ['format=parquet&limit=0', '0', '0'],
  ] as const) {
    const path = `/v1/query/7/results?${asked}`;
    const head = await service.get(path, { method: 'HEAD' });
    const got = await service.get(path);
    await got.arrayBuffer();
    for (const { headers } of [head, got]) {
      const price = ['x-service-row-count', 'x-service-datapoint-count'].map((name) => headers.get(name));
      assert.deepEqual(price, [rows, datapoints], path);
    }
    charged.push(['HEAD', 0, 0], ['GET', Number(rows), Number(datapoints)]);
  }
  const answered = () =>
    service.observed.flatMap((seen) => (seen.kind === 'answered' && seen.stats.queryId === 7 ? [seen] : []));
  // An answer is observed when it has been sent, which may be after its reader has it. Tries far more often than that takes.
  for (let tries = 0; answered().length < charged.length && tries < 2000; tries += 1) await service.get('/healthz');
  assert.deepEqual(
    answered().map(({ method, stats }) => [method, stats.rowCount, stats.datapoints]),
    charged,
  );
  // How long the texts of some of the rows are is not known without reading them.
  const path = '/v1/query/7/results?format=parquet&limit=3';
  const head = await service.get(path, { method: 'HEAD' });
  assert.deepEqual(
    ['x-service-row-count', 'x-service-datapoint-count', 'content-length'].map((name) => head.headers.get(name)),
    ['3', null, null],
  );
  assert.equal((await service.get(path)).headers.get('x-service-datapoint-count'), '19');
});
