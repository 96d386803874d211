/**
 * Cell bytes, the one measure of size (contract §2), as SQL over stored columns: text and binary by length, everything else by
 * what it holds and not by how it is kept, so a uint256 counts 32 bytes though it is stored as digits. Null counts 0.
 *
 * The expressions are written to be cheap: the width of a list of numbers is its count times a constant, and a list of
 * texts is joined rather than walked.
 */
import { type ColumnType, formatColumnType } from '../domain/column-type.ts';
import { FEW_COLUMNS_MAX } from './few-columns.ts';
import { isWideDecimal, storedColumn, storedField } from './storage-type.ts';

/** A SQL expression for the cell bytes of `expression`, a stored value of this type: a BIGINT, never null. */
export function cellBytesOf(type: ColumnType, expression: string): string {
  return bytesOf(type, expression, 0);
}

/**
 * A SQL expression for the cell bytes of a whole row: a BIGINT, never null.
 * @param expressionOf SQL for the stored value of the column at a position; a part's own columns when left out
 */
export function rowBytesOf(
  types: readonly ColumnType[],
  expressionOf: (index: number) => string = storedColumn,
): string {
  if (types.length === 0) return '0::BIGINT';
  if (types.length > FEW_COLUMNS_MAX) return bytesOfMany(types, expressionOf);
  return sumOf(types.map((type, index) => cellBytesOf(type, expressionOf(index))));
}

/**
 * A SQL aggregate: the cell bytes of all rows together, never null. The same as summing `rowBytesOf`, at a third of the
 * cost, since a column of fixed width only needs to be counted.
 */
export function totalBytesOf(
  types: readonly ColumnType[],
  expressionOf: (index: number) => string = storedColumn,
): string {
  if (types.length === 0) return '0::BIGINT';
  if (types.length > FEW_COLUMNS_MAX) return `coalesce(sum(${bytesOfMany(types, expressionOf)}), 0)`;
  const terms = types.map((type, index) => {
    const width = fixedWidthOf(type);
    const expression = expressionOf(index);
    if (width !== undefined) return `count(${expression}) * ${width}`;
    return `coalesce(sum(${cellBytesOf(type, expression)}), 0)`;
  });
  return sumOf(terms);
}

/** Columns of a type are measured as the members of one list: an expression for each takes longer to plan than to run. */
function bytesOfMany(types: readonly ColumnType[], expressionOf: (index: number) => string): string {
  const groups = Map.groupBy(types.keys(), (index) => formatColumnType(types[index] as ColumnType));
  const terms = [...groups.values()].map((indexes) => {
    const [first = 0] = indexes;
    return listBytesOf(types[first] as ColumnType, `[${indexes.map(expressionOf).join(', ')}]`, 0);
  });
  return sumOf(terms);
}

/**
 * The sum of the terms as a tree whose depth is the logarithm of their number. Written one after another they would be a tree as
 * deep as there are columns: DuckDB takes time that grows with the square of its depth, and refuses one of 1000.
 */
function sumOf(terms: readonly string[]): string {
  if (terms.length <= 8) return terms.join(' + ');
  const middle = Math.ceil(terms.length / 2);
  return `(${sumOf(terms.slice(0, middle))}) + (${sumOf(terms.slice(middle))})`;
}

function bytesOf(type: ColumnType, expression: string, depth: number): string {
  const width = fixedWidthOf(type);
  if (width !== undefined) return `CASE WHEN ${expression} IS NULL THEN 0::BIGINT ELSE ${width}::BIGINT END`;
  switch (type.kind) {
    case 'varbinary':
      return `coalesce(octet_length(${expression}), 0::BIGINT)`;
    case 'array':
      return listBytesOf(type.element, expression, depth);
    case 'map': {
      const keys = listBytesOf(type.key, `map_keys(${expression})`, depth);
      return `(${keys} + ${listBytesOf(type.value, `map_values(${expression})`, depth)})`;
    }
    case 'row': {
      const fields = type.fields.map((f, i) => bytesOf(f.type, `(${expression}).${storedField(i)}`, depth));
      return fields.length === 0 ? '0::BIGINT' : `(${sumOf(fields)})`;
    }
    default:
      return `coalesce(strlen(${expression}), 0::BIGINT)`;
  }
}

function listBytesOf(element: ColumnType, expression: string, depth: number): string {
  const width = fixedWidthOf(element);
  if (width !== undefined) return `coalesce(list_count(${expression}) * ${width}::BIGINT, 0::BIGINT)`;
  if (element.kind === 'varchar' || element.kind === 'json') {
    return `coalesce(strlen(array_to_string(${expression}, '')), 0::BIGINT)`;
  }
  const member = `m${depth}`;
  const each = bytesOf(element, member, depth + 1);
  return `coalesce(list_sum(list_transform(${expression}, lambda ${member}: ${each})), 0)::BIGINT`;
}

/** The cell bytes of every value of the type that is not null, or undefined when they depend on the value. */
export function fixedWidthOf(type: ColumnType): number | undefined {
  switch (type.kind) {
    case 'boolean':
    case 'tinyint':
      return 1;
    case 'smallint':
      return 2;
    case 'integer':
    case 'real':
    case 'date':
      return 4;
    case 'bigint':
    case 'double':
    case 'time':
    case 'timestamp':
      return 8;
    case 'decimal':
      return isWideDecimal(type) ? 32 : 16;
    case 'hugeint':
    case 'uuid':
    case 'interval':
      return 16;
    case 'uint256':
    case 'int256':
      return 32;
    case 'varchar':
    case 'json':
    case 'varbinary':
    case 'array':
    case 'map':
    case 'row':
      return undefined;
    default:
      return type satisfies never;
  }
}
