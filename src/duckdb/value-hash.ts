/**
 * Hashes of values as DuckDB makes them, for Bloom filters. Values that are equal have the same hash, in a column as in a parameter. Nothing
 * promises that another version of DuckDB makes the same, so what is kept of them is kept with a probe.
 */
import type { ColumnType } from '../domain/column-type.ts';
import type { Statement } from './statement.ts';

/** Types of which one value is hardly ever near another, so that minimum and maximum tell little; each is stored as itself. */
export type HashedKind = 'varchar' | 'varbinary' | 'uuid';

export function isHashed(type: ColumnType): type is ColumnType & { readonly kind: HashedKind } {
  return type.kind === 'varchar' || type.kind === 'varbinary' || type.kind === 'uuid';
}

/** SQL for the hash of a stored value: an UINTEGER. */
export function valueHash(sql: string): string {
  return `(hash(${sql}) >> 32)::UINTEGER`;
}

/** SQL for a value of the kind, from its text (`Value` in results/plan/predicate.ts). */
const OF_TEXT: Readonly<Record<HashedKind, string>> = { varchar: 'v', varbinary: 'unhex(v)', uuid: 'v::UUID' };

/** The hashes of these values, in their order: a row for each. Its plan may be kept. */
export function compileHashes(kind: HashedKind, values: readonly string[]): Statement {
  const text = `SELECT ${valueHash(OF_TEXT[kind])} FROM (SELECT unnest(CAST($1 AS VARCHAR[])) AS v)`;
  return { text, values: [values] };
}

/** Short texts and long ones are hashed in different ways. */
const PROBED = [
  ...["''", "'a'", "'twelve bytes'", "'thirteen byte'", "'größer 😀'", "repeat('long ', 40)"],
  ...["''::BLOB", "'\\x00\\xFF'::BLOB", "repeat('long ', 40)::BLOB", "'6f1c2d3e-4a5b-4c7d-8e9f-a0b1c2d3e4f5'::UUID"],
];

/** One row of one text, which is another where DuckDB makes other hashes. */
export const HASH_PROBE: Statement = {
  text: `SELECT concat_ws(' ', ${PROBED.map((sql) => `hex(${valueHash(sql)})`).join(', ')})`,
  values: [],
};
