/**
 * Which type a column of text has: the narrowest that holds every value without losing a character that matters. `007` is no
 * number, 12345678901234567 is no double, and a date among words is a word.
 *
 * SQL sorts each value into one of the kinds below; a column is the bits of the kinds that occur in it, and `resolve` gives
 * these a type. The same conditions guard the conversion (`inferredValue`), so a value beyond the sample that the types
 * were inferred from ends the statement instead of being bent.
 */
import type { ColumnType } from '../../domain/column-type.ts';
import { isExactDouble } from '../../duckdb/exact-double.ts';
import { positiveZero } from '../../duckdb/positive-zero.ts';
import { quoteText } from '../../duckdb/quoting.ts';
import {
  INT256_MAX,
  INT256_MIN_DIGITS,
  inRange,
  matches,
  textToStored,
  timestampFromText,
  timestampPattern,
  UINT256_MAX,
} from '../../duckdb/text-value.ts';

const KINDS = [
  'boolean',
  'int15',
  'int64',
  'int128',
  'int256',
  'uint256',
  'double',
  'decimal',
  'special',
  'date',
  'timestamp3',
  'timestamp6',
  'timestamp9',
  // Beside one of the first two: of a year that no timestamp of nanoseconds has.
  'beyondNanos',
  'zoned3',
  'zoned6',
  'nested',
  'text',
] as const;
type Kind = (typeof KINDS)[number];

export interface ColumnStats {
  readonly kinds: ReadonlySet<Kind>;
  readonly negative: boolean;
  /** Most digits before and after the point, of numbers written without an exponent. */
  readonly integerDigits: number;
  readonly fractionDigits: number;
  readonly exponent: boolean;
}

const WHOLE = '0|-?[1-9][0-9]*';
const PLAIN = '-?(0|[1-9][0-9]*)(\\.[0-9]*)?|-?\\.[0-9]+';
const NUMBER = `(${PLAIN})([eE][-+]?[0-9]{1,4})?`;
const SPECIALS = ['NaN', 'nan', 'Infinity', '-Infinity', 'inf', '-inf'];
const BOOLEANS = ['true', 'false', 'True', 'False', 'TRUE', 'FALSE'];

const timestamp = (digits: 3 | 6 | 9, withZone: boolean) => ({ kind: 'timestamp', digits, withZone }) as const;
const DATE: ColumnType = { kind: 'date' };
const TIMESTAMPS = {
  timestamp3: timestamp(3, false),
  timestamp6: timestamp(6, false),
  timestamp9: timestamp(9, false),
  zoned3: timestamp(3, true),
  zoned6: timestamp(6, true),
} as const;

/** Five SQL expressions, aggregates over the text `column`; `columnStatsOf` reads their values. */
export function columnStatsColumns(column: string): readonly string[] {
  const number = matches(column, NUMBER);
  const plain = `${number} AND NOT contains(lower(${column}), 'e')`;
  const digits = `ltrim(${column}, '-')`;
  return [
    `coalesce(bit_or(${kindOf(column)}), 0)::INTEGER`,
    `coalesce(bool_or(${number} AND starts_with(${column}, '-')), false)`,
    `coalesce(max(CASE WHEN ${plain} THEN strlen(split_part(${digits}, '.', 1)) END), 0)::INTEGER`,
    `coalesce(max(CASE WHEN ${plain} THEN strlen(rtrim(split_part(${digits}, '.', 2), '0')) END), 0)::INTEGER`,
    `coalesce(bool_or(${number} AND contains(lower(${column}), 'e')), false)`,
  ];
}

export function columnStatsOf(values: readonly unknown[]): ColumnStats {
  const [bits, negative, integerDigits, fractionDigits, exponent] = values;
  return {
    kinds: new Set(KINDS.filter((_, index) => (Number(bits) & (1 << index)) !== 0)),
    negative: negative === true,
    integerDigits: Number(integerDigits),
    fractionDigits: Number(fractionDigits),
    exponent: exponent === true,
  };
}

