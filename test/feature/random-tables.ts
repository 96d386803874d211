/**
 * Random results of thousands of rows, which fill several parts and many row groups. How often values repeat, and where,
 * differs from column to column: DuckDB prunes row groups and orders joins by that.
 */
import type { ColumnType } from '../../src/domain/column-type.ts';
import type { Cell } from './naive-interpreter.ts';
import { type Random, type RandomResult, randomCell, randomType } from './random-results.ts';

/** No two differ only in case, and none is empty: a Parquet answer cannot hold such names. */
const NAMES = ['amount', 'block_time', 'tx_hash', 'select', 'a b', '"', "it's", 'naïve', '😀', '%'];

/** The cell of the row at a position. */
type CellAt = (position: number) => Cell;

/** The last column is the row's position, so that no two rows are alike. */
export function randomTable(random: Random, columnCount: number, rowCount: number): RandomResult {
  const names = NAMES.slice(0, columnCount);
  const columns = names.map((name) => ({ name, type: randomType(random) }));
  const cells = columns.map(({ type }) => randomCells(random, type, rowCount));
  return {
    columns: [...columns, { name: 'row', type: { kind: 'integer' } }],
    rows: Array.from({ length: rowCount }, (_, position) => [
      ...cells.map((cellAt) => cellAt(position)),
      { kind: 'exact', units: BigInt(position), scale: 0 },
    ]),
  };
}

function randomCells(random: Random, type: ColumnType, rowCount: number): CellAt {
  const value = () => (isJson(type) ? asJson(randomCell(random, type)) : randomCell(random, type));
  const values = (count: number) => Array.from({ length: count }, value);
  switch (random.pick(['few', 'many', 'runs', 'rare'])) {
    case 'few': {
      const pool = [...values(1 + random.below(8)), null];
      return () => random.pick(pool);
    }
    case 'many': {
      const pool = values(1000);
      return () => (random.chance(5) ? null : random.pick(pool));
    }
    case 'runs': {
      // A value is in one or two row groups, and in no other.
      const pool = [...values(12), null];
      const length = Math.ceil(rowCount / pool.length);
      return (position) => pool[Math.floor(position / length)] ?? null;
    }
    default: {
      // A single value, or only nulls, until others come in a few rows near the end.
      const usual = random.chance(50) ? null : value();
      const pool = values(4);
      return (position) => (position > rowCount * 0.7 && random.chance(2) ? random.pick(pool) : usual);
    }
  }
}

function isJson(type: ColumnType): boolean {
  return type.kind === 'array' ? isJson(type.element) : type.kind === 'json';
}

/** In a Parquet answer, text of type JSON must be JSON. */
function asJson(cell: NonNullable<Cell>): NonNullable<Cell> {
  if (cell.kind === 'text') return { kind: 'text', text: JSON.stringify(cell.text) };
  if (cell.kind !== 'list') return cell;
  return { kind: 'list', elements: cell.elements.map((element) => element && asJson(element)) };
}
