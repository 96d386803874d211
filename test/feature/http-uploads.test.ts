/** Uploads of results that stop in the middle, stall, are refused early, or are too many at once (contract §9). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { HttpService } from './http-service.ts';
import { annWrites, assertRefused, type Send } from './http-writer.ts';
import { assertUntouched, CSV, start } from './publishing-service.ts';

/** Begins an upload and sends the first bytes of its body. */
function beginUpload({ url }: HttpService, key: string, length: number, head: string) {
  const upload = request(`${url}/v1/query/7/results`, {
    method: 'POST',
    headers: { 'x-service-api-key': key, 'content-type': 'text/csv', 'content-length': length },
  });
  upload.on('error', () => undefined);
  upload.write(head);
  return upload;
}

/** Resolves when the service has begun to write so many uploads; with 0, when none is left. */
async function staged(service: HttpService, count: number): Promise<void> {
  for (;;) {
    const folders = await readdir(service.staging).catch(() => []);
    if (folders.length === count) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a client that dies, or a service that is stopped, in the middle of a body leaves nothing behind', async (t) => {
  const { service, key } = await start({ QRS_SHUTDOWN_GRACE: '0' }, t);
  for (const bytes of [1, 65_536, 200_000]) {
    const upload = beginUpload(service, key, 1_000_000, `n\n${'1\n'.repeat(bytes / 2)}`);
    await staged(service, 1);
    upload.destroy();
    await staged(service, 0);
  }
  await assertUntouched(service);
  const catalog = await service.catalog();
  beginUpload(service, key, 1_000_000, 'n\n1\n');
  await staged(service, 1);
  await service.stop();
  await staged(service, 0);
  assert.deepEqual(await catalog.executions.list({ queryId: 7, limit: 10 }), []);
  assert.deepEqual(service.faults, []);
});

test('a body that stalls is cut with 408; a client that keeps sending after its answer loses its connection', async (t) => {
  const { service, key } = await start({ QRS_UPLOAD_STALLED: '100ms' }, t);
  const upload = beginUpload(service, key, 1_000_000, 'n\n1\n');
  const [response] = await once(upload, 'response');
  assert.equal(response.statusCode, 408);
  const { error } = JSON.parse(await text(response));
  assert.equal(error, 'the body stopped after 4 bytes: nothing came for 0.1 s, and nothing was changed');
  await assertUntouched(service);
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST /v1/query/8/results HTTP/1.1\r\nhost: x\r\nx-service-api-key: ${key}\r\ncontent-length: 1000\r\n\r\nn`,
  );
  socket.resume();
  await once(socket, 'close');
});

test('a body of JSON that stalls is cut with 408, too, by the same setting', async (t) => {
  const { service, key } = await start({ QRS_UPLOAD_STALLED: '100ms' }, t);
  const headers = { 'x-service-api-key': key, 'content-length': 100 };
  const asking = request(`${service.url}/v1/query`, { method: 'POST', headers });
  asking.write('{"name":');
  const [response] = await once(asking, 'response');
  assert.equal(response.statusCode, 408);
  const { error } = JSON.parse(await text(response));
  assert.equal(error, 'the body stopped after 8 bytes: nothing came for 0.1 s, and nothing was changed');
  asking.destroy();
});

test('a body in chunks whose lengths cannot be read is 400, at once or in the middle, and nothing has changed', async (t) => {
  const { service, key } = await start({}, t);
  const { hostname, port } = new URL(service.url);
  const ask = async (line: string, begin: string, rest: string) => {
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    const answered = text(socket);
    socket.write(
      `${line} HTTP/1.1\r\nhost: x\r\nx-service-api-key: ${key}\r\ntransfer-encoding: chunked\r\n\r\n${begin}`,
    );
    if (rest !== '') {
      await staged(service, 1);
      socket.write(rest);
    }
    const answer = await answered;
    socket.destroy();
    return answer.split('\r\n\r\n');
  };
  const refusal = '{"error":"the request is not well-formed HTTP"}';
  for (const [line, begin, rest] of [
    ['POST /v1/query', 'nonsense\r\n', ''],
    ['POST /v1/query/7/results', 'nonsense\r\n', ''],
    ['POST /v1/query/7/results', '4\r\nn\n1\n\r\n', 'nonsense\r\n'],
    ['GET /v1/queries', 'nonsense\r\n', ''],
  ] as const) {
    const [head, body] = await ask(line, begin, rest);
    assert.match(String(head), /^HTTP\/1\.1 400 Bad Request\r\n/, line);
    assert.equal(body, refusal, line);
    await staged(service, 0);
  }
  await assertUntouched(service);
  assert.deepEqual(service.faults, []);
});

test('a client that may not publish is told so before it sends the body', async (t) => {
  const { service, key } = await start({}, t);
  const ask = async (path: string, asKey: string) => {
    const upload = request(service.url + path, {
      method: 'POST',
      headers: { 'x-service-api-key': asKey, expect: '100-continue', 'content-length': CSV.length },
    });
    let told = false;
    upload.on('continue', () => {
      told = true;
      upload.end(CSV);
    });
    upload.flushHeaders();
    const [response] = await once(upload, 'response');
    await text(response);
    upload.destroy();
    return [response.statusCode, told];
  };
  assert.deepEqual(await ask('/v1/query/7/results', service.key), [403, false]);
  assert.deepEqual(await ask('/v1/query/8/results', key), [404, false]);
  assert.deepEqual(await ask('/v1/query/7/results', key), [201, true]);
});

test('a key sends only so many results at once, and others are not held up', async (t) => {
  const { service, key, send } = await start({ QRS_UPLOADS_PER_KEY: '2', QRS_UPLOADS_MAX: '3' }, t);
  const other = await annWrites(service);
  const publish = async (sending: Send) =>
    await sending('POST', '/v1/query/7/results', { body: CSV, headers: { 'content-type': 'text/csv' } });
  const uploads = [1, 2].map(() => beginUpload(service, key, 10, 'n\n1\n'));
  await staged(service, 2);
  const refused = await publish(send);
  assertRefused(refused, 429, 'too_many_uploads', 'this key sends 2 results already, and 2 is the most');
  assert.equal(refused.headers.get('retry-after'), '5');
  assert.equal((await publish(other.send)).status, 201);
  uploads.push(beginUpload(service, other.key, 10, 'n\n1\n'));
  await staged(service, 3);
  assertRefused(await publish(other.send), 503, 'overloaded', /^3 results are being sent already, and 3 is the most/);
  for (const upload of uploads) upload.destroy();
  await staged(service, 0);
  assert.equal((await publish(send)).status, 201);
});

test('with a file in the place of the folder that uploads are written to they are 503 until it is gone', async (t) => {
  const { service, send } = await start({}, t);
  const headers = { 'content-type': 'text/csv' };
  const publish = async (body: string) => await send('POST', '/v1/query/7/results', { headers, body });
  assert.equal((await publish('n\n1\n')).status, 201);
  await rm(service.staging, { recursive: true });
  await writeFile(service.staging, '');
  assertRefused(await publish('n\n2\n'), 503, 'workspace_unavailable', /^a folder of the service that this needs/);
  assert.match(
    String(service.faults),
    /\/staging is not a folder, or lies in something that is none; remove it \(EEXIST\)$/,
  );
  await rm(service.staging);
  assert.equal((await publish('n\n3\n')).status, 201);
});
