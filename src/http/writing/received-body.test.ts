import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { FakeTime } from '../../../test/fake-time.ts';
import { ClientGone } from '../../results/limits/client-gone.ts';
import { type BodyLimits, receivedBody } from './received-body.ts';

const chunked = () =>
  Object.assign(new PassThrough({ autoDestroy: false }), {
    headers: { 'transfer-encoding': 'chunked' },
    complete: false,
  });

function receive(limits: Partial<BodyLimits>, request = chunked()) {
  const time = new FakeTime(0);
  const response = {} as ServerResponse;
  const body = receivedBody(
    request as unknown as IncomingMessage,
    response,
    { bytesMax: 100, stalledMillis: 1000, sleep: time.sleep, ...limits },
    [],
  );
  /** Sends a byte now and then, until this time. */
  const drip = async (untilMillis: number) => {
    while (time.clock() < untilMillis && !body.destroyed) {
      request.write('x');
      await new Promise((resolve) => setImmediate(resolve));
      time.advance(500);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { request, body, time, drip };
}

test('a body that trickles in byte by byte is cut after the whole time allowed, and never where none is set', async () => {
  const limited = receive({ wholeMillis: 3000 });
  const read = assert.rejects(limited.body.toArray(), {
    code: 'body_stalled',
    message: 'the body was not whole after 3 s, but had 6 bytes, and nothing was changed',
  });
  await limited.drip(10_000);
  assert.equal(limited.time.clock(), 3000);
  await read;
  const unlimited = receive({});
  const all = unlimited.body.toArray();
  await unlimited.drip(10_000);
  unlimited.request.end();
  assert.equal(Buffer.concat(await all).byteLength, 20);
});

test('a body that stops is cut when nothing has come for the time allowed, and an eighth of it at most', async () => {
  const { request, body, time } = receive({ stalledMillis: 8000 });
  const read = assert.rejects(body.toArray(), {
    code: 'body_stalled',
    message: 'the body stopped after 2 bytes: nothing came for 8 s, and nothing was changed',
  });
  const pass = async (millis: number) => {
    await new Promise((resolve) => setImmediate(resolve));
    time.advance(millis);
    await new Promise((resolve) => setImmediate(resolve));
  };
  request.write('x');
  for (let second = 1; second <= 8; second += 1) await pass(1000);
  assert.equal(body.destroyed, false, 'the byte has come after the first look began');
  request.write('x');
  for (let second = 9; second <= 16; second += 1) await pass(1000);
  assert.equal(body.destroyed, false);
  await pass(1000);
  await read;
  assert.equal(time.clock(), 17_000);
});

test('a body that never comes is cut after the time allowed, and not after twice as long', async () => {
  const { body, time } = receive({ stalledMillis: 8000 });
  const read = assert.rejects(body.toArray(), { code: 'body_stalled' });
  for (let second = 1; second <= 8; second += 1) {
    assert.equal(body.destroyed, false);
    time.advance(1000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await read;
});

test('a body that ends in time is not cut', async () => {
  const { request, body, time } = receive({ wholeMillis: 3000 });
  request.end('{}');
  assert.equal(Buffer.concat(await body.toArray()).toString(), '{}');
  time.advance(5000);
  assert.equal(body.errored, null);
});

test('a client that leaves ends the body, also when all of it has come and is not yet read', async () => {
  for (const complete of [false, true]) {
    const { request, body } = receive({});
    const read = assert.rejects(body.toArray(), ClientGone);
    request.complete = complete;
    request.destroy();
    await read;
  }
});

test('so does one that has left before its body was asked for', async () => {
  const request = chunked();
  request.write('x');
  request.destroy();
  await once(request, 'close');
  const { body } = receive({}, request);
  await assert.rejects(body.toArray(), ClientGone);
});
