/**
 * How each column type is kept in Parquet. Parts call their columns c0, c1, … and the fields of rows (structs) f0, f1, …,
 * because DuckDB cannot hold two names that differ only in case; the real names are in the manifest.
 *
 * Four kinds are kept as text, since Parquet as DuckDB writes it would lose digits: whole numbers over 64 bits and decimals of
 * more than 38 digits (written as DOUBLE), intervals (cut to milliseconds) and times with a zone.
 */
import type { ColumnType } from '../domain/column-type.ts';

/** The name of column `index` inside a part. */
export function storedColumn(index: number): string {
  return `c${index}`;
}

/** The name of field `index` inside a stored row (struct). */
export function storedField(index: number): string {
  return `f${index}`;
}

/** Whether DuckDB has no decimals of so many digits: then they are kept as text, always with as many digits as the scale says. */
export function isWideDecimal(type: ColumnType): boolean {
  return type.kind === 'decimal' && type.precision > 38;
}

/** The DuckDB type a column of this type has inside a part. */
export function storageType(type: ColumnType): string {
  switch (type.kind) {
    case 'boolean':
    case 'tinyint':
    case 'smallint':
    case 'integer':
    case 'bigint':
    case 'double':
    case 'varchar':
    case 'date':
    case 'uuid':
      return type.kind.toUpperCase();
    case 'real':
      return 'FLOAT';
    case 'varbinary':
      return 'BLOB';
    case 'hugeint':
    case 'uint256':
    case 'int256':
    case 'interval':
    case 'json':
      return 'VARCHAR';
    case 'decimal':
      return isWideDecimal(type) ? 'VARCHAR' : `DECIMAL(${type.precision}, ${type.scale})`;
    case 'time':
      return type.withZone ? 'VARCHAR' : 'TIME';
    case 'timestamp':
      return type.withZone ? 'TIMESTAMP WITH TIME ZONE' : type.digits === 9 ? 'TIMESTAMP_NS' : 'TIMESTAMP';
    case 'array':
      return `${storageType(type.element)}[]`;
    case 'map':
      return `MAP(${storageType(type.key)}, ${storageType(type.value)})`;
    case 'row':
      return `STRUCT(${type.fields.map((f, i) => `${storedField(i)} ${storageType(f.type)}`).join(', ')})`;
    default:
      return type satisfies never;
  }
}
