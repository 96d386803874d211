/**
 * The shape of nested JSON values, as DuckDB's json_structure describes one value ({"a": "UBIGINT", "b": ["VARCHAR"]}), merged
 * over many values into one column type. What does not merge is json: kept as it is.
 */
import type { ColumnType } from '../../../domain/column-type.ts';

type Structure = string | readonly Structure[] | { readonly [key: string]: Structure };

const NUMBERS = ['UBIGINT', 'BIGINT', 'HUGEINT', 'DOUBLE'];
const DEPTH_MAX = 12;
/**
 * The most members of rows that are read out of JSON. Each takes some ten milliseconds to plan, and a megabyte; beyond some thousands it is minutes, and
 * gigabytes that count under no limit.
 */
export const MEMBERS_MAX = 400;

export interface StructuredType {
  readonly type: ColumnType;
  /** Of the rows in it, at all depths. */
  readonly members: number;
}

/** @param texts what json_structure said of each value */
export function typeOfStructures(texts: readonly string[]): StructuredType {
  let merged: Structure = 'NULL';
  for (const text of texts) {
    merged = merge(merged, JSON.parse(text) as Structure);
    if (membersOf(merged) > MEMBERS_MAX) return { type: { kind: 'json' }, members: 0 };
  }
  return { type: typeOf(merged, 0), members: membersOf(merged) };
}

function membersOf(structure: Structure): number {
  if (typeof structure === 'string') return 0;
  if (isList(structure)) return membersOf(structure[0] ?? 'NULL');
  return Object.values(structure).reduce((sum, inner) => sum + 1 + membersOf(inner), 0);
}

function merge(a: Structure, b: Structure): Structure {
  if (a === 'NULL') return b;
  if (b === 'NULL') return a;
  if (typeof a === 'string' && typeof b === 'string') {
    if (a === b) return a;
    if (!NUMBERS.includes(a) || !NUMBERS.includes(b)) return 'JSON';
    return a === 'DOUBLE' || b === 'DOUBLE' ? 'DOUBLE' : 'BIGINT';
  }
  if (typeof a === 'string' || typeof b === 'string') return 'JSON';
  if (isList(a) && isList(b)) return [merge(a[0] ?? 'NULL', b[0] ?? 'NULL')];
  if (isList(a) || isList(b)) return 'JSON';
  const fields = new Map<string, Structure>(Object.entries(a));
  for (const [key, structure] of Object.entries(b)) fields.set(key, merge(fields.get(key) ?? 'NULL', structure));
  return Object.fromEntries(fields);
}

function isList(structure: Exclude<Structure, string>): structure is readonly Structure[] {
  return Array.isArray(structure);
}

function typeOf(structure: Structure, depth: number): ColumnType {
  if (depth > DEPTH_MAX) return { kind: 'json' };
  if (typeof structure !== 'string') {
    if (isList(structure)) return { kind: 'array', element: typeOf(structure[0] ?? 'NULL', depth + 1) };
    const fields = Object.entries(structure);
    if (fields.length === 0) return { kind: 'json' };
    return { kind: 'row', fields: fields.map(([name, inner]) => ({ name, type: typeOf(inner, depth + 1) })) };
  }
  switch (structure) {
    case 'UBIGINT':
    case 'BIGINT':
    case 'HUGEINT':
      return { kind: 'bigint' };
    case 'DOUBLE':
      return { kind: 'double' };
    case 'BOOLEAN':
      return { kind: 'boolean' };
    case 'VARCHAR':
    case 'NULL':
      return { kind: 'varchar' };
    default:
      return { kind: 'json' };
  }
}
