/** Contract §9: what results that are sent may take of the machine, all together and each: disk, and a decompressor's memory. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { Agent, type ClientRequest, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { writeResource } from '../../src/domain/lease-names.ts';
import { type HttpService, openServer, startHttpService } from './http-service.ts';
import { annWrites, assertRefused, sender } from './http-writer.ts';

const CSV = { 'content-type': 'text/csv' };
const ROWS = 'n\n1\n2\n3\n';

async function start(t: Parameters<typeof startHttpService>[0], environment: Readonly<Record<string, string>>) {
  const service = await startHttpService(t, environment);
  await service.commandLine.get('queries', 'add', '--id', '7', '--user', 'ann');
  const { key, send } = await annWrites(service);
  const publish = async (body: string | Uint8Array, headers = {}) =>
    await send('POST', '/v1/query/7/results', { body, headers: { ...CSV, ...headers } });
  return { service, key, send, publish };
}

/** An upload of which so much has been sent, with more to come. */
function begin({ url }: HttpService, key: string, head: string): ClientRequest {
  const upload = request(`${url}/v1/query/7/results`, {
    method: 'POST',
    headers: { 'x-service-api-key': key, ...CSV },
  });
  upload.on('error', () => undefined);
  upload.write(head);
  return upload;
}

const stagingOf = ({ staging }: HttpService) => staging;

