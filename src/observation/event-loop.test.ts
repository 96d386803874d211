import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventLoopWatch } from './event-loop.ts';

/** A loop in which each turn computes for so long, and is looked at after it. */
function turnsOf(watch: EventLoopWatch) {
  let [now, cpu] = [0, 0];
  return {
    /** @param share of a core that the thread gets */
    turn(cpuMillis: number, { collectedMillis = 0, share = 1 } = {}): number {
      const start = now;
      now += cpuMillis / share;
      cpu += cpuMillis * 1000;
      const next = watch.look(now, cpu);
      // Node tells of a collection after the turn, as here, or at the end of it.
      if (collectedMillis > 0) watch.collection(start, collectedMillis);
      return next;
    },
    idle(millis: number): void {
      now += millis;
    },
  };
}

const rounded = (seconds: number) => Math.round(seconds * 1000);

test('the greatest CPU time of a turn, and the 99th percentile, since the last report', () => {
  const watch = new EventLoopWatch(0, 0);
  const { turn } = turnsOf(watch);
  for (let n = 0; n < 200; n += 1) turn(n === 150 ? 42 : 1);
  const { '0.99': most, '1': max } = watch.held.take();
  assert.deepEqual([rounded(most), rounded(max)], [1, 42]);
  assert.equal(watch.held.take()['1'], 0);
});

test('what collections of the heap take is apart from what the work takes', () => {
  const watch = new EventLoopWatch(0, 0);
  const { turn } = turnsOf(watch);
  turn(30, { collectedMillis: 25 });
  turn(12);
  turn(1);
  assert.equal(rounded(watch.held.take()['1']), 30);
  assert.equal(rounded(watch.worked.take()['1']), 12);
  assert.equal(rounded(watch.collected.take()['1']), 25);
});

test('a collection on a core that others want, too, took as much less computing time than it lasted', () => {
  const watch = new EventLoopWatch(0, 0);
  const { turn } = turnsOf(watch);
  turn(1);
  // 100 ms by the clock, of which 50 ms were a collection: half of the 24 ms that were computed.
  turn(24, { collectedMillis: 50, share: 0.24 });
  turn(1);
  assert.equal(rounded(watch.worked.take()['1']), 12);
  assert.equal(rounded(watch.collected.take()['1']), 12);
});

test('it looks each two milliseconds while there is work, else each five', () => {
  const { turn, idle } = turnsOf(new EventLoopWatch(0, 0));
  assert.equal(turn(3), 2);
  idle(2);
  assert.equal(turn(0.5), 2);
  idle(20);
  assert.equal(turn(0.1), 5);
});
