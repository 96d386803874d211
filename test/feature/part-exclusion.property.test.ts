/**
 * The law of parts that are left out. Over texts, bytes and UUIDs, short and long, empty, null and in every script: whatever `=`, `in`, `and` and
 * `or` ask for, the rows are those that the naive interpreter finds, though parts are left out by their Bloom filters. TEST_CASES=… tries more,
 * TEST_SEED=… repeats a run.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ColumnType } from '../../src/domain/column-type.ts';
import { startHttpService } from './http-service.ts';
import { type Cell, type Condition, select } from './naive-interpreter.ts';
import { randomFilter, randomLiteral, type Typed } from './random-expressions.ts';
import { Random, type RandomResult, randomCell } from './random-results.ts';
import { StoredResults } from './stored-result.ts';

const CASES = Number(process.env.TEST_CASES ?? 300);
const SEED = Number(process.env.TEST_SEED ?? 1);
const CASES_PER_RESULT = 60;
const ROWS = 120;
const ROWS_PER_PART = 25;

const TYPES: readonly ColumnType[] = [
  { kind: 'varchar' },
  { kind: 'varbinary' },
  { kind: 'uuid' },
  { kind: 'varchar' },
];

test(`${CASES} random searches for values find all rows, though parts are left out`, {
  timeout: 180_000 + CASES * 1000,
}, async (t) => {
  const service = await startHttpService(t, { QRS_PAGE_CACHE: '0', QRS_INDEX_USES: 'off', QRS_DIRECT_ROWS: '30' });
  await using stored = await StoredResults.of(service);
  const ways = { none: 0, some: 0, other: 0 };
  for (let number = 0; number * CASES_PER_RESULT < CASES; number += 1) {
    const random = new Random(SEED * 1_000_003 + number);
    const result = valuesOf(random);
    const { id } = await stored.put(result, ROWS_PER_PART, t.signal);
    for (let i = 0; i < CASES_PER_RESULT; i += 1) {
      const filter = search(random, result, 0);
      const about = `search ${i} of result ${number} of seed ${SEED}: ${filter.text}`;
      const query = new URLSearchParams({ filters: filter.text, columns: 'row' });
      const response = await service.get(`/v1/execution/${id}/results?${query}`);
      const body = await response.text();
      assert.equal(response.status, 200, `${about}\n${body}`);
      const found = (JSON.parse(body) as { result: { rows: { row: number }[] } }).result.rows.map(({ row }) => row);
      assert.deepEqual(found, select(result.rows, filter.means, []), about);
      const way = /desc="([^"]*)"/.exec(response.headers.get('server-timing') ?? '')?.[1] ?? '';
      ways[way.includes('in none of') ? 'none' : way.includes('bloom filter') ? 'some' : 'other'] += 1;
    }
  }
  // The law says nothing where nothing is left out.
  assert(ways.none > CASES / 20 && ways.some > CASES / 10, JSON.stringify(ways));
});

/** Values that are often equal, and often as long as those that DuckDB hashes in another way. The last column is the row's position. */
function valuesOf(random: Random): RandomResult {
  const columns = TYPES.map((type, index) => ({ name: `c${index}`, type }));
  const rows = Array.from({ length: ROWS }, (_, row) => [
    ...TYPES.map((type): Cell => (random.chance(12) ? null : lengthened(random, randomCell(random, type)))),
    { kind: 'exact', units: BigInt(row), scale: 0 } as const,
  ]);
  return { columns: [...columns, { name: 'row', type: { kind: 'integer' } }], rows };
}

function lengthened(random: Random, cell: NonNullable<Cell>): Cell {
  if (random.chance(40)) return cell;
  const times = random.pick([2, 3, 4, 30]);
  if (cell.kind === 'text') return { ...cell, text: `${cell.text}${random.below(40)}`.repeat(times) };
  return cell.kind === 'bytes' ? { ...cell, hex: `${cell.hex}0${random.below(10)}`.repeat(times) } : cell;
}

function search(random: Random, result: RandomResult, depth: number): Typed<Condition> {
  if (depth < 2 && random.chance(40)) {
    const kind = random.pick(['and', 'or'] as const);
    const operands = Array.from({ length: 2 }, () => search(random, result, depth + 1));
    return {
      text: operands.map(({ text }) => `(${text})`).join(` ${kind} `),
      means: { kind, operands: operands.map(({ means }) => means) },
    };
  }
  if (random.chance(10)) return randomFilter(random, result);
  const column = random.below(TYPES.length);
  const literal = () => randomLiteral(random, TYPES[column] as ColumnType, result, column);
  if (random.chance(60)) {
    const { text, means } = literal();
    return {
      text: `c${column} = ${text}`,
      means: { kind: 'compare', operator: '=', left: { column }, right: { cell: means } },
    };
  }
  const members = Array.from({ length: 1 + random.below(7) }, literal);
  return {
    text: `c${column} in (${members.map(({ text }) => text).join(', ')})`,
    means: { kind: 'in', operand: { column }, members: members.map(({ means }) => ({ cell: means })) },
  };
}
