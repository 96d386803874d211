/**
 * A column of a whole result in numbers (contract §8), as SQL over its parts. Three statements, each answering with one JSON text: what
 * the values are together, which are the most frequent, and how they spread. Numbers are compared as numbers, however they are stored;
 * means and spreads are doubles.
 */
import type { ColumnType } from '../../domain/column-type.ts';
import { jsonValueOf } from '../../duckdb/json-value.ts';
import { Parameters } from '../../duckdb/parameters.ts';
import type { Statement } from '../../duckdb/statement.ts';
import { storedColumn } from '../../duckdb/storage-type.ts';
import { partsAt } from '../compile/range.ts';
import { distinctOrder } from '../compile/sort.ts';
import { familyOf } from '../plan/type-family.ts';

export interface StatisticsColumn {
  /** Its place in the result. */
  readonly index: number;
  readonly type: ColumnType;
}

/** The most frequent values that are told. */
const TOP_VALUES = 20;
const HISTOGRAM_BINS = 20;
const DAY_MICROS = 86_400_000_000;
/** Of a longer text, or longer bytes as hex, the beginning is told. */
const TEXT_LENGTH_MAX = 200;
/** Beyond so many different values, about, their number is an estimate, and none of them is frequent enough to be told. */
export const DISTINCT_COUNTED_MAX = 1_000_000;

/** Lists, maps and rows are only counted. */
function isCounted(type: ColumnType): boolean {
  return familyOf(type) === 'none';
}

/** `{row_count, null_count, distinct_estimate, min, max, mean, standard_deviation, shortest, longest, low, high}` */
export function compileSummary({ index, type }: StatisticsColumn, paths: readonly string[]): Statement {
  const parameters = new Parameters();
  const v = storedColumn(index);
  const family = familyOf(type);
  const members = [`'row_count', count(*)`, `'null_count', count(*) - count(${v})`];
  if (!isCounted(type)) members.push(`'distinct_estimate', least(approx_count_distinct(${v}), count(${v}))`);
  if (hasExtremes(type)) {
    for (const [name, pick] of [
      ['min', 'arg_min'],
      ['max', 'arg_max'],
    ] as const) {
      const extreme = `${pick}(${v}, ${orderKey(v, type)})`;
      members.push(`'${name}', ${told(extreme, type, parameters)}`);
    }
  }
  if (hasMean(type)) {
    const finite = `FILTER (isfinite(${asDouble(v, type)}))`;
    const mean = isSummedExactly(type) ? `avg(${v})` : `avg(${asDouble(v, type)}) ${finite}`;
    members.push(`'mean', ${orNull(mean)}`);
    members.push(`'standard_deviation', ${orNull(deviationOf(asDouble(v, type), finite))}`);
  }
  if (family === 'text') members.push(`'shortest', min(length(${v}))`, `'longest', max(length(${v}))`);
  if (spreads(type)) {
    const x = scaleOf(v, type);
    members.push(`'low', min(${x}) FILTER (isfinite(${x}))`, `'high', max(${x}) FILTER (isfinite(${x}))`);
  }
  return one(`SELECT json_object(${members.join(', ')}) FROM ${partsAt(paths, parameters)}`, parameters);
}

/** `{distinct, top: [{value, count}]}`, the most frequent first, ties by value. */
export function compileTop({ index, type }: StatisticsColumn, paths: readonly string[]): Statement {
  const parameters = new Parameters();
  const v = storedColumn(index);
  const rows = partsAt(paths, parameters);
  const top = `SELECT v, n FROM groups ORDER BY n DESC, ${distinctOrder('v', type).join(', ')} LIMIT ${TOP_VALUES}`;
  const value = `json_object('value', ${told('v', type, parameters)}, 'count', n)`;
  return one(
    `WITH groups AS (SELECT ${v} AS v, count(*) AS n FROM ${rows} WHERE ${v} IS NOT NULL GROUP BY ${v}),
      top AS (${top})
    SELECT json_object('distinct', (SELECT count(*) FROM groups),
      'top', (SELECT coalesce(json_group_array(${value}), '[]'::JSON) FROM top))`,
    parameters,
  );
}

/** Whether bins between the two have a width: two of the smallest doubles are too near. */
export function hasBins(low: number, high: number): boolean {
  return (high - low) / HISTOGRAM_BINS > 0;
}

