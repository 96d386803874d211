/** The simulator: one seed gives one order of events, and the service as it is keeps every invariant. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulate } from '../../simulation/simulate.ts';

const SEED = Number(process.env.TEST_SEED ?? 1);

async function traceOf(seed: number, steps: number): Promise<string> {
  const lines: string[] = [];
  const { hash } = await simulate({ seed, steps, skipsCalm: true, onLine: (line) => void lines.push(line) });
  return `${hash}\n${lines.join('')}`;
}

for (const seed of [SEED, SEED + 1]) {
  test(`the seed ${seed} gives the same trace each time, to the byte`, async () => {
    const first = await traceOf(seed, 4000);
    assert.ok((await traceOf(seed, 4000)) === first);
    assert.ok(first.split('\n').length > 4000);
  });
}

test('another seed gives another trace', async () => {
  assert.notEqual(await traceOf(1, 500), await traceOf(2, 500));
});

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`every invariant holds over a catalog that works like ${kind}`, async () => {
    const { failure } = await simulate({ seed: SEED, steps: 20_000, kind });
    assert.equal(failure?.violated.message, undefined, `seed ${failure?.seed}, --steps ${failure?.steps}`);
  });
}