/** Resolves when so many bytes of uploads are on the disk. */
async function untilStaged(service: HttpService, bytes: number): Promise<void> {
  for (;;) {
    const names = await readdir(stagingOf(service), { recursive: true }).catch(() => []);
    const sizes = await Promise.all(
      names.map(async (name) => (await stat(join(stagingOf(service), name)).catch(() => undefined)) ?? { size: 0 }),
    );
    const inputs = sizes.filter((_, i) => names[i]?.endsWith('input'));
    if (inputs.reduce((sum, { size }) => sum + size, 0) === bytes) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('results that are being sent share one budget of disk, and who comes when it is taken is told to come again', async (t) => {
  const { service, key, publish } = await start(t, { QRS_UPLOAD_DISK: '100000' });
  const head = `n\n${'123456789\n'.repeat(6000)}`;
  const first = begin(service, key, head);
  await untilStaged(service, head.length);
  // Its length is known, so none of it is read.
  const announced = await publish(head);
  const says =
    'results that are being sent take 60002 bytes of disk, and 100000 is the most (QRS_UPLOAD_DISK); nothing was changed, try again when some of them are stored';
  assertRefused(announced, 503, 'storage_full', says);
  assert.equal(announced.headers.get('retry-after'), '60');
  const second = begin(service, key, head);
  second.end();
  const [refused] = await once(second, 'response');
  assert.deepEqual([refused.statusCode, refused.headers['x-error-code']], [503, 'storage_full']);
  assert.match(await text(refused), /results that are being sent take [0-9]+ bytes of disk/);
  assert.equal((await publish(ROWS)).status, 201, 'a small one has room');
  first.destroy();
  let last = await publish(head);
  for (; last.status !== 201; last = await publish(head)) assertRefused(last, 503, 'storage_full', /./);
  assert.equal(
    last.status,
    201,
    'all is free again when the service has noticed that the client of the first has gone',
  );
  assert.deepEqual(await readdir(stagingOf(service)), []);
  // Whoever runs the service is told, as of a full disk.
  const codes = service.faults.map((fault) => (fault as { readonly code: unknown }).code);
  assert.deepEqual([codes.length >= 2, ...new Set(codes)], [true, 'storage_full']);
});

test('what is sent, what is decompressed and what is converted count; nothing of what was refused stays', async (t) => {
  const { service, publish } = await start(t, { QRS_UPLOAD_DISK: '100000' });
  const says =
    'the result takes more than 100000 bytes of disk until it is stored, and that is the most for all results that are being sent (QRS_UPLOAD_DISK)';
  const bomb = `n\n${'1\n'.repeat(200_000)}`;
  const noise = `n\n${Array.from({ length: 2500 }, () => crypto.randomUUID()).join('\n')}\n`;
  for (const [body, headers] of [
    ['n\n'.repeat(60_000), {}],
    [gzipSync(bomb), { 'content-encoding': 'gzip' }],
    [zstdCompressSync(bomb), { 'content-encoding': 'zstd' }],
    [Buffer.from('n\n1\n'.repeat(12_000), 'utf16le'), { 'content-type': 'text/csv; charset=utf-16le' }],
    // As it comes it is smaller than the budget; what it is converted to is as large again.
    [noise, {}],
  ] as const) {
    assertRefused(await publish(body, headers), 413, 'body_too_large', says);
    assert.deepEqual(await readdir(stagingOf(service)), []);
  }
  const catalog = await service.catalog();
  assert.deepEqual(await catalog.executions.list({ queryId: 7, limit: 10 }), []);
  for (let i = 0; i < 3; i++) assert.equal((await publish(`n\n${'123456789\n'.repeat(5000)}`)).status, 201);
  assert.deepEqual(service.faults, []);
});

test('what was too large is tried again under its Idempotency-Key, since there may be more disk for it then', async (t) => {
  const { service, key, publish } = await start(t, { QRS_UPLOAD_DISK: '100000' });
  const body = gzipSync(`n\n${'1\n'.repeat(200_000)}`);
  const headers = { ...CSV, 'content-encoding': 'gzip', 'idempotency-key': 'large' };
  assertRefused(await publish(body, headers), 413, 'body_too_large', /^the result takes more than 100000 bytes/);
  const roomier = await openServer(service.commandLine, { QRS_UPLOAD_DISK: '100MB' });
  t.after(roomier.close);
  const send = sender(roomier.server, key);
  assert.equal((await send('POST', '/v1/query/7/results', { body, headers })).status, 201);
});

test('by default they take half of the disk that is free', async (t) => {
  const { publish } = await start(t, {});
  assert.equal((await publish(ROWS)).status, 201);
});

test('a zstd body may have several pieces, and takes the memory of a usual one', async (t) => {
  const { service, publish } = await start(t, {});
  const zstd = { 'content-encoding': 'zstd' };
  const frame = (piece: string) => zstdCompressSync(piece);
  const pieces = Buffer.concat(['n\n', '1\n', '2\n'].map(frame));
  const { execution_id: id } = (await publish(pieces, zstd)).json;
  assert.deepEqual(((await service.json(`/v1/execution/${id}/results`)).result as { rows: unknown }).rows, [
    { n: 1 },
    { n: 2 },
  ]);
  // The window of a frame, as `zstd --long=28` writes it: 256 MB.
  const long = zstdCompressSync('n\n1\n', {
    params: { [constants.ZSTD_c_windowLog]: 28, [constants.ZSTD_c_contentSizeFlag]: 0 },
  });
  assertRefused(
    await publish(withWindow(long, 28), zstd),
    400,
    'invalid_result',
    'the zstd data takes more than 128 MB of memory to decompress: compress it without --long',
  );
  assert.deepEqual(service.faults, []);
});

/** A frame that says it needs a window of 2^log bytes (RFC 8878, 3.1.1.1.2), whatever is in it. */
function withWindow(frame: Buffer, log: number): Buffer {
  // Magic number; a descriptor with neither a single segment, a content size nor a checksum; the window; the blocks.
  const descriptor = frame[4] ?? 0;
  const [single, sizeFlag] = [(descriptor >> 5) & 1, descriptor >> 6];
  const sizeBytes = sizeFlag === 0 ? single : 2 ** sizeFlag;
  const blocks = frame.subarray(5 + (single === 1 ? 0 : 1) + sizeBytes);
  return Buffer.concat([frame.subarray(0, 4), Buffer.of(descriptor & 0b100, (log - 10) << 3), blocks]);
}

test('who is refused before the body is read sends the next request on the same connection', async (t) => {
  const { service, key, send } = await start(t, {});
  const { execution_id: id } = (await send('POST', '/v1/query/7/executions')).json;
  const { leases } = await service.catalog();
  await leases.acquire(writeResource(String(id)), 'another process', 60_000);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ask = async (method: string, path: string, body: string) => {
    const asked = request(service.url + path, { agent, method, headers: { 'x-service-api-key': key } });
    asked.end(body);
    const [response] = await once(asked, 'response');
    return [response.statusCode, response.headers['x-error-code'], JSON.parse(await text(response)).error];
  };
  const rows = `n\n${'123456789\n'.repeat(500_000)}`;
  assert.deepEqual(await ask('PUT', `/v1/execution/${id}/results`, rows), [
    409,
    'conflict',
    `execution ${id} is being published by another process`,
  ]);
  assert.deepEqual(await ask('GET', '/v1/query/7', ''), [200, undefined, undefined]);
  assert.deepEqual(service.faults, []);
});
