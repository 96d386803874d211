/** DuckDB's type of a result column → our column type, and how it goes into the Parquet file that the engine leaves. */
import { type DuckDBType, DuckDBTypeId } from '@duckdb/node-api';
import type { ColumnType } from '../../domain/column-type.ts';
import { scalarConversion } from '../../duckdb/scalar-conversion.ts';
import { EngineError, isWrittenAsText } from '../engine.ts';

/** @throws EngineError when a result may not have such a column. */
export function engineColumnType(type: DuckDBType): ColumnType {
  switch (type.typeId) {
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY:
      return { kind: 'array', element: memberType(type.valueType) };
    case DuckDBTypeId.MAP:
      return { kind: 'map', key: memberType(type.keyType), value: memberType(type.valueType) };
    case DuckDBTypeId.STRUCT: {
      const fields = type.entryTypes.map((entry, i) => ({ name: type.entryNames[i] ?? '', type: memberType(entry) }));
      return { kind: 'row', fields };
    }
    case DuckDBTypeId.UNION:
    case DuckDBTypeId.VARIANT:
      throw new EngineError('syntax_error', `a result cannot have a column of type ${type}: cast it in the SQL`);
    case DuckDBTypeId.SQLNULL:
      return { kind: 'integer' };
    default:
      return scalarConversion(type, 6, { asNanos: false, fail: () => '' }).type;
  }
}

function memberType(type: DuckDBType): ColumnType {
  const member = engineColumnType(type);
  if (isWrittenAsText({ type: member })) {
    throw new EngineError(
      'syntax_error',
      `a result cannot have ${type} inside of a list, map or struct: cast it in the SQL`,
    );
  }
  return member;
}
