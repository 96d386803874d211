/** What counts as a fault of the service, and what does not: clients that leave, and reads that take too long. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { type HttpService, startHttpService } from './http-service.ts';

const LINES = Array.from({ length: 200_000 }, (_, n) => `${(n * 7919) % 200_000},${n}`).join('\n');

/** Sends a request, and leaves as soon as it is on its way. */
async function askAndLeave({ url, key }: HttpService, path: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Service-Api-Key: ${key}\r\n\r\n`, () => socket.resetAndDestroy());
  await once(socket, 'close');
}

function statuses({ observed }: HttpService): readonly number[] {
  return observed.flatMap((seen) => (seen.kind === 'answered' ? [seen.status] : []));
}

async function metric({ get }: HttpService, sample: string): Promise<string | undefined> {
  const text = await (await get('/metrics', { key: '' })).text();
  return text.split('\n').find((line) => line.startsWith(`${sample} `));
}

test('clients that leave before the first byte count as 499, not as faults', async (t) => {
  const service = await startHttpService(t, { QRS_DIRECT_ROWS: '0' });
  await service.publish(7, `a,b\n${LINES}\n`);
  const ways = [
    'limit=20000',
    'sort_by=a&limit=5',
    'sort_by=a desc&offset=5',
    'format=parquet&limit=9000',
    'sample_count=9',
  ];
  for (const way of ways) await askAndLeave(service, `/v1/query/7/results?${way.replace(' ', '+')}`);
  while (statuses(service).length < ways.length) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(statuses(service), [499, 499, 499, 499, 499]);
  assert.equal(
    await metric(service, 'qrs_http_requests_total{route="/v1/query/:id/results",status="499"}').then(
      (s) => s?.split(' ')[1],
    ),
    '5',
  );
  // After the close all reads have ended, so every fault would be known.
  await service.close();
  assert.deepEqual(service.faults, []);
});

test('a read that takes too long counts as a 504, not as a fault', async (t) => {
  const service = await startHttpService(t, { QRS_READ_TIMEOUT: '1ms' });
  await service.publish(7, `a,b\n${LINES}\n`);
  const response = await service.get('/v1/query/7/results?sort_by=a&limit=5');
  assert.deepEqual([response.status, response.headers.get('x-error-code')], [504, 'read_timeout']);
  assert.equal(
    await metric(service, 'qrs_http_errors_total{code="read_timeout"}'),
    'qrs_http_errors_total{code="read_timeout"} 1',
  );
  assert.equal(await metric(service, 'qrs_faults_total'), 'qrs_faults_total 0');
  assert.deepEqual(service.faults, []);
});
