/**
 * The values of fixed width in a column of a result, as the bytes in which DuckDB holds them: little-endian, one after another. Millions of
 * them are taken in milliseconds, where a JavaScript value for each would take a second.
 *
 * The driver has them in memory but offers no public way to take them, so this looks, and refuses what it does not know.
 */
import {
  DuckDBBooleanVector,
  DuckDBDecimal16Vector,
  DuckDBDecimal32Vector,
  DuckDBDecimal64Vector,
  DuckDBDecimal128Vector,
  DuckDBUUIDVector,
  type DuckDBVector,
} from '@duckdb/node-api';

/** The driver has a typed array of all other types of fixed width, and one of pointers of those that have none. */
const VIEWED = [
  DuckDBBooleanVector,
  DuckDBDecimal16Vector,
  DuckDBDecimal32Vector,
  DuckDBDecimal64Vector,
  DuckDBDecimal128Vector,
  DuckDBUUIDVector,
];

/** @returns a copy; places of nulls have any bytes @throws TypeError where the values have no fixed width */
export function vectorBytes(vector: DuckDBVector): Uint8Array {
  const { items, dataView } = vector as unknown as { readonly items?: unknown; readonly dataView?: unknown };
  const held = VIEWED.some((type) => vector instanceof type) ? dataView : items;
  if (!ArrayBuffer.isView(held)) throw new TypeError(`values of ${vector.type} have no fixed width`);
  return new Uint8Array(held.buffer, held.byteOffset, held.byteLength).slice();
}
