/** How long a search of indexes keeps others waiting. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseColumnType } from '../../../domain/column-type.ts';
import { findRows, type LookUps } from './find-rows.ts';
import type { ColumnSearch, Search } from './search.ts';

const column = { index: 0, name: 'id', type: parseColumnType('integer') };

/** Of the rows with this value. */
function valueSearch(...values: readonly number[]): ColumnSearch {
  const ranges = values.map((value) => {
    const end = { key: Uint8Array.of(value >> 8, value & 255), isIncluded: true };
    return { from: end, to: end };
  });
  return { kind: 'column', column, ranges, isOutside: false, nulls: false, isExact: true };
}

const values = Array.from({ length: 1000 }, (_, value) => value);

for (const [what, search] of [
  ['a list', valueSearch(...values)],
  ['a chain of or', { kind: 'or', operands: values.map((value) => valueSearch(value)) }],
] as const satisfies readonly (readonly [string, Search])[]) {
  test(`a thousand values are looked up a few at a time: ${what}`, async () => {
    let [inThisTurn, most, all] = [0, 0, 0];
    const lookUps = new Map([
      [
        0,
        {
          table: { valueCount: 1000, rowCount: 1000 },
          // The index has each value once.
          countBelow: async ([high = 0, low = 0]: Uint8Array, orEqual: boolean) => {
            all += 1;
            inThisTurn += 1;
            most = Math.max(most, inThisTurn);
            return high * 256 + low + (orEqual ? 1 : 0);
          },
        },
      ],
    ]) as unknown as LookUps;
    let isOver = false;
    const finding = findRows(search, lookUps).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await new Promise(setImmediate);
      inThisTurn = 0;
    }
    const hits = await finding;
    assert.deepEqual(hits?.kind === 'entries' && hits.ranges, [{ from: 0, to: 1000 }]);
    assert.equal(all, 2000);
    assert.ok(most <= 200, `${most} look-ups in one turn`);
  });
}
