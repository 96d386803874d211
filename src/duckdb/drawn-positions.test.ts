import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Draw } from '../domain/sample.ts';
import { DRAWN_HERE_MAX, drawnPositions, positionsBySmallestNumber } from './drawn-positions.ts';
import { Parameters } from './parameters.ts';
import { driverValue } from './run-statement.ts';

const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();

async function run(sql: string, parameters: Parameters): Promise<readonly unknown[][]> {
  const prepared = await connection.prepare(sql);
  prepared.bind(parameters.values.map(driverValue));
  return (await prepared.runAndReadAll()).getRows();
}

async function positionsOf(draw: Draw): Promise<readonly number[]> {
  const parameters = new Parameters();
  return (await run(drawnPositions(draw, parameters), parameters)).map(([position]) => Number(position));
}

/** SplitMix64 as its authors wrote it, one number after another. */
function* splitMix(seed: bigint): Generator<bigint> {
  const word = (value: bigint) => BigInt.asUintN(64, value);
  for (let state = seed; ; ) {
    state = word(state + 0x9e3779b97f4a7c15n);
    let z = word((state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = word((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    yield z ^ (z >> 31n);
  }
}

test('many positions are those with the smallest numbers of SplitMix64, for any seed', async () => {
  for (const seed of [0n, 1n, 2n ** 63n, 2n ** 64n - 1n]) {
    // Of many more positions, only those below a bound are sorted.
    for (const total of [1500, 1501, 5000, 100_000]) {
      const draw = { seed, count: DRAWN_HERE_MAX + 500, total };
      const numbers = splitMix(seed)
        .take(draw.total)
        .map((number, position) => ({ number, position }));
      const expected = [...numbers].sort((a, b) => (a.number < b.number ? -1 : 1)).slice(0, draw.count);
      assert.deepEqual(
        new Set(await positionsOf(draw)),
        new Set(expected.map(({ position }) => position)),
        `seed ${seed} of ${total}`,
      );
    }
  }
});

test('the same seed draws the same positions, another seed others', async () => {
  for (const count of [10, DRAWN_HERE_MAX, DRAWN_HERE_MAX + 1, 20_000]) {
    const draw = { seed: 7n, count, total: 30_000 };
    const drawn = new Set(await positionsOf(draw));
    assert.equal(drawn.size, count);
    assert.deepEqual(new Set(await positionsOf(draw)), drawn);
    assert.notDeepEqual(new Set(await positionsOf({ ...draw, seed: 8n })), drawn);
  }
});

test('the statement stays small, however many positions are drawn', () => {
  for (const count of [DRAWN_HERE_MAX + 1, 10_000_000]) {
    const parameters = new Parameters();
    const text = drawnPositions({ seed: 7n, count, total: 20_000_000 }, parameters);
    assert.ok(text.length < 1200);
    assert.deepEqual(parameters.values.slice(0, 3), [7n, 20_000_000n, BigInt(count)]);
    assert.ok(parameters.values.length <= 4);
  }
});

test('every subset of three positions out of six is equally likely to have the smallest numbers', async () => {
  const draws = 600;
  const counts = new Map<string, number>();
  for (let seed = 0n; seed < draws; seed += 1n) {
    const parameters = new Parameters();
    const drawn = await run(positionsBySmallestNumber({ seed, count: 3, total: 6 }, parameters), parameters);
    const subset = drawn.flat().map(Number).sort().join();
    counts.set(subset, (counts.get(subset) ?? 0) + 1);
  }
  assert.equal(counts.size, 20);
  const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - draws / 20) ** 2 / (draws / 20), 0);
  // χ² with 19 degrees of freedom exceeds 43.8 once in a thousand times. The seeds are fixed, and so is the outcome.
  assert.ok(chiSquare < 43.8, `χ² = ${chiSquare}`);
});
