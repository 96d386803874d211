/** Chunks are sent whole and in order, and their memory is given back, never before the last byte of it is with the system. */
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { letOthersRun } from '../domain/time.ts';
import { Turns } from '../domain/turns.ts';
import { ChunkStream } from './chunk-stream.ts';

const CHUNK_BYTES = [1, 100, 20_000, 70_000, 300_000, 1_048_576, 2_500_000] as const;
const SEED = Number(process.env.TEST_SEED ?? 1);

/** A socket as it may behave: it looks at what it was given only when the system has room. */
class SlowSocket extends Writable {
  readonly received: Buffer[] = [];
  readonly writes: number[] = [];

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    setImmediate(() => {
      this.received.push(Buffer.from(chunk));
      this.writes.push(chunk.length);
      done();
    });
  }
}

function chunksOf(seed: number): Buffer[] {
  let state = seed;
  const random = (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  return Array.from({ length: 12 }, (_, index) =>
    Buffer.alloc(CHUNK_BYTES[random(CHUNK_BYTES.length)] ?? 0, `${index} of ${seed};`),
  );
}

const onError = (error: unknown) => assert.fail(String(error));

async function* handedOut(chunks: readonly Buffer[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function send(chunks: readonly Buffer[], socket: Writable): Promise<void> {
  const rest = handedOut(chunks);
  await pipeline(new ChunkStream({ first: await rest.next(), rest, target: socket, onError }), socket);
}

test('chunks of any sizes arrive byte for byte, in writes of at most a megabyte', async (t) => {
  for (let seed = SEED; seed < SEED + 30; seed += 1) {
    t.diagnostic(`seed ${seed}`);
    for (const highWaterMark of [1, 65_536, 10_000_000]) {
      const chunks = chunksOf(seed);
      const expected = Buffer.concat(chunks);
      const socket = new SlowSocket({ highWaterMark });
      await send(chunks, socket);
      assert(Buffer.concat(socket.received).equals(expected));
      assert(Math.max(...socket.writes) <= 1_048_576);
    }
  }
});

test('of all streams together so many chunks are given out in each round of the event loop', async () => {
  const turns = new Turns(8);
  const ofChunk = { rest: handedOut([]), target: { writableLength: 0 }, turns, onError };
  let given = 0;
  for (let client = 0; client < 20; client += 1) {
    const first: IteratorResult<Uint8Array> = { done: false, value: Buffer.alloc(100_000) };
    new ChunkStream({ ...ofChunk, first }).on('data', () => {
      given += 1;
    });
  }
  const byRound: number[] = [];
  while (given < 20) {
    await letOthersRun();
    byRound.push(given);
  }
  assert.deepEqual(byRound, [8, 16, 20]);
});

test('the memory of a chunk that has been sent is given back', async () => {
  const chunks = Array.from({ length: 5 }, () => Buffer.alloc(300_000, 'x'));
  await send(chunks, new SlowSocket({ highWaterMark: 65_536 }));
  assert.deepEqual(
    chunks.map(({ length }) => length),
    [0, 0, 0, 0, 0],
  );
});

test('a chunk that a socket still holds is left alone', async () => {
  const chunks = Array.from({ length: 5 }, () => Buffer.alloc(300_000, 'x'));
  const rest = handedOut(chunks);
  const held: Buffer[] = [];
  const stream = new ChunkStream({
    first: await rest.next(),
    rest,
    target: { writableLength: 1 },
    onError,
  });
  for await (const chunk of stream) held.push(chunk);
  assert.deepEqual(
    held.map(({ length }) => length),
    [300_000, 300_000, 300_000, 300_000, 300_000],
  );
});

test('a read that fails is told, and ends the stream without its end', async () => {
  const failure = new Error('the part is damaged');
  const failing = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(100_000);
    throw failure;
  };
  const told: unknown[] = [];
  const rest = failing();
  const socket = new SlowSocket();
  const tell = (error: unknown) => void told.push(error);
  await assert.rejects(
    pipeline(new ChunkStream({ first: await rest.next(), rest, target: socket, onError: tell }), socket),
    failure,
  );
  assert.deepEqual(told, [failure]);
  assert.equal(Buffer.concat(socket.received).length <= 100_000, true);
});

test('a client that leaves ends the read', async () => {
  let isEnded = false;
  const endless = async function* (): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Buffer.alloc(100_000);
    } finally {
      isEnded = true;
    }
  };
  const rest = endless();
  const stream = new ChunkStream({
    first: await rest.next(),
    rest,
    target: { writableLength: 0 },
    onError,
  });
  for await (const _ of stream) break;
  assert.equal(isEnded, true);
});
