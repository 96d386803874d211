import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventLoopWatch } from './event-loop.ts';

test('the greatest CPU time of a turn, and the 99th percentile, since the last report', async () => {
  let cpuMicros = 0;
  const turns = Array.from({ length: 200 }, (_, turn) => (turn === 150 ? 42_000 : 1000));
  const stop = new AbortController();
  const sleep = async (): Promise<void> => {
    const turn = turns.shift();
    if (turn === undefined) stop.abort(new Error('the end'));
    stop.signal.throwIfAborted();
    cpuMicros += turn ?? 0;
  };
  const watch = new EventLoopWatch(() => cpuMicros);
  await watch.run(sleep, stop.signal);
  const { '0.99': most, '1': max } = watch.take();
  assert.ok(Math.abs(most - 0.001) < 0.0001, `${most}`);
  assert.ok(Math.abs(max - 0.042) < 0.0001, `${max}`);
  assert.equal(watch.take()['1'], 0);
});
