/** What is known of changes, and until when, over a connection that answers when the test wants it to. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { Client } from 'pg';
import { FakeTime } from '../../../test/fake-time.ts';
import { ChangeFeed } from './change-feed.ts';

/** A connection of which each question waits until it is answered. */
class Connection extends EventEmitter {
  readonly #asked: PromiseWithResolvers<void>[] = [];

  async query(text: string): Promise<{ rows: readonly object[] }> {
    if (text === 'select 1') {
      const answered = Promise.withResolvers<void>();
      this.#asked.push(answered);
      await answered.promise;
    }
    return { rows: [{ statement: 'listen to_all' }] };
  }

  /** Answers the oldest question, when there is one. */
  async answer(): Promise<void> {
    (await this.#oldest()).resolve();
  }

  /** Refuses the oldest question, when there is one. */
  async refuse(error: Error): Promise<void> {
    (await this.#oldest()).reject(error);
  }

  async #oldest(): Promise<PromiseWithResolvers<void>> {
    for (let turn = 0; turn < 1000; turn += 1) {
      const oldest = this.#asked.shift();
      if (oldest !== undefined) return oldest;
      await new Promise(setImmediate);
    }
    throw new Error('nothing was asked');
  }

  get waiting(): number {
    return this.#asked.length;
  }

  async end(): Promise<void> {
    for (const { resolve } of this.#asked.splice(0)) resolve();
  }
}

function makeFeed(stalenessMaxMillis: number) {
  const time = new FakeTime(0);
  const connection = new Connection();
  const connect = async () => connection as unknown as Client;
  const feed = new ChangeFeed({ connect, monotonic: time.clock, sleep: time.sleep, stalenessMaxMillis });
  return { time, connection, feed };
}

test('an answer that was asked for longer ago than the bound allows is none, though it comes only now', async () => {
  const { time, connection, feed } = makeFeed(1000);
  await using _ = feed;
  const early = feed.version();
  time.advance(1500);
  let known: number | undefined;
  const late = Promise.resolve(feed.version()).then((version) => {
    known = version;
  });
  await connection.answer();
  assert.equal(await early, 1);
  while (connection.waiting === 0) await new Promise(setImmediate);
  assert.equal(known, undefined, 'something may have been committed in these 1500 ms');
  connection.emit('notification');
  await connection.answer();
  await late;
  assert.equal(known, 2);
});

test('with a bound of 0 nobody is content with a question that was asked before', async () => {
  const { connection, feed } = makeFeed(0);
  await using _ = feed;
  const first = feed.version();
  const second = feed.version();
  await connection.answer();
  assert.equal(await first, 1);
  connection.emit('notification');
  await connection.answer();
  assert.equal(await second, 2);
});

test('a question that was asked before, and that the server refuses, tells nothing of now', async () => {
  const { connection, feed } = makeFeed(0);
  await using _ = feed;
  const [early, late] = [feed.version(), feed.version()];
  const refused = assert.rejects(async () => await early, { name: 'CatalogUnavailable' });
  await connection.refuse(Object.assign(new Error('the database system is starting up'), { code: '57P03' }));
  await refused;
  await connection.answer();
  assert.equal(await late, 2);
});

test('who asks of a server that is away is told after one question of its own', async () => {
  const { connection, feed } = makeFeed(0);
  await using _ = feed;
  const away = Object.assign(new Error('the database system is shutting down'), { code: '57P03' });
  const refused = [feed.version(), feed.version(), feed.version()].map((version) =>
    assert.rejects(async () => await version, { name: 'CatalogUnavailable' }),
  );
  await connection.refuse(away);
  await connection.refuse(away);
  await Promise.all(refused);
  assert.equal(connection.waiting, 0);
});
