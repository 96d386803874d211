/** Which types can be compared with which: those that hold the same kind of thing, whatever their width or precision. */
import type { ColumnType } from '../../domain/column-type.ts';

export type Family =
  | 'number'
  | 'text'
  | 'instant'
  | 'boolean'
  | 'binary'
  | 'uuid'
  | 'time'
  | 'zoned time'
  | 'interval'
  /** Arrays, maps and rows: they are compared with nothing. */
  | 'none';

export function familyOf(type: ColumnType): Family {
  switch (type.kind) {
    case 'tinyint':
    case 'smallint':
    case 'integer':
    case 'bigint':
    case 'hugeint':
    case 'uint256':
    case 'int256':
    case 'decimal':
    case 'real':
    case 'double':
      return 'number';
    case 'varchar':
    case 'json':
      return 'text';
    case 'date':
    case 'timestamp':
      return 'instant';
    case 'time':
      return type.withZone ? 'zoned time' : 'time';
    case 'varbinary':
      return 'binary';
    case 'boolean':
    case 'uuid':
    case 'interval':
      return type.kind;
    case 'array':
    case 'map':
    case 'row':
      return 'none';
    default:
      return type satisfies never;
  }
}
