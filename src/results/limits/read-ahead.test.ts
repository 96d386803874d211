import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inTurn, readAhead } from './read-ahead.ts';

const never = new AbortController().signal;

/** Reads that end when the test ends them. */
function controlled() {
  const begun: number[] = [];
  const aborted: number[] = [];
  const ends = new Map<number, PromiseWithResolvers<string>>();
  const read = (item: number, signal: AbortSignal) => {
    begun.push(item);
    const end = Promise.withResolvers<string>();
    ends.set(item, end);
    signal.addEventListener('abort', () => {
      aborted.push(item);
      end.reject(signal.reason);
    });
    return end.promise;
  };
  return { begun, aborted, read, end: (item: number) => ends.get(item)?.resolve(`read ${item}`), ends };
}

test('results come in the order of the items, whichever read ends first', async () => {
  const { read, end } = controlled();
  const results = readAhead([1, 2, 3], 2, read, never);
  const first = results.next();
  end(3);
  end(2);
  end(1);
  assert.deepEqual(
    [await first, await results.next(), await results.next(), await results.next()].map(({ value }) => value),
    ['read 1', 'read 2', 'read 3', undefined],
  );
});

test('reads stay within the bound ahead of what was taken', async () => {
  const { begun, read, end } = controlled();
  const results = readAhead([1, 2, 3, 4, 5], 1, read, never);
  const first = results.next();
  assert.deepEqual(begun, [1, 2]);
  end(1);
  end(2);
  await first;
  assert.deepEqual(begun, [1, 2]);
  const second = results.next();
  assert.deepEqual(begun, [1, 2, 3]);
  assert.equal((await second).value, 'read 2');
});

test('a failure is thrown when its turn comes, and stops the other reads', async () => {
  const { aborted, read, end, ends } = controlled();
  const results = readAhead([1, 2, 3], 2, read, never);
  const first = results.next();
  ends.get(2)?.reject(new Error('no such row'));
  end(1);
  assert.equal((await first).value, 'read 1');
  await assert.rejects(results.next(), /no such row/);
  assert.ok(aborted.includes(3));
  assert.equal((await results.next()).done, true);
});

test('when the consumer stops, the reads are stopped before anything else happens', async () => {
  const { begun, aborted, read, end } = controlled();
  const results = readAhead([1, 2, 3, 4], 2, read, never);
  const first = results.next();
  end(1);
  await first;
  await results.return(undefined);
  assert.deepEqual(begun, [1, 2, 3]);
  assert.deepEqual(
    aborted.filter((item) => item > 1),
    [2, 3],
  );
});

test("the consumer's signal cancels it", async () => {
  const { read } = controlled();
  const gone = new AbortController();
  const results = readAhead([1, 2], 1, read, gone.signal);
  const first = results.next();
  gone.abort(new Error('the client has gone'));
  await assert.rejects(first, /the client has gone/);
});

test('no items give no results', async () => {
  const { read } = controlled();
  assert.deepEqual(await Array.fromAsync(readAhead([], 2, read, never)), []);
});

test('in turn, no two are read at a time', async () => {
  let [running, most] = [0, 0];
  const read = inTurn(async (item: number) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    if (item === 3) throw new Error('three');
    return item;
  });
  const got: number[] = [];
  const all = async () => {
    for await (const item of readAhead([1, 2, 3, 4], 1, read, never)) got.push(item);
  };
  await assert.rejects(all, /three/);
  assert.deepEqual([got, most, running], [[1, 2], 1, 0]);
});
