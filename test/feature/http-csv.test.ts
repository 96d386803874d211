/** Contract §6: the shape of a CSV answer. Its values are in http-values.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getText } from './http-client.ts';
import { startHttpService } from './http-service.ts';

test('CSV', async (t) => {
  const service = await startHttpService(t);
  const lines = ['{"n":1,"w":"x"}', '{"n":2,"w":null}', '{"n":null,"w":""}', '{"n":null,"w":null}'];
  await service.publish(7, `${lines.join('\n')}\n`, { format: 'ndjson' });
  const csv = async (query = '') => (await getText(service, `/v1/query/7/results/csv${query}`))[1];

  await t.test('text/csv in UTF-8, without a byte order mark', async () => {
    const response = await service.get('/v1/query/7/results/csv');
    assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8');
    assert.deepEqual([...new Uint8Array(await response.arrayBuffer()).slice(0, 4)], [...Buffer.from('n,w\n')]);
  });

  await t.test('commas, LF only, one at the end; null empty, the empty string quoted', async () => {
    assert.equal(await csv(), 'n,w\n1,x\n2,\n,""\n,\n');
  });

  await t.test('the header line is on every page, also on one without rows', async () => {
    assert.equal(await csv('?limit=1'), 'n,w\n1,x\n');
    assert.equal(await csv('?limit=1&offset=1'), 'n,w\n2,\n');
    assert.equal(await csv('?offset=4'), 'n,w\n');
    assert.equal(await csv('?limit=0'), 'n,w\n');
  });

  await t.test('a row that would be an empty line is ""', async () => {
    assert.equal(await csv('?columns=n'), 'n\n1\n2\n""\n""\n');
    assert.equal(await csv('?columns=w'), 'w\nx\n""\n""\n""\n');
  });

  await t.test('CSV has no expires_at', async () => {
    const response = await service.get('/v1/query/7/results/csv');
    assert(!JSON.stringify([...response.headers]).includes('expires_at'));
    assert(!(await response.text()).includes('2024-06'));
  });
});
