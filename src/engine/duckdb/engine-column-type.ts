/** DuckDB's type of a result column → our column type, and how it goes into the Parquet file that the engine leaves. */
import { type DuckDBType, DuckDBTypeId } from '@duckdb/node-api';
import type { ColumnType } from '../../domain/column-type.ts';
import { scalarConversion } from '../../duckdb/scalar-conversion.ts';
import { EngineError } from '../engine.ts';

/** Parquet as DuckDB writes it would lose digits of these, so they are written as text. */
const AS_TEXT: readonly ColumnType['kind'][] = ['hugeint', 'uint256', 'interval'];

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
  if (isWrittenAsText(member)) {
    throw new EngineError(
      'syntax_error',
      `a result cannot have ${type} inside of a list, map or struct: cast it in the SQL`,
    );
  }
  return member;
}

export function isWrittenAsText(type: ColumnType): boolean {
  return AS_TEXT.includes(type.kind) || (type.kind === 'time' && type.withZone);
}
