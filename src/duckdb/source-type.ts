/**
 * What a column of a Parquet file becomes when it is published: the column type (contract §6), and the SQL that turns a value
 * as DuckDB reads it into the stored representation (storage-type.ts). Nothing is lost on the way: a type with no counterpart
 * becomes text, and a value that DuckDB reads as another, or could not print, ends the statement.
 */
import { type DuckDBType, DuckDBTypeId } from '@duckdb/node-api';
import type { ColumnType } from '../domain/column-type.ts';
import { bareLeafType } from './bare-leaf.ts';
import { type ParquetNode, unwrap } from './parquet-schema.ts';
import { positiveZero } from './positive-zero.ts';
import { quoteText } from './quoting.ts';
import { storageType, storedField } from './storage-type.ts';
import { countSince1970, type InstantType, inYears } from './years.ts';

export interface SourceType {
  readonly type: ColumnType;
  /** SQL for the stored value of `expression`, a value of the DuckDB type. */
  readonly stored: (expression: string) => string;
  /** SQL for the text that `Reading.fail` is given for a value. */
  readonly shown?: (expression: string) => string;
}

export interface Reading {
  /** Instants of nanoseconds become timestamp(9), in UTC; else those are kept that are whole microseconds, with their zone. */
  readonly asNanos: boolean;
  /** SQL that ends the statement, given SQL for the text of a value that cannot be stored. */
  readonly fail: (text: string) => string;
}

/** What is wrong with the schema of a column, to stand behind its name. */
export class SchemaProblem extends Error {}

/**
 * @param source as DuckDB reads the column
 * @param node the column in the file's own schema
 * @throws SchemaProblem when the two do not fit each other, or a row (struct) has two fields of one name
 */
export function sourceTypeOf(source: DuckDBType, node: ParquetNode, reading: Reading): SourceType {
  return convert(source, unwrap(node), reading, 0);
}

/** @param node unwrapped */
function convert(source: DuckDBType, node: ParquetNode, reading: Reading, depth: number): SourceType {
  const bare = node.leaf?.bare;
  if (bare !== undefined && !isNested(source)) return bareLeafType(bare, reading.asNanos, reading.fail);
  const digits = node.leaf?.millis === true ? 3 : 6;
  switch (source.typeId) {
    case DuckDBTypeId.BOOLEAN:
      return same({ kind: 'boolean' });
    case DuckDBTypeId.TINYINT:
      return same({ kind: 'tinyint' });
    case DuckDBTypeId.SMALLINT:
      return same({ kind: 'smallint' });
    case DuckDBTypeId.INTEGER:
      return same({ kind: 'integer' });
    case DuckDBTypeId.BIGINT:
      return same({ kind: 'bigint' });
    case DuckDBTypeId.UTINYINT:
      return cast({ kind: 'smallint' });
    case DuckDBTypeId.USMALLINT:
      return cast({ kind: 'integer' });
    case DuckDBTypeId.UINTEGER:
      return cast({ kind: 'bigint' });
    case DuckDBTypeId.UBIGINT:
      return cast({ kind: 'decimal', precision: 20, scale: 0 });
    case DuckDBTypeId.HUGEINT:
      return cast({ kind: 'hugeint' });
    case DuckDBTypeId.UHUGEINT:
      return cast({ kind: 'uint256' });
    case DuckDBTypeId.FLOAT:
      return { type: { kind: 'real' }, stored: positiveZero };
    case DuckDBTypeId.DOUBLE:
      return { type: { kind: 'double' }, stored: positiveZero };
    case DuckDBTypeId.DECIMAL:
      return same({ kind: 'decimal', precision: source.width, scale: source.scale });
    case DuckDBTypeId.VARCHAR:
      return source.alias === 'JSON' ? cast({ kind: 'json' }) : same({ kind: 'varchar' });
    case DuckDBTypeId.BLOB:
      return same({ kind: 'varbinary' });
    case DuckDBTypeId.UUID:
      return same({ kind: 'uuid' });
    case DuckDBTypeId.DATE:
      return instant({ kind: 'date' }, reading);
    case DuckDBTypeId.TIME:
      return timeOfDay(reading);
    case DuckDBTypeId.TIME_TZ:
      return cast({ kind: 'time', withZone: true });
    case DuckDBTypeId.INTERVAL:
      return cast({ kind: 'interval' });
    case DuckDBTypeId.TIMESTAMP_S:
    case DuckDBTypeId.TIMESTAMP_MS:
      return cast({ kind: 'timestamp', digits: 3, withZone: false });
    case DuckDBTypeId.TIMESTAMP:
      return instant({ kind: 'timestamp', digits, withZone: false }, reading);
    case DuckDBTypeId.TIMESTAMP_NS:
      return instant({ kind: 'timestamp', digits: 9, withZone: false }, reading);
    case DuckDBTypeId.TIMESTAMP_TZ:
      return instant({ kind: 'timestamp', digits, withZone: true }, reading);
    case DuckDBTypeId.VARIANT:
      return { type: { kind: 'json' }, stored: (expression) => `CAST(CAST(${expression} AS JSON) AS VARCHAR)` };
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY: {
      const element = convert(source.valueType, node, reading, depth + 1);
      return listOf(element, source.typeId === DuckDBTypeId.ARRAY, depth);
    }
    case DuckDBTypeId.MAP: {
      const [key, value] = childrenOf(node, 2).map(unwrap);
      return mapOf(
        convert(source.keyType, key ?? node, reading, depth + 1),
        convert(source.valueType, value ?? node, reading, depth + 1),
        reading,
        depth,
      );
    }
    case DuckDBTypeId.STRUCT:
      return rowOf(source.entryNames, source.entryTypes, node, reading, depth);
    default:
      // ENUM, BIT, TIME_NS, GEOMETRY and what may come: their text says everything they hold.
      return cast({ kind: 'varchar' });
  }
}

