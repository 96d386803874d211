import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Turns } from '../domain/turns.ts';
import { RequestStats } from '../observation/request-stats.ts';
import { CompressedCache } from './compressed-cache.ts';
import { compressAhead, sendAnswer } from './send-answer.ts';
import { UnsentAnswers } from './unsent-answers.ts';

/** A reply whose stream nobody reads, as when the connection closed before. */
function unreadReply(raw: EventEmitter): FastifyReply {
  const reply: object = { raw, header: () => reply, code: () => reply, send: () => reply };
  return reply as FastifyReply;
}

for (const when of ['before', 'after'] as const) {
  test(`a stream that is never read is released: the response closed ${when} it was handed over`, async () => {
    let isGivenBack = false;
    const chunks = (async function* () {
      try {
        yield Buffer.from('a');
        yield Buffer.from('b');
      } finally {
        isGivenBack = true;
      }
    })();
    const raw = Object.assign(new EventEmitter(), { destroyed: when === 'before' });
    const answer = { contentType: 'text/csv', headers: {}, body: { kind: 'stream', chunks, size: undefined } } as const;
    const request = { method: 'GET', headers: {}, id: 'r', stats: new RequestStats() } as unknown as FastifyRequest;
    const options = {
      headerPrefixes: [],
      keyHeaders: [],
      compressed: new CompressedCache(0),
      unsent: new UnsentAnswers(0),
      chunkTurns: new Turns(),
      onFault: () => undefined,
    };
    await sendAnswer(answer, request, unreadReply(raw), options);
    if (when === 'after') raw.emit('close');
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(isGivenBack, true);
  });
}

test('what is compressed ahead may be overwritten at once, as when it is sent meanwhile and its memory is used for the next', async () => {
  const compressed = new CompressedCache(100_000);
  const page = Buffer.from('a page '.repeat(10_000));
  const request = { headers: { 'accept-encoding': 'gzip' } } as unknown as FastifyRequest;
  compressAhead([page], '"tag"', request, { compressed });
  page.fill(0);
  // Nothing is compressed here: there is something already.
  const sent = await compressed.get([], '"tag"', 'gzip');
  assert.equal(gunzipSync(sent).toString(), 'a page '.repeat(10_000));
});

test('a page of less than a packet, or for a client that accepts nothing compressed, is not compressed ahead', async () => {
  const compressed = new CompressedCache(100_000);
  for (const [length, accepted] of [
    [1399, 'gzip'],
    [1400, 'identity'],
  ] as const) {
    const request = { headers: { 'accept-encoding': accepted } } as unknown as FastifyRequest;
    compressAhead([Buffer.alloc(length)], `"${length}"`, request, { compressed });
    assert.deepEqual(gunzipSync(await compressed.get([], `"${length}"`, 'gzip')), Buffer.alloc(0));
  }
});
