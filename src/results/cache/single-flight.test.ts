import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestError } from '../../errors/errors.ts';
import { ClientGone } from '../limits/client-gone.ts';
import { type Flown, SingleFlight } from './single-flight.ts';

const signal = new AbortController().signal;
const always = () => true;

/** Work whose outcome the test decides, and a count of how often it began. */
function controlled() {
  const begun: PromiseWithResolvers<string>[] = [];
  const work = () => {
    const doing = Promise.withResolvers<string>();
    begun.push(doing);
    return doing.promise;
  };
  return { begun, work };
}

const outcomeOf = async (flown: Promise<Flown<string>>) => (await flown).value;
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('all who ask during the work get its outcome; who asks later starts it anew', async () => {
  const { begun, work } = controlled();
  const flights = new SingleFlight<string>();
  const asked = [1, 2, 3].map(() => outcomeOf(flights.run('a', signal, work, always)));
  await turn();
  assert.equal(begun.length, 1);
  begun[0]?.resolve('done');
  assert.deepEqual(await Promise.all(asked), ['done', 'done', 'done']);
  void flights.run('a', signal, work, always);
  assert.equal(begun.length, 2);
});

test('all share a failure, unless it concerns only the caller that did the work: then the next one does it', async () => {
  for (const [error, begins] of [
    [new RequestError('overloaded', 'full'), 1],
    [new ClientGone(), 2],
    [new RequestError('rate_limited', 'this key'), 2],
  ] as const) {
    const { begun, work } = controlled();
    const flights = new SingleFlight<string>();
    const asked = [1, 2, 3].map(() => outcomeOf(flights.run('a', signal, work, always)));
    const settled = Promise.allSettled(asked);
    begun[0]?.reject(error);
    await turn();
    assert.equal(begun.length, begins);
    begun[1]?.resolve('done');
    const outcomes = (await settled).map((one) => (one.status === 'fulfilled' ? one.value : one.reason));
    assert.deepEqual(outcomes, begins === 1 ? [error, error, error] : [error, 'done', 'done']);
  }
});

test('an outcome that cannot be shared is computed for each; who leaves waits no longer', async () => {
  const { begun, work } = controlled();
  const flights = new SingleFlight<string>();
  const leaving = new AbortController();
  const first = flights.run('a', signal, work, () => false);
  const second = flights.run('a', signal, work, () => false);
  const left = flights.run('a', leaving.signal, work, () => false);
  leaving.abort(new ClientGone());
  await assert.rejects(left, ClientGone);
  begun[0]?.resolve('mine');
  assert.equal(await outcomeOf(first), 'mine');
  await turn();
  begun[1]?.resolve('another');
  assert.equal(await outcomeOf(second), 'another');
});

test('who did the work is told whether anybody else has its outcome', async () => {
  const { begun, work } = controlled();
  const flights = new SingleFlight<string>();
  const alone = flights.run('a', signal, work, always);
  begun[0]?.resolve('done');
  assert.deepEqual(await alone, { value: 'done', isShared: false });
  const asked = [1, 2].map(() => flights.run('a', signal, work, always));
  begun[1]?.resolve('again');
  const both = { value: 'again', isShared: true };
  assert.deepEqual(await Promise.all(asked), [both, both]);
});

test('of those who waited, one goes on in each turn of the event loop', async () => {
  const { begun, work } = controlled();
  const flights = new SingleFlight<string>();
  let answered = 0;
  const asked = [1, 2, 3, 4].map(async () => {
    await flights.run('a', signal, work, always);
    answered += 1;
  });
  begun[0]?.resolve('done');
  const each: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    await turn();
    each.push(answered);
  }
  await Promise.all(asked);
  // Whoever did the work is answered at once.
  assert.deepEqual(each, [1, 2, 3, 4, 4, 4]);
});