/** The narrowest type that the statistics allow; `nested` asks for a look inside. */
export function resolve(columnStats: ColumnStats): ColumnType | 'nested' {
  const only = (...kinds: readonly Kind[]) => columnStats.kinds.isSubsetOf(new Set(kinds));
  const has = (kind: Kind) => columnStats.kinds.has(kind);
  if (columnStats.kinds.size === 0) return { kind: 'varchar' };
  if (only('nested')) return 'nested';
  if (only('boolean')) return { kind: 'boolean' };
  if (only('date')) return DATE;
  if (only('timestamp3', 'beyondNanos')) return TIMESTAMPS.timestamp3;
  if (only('timestamp3', 'timestamp6', 'beyondNanos')) return TIMESTAMPS.timestamp6;
  if (only('timestamp3', 'timestamp6', 'timestamp9')) return TIMESTAMPS.timestamp9;
  if (only('zoned3')) return TIMESTAMPS.zoned3;
  if (only('zoned3', 'zoned6')) return TIMESTAMPS.zoned6;
  if (only('int15', 'int64')) return { kind: 'bigint' };
  if (only('int15', 'int64', 'int128')) return { kind: 'hugeint' };
  if (only('int15', 'int64', 'int128', 'int256', 'uint256')) {
    if (!columnStats.negative) return { kind: 'uint256' };
    return has('uint256') ? { kind: 'varchar' } : { kind: 'int256' };
  }
  if (only('int15', 'double', 'special') && !only('special')) return { kind: 'double' };
  const { integerDigits, fractionDigits } = columnStats;
  const precision = integerDigits + fractionDigits;
  if (only('int15', 'int64', 'int128', 'double', 'decimal') && !columnStats.exponent && precision <= 38) {
    return { kind: 'decimal', precision, scale: fractionDigits };
  }
  return { kind: 'varchar' };
}

export interface InferredValue {
  /** SQL over `column`, worked out once for each row: DuckDB would cast again wherever a CASE mentions it. */
  readonly parsed: string;
  /** SQL over `column` and `parsed` for the stored value; `fail` for a text of another kind. */
  readonly stored: string;
}

/**
 * How the text `column` is stored in a type that `resolve` gave.
 * @param parsed the name under which the value of `parsed` can be had
 */
export function inferredValue(type: ColumnType, column: string, parsed: string, fail: string): InferredValue {
  const castTo = (name: string) => `TRY_CAST(${column} AS ${name})`;
  const guarded = (fits: string) =>
    `CASE WHEN ${column} IS NULL THEN NULL WHEN ${fits} THEN ${parsed} ELSE ${fail} END`;
  // Prints as it was written: cheaper than a regular expression, and the very meaning of losing nothing.
  const same = `${parsed}::VARCHAR IS NOT DISTINCT FROM ${column}`;
  switch (type.kind) {
    case 'varchar':
      return { parsed: 'NULL', stored: column };
    case 'boolean':
      return { parsed: castTo('BOOLEAN'), stored: guarded(isBoolean(column)) };
    case 'bigint':
      return { parsed: castTo('BIGINT'), stored: `CASE WHEN ${same} THEN ${parsed} ELSE ${fail} END` };
    case 'hugeint':
      return { parsed: castTo('HUGEINT'), stored: `CASE WHEN ${same} THEN ${column} ELSE ${fail} END` };
    case 'uint256':
    case 'int256':
      return { parsed: textToStored(type, column, fail), stored: guarded(matches(column, WHOLE)) };
    case 'decimal':
      return { parsed: textToStored(type, column, fail), stored: guarded(matches(column, PLAIN)) };
    case 'double':
      return {
        parsed: positiveZero(castTo('DOUBLE')),
        stored: guarded(`CASE WHEN ${isExactDouble(column, parsed)} THEN true ELSE ${isOneOf(column, SPECIALS)} END`),
      };
    case 'date':
      return { parsed: castTo('DATE'), stored: guarded(isDate(column, parsed)) };
    case 'timestamp': {
      const cheap = `${same} AND strlen(${column}) BETWEEN 11 AND ${20 + type.digits}`;
      const otherwise = guarded(isTimestamp(type, column, parsed));
      const stored = type.withZone ? otherwise : `CASE WHEN ${cheap} THEN ${parsed} ELSE ${otherwise} END`;
      return { parsed: timestampFromText(type, column), stored };
    }
    default:
      throw new Error(`no column of text is inferred to be ${type.kind}`);
  }
}

