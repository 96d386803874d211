import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Turns } from '../domain/turns.ts';
import { RequestStats } from '../observation/request-stats.ts';
import { CompressedCache } from './compressed-cache.ts';
import { sendAnswer } from './send-answer.ts';
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