/** `[{from, to, count}]`: bins of the same width from `low` to `high`, each with its lower edge; the last with both. */
export function compileHistogram(
  { index, type }: StatisticsColumn,
  paths: readonly string[],
  low: number,
  high: number,
): Statement {
  const parameters = new Parameters();
  const number = (value: number) => `${parameters.add(String(value))}::DOUBLE`;
  // The difference of two doubles may be beyond all doubles. Parts of both are not.
  const isWide = !Number.isFinite(high - low);
  const width = isWide ? high / HISTOGRAM_BINS - low / HISTOGRAM_BINS : (high - low) / HISTOGRAM_BINS;
  const place = isWide
    ? `greatest(0, x / ${number(width)} - ${number(low / width)})`
    : `(x - ${number(low)}) / ${number(width)}`;
  const between = (at: string) =>
    isWide
      ? `${number(low)} * (1 - ${at} / ${HISTOGRAM_BINS}::DOUBLE) + ${number(high)} * (${at} / ${HISTOGRAM_BINS}::DOUBLE)`
      : `${number(low)} + ${at} * ${number(width)}`;
  // Places are rounded, and so are edges: a value may lie beyond an edge of the bin that it was put in.
  const bin = `CASE WHEN x >= ${between('(near + 1)')} THEN least(${HISTOGRAM_BINS - 1}, near + 1)
    WHEN x < ${between('near')} THEN greatest(0, near - 1) ELSE near END`;
  const values = `SELECT ${scaleOf(storedColumn(index), type)} AS x FROM ${partsAt(paths, parameters)}`;
  const near = `SELECT x, least(${HISTOGRAM_BINS - 1}, floor(${place})::INTEGER) AS near FROM (${values}) WHERE isfinite(x)`;
  const edge = (at: string) =>
    edgeOf(`(CASE WHEN ${at} = ${HISTOGRAM_BINS} THEN ${number(high)} ELSE ${between(at)} END)`, type, parameters);
  const member = `json_object('from', ${edge('i')}, 'to', ${edge('(i + 1)')}, 'count', coalesce(n, 0))`;
  return one(
    `WITH counted AS (SELECT ${bin} AS bin, count(*) AS n FROM (${near}) GROUP BY bin),
      bins AS (SELECT i, n FROM range(${HISTOGRAM_BINS}) AS bins (i) LEFT JOIN counted ON bin = i ORDER BY i)
    SELECT json_group_array(${member}) FROM bins`,
    parameters,
  );
}

/** Types whose values lie on a line: their histogram has bins of one width. */
export function spreads(type: ColumnType): boolean {
  return familyOf(type) === 'number' || familyOf(type) === 'instant';
}

/** Types of numbers: they have a standard deviation, too. */
export function hasMean(type: ColumnType): boolean {
  return familyOf(type) === 'number';
}

function hasExtremes(type: ColumnType): boolean {
  return spreads(type) || ['time', 'zoned time', 'interval'].includes(familyOf(type));
}

/** The value as answers have it. */
function told(v: string, type: ColumnType, parameters: Parameters): string {
  const family = familyOf(type);
  const cut = family === 'text' ? `left(${v}, ${TEXT_LENGTH_MAX})` : v;
  const told = jsonValueOf(type, cut, parameters);
  return `to_json(${family === 'binary' ? `left(${told}, ${TEXT_LENGTH_MAX})` : told})`;
}

/** One value that orders as the values do. */
function orderKey(v: string, type: ColumnType): string {
  const terms = distinctOrder(v, type);
  return terms.length === 1 ? (terms[0] ?? v) : `row(${terms.join(', ')})`;
}

/** DuckDB adds these up as whole numbers. As doubles the large ones would cancel all digits of the small ones. */
function isSummedExactly({ kind }: ColumnType): boolean {
  return kind === 'tinyint' || kind === 'smallint' || kind === 'integer' || kind === 'bigint';
}

function asDouble(v: string, type: ColumnType): string {
  // Through text: DuckDB's casts from decimals divide, and round twice.
  return type.kind === 'real' || type.kind === 'double' ? `${v}::DOUBLE` : `${v}::VARCHAR::DOUBLE`;
}

/** The squares of larger numbers are beyond all doubles, and DuckDB refuses all of the statement for it. Then smaller ones make no difference. */
const SQUARED_MAX = '1e145';

function deviationOf(x: string, finite: string): string {
  const ofUsual = `stddev_samp(CASE WHEN abs(${x}) < ${SQUARED_MAX} THEN ${x} END) ${finite}`;
  const ofLarge = `stddev_samp(${x} * 1e-160) ${finite} * 1e160`;
  return `(CASE WHEN max(abs(${x})) ${finite} < ${SQUARED_MAX} THEN ${ofUsual} ELSE ${ofLarge} END)`;
}

/** Where on its line a value lies: a number itself, an instant in microseconds since 1970. */
function scaleOf(v: string, type: ColumnType): string {
  return familyOf(type) === 'number' ? asDouble(v, type) : `epoch_us(${v}::TIMESTAMP)::DOUBLE`;
}

/** Between two days, and between two microseconds, the later one: what lies before an edge is what lies before it. */
function edgeOf(x: string, type: ColumnType, parameters: Parameters): string {
  if (familyOf(type) === 'number') return x;
  const step = type.kind === 'date' ? DAY_MICROS : 1;
  const at = `make_timestamp(ceil(${x} / ${step})::BIGINT * ${step})`;
  const moment = { kind: 'timestamp', digits: 6, withZone: false } as const;
  return type.kind === 'date' ? told(`${at}::DATE`, type, parameters) : told(at, moment, parameters);
}

/** Not every double is a number in JSON. */
function orNull(x: string): string {
  return `CASE WHEN isfinite(${x}) THEN ${x} END`;
}

function one(text: string, parameters: Parameters): Statement {
  return { text, values: parameters.values };
}