function kindOf(column: string): string {
  const bit = (kind: Kind) => String(1 << KINDS.indexOf(kind));
  const beyondNanos = `CASE WHEN ${timestampFromText(TIMESTAMPS.timestamp9, column)} IS NULL THEN ${bit('beyondNanos')} ELSE 0 END`;
  const timestamps = (['timestamp3', 'timestamp6', 'timestamp9', 'zoned3', 'zoned6'] as const).map(
    (kind) =>
      `WHEN ${isTimestamp(TIMESTAMPS[kind], column)} THEN ${bit(kind)}${kind === 'timestamp3' || kind === 'timestamp6' ? ` | ${beyondNanos}` : ''}`,
  );
  return `CASE WHEN ${column} IS NULL THEN 0
    WHEN ${matches(column, WHOLE)} THEN CASE
      WHEN strlen(ltrim(${column}, '-')) <= 15 THEN ${bit('int15')}
      WHEN TRY_CAST(${column} AS BIGINT) IS NOT NULL THEN ${bit('int64')}
      WHEN TRY_CAST(${column} AS HUGEINT) IS NOT NULL THEN ${bit('int128')}
      WHEN ${inRange(column, INT256_MAX, INT256_MIN_DIGITS)} THEN ${bit('int256')}
      WHEN ${inRange(column, UINT256_MAX, undefined)} THEN ${bit('uint256')}
      ELSE ${bit('text')} END
    WHEN ${matches(column, NUMBER)} THEN CASE
      WHEN ${isExactDouble(column)} THEN ${bit('double')}
      WHEN NOT contains(lower(${column}), 'e') THEN ${bit('decimal')}
      ELSE ${bit('text')} END
    WHEN ${isBoolean(column)} THEN ${bit('boolean')}
    WHEN ${isOneOf(column, SPECIALS)} THEN ${bit('special')}
    WHEN ${isDate(column)} THEN ${bit('date')}
    ${timestamps.join('\n    ')}
    WHEN starts_with(${column}, '{') OR starts_with(${column}, '[') THEN ${bit('nested')}
    ELSE ${bit('text')} END`;
}

function isBoolean(column: string): string {
  return isOneOf(column, BOOLEANS);
}

/** Not IN, which DuckDB plans as a join from five values on: a join keeps no order, and rows of a file have no other. */
function isOneOf(column: string, texts: readonly string[]): string {
  return `list_contains([${texts.map(quoteText).join(', ')}], ${column})`;
}

function isDate(column: string, parsed = `TRY_CAST(${column} AS DATE)`): string {
  return `${parsed}::VARCHAR = ${column} AND strlen(${column}) = 10`;
}

/** Not a date alone: among timestamps that would be a guess at the time of day. */
function isTimestamp(
  type: ColumnType & { readonly kind: 'timestamp' },
  column: string,
  parsed = timestampFromText(type, column),
): string {
  const zone = type.withZone
    ? ` AND NOT ${matches(column, timestampPattern({ ...type, digits: 9, withZone: false }))}`
    : '';
  const pattern = `strlen(${column}) > 10 AND ${matches(column, timestampPattern(type))}${zone}`;
  return `${pattern} AND ${parsed} IS NOT NULL`;
}
