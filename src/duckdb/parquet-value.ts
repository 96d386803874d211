/**
 * Stored values as they stand in a Parquet file for others to read: rows (structs) with their real field names, JSON marked as
 * JSON, one zero. Everything else is as it is stored, and so are the kinds that are kept as text because Parquet as DuckDB writes it
 * would lose digits of them (storage-type.ts).
 *
 * What cannot be written is found beforehand: DuckDB has no empty names, none with a NUL, and takes two that differ only in
 * the case of ASCII letters for one.
 */
import type { ColumnType } from '../domain/column-type.ts';
import { positiveZero } from './positive-zero.ts';
import { quoteName } from './quoting.ts';
import { storageType, storedField } from './storage-type.ts';

/** SQL for the value of `expression`, a stored value of this type. */
export function parquetValueOf(type: ColumnType, expression: string): string {
  return convert(type, expression, 0);
}

/** What keeps these names from standing beside each other, in words that follow "Parquet"; undefined: nothing. */
export function nameProblem(names: readonly string[]): string | undefined {
  const seen = new Map<string, string>();
  for (const name of names) {
    if (name === '') return 'has no empty names';
    if (name.includes('\0')) return `has no names with a NUL character, as ${JSON.stringify(name)} has`;
    const folded = name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
    const other = seen.get(folded);
    if (other !== undefined) {
      return `cannot hold names that differ only in case, as ${JSON.stringify(other)} and ${JSON.stringify(name)} do`;
    }
    seen.set(folded, name);
  }
  return undefined;
}

/** The same of the fields of all rows within a type. */
export function fieldProblem(type: ColumnType): string | undefined {
  switch (type.kind) {
    case 'array':
      return fieldProblem(type.element);
    case 'map':
      return fieldProblem(type.key) ?? fieldProblem(type.value);
    case 'row':
      return (
        nameProblem(type.fields.map(({ name }) => name)) ??
        type.fields.map((field) => fieldProblem(field.type)).find((problem) => problem !== undefined)
      );
    default:
      return undefined;
  }
}

/** The key in the file's own metadata under which stand the types of its columns, a JSON array of their names. */
export const TYPES_KEY = 'query-results-service.column_types';

/** What a column of this type is taken for where only Parquet's types are known. */
export function typeInParquet(type: ColumnType): ColumnType {
  switch (type.kind) {
    case 'timestamp':
      return type.withZone ? { ...type, digits: 6 } : type;
    case 'array':
      return { kind: 'array', element: typeInParquet(type.element) };
    case 'map':
      return { kind: 'map', key: typeInParquet(type.key), value: typeInParquet(type.value) };
    case 'row':
      return { kind: 'row', fields: type.fields.map((field) => ({ ...field, type: typeInParquet(field.type) })) };
    default:
      return type.kind !== 'json' && storageType(type) === 'VARCHAR' ? { kind: 'varchar' } : type;
  }
}

/** `depth` gives the variable of each nested lambda a name of its own. */
function convert(type: ColumnType, e: string, depth: number): string {
  if (isAsStored(type)) return e;
  switch (type.kind) {
    case 'json':
      return `CAST(${e} AS JSON)`;
    case 'real':
    case 'double':
      return positiveZero(e);
    case 'timestamp':
      return `CAST(${e} AS TIMESTAMP_MS)`;
    case 'array':
      return each(type.element, e, depth);
    case 'map': {
      const keys = each(type.key, `map_keys(${e})`, depth);
      return `CASE WHEN ${e} IS NOT NULL THEN map(${keys}, ${each(type.value, `map_values(${e})`, depth)}) END`;
    }
    case 'row': {
      const fields = type.fields.map((field, index) => {
        const value = convert(field.type, `struct_extract(${e}, '${storedField(index)}')`, depth);
        return `${quoteName(field.name)} := ${value}`;
      });
      return `CASE WHEN ${e} IS NOT NULL THEN struct_pack(${fields.join(', ')}) END`;
    }
    default:
      return e;
  }
}

function each(element: ColumnType, list: string, depth: number): string {
  if (isAsStored(element)) return list;
  const member = `p${depth}`;
  return `list_transform(${list}, lambda ${member}: ${convert(element, member, depth + 1)})`;
}

function isAsStored(type: ColumnType): boolean {
  switch (type.kind) {
    case 'real':
    case 'double':
    case 'json':
    case 'row':
      return false;
    case 'timestamp':
      // DuckDB has no timestamps with a zone that are kept in milliseconds.
      return type.digits !== 3 || type.withZone;
    case 'array':
      return isAsStored(type.element);
    case 'map':
      return isAsStored(type.key) && isAsStored(type.value);
    default:
      return true;
  }
}
