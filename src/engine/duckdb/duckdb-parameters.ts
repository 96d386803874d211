/** How DuckDB is given a value: it is bound, and `CAST($1 AS <type>)` stands at each place that names the parameter. */
import type { BoundType, ParameterDialect } from '../sql/bind-parameters.ts';

export const DUCKDB_PARAMETERS: ParameterDialect = {
  comments: 'nested',
  write: ({ type }, number) => `(CAST($${number} AS ${sqlType(type)}))`,
};

function sqlType(type: BoundType): string {
  switch (type.kind) {
    case 'text':
      return 'VARCHAR';
    case 'timestamp_with_zone':
      return 'TIMESTAMP WITH TIME ZONE';
    case 'decimal':
      return `DECIMAL(${type.precision}, ${type.scale})`;
    default:
      return type.kind.toUpperCase();
  }
}
