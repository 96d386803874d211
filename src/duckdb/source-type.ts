/**
 * What a DuckDB type becomes when it is published: the column type (contract §6), and the SQL that turns a value of it into
 * the stored representation (storage-type.ts). Nothing is lost on the way: a type with no counterpart becomes text.
 */
import { type DuckDBType, DuckDBTypeId } from '@duckdb/node-api';
import type { ColumnType } from '../domain/column-type.ts';
import { quoteText } from './quoting.ts';
import { storageType, storedField } from './storage-type.ts';

export interface SourceType {
  readonly type: ColumnType;
  /** SQL for the stored value of `expression`, a value of the DuckDB type. */
  readonly stored: (expression: string) => string;
}

export function sourceTypeOf(source: DuckDBType): SourceType {
  return convert(source, 0);
}

function convert(source: DuckDBType, depth: number): SourceType {
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
      return same({ kind: 'real' });
    case DuckDBTypeId.DOUBLE:
      return same({ kind: 'double' });
    case DuckDBTypeId.DECIMAL:
      return same({ kind: 'decimal', precision: source.width, scale: source.scale });
    case DuckDBTypeId.VARCHAR:
      return source.alias === 'JSON' ? cast({ kind: 'json' }) : same({ kind: 'varchar' });
    case DuckDBTypeId.BLOB:
      return same({ kind: 'varbinary' });
    case DuckDBTypeId.UUID:
      return same({ kind: 'uuid' });
    case DuckDBTypeId.DATE:
      return same({ kind: 'date' });
    case DuckDBTypeId.TIME:
      return same({ kind: 'time', withZone: false });
    case DuckDBTypeId.TIME_TZ:
      return cast({ kind: 'time', withZone: true });
    case DuckDBTypeId.INTERVAL:
      return cast({ kind: 'interval' });
    case DuckDBTypeId.TIMESTAMP_S:
    case DuckDBTypeId.TIMESTAMP_MS:
      return cast({ kind: 'timestamp', digits: 3, withZone: false });
    case DuckDBTypeId.TIMESTAMP:
      return same({ kind: 'timestamp', digits: 6, withZone: false });
    case DuckDBTypeId.TIMESTAMP_NS:
      return same({ kind: 'timestamp', digits: 9, withZone: false });
    case DuckDBTypeId.TIMESTAMP_TZ:
      return same({ kind: 'timestamp', digits: 6, withZone: true });
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY:
      return listOf(convert(source.valueType, depth + 1), source.typeId === DuckDBTypeId.ARRAY, depth);
    case DuckDBTypeId.MAP:
      return mapOf(convert(source.keyType, depth + 1), convert(source.valueType, depth + 1), depth);
    case DuckDBTypeId.STRUCT:
      return rowOf(
        source.entryNames,
        source.entryTypes.map((type) => convert(type, depth)),
      );
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

function isSame(source: SourceType): boolean {
  return source.stored('x') === 'x';
}

function listOf(element: SourceType, fixedLength: boolean, depth: number): SourceType {
  const type: ColumnType = { kind: 'array', element: element.type };
  if (isSame(element)) return fixedLength ? cast(type) : same(type);
  return { type, stored: (expression) => eachOf(element, expression, depth) };
}

function mapOf(key: SourceType, value: SourceType, depth: number): SourceType {
  const type: ColumnType = { kind: 'map', key: key.type, value: value.type };
  if (isSame(key) && isSame(value)) return same(type);
  return {
    type,
    stored: (expression) => {
      const keys = eachOf(key, `map_keys(${expression})`, depth);
      const values = eachOf(value, `map_values(${expression})`, depth);
      return `CASE WHEN ${expression} IS NOT NULL THEN map(${keys}, ${values}) END`;
    },
  };
}

function rowOf(names: readonly string[], fields: readonly SourceType[]): SourceType {
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
export function misfit(mark: string, expression: string): string {
  return `error(${quoteText(mark)} || CAST(${expression} AS VARCHAR))`;
}