/** The value is stored as it is. */
function same(type: ColumnType): SourceType {
  return { type, stored: (expression) => expression };
}

function cast(type: ColumnType): SourceType {
  return { type, stored: (expression) => `CAST(${expression} AS ${storageType(type)})` };
}

/** A value in the years that `years.ts` names; others end the statement. */
function instant(type: InstantType, { fail }: Reading): SourceType {
  // Null for infinity, where DuckDB has the value from the file's statistics.
  const shown = (e: string) => `coalesce(${countSince1970(type, e)}, 'infinity')`;
  return {
    type,
    shown,
    stored: (e) => `CASE WHEN ${e} IS NULL THEN NULL WHEN ${inYears(type, e)} THEN ${e} ELSE ${fail(shown(e))} END`,
  };
}

/** DuckDB crashes when it prints a time outside of the day. */
function timeOfDay({ fail }: Reading): SourceType {
  const shown = (e: string) => `epoch_us(${e})::VARCHAR || ' microseconds since midnight'`;
  return {
    type: { kind: 'time', withZone: false },
    shown,
    stored: (e) =>
      `CASE WHEN ${e} IS NULL THEN NULL WHEN ${e} BETWEEN TIME '00:00:00' AND TIME '23:59:59.999999' THEN ${e} ELSE ${fail(shown(e))} END`,
  };
}

function isNested({ typeId }: DuckDBType): boolean {
  return [DuckDBTypeId.LIST, DuckDBTypeId.ARRAY, DuckDBTypeId.MAP, DuckDBTypeId.STRUCT].includes(typeId);
}

function childrenOf(node: ParquetNode, count: number): readonly ParquetNode[] {
  if (node.children.length === count) return node.children;
  throw new SchemaProblem(`has a schema that cannot be followed at ${JSON.stringify(node.name)}`);
}

function isSame(source: SourceType): boolean {
  return source.stored('x') === 'x';
}

function listOf(element: SourceType, fixedLength: boolean, depth: number): SourceType {
  const type: ColumnType = { kind: 'array', element: element.type };
  if (isSame(element)) return fixedLength ? cast(type) : same(type);
  return { type, stored: (expression) => eachOf(element, expression, depth) };
}

/** Parquet has maps in which a key repeats; JSON has no such objects, and DuckDB fails on them later. */
function mapOf(key: SourceType, value: SourceType, { fail }: Reading, depth: number): SourceType {
  const type: ColumnType = { kind: 'map', key: key.type, value: value.type };
  return {
    type,
    stored: (expression) => {
      const keys = `map_keys(${expression})`;
      const repeated = `len(list_distinct(${keys})) < len(${keys})`;
      const values = eachOf(value, `map_values(${expression})`, depth);
      const map = isSame(key) && isSame(value) ? expression : `map(${eachOf(key, keys, depth)}, ${values})`;
      return `CASE WHEN ${expression} IS NULL THEN NULL WHEN ${repeated} THEN ${fail(`'a map with a key twice'`)} ELSE ${map} END`;
    },
  };
}

function rowOf(
  shown: readonly string[],
  types: readonly DuckDBType[],
  node: ParquetNode,
  reading: Reading,
  depth: number,
): SourceType {
  // A struct of one field was unwrapped with what is in it, and its one name is as it is in the file.
  const fieldNodes = types.length === 1 ? [node] : childrenOf(node, types.length);
  const names = types.length === 1 ? shown : fieldNodes.map(({ name }) => name);
  const nodes = fieldNodes.map(unwrap);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new SchemaProblem(`has the field name ${JSON.stringify(twice)} twice in one struct`);
  const fields = types.map((type, i) => convert(type, nodes[i] ?? node, reading, depth));
  return {
    type: { kind: 'row', fields: fields.map((field, i) => ({ name: names[i] ?? '', type: field.type })) },
    stored: (expression) => {
      const entries = fields.map((field, i) => `${storedField(i)} := ${field.stored(fieldOf(expression, i))}`);
      return `CASE WHEN ${expression} IS NOT NULL THEN struct_pack(${entries.join(', ')}) END`;
    },
  };
}

/** By position: DuckDB finds names without regard to case. */
function fieldOf(expression: string, index: number): string {
  return `struct_extract_at(${expression}, ${index + 1})`;
}

function eachOf(element: SourceType, expression: string, depth: number): string {
  const member = `e${depth}`;
  return `list_transform(${expression}, lambda ${member}: ${element.stored(member)})`;
}

/** SQL that ends the statement with an error that carries `mark` and the value that did not fit. */
export function invalidValue(mark: string, expression: string): string {
  // An error without a text is none, and would leave the value out.
  return `error(${quoteText(mark)} || coalesce(CAST(${expression} AS VARCHAR), ''))`;
}
