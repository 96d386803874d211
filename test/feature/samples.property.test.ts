/** Laws of samples: a sample is a subset without repeats, and every subset is equally likely, by a χ² test over many draws. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { getEnvelope } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';

const CASES = Number(process.env.TEST_CASES ?? 20);

/** The numbers of the rows drawn, in the answer's order. */
async function draw(service: HttpService, queryId: number, count: number): Promise<readonly number[]> {
  const { rows } = (await getEnvelope(service, `/v1/query/${queryId}/results?sample_count=${count}`)).result;
  return rows.map(({ n }) => Number(n));
}

function numbersTo(count: number): string {
  return `n\n${Array.from({ length: count }, (_, n) => `${n}\n`).join('')}`;
}

test('a sample is a subset without repeats, of the size asked for, in stored order', async (t) => {
  const service = await startHttpService(t);
  const sizes = fc.record({ total: fc.nat(60), count: fc.integer({ min: 1, max: 70 }), manyParts: fc.boolean() });
  let queryId = 0;
  const law = fc.asyncProperty(sizes, async ({ total, count, manyParts }) => {
    queryId += 1;
    const rowCount = manyParts ? total * 100 : total;
    await service.publish(queryId, numbersTo(rowCount), { rowGroupRows: 2048, rowGroupsPerPart: 1 });
    const drawn = await draw(service, queryId, count);
    assert.equal(drawn.length, Math.min(count, rowCount));
    assert(drawn.every((n, i) => n >= 0 && n < rowCount && n > (drawn[i - 1] ?? -1)));
  });
  await fc.assert(law, { numRuns: CASES });
});

/** How far the counts are from being equal. */
function chiSquare(counts: Iterable<number>, expected: number): number {
  let sum = 0;
  for (const count of counts) sum += (count - expected) ** 2 / expected;
  return sum;
}

test('every subset of three rows out of six is equally likely', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, numbersTo(6));
  const draws = 600;
  const counts = new Map<string, number>();
  for (let i = 0; i < draws; i += 1) {
    const subset = (await draw(service, 7, 3)).join();
    counts.set(subset, (counts.get(subset) ?? 0) + 1);
  }
  assert.equal(counts.size, 20);
  // χ² with 19 degrees of freedom exceeds 68 once in five million times.
  assert(chiSquare(counts.values(), draws / 20) < 68, JSON.stringify([...counts]));
});

// Up to 1,000 positions are drawn in one way, more in another.
for (const count of [500, 1500]) {
  test(`every row of a result of several parts is equally likely in samples of ${count}`, async (t) => {
    const service = await startHttpService(t);
    const total = 5000;
    await service.publish(7, numbersTo(total), { rowGroupRows: 2048, rowGroupsPerPart: 1 });
    // The rows in 50 groups of neighbours; borders between parts fall inside groups.
    const groups = new Array<number>(50).fill(0);
    const draws = 40;
    for (let i = 0; i < draws; i += 1) {
      for (const n of await draw(service, 7, count)) {
        groups[Math.floor(n / 100)] = (groups[Math.floor(n / 100)] ?? 0) + 1;
      }
    }
    const expected = (draws * count) / 50;
    // Drawn without replacement the counts vary less than χ² with 49 degrees of freedom, which exceeds 117 once in five million times.
    assert(chiSquare(groups, expected) < 117, JSON.stringify(groups));
  });
}
