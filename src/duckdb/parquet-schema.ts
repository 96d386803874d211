/**
 * The schema of a Parquet file as the file itself says it: a tree of names, and of each leaf how the file keeps its values.
 * DuckDB's types tell less: it renames fields that differ only in case, and does not say in what unit a timestamp is kept.
 */
import type { Row } from './duckdb.ts';
import type { Statement } from './statement.ts';

export interface ParquetNode {
  readonly name: string;
  readonly children: readonly ParquetNode[];
  /** Undefined for a group. */
  readonly leaf: ParquetLeaf | undefined;
}

export interface ParquetLeaf {
  /** Its position among the leaves of the file. */
  readonly index: number;
  /** What DuckDB would round, so that it is read as the bytes or the whole number that it physically is. */
  readonly bare: BareLeaf | undefined;
  /** Timestamps are kept in milliseconds; DuckDB reads them as microseconds. */
  readonly millis: boolean;
}

export type BareLeaf =
  /** A decimal of more than 38 digits: two's complement, the highest byte first. */
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  /** Nanoseconds since 1970 in UTC, or since midnight. */
  | { readonly kind: 'nanos' | 'time-nanos' }
  /** Twelve bytes: nanoseconds of the day, then the Julian day, each with the lowest byte first. */
  | { readonly kind: 'int96' };

const DUCKDB_PRECISION_MAX = 38;

export function schemaStatement(path: string): Statement {
  return {
    text: 'SELECT name, num_children, type, converted_type, precision, scale, logical_type FROM parquet_schema($1)',
    values: [path],
  };
}

/** @param rows of `schemaStatement`: the tree in depth-first order, from the root @returns the columns */
export function readSchema(rows: readonly Row[]): readonly ParquetNode[] {
  let next = 0;
  let leaves = 0;
  const node = (): ParquetNode => {
    const [name, children, physical, converted, precision, scale, logical] = rows[next] ?? [];
    next += 1;
    const count = Number(children ?? 0);
    if (next > 1 && count === 0) {
      const leaf = leafOf(leaves, String(physical), String(logical ?? converted), Number(precision), Number(scale));
      leaves += 1;
      return { name: String(name), children: [], leaf };
    }
    return { name: String(name), children: Array.from({ length: count }, node), leaf: undefined };
  };
  return node().children;
}

function leafOf(index: number, physical: string, logical: string, precision: number, scale: number): ParquetLeaf {
  const nanos = /NANOS=NanoSeconds/.test(logical);
  const bare = (): BareLeaf | undefined => {
    if (/^decimal/i.test(logical) && precision > DUCKDB_PRECISION_MAX) return { kind: 'decimal', precision, scale };
    if (physical === 'INT96') return { kind: 'int96' };
    if (nanos && /^Timestamp.*isAdjustedToUTC=1/.test(logical)) return { kind: 'nanos' };
    return nanos && logical.startsWith('Time') && !logical.startsWith('Timestamp') ? { kind: 'time-nanos' } : undefined;
  };
  return {
    index,
    bare: bare(),
    millis: logical === 'TIMESTAMP_MILLIS' || /^Timestamp.*MILLIS=MilliSeconds/.test(logical),
  };
}

/** The leaves that DuckDB would round. */
export function bareLeaves(nodes: readonly ParquetNode[]): readonly number[] {
  return nodes.flatMap(({ leaf, children }) => [
    ...(leaf?.bare === undefined ? [] : [leaf.index]),
    ...bareLeaves(children),
  ]);
}

/**
 * The first group or leaf on the way down that does not have exactly one child: below the groups in which Parquet wraps lists,
 * and below structs of one field.
 */
export function unwrap(node: ParquetNode): ParquetNode {
  const [only, ...others] = node.children;
  return only === undefined || others.length > 0 ? node : unwrap(only);
}
