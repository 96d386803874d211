/** The columns of a source of text (CSV fields, JSON tokens): declared types as declared, the others from what the column holds. */
import { type ColumnType, formatColumnType } from '../../domain/column-type.ts';
import { mapInTurns } from '../../domain/in-turns.ts';
import type { Row } from '../../duckdb/duckdb.ts';
import type { Statement } from '../../duckdb/statement.ts';
import { textToStored } from '../../duckdb/text-value.ts';
import { type ColumnStats, columnStatsColumns, columnStatsOf, inferredValue, resolve } from './inference.ts';
import {
  columnReadAs,
  type ReadingRule,
  rawValuesOf,
  type Source,
  type SourceColumn,
  type SourceContext,
} from './source.ts';

/** Rows that types are first inferred from, fewer of a wide table. All others are checked as they are converted. */
const SAMPLE_ROWS_MAX = 20_000;
const SAMPLE_ROWS_MIN = 200;
const SAMPLE_CELLS = 1_000_000;

export function sampleRows(columnCount: number): number {
  const fitting = Math.floor(SAMPLE_CELLS / Math.max(1, columnCount));
  return Math.min(SAMPLE_ROWS_MAX, Math.max(SAMPLE_ROWS_MIN, fitting));
}

/** What is known of a column without a row. */
const NOTHING = columnStatsOf([0, false, 0, 0, false]);

/**
 * What kinds of values each column holds whose type is not declared; for the others there is none.
 * @param source its columns are the texts s0, s1, … in the order of `names`
 */
export async function collectColumnStats(
  context: SourceContext,
  source: Pick<Source, 'relation' | 'list' | 'path'>,
  names: readonly string[],
  everyRow: boolean,
  signal: AbortSignal,
): Promise<readonly (ColumnStats | undefined)[]> {
  const asked = names.flatMap((name, i) => (context.types.has(name) ? [] : [i]));
  if (asked.length === 0) return [];
  const rows = everyRow ? source.relation : `(FROM ${source.relation} LIMIT ${sampleRows(names.length)})`;
  // One expression for all columns: with one for each, planning it grows faster than their number.
  const columns = names.map((_, i) => ({ raw: `s${i}` }));
  const cells = `SELECT unnest(${rawValuesOf({ ...source, columns }, asked)}) AS cell, unnest(range(${asked.length})) AS place FROM ${rows}`;
  const found = context.isSmall
    ? await statsOfFew(context, { text: cells, values: [source.path] }, signal)
    : await context.duckDb.query({ text: statsOver(`(${cells})`), values: [source.path] }, signal);
  const columnStats = new Map(
    await mapInTurns(found, ([place, ...values]) => [asked[Number(place)], columnStatsOf(values)] as const),
  );
  // Of a table without rows there is nothing to group.
  return names.map((name, i) => (context.types.has(name) ? undefined : (columnStats.get(i) ?? NOTHING)));
}

function statsOver(cells: string): string {
  return `SELECT place, ${columnStatsColumns('cell').join(', ')} FROM ${cells} GROUP BY place`;
}

/** Over cells that are handed in as one JSON text: DuckDB plans this once, which takes ten times as long as to run it. */
const FEW = statsOver(
  `(SELECT unnest(from_json(CAST($1 AS VARCHAR), '[{"cell":"VARCHAR","place":"INTEGER"}]'), max_depth := 2))`,
);

/** The same as of any source. What JSON would bend is no harm: types are checked with each value that is converted. */
async function statsOfFew({ duckDb }: SourceContext, cells: Statement, signal: AbortSignal): Promise<readonly Row[]> {
  // Nothing is learned from nulls.
  const text = `SELECT to_json(list({'cell': cell, 'place': place}))::VARCHAR FROM (${cells.text}) WHERE cell IS NOT NULL`;
  const [[found] = []] = await duckDb.query({ text, values: cells.values }, signal);
  return typeof found === 'string' ? await duckDb.queryPlanned({ text: FEW, values: [found] }, signal) : [];
}

/** A column of plain text. Without statistics its type was declared. */
export function textColumn(
  name: string,
  index: number,
  declared: ColumnType | undefined,
  columnStats?: ColumnStats,
): SourceColumn {
  if (declared !== undefined) {
    const rule: ReadingRule = {
      key: `declared ${formatColumnType(declared)}`,
      read: (raw, _, fail) => ({ stored: textToStored(declared, raw, fail) }),
    };
    return columnReadAs({ name, type: declared, inferred: false }, index, rule);
  }
  const resolved = columnStats === undefined ? 'nested' : resolve(columnStats);
  const type: ColumnType = resolved === 'nested' ? { kind: 'varchar' } : resolved;
  return columnReadAs({ name, type, inferred: true }, index, inferredReading(type));
}

/** How the values of a column are read whose type is inferred to be this. */
export function inferredReading(type: ColumnType): ReadingRule {
  return {
    key: `inferred ${formatColumnType(type)}`,
    read: (raw, parsed, fail) => inferredValue(type, raw, parsed, fail),
  };
}
