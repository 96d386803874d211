/** How many rows match, and what an answer costs, told before it is paid for. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startHttpService } from './http-service.ts';

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
  // Whether the count is known may change, so it must not be in the bytes that a tag stands for.
  const plain = await service.json('/v1/query/7/results?filters=m = 9');
  assert.equal(JSON.stringify(plain).includes('filtered_row_count'), false);
  assert.equal((await service.get('/v1/query/7/results?count=roughly')).status, 400);
});

test('without count=exact the header says how many rows match where counting costs little, and the body never does', async (t) => {
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
    ['sort_by=n desc&limit=1', '3000'],
    ["filters=t like '1%25'&limit=10", null],
    ["filters=t like '1%25'&limit=0", null],
  ] as const) {
    const answers = [];
    for (const method of ['GET', 'HEAD', 'GET']) {
      const answer = await service.get(`/v1/query/7/results?${asked}`, { method });
      answers.push([answer.status, answer.headers.get('x-service-filtered-row-count'), answer.headers.get('etag')]);
      assert.doesNotMatch(await answer.text(), /filtered_row_count/);
    }
    const etag = answers[0]?.[2];
    assert.ok(etag);
    assert.deepEqual(answers, Array(3).fill([200, count, etag]), asked);
  }
});

test('limit=0 reads no rows: it is answered though the rows are damaged, unless these must be counted', async (t) => {
  const service = await startHttpService(t);
  const lines = Array.from({ length: ROWS }, (_, n) => `${n},${String(n).repeat(600).slice(0, 600)}`);
  const { id } = await service.publish(7, `n,t\n${lines.join('\n')}\n`);
  const [part] = (await (await service.catalog()).executions.findResultSet(id))?.parts ?? [];
  await writeFile(join(service.commandLine.dataDir, 'results', part?.key ?? ''), 'damaged');
  const statusOf = async (asked: string) => (await service.get(`/v1/query/7/results?${asked}`)).status;
  assert.equal(await statusOf("filters=t like '1%25'&limit=0"), 200);
  assert.equal(await statusOf("filters=t like '1%25'&sort_by=t&limit=0"), 200);
  assert.equal(await statusOf("filters=t like '1%25'&limit=1"), 500);
});

test('HEAD says what GET costs, and costs nothing', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, `n,w\n${'1,aé\n'.repeat(40)}`);
  for (const asked of ['limit=10', 'format=csv&columns=n&limit=7', 'format=parquet&limit=3']) {
    const path = `/v1/query/7/results?${asked}`;
    const got = await service.get(path);
    await got.arrayBuffer();
    const head = await service.get(path, { method: 'HEAD' });
    for (const name of ['x-service-row-count', 'x-service-datapoint-count']) {
      assert.match(head.headers.get(name) ?? '', /^[1-9]\d*$/, `${path} ${name}`);
      assert.equal(head.headers.get(name), got.headers.get(name), `${path} ${name}`);
    }
    const answered = service.observed.flatMap((seen) => (seen.kind === 'answered' ? [seen] : [])).slice(-2);
    assert.deepEqual(
      answered.map(({ method, stats }) => [method, stats.rowCount, stats.datapoints]),
      [
        ['GET', Number(got.headers.get('x-service-row-count')), Number(got.headers.get('x-service-datapoint-count'))],
        ['HEAD', 0, 0],
      ],
    );
  }
});
