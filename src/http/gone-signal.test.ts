import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import Fastify from 'fastify';
import { ClientGone } from '../results/limits/client-gone.ts';
import { goneSignal } from './gone-signal.ts';

/** A request whose signal is made when it is asked for, as after the look-up of a key. */
async function startRequest(t: TestContext) {
  const server = Fastify();
  const [arrived, lookedUp, made] = [
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
    Promise.withResolvers<AbortSignal>(),
  ];
  server.get('/', async (_request, reply) => {
    const gone = once(reply.raw, 'close');
    arrived.resolve();
    await lookedUp.promise;
    const signal = goneSignal(reply);
    made.resolve(signal);
    if (!signal.aborted) await gone;
    return 'text';
  });
  t.after(async () => await server.close());
  await server.listen({ host: '127.0.0.1', port: 0 });
  const closed = new Promise<void>((resolve) => {
    server.server.once('connection', (socket) => socket.once('close', () => resolve()));
  });
  const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await arrived.promise;
  return {
    leave: async () => {
      socket.resetAndDestroy();
      await closed;
    },
    signal: async () => {
      lookedUp.resolve();
      return await made.promise;
    },
  };
}

test('a client that leaves is told to the work', async (t) => {
  const request = await startRequest(t);
  const signal = await request.signal();
  assert.equal(signal.aborted, false);
  await request.leave();
  assert(signal.reason instanceof ClientGone);
});

test('so is one that has left before, while its key was looked up', async (t) => {
  const request = await startRequest(t);
  await request.leave();
  assert((await request.signal()).reason instanceof ClientGone);
});
