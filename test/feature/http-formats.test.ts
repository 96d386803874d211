/** The formats of one address: how one is chosen, and what all have in common. http-parquet.test.ts has more about Parquet. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getText } from './http-client.ts';
import { startHttpService } from './http-service.ts';

const LINES = ['{"n":1,"w":"a\\nb"}', '{"n":2,"w":null}', '{"n":3,"w":"é"}'];
const PARQUET = 'application/vnd.apache.parquet';
const RESULTS = '/v1/query/7/results';
const TYPES = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
  parquet: PARQUET,
};

test('formats', async (t) => {
  const service = await startHttpService(t, { QRS_MAX_DATAPOINTS: '4' });
  const { id } = await service.publish(7, `${LINES.join('\n')}\n`, { format: 'ndjson' });
  await service.commandLine.get('queries', 'add', '--id', '8', '--user', 'ann');
  const pending = await service.commandLine.get('executions', 'submit', '--query', '8');

  const contentType = async (path: string, accept?: string) => {
    const response = await service.get(path, accept === undefined ? {} : { headers: { accept } });
    await response.arrayBuffer();
    assert.equal(response.status, 200, path);
    assert.match(response.headers.get('vary') ?? '', /^accept, accept-encoding, /);
    return response.headers.get('content-type');
  };

  await t.test('NDJSON: the rows of JSON, each on a line', async () => {
    assert.deepEqual(await getText(service, `${RESULTS}?format=ndjson&limit=2`), [200, `${LINES[0]}\n${LINES[1]}\n`]);
    assert.deepEqual(await getText(service, `${RESULTS}?format=ndjson&limit=1&offset=2&columns=w`), [
      200,
      '{"w":"é"}\n',
    ]);
    assert.deepEqual(await getText(service, `${RESULTS}?format=ndjson&filters=n>1&sort_by=n desc`), [
      200,
      `${LINES[2]}\n${LINES[1]}\n`,
    ]);
  });

  await t.test('NDJSON without rows is empty', async () => {
    assert.deepEqual(await getText(service, `${RESULTS}?format=ndjson&limit=0`), [200, '']);
    assert.deepEqual(await getText(service, `${RESULTS}?format=ndjson&offset=3`), [200, '']);
  });

  for (const [format, type] of Object.entries(TYPES)) {
    await t.test(`${format}: by its parameter and by Accept`, async () => {
      for (const path of [RESULTS, `/v1/execution/${id}/results`]) {
        assert.equal(await contentType(`${path}?limit=1&format=${format}`), type);
        assert.equal(await contentType(`${path}?limit=1&format=${format.toUpperCase()}`), type);
        assert.equal(await contentType(`${path}?limit=1`, type), type);
        assert.equal(await contentType(`${path}?limit=1`, `text/html, ${type};q=0.9, */*;q=0.8`), type);
      }
    });
  }

  await t.test('usual names of a format, in Accept and in the parameter', async () => {
    for (const [name, type] of [
      ['application/ndjson', TYPES.ndjson],
      ['application/jsonl', TYPES.ndjson],
      ['application/x-parquet', TYPES.parquet],
    ] as const) {
      assert.equal(await contentType(`${RESULTS}?limit=1`, name), type);
      assert.equal(await contentType(`${RESULTS}?limit=1&format=${name}`), type);
      assert.equal(await contentType(`${RESULTS}?limit=1&format=${name.split('/')[1]}`), type);
    }
  });

  await t.test('the parameter wins over Accept; who accepts anything, or nothing that exists, gets JSON', async () => {
    assert.equal(await contentType(`${RESULTS}?limit=1&format=json`, PARQUET), TYPES.json);
    assert.equal(await contentType(`${RESULTS}?limit=1&format=`, TYPES.ndjson), TYPES.ndjson);
    assert.equal(await contentType(`${RESULTS}?limit=1`, '*/*'), TYPES.json);
    assert.equal(await contentType(`${RESULTS}?limit=1`, 'image/png'), TYPES.json);
  });

  await t.test('an answer kept in one format is not given in another', async () => {
    for (const type of [TYPES.json, TYPES.ndjson, TYPES.csv, TYPES.json, TYPES.ndjson]) {
      assert.equal(await contentType(`${RESULTS}?limit=2`, type), type);
    }
  });

  await t.test('an address that ends in /csv is CSV whatever Accept says, and takes no other format', async () => {
    assert.equal(await contentType(`${RESULTS}/csv?limit=1`, TYPES.ndjson), TYPES.csv);
    assert.equal(await contentType(`${RESULTS}/csv?limit=1&format=csv`, PARQUET), TYPES.csv);
    assert.deepEqual(await getText(service, `${RESULTS}/csv?limit=1&format=ndjson`), [
      400,
      '{"error":"format: found \\"ndjson\\", but the address asks for csv; ndjson is at the same address without /csv"}',
    ]);
  });

  await t.test('the status has one format', async () => {
    assert.equal(await contentType(`/v1/execution/${id}/status?format=csv`, PARQUET), TYPES.json);
  });

  await t.test('an unknown format is refused in the order of the checks', async () => {
    const refusal = '{"error":"format: found \\"xml\\", expected one of json, ndjson, csv, parquet"}';
    assert.deepEqual(await getText(service, `${RESULTS}?format=xml`), [400, refusal]);
    assert.equal((await service.get('/v1/query/9/results?format=xml')).status, 404);
    assert.equal((await service.get(`${RESULTS}?format=csv&format=json`)).status, 400);
  });

  await t.test('pages: the headers that CSV has, and a next_uri that keeps the format', async () => {
    for (const format of ['ndjson', 'parquet']) {
      const next = `${service.url}/v1/execution/${id}/results?format=${format}&limit=2&offset=2`;
      for (const options of [{ headers: { accept: TYPES[format as 'ndjson'] } }, undefined]) {
        const response = await service.get(
          `${RESULTS}?limit=2${options === undefined ? `&format=${format}` : ''}`,
          options,
        );
        await response.arrayBuffer();
        for (const prefix of ['x-service', 'x-dune']) {
          assert.equal(response.headers.get(`${prefix}-next-offset`), '2');
          assert.equal(response.headers.get(`${prefix}-next-uri`), next);
        }
        assert.equal(response.headers.get('link'), `<${next}>; rel="next"`);
      }
      const last = await service.get(next.replace(service.url, ''));
      await last.arrayBuffer();
      assert.deepEqual(
        [last.status, last.headers.get('link'), last.headers.get('x-service-next-uri')],
        [200, null, null],
      );
    }
    const csv = await service.get(`${RESULTS}?limit=2&format=csv`);
    assert.equal(
      csv.headers.get('x-service-next-uri'),
      `${service.url}/v1/execution/${id}/results/csv?format=csv&limit=2&offset=2`,
    );
    assert.equal((await service.get(`${RESULTS}?limit=2`)).headers.get('x-service-next-uri'), null);
  });

  await t.test('beyond the datapoint limit: refused without a limit, else the page ends there', async () => {
    const lift = 'ignore_max_datapoints_per_request=true';
    for (const [format, name] of [
      ['ndjson', 'NDJSON'],
      ['parquet', 'Parquet'],
    ]) {
      assert.deepEqual(await getText(service, `${RESULTS}?format=${format}`), [
        400,
        `{"error":"the ${name} would exceed the limit of 4 datapoints; add limit=2 and follow the paging headers, name fewer columns, or ${lift} lifts the limit"}`,
      ]);
      const page = await service.get(`${RESULTS}?format=${format}&limit=3`);
      assert.equal(page.headers.get('x-service-next-offset'), '2');
      const whole = await service.get(`${RESULTS}?format=${format}&${lift}`);
      assert.deepEqual([whole.status, whole.headers.get('x-service-next-offset')], [200, null]);
    }
    assert.deepEqual(await getText(service, `${RESULTS}?format=ndjson&limit=3`), [200, `${LINES[0]}\n${LINES[1]}\n`]);
  });

  await t.test('an execution without a result: 409, which names its state', async () => {
    for (const [format, name] of [
      ['ndjson', 'NDJSON'],
      ['parquet', 'Parquet'],
      ['csv', 'CSV'],
    ]) {
      assert.deepEqual(await getText(service, `/v1/execution/${pending}/results?format=${format}`), [
        409,
        `{"error":"Query state is QUERY_STATE_PENDING, cannot provide ${name} result","state":"QUERY_STATE_PENDING"}`,
      ]);
    }
  });

  await t.test('a truncated result: refused unless allowed', async () => {
    await service.publish(9, 'w\nx\ny\nz\n', { resultBytesMax: 2 });
    for (const format of ['ndjson', 'parquet']) {
      const path = `/v1/query/9/results?format=${format}`;
      assert.equal((await service.get(path)).headers.get('x-error-code'), 'partial_result');
      assert.equal((await service.get(`${path}&allow_partial_results=true`)).status, 200);
    }
  });

  await t.test('each format has an ETag of its own', async () => {
    const tags = new Set<string | null>();
    for (const format of ['json', 'ndjson', 'csv', 'parquet']) {
      const path = `${RESULTS}?limit=2&format=${format}`;
      const etag = (await service.get(path)).headers.get('etag');
      tags.add(etag);
      assert.equal((await service.get(path, { headers: { 'if-none-match': etag ?? '' } })).status, 304);
    }
    assert.equal(tags.size, 4);
  });
  assert.deepEqual(service.faults, []);
});
