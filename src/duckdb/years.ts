/**
 * The dates and instants that are stored: of the years 1 to 9999, which is what four digits can write. Of those beyond, DuckDB
 * takes some for infinity, prints others wrongly, and cannot print the rest.
 */
import type { ColumnType } from '../domain/column-type.ts';

export type InstantType = ColumnType & { readonly kind: 'date' | 'timestamp' };

const MICROS_MIN = `TIMESTAMP '0001-01-01'`;
const MICROS_MAX = `TIMESTAMP '9999-12-31 23:59:59.999999'`;
const ZONED_MIN = `make_timestamptz(epoch_us(${MICROS_MIN}))`;
const ZONED_MAX = `make_timestamptz(epoch_us(${MICROS_MAX}))`;

/** SQL: whether a value of the type, as it is stored, is one of these. */
export function inYears(type: InstantType, e: string): string {
  if (type.kind === 'date') return `${e} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'`;
  // Fewer years: all nanoseconds that DuckDB can print of 64 bits.
  if (type.digits === 9)
    return `${e} BETWEEN TIMESTAMP_NS '1677-09-22' AND TIMESTAMP_NS '2262-04-11 23:47:16.854775806'`;
  return type.withZone ? `${e} BETWEEN ${ZONED_MIN} AND ${ZONED_MAX}` : `${e} BETWEEN ${MICROS_MIN} AND ${MICROS_MAX}`;
}

/** SQL: a value as text that can always be printed. */
export function countSince1970(type: InstantType, e: string): string {
  if (type.kind === 'date') return `(${e} - DATE '1970-01-01')::VARCHAR || ' days since 1970'`;
  if (type.digits === 9) return `epoch_ns(${e})::VARCHAR || ' nanoseconds since 1970'`;
  return `epoch_us(${e})::VARCHAR || ' microseconds since 1970'`;
}
