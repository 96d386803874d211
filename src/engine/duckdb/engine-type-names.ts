/** The types that DuckDB's messages name → as this service calls them, where it calls them otherwise. */
import { nearest } from '../../domain/nearest.ts';

const NAMES: Readonly<Record<string, string>> = {
  BOOL: 'boolean',
  INT8: 'tinyint',
  INT16: 'smallint',
  INT32: 'integer',
  INT64: 'bigint',
  // A uuid, too, is one to DuckDB.
  INT128: 'hugeint or uuid',
  UINT8: 'utinyint',
  UINT16: 'usmallint',
  UINT32: 'uinteger',
  UINT64: 'ubigint',
  UINT128: 'uhugeint',
  FLOAT: 'real',
  BLOB: 'varbinary',
  INTEGER_LITERAL: 'integer',
  STRING_LITERAL: 'varchar',
  '"NULL"': 'null',
};

/** Those that are commonly written in a cast. */
const WRITTEN =
  'boolean tinyint smallint integer int bigint hugeint real float double decimal numeric varchar text blob date time timestamp timestamptz interval uuid json'.split(
    ' ',
  );

export function typeName(type: string): string {
  return NAMES[type.trim()] ?? type.trim().toLowerCase();
}

export function unknownType(name: string): string {
  const near = nearest(name, WRITTEN);
  return `there is no type ${name}${near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`}`;
}
