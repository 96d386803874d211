/** DuckDB's name of a result column's type → our column type. What the list does not have is read by its own name. */
import { type ColumnType, ColumnTypeError, parseColumnType } from '../../domain/column-type.ts';
import { EngineError } from '../engine.ts';

const RENAMED: Readonly<Record<string, string>> = {
  FLOAT: 'real',
  BLOB: 'varbinary',
  TIMESTAMP: 'timestamp(6)',
  'TIMESTAMP WITH TIME ZONE': 'timestamp(6) with time zone',
};

/**
 * @param name as DESCRIBE prints it, for example `DECIMAL(38,0)` or `VARCHAR[]`
 * @throws EngineError when a result may not have such a column.
 */
export function engineColumnType(name: string): ColumnType {
  if (name.endsWith('[]')) return { kind: 'array', element: engineColumnType(name.slice(0, -2)) };
  try {
    return parseColumnType(RENAMED[name] ?? name);
  } catch (error) {
    if (!(error instanceof ColumnTypeError)) throw error;
    throw new EngineError('syntax_error', `a result cannot have a column of type ${name}: cast it in the SQL`);
  }
}
