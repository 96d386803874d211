import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { UnsentAnswers } from './unsent-answers.ts';

const MB = 1_000_000;
const answer = (bytes: number) => [new Uint8Array(bytes)];

test('a key has half of the memory, all keys have the whole, until answers are sent', () => {
  const unsent = new UnsentAnswers(10 * MB);
  const first = unsent.take('ann', answer(4 * MB));
  assert.throws(() => unsent.take('ann', answer(2 * MB)), {
    code: 'rate_limited',
    status: 429,
    message: 'this key has not taken 4 MB of its answers, as much as may wait for one key; read them, or ask for less',
  });
  const second = unsent.take('ann', answer(MB));
  unsent.take('bob', answer(4 * MB));
  assert.equal(unsent.hasRoom('eve', answer(2 * MB)), false);
  assert.throws(() => unsent.take('eve', answer(2 * MB)), {
    code: 'overloaded',
    status: 503,
    message: '9 MB of answers wait for slow clients, as much as may; ask for less, or try again in some seconds',
  });
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  second[Symbol.dispose]();
  assert.equal(unsent.bytes, 4 * MB);
  assert.equal(unsent.hasRoom('eve', answer(2 * MB)), true);
  unsent.take('ann', answer(5 * MB));
});

test('one answer is let in whatever its size, where none waits; small ones always are', () => {
  const unsent = new UnsentAnswers(MB);
  unsent.take('ann', answer(20 * MB));
  assert.throws(() => unsent.take('ann', answer(65_537)), { code: 'rate_limited' });
  assert.throws(() => unsent.take('bob', answer(65_537)), { code: 'overloaded' });
  for (let time = 0; time < 100; time += 1) unsent.take('ann', answer(65_536));
  assert.equal(unsent.bytes, 20 * MB);
});

test('memory that is on its way to many is counted once, also where it is given away before the last has it', () => {
  const unsent = new UnsentAnswers(10 * MB);
  const [page] = answer(4 * MB);
  assert.ok(page !== undefined);
  const held = [unsent.take('ann', [page]), unsent.take('ann', [page.subarray(5)]), unsent.take('bob', [page])];
  assert.equal(unsent.bytes, 4 * MB);
  page.buffer.transfer();
  held[0]?.[Symbol.dispose]();
  held[2]?.[Symbol.dispose]();
  assert.equal(unsent.bytes, 4 * MB);
  held[1]?.[Symbol.dispose]();
  assert.equal(unsent.bytes, 0);
});

test('an answer counts until its response is closed, and not at all where the client has gone before', () => {
  const unsent = new UnsentAnswers(10 * MB);
  const response = Object.assign(new EventEmitter(), { closed: false });
  unsent.takeUntilClosed('ann', answer(MB), response);
  assert.equal(unsent.bytes, MB);
  response.emit('close');
  assert.equal(unsent.bytes, 0);
  unsent.takeUntilClosed('ann', answer(MB), Object.assign(new EventEmitter(), { closed: true }));
  assert.equal(unsent.bytes, 0);
});
